//! Facts that the judged tree states beside its tables; they override those of `rules/`.

use std::cmp::Reverse;

use crate::base::error::Reason;
use crate::database::catalog::Catalog;
use crate::database::served::ReuseManifest;
use crate::database::sidecar::Sidecars;
use crate::database::source::{Entry, NOT_FETCHED, Source, pointer};
use crate::specs::facts::{
    AttentionLanes, FactFile, KernelSources, Operations, Pins, QueryVersions, pins_of,
};
use crate::specs::{Specs, StatedFacts};

/// The name of the operation catalog in reports of facts.
const OPERATIONS: &str = "operation-catalog";

/// The name of the fact that states which rows backends share.
const REUSE_MANIFEST: &str = "reuse-manifest";
const QUERY_VERSIONS: &str = "query-versions";

/// The maximum size of a file that states facts, in bytes. The largest known file has 300 kB.
const LARGEST: u64 = 16 << 20;

/// The origin of the value of a fact: a file of the checked database, or this program's own `rules/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// The name of the fact, such as `operation-catalog`.
    pub name: String,
    /// Where the value in use comes from.
    pub from: FactOrigin,
    /// The year and month of the newest facts in `rules/`; `None` if the value comes from the checked database.
    pub date: Option<String>,
    /// The path of the file in the checked database that states the fact; `None` if there is no such file.
    pub path: Option<String>,
    /// The reason why the file in the checked database cannot be used, so that the value of `rules/` applies; `None` if
    /// there is no problem.
    pub problem: Option<String>,
}

/// Where the value of a fact comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum_macros::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "lowercase")]
pub enum FactOrigin {
    /// A file in the checked work tree or commit.
    Tree,
    /// This program's own `rules/`, including the files that `--rules-dir` adds or replaces.
    Rules,
}

/// The facts that are stated by files in the checked work tree or commit.
#[derive(Debug, Clone, Default)]
pub struct TreeFacts {
    tree: StatedFacts,
    /// The manifest that states which rows backends share; `None` if the tree does not contain a readable one.
    pub sharing: Option<ReuseManifest>,
    /// Where the value of each fact comes from.
    pub origins: Vec<Fact>,
    /// The sidecars of the version directories.
    pub sidecars: Sidecars,
    /// The files that state the facts.
    files: Vec<FactsFile>,
}

/// A file that states a fact.
#[derive(Debug, Clone)]
pub(crate) struct FactsFile {
    /// The name of the fact, as in [`Fact::name`].
    pub name: String,
    /// The file's location.
    pub entry: Entry,
    /// True for a file of the loader's code. Such code may be rewritten, so a fact that is missing from the code is not
    /// an error.
    pub is_code: bool,
    /// The reason why the file cannot be read; `None` if it can.
    pub fault: Option<String>,
    /// The git object id of the file's bytes; `None` if the bytes are unavailable.
    id: Option<git2::Oid>,
}

impl TreeFacts {
    /// Reads the files that `rules/facts.yaml` names. If a file cannot be read or parsed, the value of `rules/`
    /// applies. The problem is reported in [`TreeFacts::origins`].
    pub fn read(source: &dyn Source, catalog: &Catalog, specs: &Specs) -> Self {
        let loader = &specs.loader.yaml;
        let sidecars = Sidecars::read(source, catalog, loader);
        let mut facts = Self { sidecars, ..Self::default() };
        let files = &specs.facts;
        let reader = FactReader { source, catalog };
        facts.tree.operations = facts.add(OPERATIONS, &files.operation_catalog, &reader, |text| {
            Operations::parse(text.as_bytes())
        });
        facts.sharing = facts.add(REUSE_MANIFEST, &files.reuse_manifest, &reader, |text| {
            ReuseManifest::parse(text.as_bytes())
        });
        facts.tree.query_versions =
            facts.add(QUERY_VERSIONS, &files.query_versions, &reader, |text| {
                loader.query_versions.checked(text, QueryVersions::parse(text))
            });
        facts.tree.lanes =
            facts.add("attention-lanes", &files.attention_lanes.place(), &reader, |text| {
                loader.attention_lanes.checked(text, AttentionLanes::parse(text))
            });
        // A tree without this file does not list choices of kernels either, so that no default is needed.
        if reader.find(&files.kernel_sources).is_some() {
            facts.tree.kernel_sources =
                facts.add("kernel-sources", &files.kernel_sources, &reader, KernelSources::parse);
        }
        for (list, pin) in &files.pins {
            let pins = facts.add(list, &pin.place(), &reader, |text| {
                pins_of(text, &pin.after)
                    .ok_or_else(|| format!("no numbers follow `{}`", pin.after).into())
            });
            facts.tree.pins.extend(pins.map(|pins| (list.clone(), pins)));
            facts.files.iter_mut().filter(|file| file.name == *list).for_each(|f| f.is_code = true);
        }
        let matrix = catalog.support.values().next().map(|entry| entry.folder().to_owned());
        facts.origins.push(Fact::new("support-matrix", matrix, None));
        for fact in facts.origins.iter_mut().filter(|fact| fact.from == FactOrigin::Rules) {
            fact.date = Some(specs.shipped.date().to_owned());
        }
        facts
    }

    /// Marks the facts whose file is new or differs from the file in `base`.
    pub(crate) fn mark_changes(mut self, base: &Self) -> Self {
        let is_same = |a: &FactsFile, b: &FactsFile| (&a.name, a.id) == (&b.name, b.id);
        let changed = self.files.iter().filter(|own| !base.files.iter().any(|b| is_same(own, b)));
        self.tree.changed_facts = changed.map(|file| file.name.clone()).collect();
        self
    }

    /// Returns a copy of `specs` in which these facts replace the facts of `rules/`.
    pub(crate) fn apply_to(&self, specs: &Specs) -> Specs {
        specs.with_facts(&self.tree)
    }

    /// Returns where the operation catalog comes from; `None` if it is not among the facts.
    pub fn operation_catalog(&self) -> Option<&Fact> {
        self.origins.iter().find(|f| f.name == OPERATIONS)
    }

    /// Returns the path of a file that cannot be read although it decides which rows are served, with the reason;
    /// `None` if there is no such file.
    pub(crate) fn unread_answers(&self) -> Option<(&str, &str)> {
        let decides = |fact: &&Fact| [REUSE_MANIFEST, QUERY_VERSIONS].contains(&fact.name.as_str());
        let mut deciding = self.origins.iter().filter(decides);
        deciding.find_map(|fact| Some((fact.path.as_deref()?, fact.problem.as_deref()?)))
    }

    /// Returns the files that state facts, without support matrices.
    pub(crate) fn files(&self) -> impl Iterator<Item = &FactsFile> {
        self.files.iter()
    }

    /// Returns the operation catalog of the checked database; `None` if there is none or it cannot be read.
    pub fn operations(&self) -> Option<&Operations> {
        self.tree.operations.as_ref()
    }

    /// Returns the maps from texts to numbers that are written in the loader's source code, each with the map's name.
    /// An example is a map from model names to numbers of attention heads.
    pub fn pins(&self) -> impl Iterator<Item = (&str, &Pins)> {
        self.tree.pins.iter().map(|(list, pins)| (list.as_str(), pins))
    }

    fn add<T>(
        &mut self,
        name: &str,
        file: &FactFile,
        reader: &FactReader<'_>,
        parse: impl Fn(&str) -> Result<T, Reason>,
    ) -> Option<T> {
        let Some(entry) = reader.find(file) else {
            self.origins.push(Fact::new(name, None, None));
            return None;
        };
        let read = reader.text(entry).and_then(|text| parse(&text));
        let fault = read.as_ref().err().map(ToString::to_string);
        self.origins.push(Fact::new(name, Some(entry.path.clone()), fault.clone()));
        self.files.push(FactsFile {
            name: name.to_owned(),
            entry: entry.clone(),
            is_code: false,
            fault,
            id: reader.source.id(entry),
        });
        read.ok()
    }
}

/// Lists the facts of several databases, each with its origin, for the report. All facts of the first database are
/// listed. Of the other databases, only facts that their own files state are listed.
pub(crate) fn origins<'a>(roots: impl IntoIterator<Item = &'a [Fact]>) -> Vec<Fact> {
    let mut all: Vec<Fact> = Vec::new();
    for (number, facts) in roots.into_iter().enumerate() {
        for fact in facts {
            if number == 0 || fact.path.is_some() && !all.contains(fact) {
                all.push(fact.clone());
            }
        }
    }
    all
}

impl Fact {
    /// Describes for people where the fact comes from.
    pub fn describe(&self) -> String {
        match (&self.path, &self.problem) {
            (Some(path), None) => path.clone(),
            (Some(path), Some(why)) => format!("rules/, because {path} cannot be read: {why}"),
            (None, _) => "rules/".to_owned(),
        }
    }

    fn new(name: &str, path: Option<String>, problem: Option<String>) -> Self {
        let stated = path.is_some() && problem.is_none();
        let from = if stated { FactOrigin::Tree } else { FactOrigin::Rules };
        Self { name: name.to_owned(), from, date: None, path, problem }
    }
}

/// A reader that finds the files that state facts.
struct FactReader<'a> {
    source: &'a dyn Source,
    catalog: &'a Catalog,
}

impl<'a> FactReader<'a> {
    /// Finds the file that states a fact. If several files have the expected name, returns the one closest to the
    /// folder of the systems' YAML; `None` if no file has this name.
    fn find(&self, file: &FactFile) -> Option<&'a Entry> {
        if file.file.is_empty() {
            return None;
        }
        let home = self.catalog.folder.as_str();
        let named = |name: &str| {
            let is_named = |e: &&Entry| {
                let above = e.path.strip_suffix(name);
                let ends_so = above.is_some_and(|above| above.is_empty() || above.ends_with('/'));
                ends_so && (!file.beside || e.folder() == home)
            };
            let found = self.catalog.outside_files.iter().filter(is_named);
            found.max_by_key(|e| (shared_folders(&e.path, home), Reverse(&e.path)))
        };
        named(&file.file).or_else(|| named(file.formerly.as_deref()?))
    }

    fn text(&self, entry: &Entry) -> Result<String, Reason> {
        if let Some(why) = entry.kind.leads_away() {
            return Err(format!("it is {why}").into());
        }
        if entry.size > LARGEST {
            return Err(format!("it has {} bytes, more than {LARGEST}", entry.size).into());
        }
        let text = self.source.text(entry)?;
        if pointer(text.as_bytes()).is_some() { Err(NOT_FETCHED.into()) } else { Ok(text) }
    }
}

/// Counts the leading folders that a path shares with another.
fn shared_folders(path: &str, other: &str) -> usize {
    let (own, others) = (path.split('/'), other.split('/'));
    own.zip(others).take_while(|(a, b)| a == b).count()
}
