//! The roots of a source: folders with the YAML of systems and the data beside them. Each root is a separate
//! database.
//!
//! The public repository has a main root (`systems/`), profiles for single models
//! (`systems/profiles/<name>/`), and experiments (`data/experimental/**/systems/`). Systems in different
//! roots may have the same name; only tables of one root are compared.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rayon::prelude::*;

use super::links::Links;
use super::paths::in_hidden_folder;
use super::walk::read_system;
use super::{Catalog, Places, Role, format_of, no_database};
use crate::base::error::Result;
use crate::database::source::{Entry, Source};
use crate::specs::Specs;
use crate::specs::layout::Layout;

impl Catalog {
    /// Reads the database with the most tables in a source.
    ///
    /// # Errors
    ///
    /// If the files cannot be listed or contain no perf database.
    pub fn read(source: &dyn Source, specs: &Specs) -> Result<Self> {
        let files = source.files()?;
        let specs = settled(specs, &files)?;
        let roots = Self::some_roots(source, files, &specs)?;
        Ok(roots.into_iter().next().unwrap_or_default())
    }

    /// Finds all databases among the `files` of a source. The database with the most tables comes first. Returns one
    /// empty catalog if the source contains no database.
    pub(crate) fn roots(source: &dyn Source, files: Vec<Entry>, specs: &Specs) -> Vec<Self> {
        if let Some(layout) = specs.layouts.declared() {
            return vec![Self::declared(source, files, layout, specs)];
        }
        let (hidden, files): (Vec<Entry>, Vec<Entry>) =
            files.into_iter().partition(|entry| in_hidden_folder(&entry.path));
        let links = Links::of(&files);
        let yaml: Vec<(&str, &Entry)> = yaml_of_roots(&files).collect();
        let read: Vec<_> =
            yaml.par_iter().map(|(_, entry)| read_system(source, specs, entry, &files)).collect();
        let mut roots: BTreeMap<&str, Self> = BTreeMap::new();
        for ((folder, entry), system) in yaml.into_iter().zip(read) {
            let Some(system) = system else { continue };
            let root = || Self { folder: folder.to_owned(), ..Self::default() };
            roots.entry(folder).or_insert_with(root).add_system(entry, system);
        }
        // Data in the conventional place is a database even without any system's YAML.
        for folder in files.iter().filter_map(|entry| usual_root(&entry.path)) {
            let root = || Self { folder: folder.to_owned(), ..Self::default() };
            roots.entry(folder).or_insert_with(root);
        }
        let mut roots: Vec<Self> = roots.into_values().collect();
        if roots.is_empty() {
            roots.push(Self::default());
        }
        for root in &mut roots {
            root.add_orphans(&files);
            root.add_claims(&files);
        }
        let layout = specs.layouts.public().cloned().unwrap_or_default();
        place_files(&mut roots, (files, hidden), &links, &layout);
        let others = std::mem::take(&mut roots[0].outside_files);
        for root in &mut roots {
            root.add_unread();
            root.refuse_many();
            root.outside_files = others.clone();
        }
        // A YAML file that happens to be beside a folder of tables is not a database of its own.
        let many = roots.len() > 1;
        roots.retain(|root| !many || root.is_root());
        roots.sort_by_key(|root| (Reverse(root.tables.len()), root.folder.clone()));
        if roots.is_empty() {
            roots.push(Self { outside_files: others, ..Self::default() });
        }
        roots
    }

    /// Reads the database with the most tables in a source. Returns an empty catalog if the source contains no
    /// database.
    ///
    /// # Errors
    ///
    /// If the files cannot be listed.
    pub fn walk(source: &dyn Source, specs: &Specs) -> Result<Self> {
        let files = source.files()?;
        let specs = settled(specs, &files)?;
        let roots = Self::roots(source, files, &specs);
        Ok(roots.into_iter().next().unwrap_or_default())
    }

    /// Finds all databases among the `files` of a source, the one with the most tables first.
    ///
    /// # Errors
    ///
    /// If there is no perf database among the files.
    pub(crate) fn some_roots(
        source: &dyn Source,
        files: Vec<Entry>,
        specs: &Specs,
    ) -> Result<Vec<Self>> {
        let roots = Self::roots(source, files, specs);
        // A link or submodule in the place of the systems is reported as a finding, so it is not an error
        // here.
        if roots.iter().all(|root| root.systems.is_empty() && root.strays.is_empty()) {
            return Err(no_database());
        }
        Ok(roots)
    }

    /// Returns true if the catalog's folder counts as a database. It does if it has version directories or misplaced
    /// files, or if it is named `systems`.
    pub(super) fn is_root(&self) -> bool {
        let usual = self.folder == "systems" || self.folder.ends_with("/systems");
        usual || !self.dirs.is_empty() || !self.strays.is_empty()
    }

    /// Returns the tables outside of all databases. They are not checked.
    pub(crate) fn outside(&self) -> impl Iterator<Item = &Entry> {
        self.outside_files.iter().filter(|entry| format_of(&entry.path).is_some())
    }
}

/// Returns the specs with a chosen layout of database files. If no layout has been chosen yet, chooses the one that
/// fits the paths of `files`.
fn settled<'s>(specs: &'s Specs, files: &[Entry]) -> Result<Cow<'s, Specs>> {
    let mut specs = Cow::Borrowed(specs);
    if !specs.layouts.is_chosen() {
        specs.to_mut().choose_layout(None, files.iter().map(|entry| entry.path.as_str()))?;
    }
    Ok(specs)
}

/// Returns the YAML files that may describe systems, each with the path of its folder. Such a folder is named
/// `systems`, is the top folder, or contains a `data` folder with tables.
fn yaml_of_roots(files: &[Entry]) -> impl Iterator<Item = (&str, &Entry)> {
    let mut beside: BTreeSet<&str> = BTreeSet::new();
    for path in files.iter().map(|entry| entry.path.as_str()).filter(|p| format_of(p).is_some()) {
        let data = path
            .match_indices("data/")
            .filter(|(at, _)| *at == 0 || path.as_bytes()[at - 1] == b'/');
        beside.extend(data.map(|(at, _)| path[..at].trim_end_matches('/')));
    }
    let is_yaml =
        |entry: &&Entry| entry.path.ends_with(".yaml") && entry.kind.leads_away().is_none();
    let yaml = files.iter().filter(is_yaml);
    let placed = yaml.map(|entry| (entry.folder(), entry));
    placed.filter(move |(folder, _)| {
        let usual = folder.is_empty() || *folder == "systems" || folder.ends_with("/systems");
        usual || beside.contains(folder)
    })
}

/// Returns the path of the folder `systems` above a table in `systems/data`; `None` for any other path.
fn usual_root(path: &str) -> Option<&str> {
    let at = path.find("systems/data/").filter(|_| format_of(path).is_some())?;
    let whole = at == 0 || path.as_bytes()[at - 1] == b'/';
    whole.then(|| &path[..at + "systems".len()])
}

/// Assigns each file to the database whose data directory contains the file. Remaining files are stored in
/// `outside_files` of the first database. Files in hidden folders are dropped unless they are tables.
fn place_files(
    roots: &mut [Catalog],
    (files, hidden): (Vec<Entry>, Vec<Entry>),
    links: &Links,
    layout: &Layout,
) {
    let places: Vec<Places> = roots.iter().map(|root| Places::of(&root.systems)).collect();
    let mut others = Vec::new();
    let mut leading_away = Vec::new();
    for entry in files {
        let path = &entry.path;
        // If several roots contain the file, the one with the deepest data directory wins.
        let owners = places.iter().enumerate();
        let owners = owners.filter_map(|(root, p)| {
            let (inside, system) = p.owner(path)?;
            Some((inside, root, system))
        });
        if entry.kind.leads_away().is_some() {
            leading_away.push(entry);
        } else if let Some((inside, root, system)) =
            owners.max_by_key(|(inside, root, _)| (*inside, Reverse(*root)))
        {
            let (inside, system) = (path[inside..].to_owned(), system.to_owned());
            roots[root].add_file(entry, &inside, &system, layout);
        } else if !places.iter().any(|p| p.yaml.contains(path)) {
            others.push(entry);
        }
    }
    for entry in hidden.into_iter().filter(|entry| format_of(&entry.path).is_some()) {
        let near = |(root, places): &(&Catalog, &Places)| places.has(&root.folder, &entry.path);
        match roots.iter().zip(&places).position(|of| near(&of)) {
            Some(root) => {
                let system = places[root].owner(&entry.path).map(|(_, system)| system.to_owned());
                roots[root].add_stray(entry, &system.unwrap_or_default());
            }
            None => others.push(entry),
        }
    }
    for entry in leading_away {
        let hides = |places: &Places| {
            let owner = || places.owner(&entry.path).map(|(_, system)| system.to_owned());
            places.hidden_by(&entry.path).or_else(owner)
        };
        let hidden = places.iter().enumerate().find_map(|(root, p)| Some((root, hides(p)?)));
        match (links.judged_root(&entry.path, roots, &places), hidden) {
            (Some(root), _) => roots[root].other_files.push((entry, Role::Other)),
            (None, Some((root, system))) => roots[root].add_stray(entry, &system),
            (None, None) => others.push(entry),
        }
    }
    others.sort_by(|a, b| a.path.cmp(&b.path));
    roots[0].outside_files = Arc::new(others);
}
