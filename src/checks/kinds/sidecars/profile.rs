//! Profiles, compared with the files that they pin, their copies and the rows that name them.

use std::collections::BTreeSet;

use crate::base::digest::sha256;
use crate::checks::context::ProfileContext;
use crate::checks::{Found, RuleHead};
use crate::database::catalog::{Role, TableFile};
use crate::database::profile::{PinnedFile, Profile};
use crate::database::source::Entry;
use crate::database::state::State;
use crate::database::table::Column;

/// The name of the column that holds the id of a row's profile.
const COLUMN: &str = "profile_id";

/// A table whose rows name profiles.
struct NamingTable<'a> {
    file: &'a TableFile,
    /// The ids of the profiles that the rows name. The id of a profile is its SHA-256.
    ids: BTreeSet<String>,
}

/// Returns a finding that lists every contradiction between a profile and other files.
pub(super) fn contradiction(rule: RuleHead<'_>, at: &ProfileContext<'_>) -> Found {
    let Ok(profile) = &at.profile else { return Found::new() };
    if !Profile::is_profile(at.entry) {
        return rule.all_on_path(&at.entry.path, at.other_files(profile)).into_iter().collect();
    }
    let naming = at.naming_tables();
    let mut wrong: Vec<String> =
        profile.pins.iter().filter_map(|(pinned, digest)| at.unmet(pinned, digest)).collect();
    wrong.extend(at.other_copy(profile));
    wrong.extend(at.missing_copies(profile, &naming));
    wrong.extend(at.other_rows(profile, &naming));
    rule.all_on_path(&at.entry.path, wrong).into_iter().collect()
}

/// Returns a finding on a profile that cannot be read.
pub(super) fn unreadable(rule: RuleHead<'_>, at: &ProfileContext<'_>) -> Found {
    // A document above the root belongs to another root.
    let folder = &at.state.catalog.folder;
    let is_own = Profile::is_profile(at.entry) || at.entry.path.starts_with(folder.as_str());
    let why = at.profile.as_ref().err().filter(|_| is_own);
    why.map(|why| rule.on_path(&at.entry.path, why.to_string())).into_iter().collect()
}

impl<'a> ProfileContext<'a> {
    /// Returns a clause if a file that the profile pins is missing or has another SHA-256 than `digest`; `None`
    /// otherwise.
    fn unmet(&self, pinned: &PinnedFile, digest: &str) -> Option<String> {
        let catalog = self.state.catalog;
        let beside = catalog.other_files.iter();
        match pinned {
            PinnedFile::SystemYaml => {
                let mut yaml = beside.filter(|(_, role)| *role == Role::System);
                let is_met = yaml.any(|(entry, _)| self.has(entry, digest));
                (!is_met).then(|| {
                    let digest = short(digest);
                    format!("no system's YAML has the SHA-256 {digest} of its hardware_yaml_sha256")
                })
            }
            PinnedFile::File(path) => {
                let place = self.below_systems(path);
                let tables = catalog.tables.iter().map(|table| &table.entry);
                let mut files = beside.map(|(entry, _)| entry).chain(tables);
                match files.find(|entry| entry.path == place) {
                    None => Some(format!("it pins {path}, which has no file")),
                    Some(entry) if self.has(entry, digest) => None,
                    Some(_) => Some(format!("{path} has another SHA-256 than the pinned one")),
                }
            }
        }
    }

    /// Returns a clause for each file that has another SHA-256 than the profile `document` lists. Only files below the
    /// profile's folder are compared. If several profiles list the same file, each of the listed digests is accepted.
    fn other_files(&self, document: &Profile) -> Vec<String> {
        let State { catalog, source, .. } = self.state;
        let tables = catalog.tables.iter().map(|table| &table.entry);
        let files = catalog.other_files.iter().map(|(entry, _)| entry).chain(tables);
        let all = Profile::documents(catalog).filter_map(|e| Profile::read(source, e).ok());
        let all: Vec<(String, String)> = all.flat_map(|document| document.listed).collect();
        let folder = format!("{}/", self.entry.folder());
        let paths: BTreeSet<&str> = document.listed.iter().map(|(path, _)| path.as_str()).collect();
        let is_other = |entry: &&Entry| {
            let Some(below) = entry.path.strip_prefix(&folder) else { return false };
            let is_named = |path: &str| {
                below
                    .strip_suffix(path)
                    .is_some_and(|above| above.is_empty() || above.ends_with('/'))
            };
            let Some(path) = paths.iter().find(|path| is_named(path)) else { return false };
            !all.iter().any(|(other, digest)| other == path && self.has(entry, digest))
        };
        let other = files.filter(is_other);
        other.map(|e| format!("{} has another SHA-256 than the listed one", e.path)).collect()
    }

    /// Returns the path of a file from its path relative to the folder of the systems.
    fn below_systems(&self, path: &str) -> String {
        let folder = &self.state.catalog.folder;
        if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") }
    }

    /// Returns true if the SHA-256 of a file is `digest`, or if the file's bytes are not in the clone.
    fn has(&self, entry: &Entry, digest: &str) -> bool {
        let source = self.state.source;
        let own = source.read(entry).ok().filter(|_| !source.is_in_lfs(&entry.path));
        own.is_none_or(|bytes| sha256(&bytes).eq_ignore_ascii_case(digest))
    }

    /// Returns a clause if the profile differs from the first profile file with the same name; `None` if both are
    /// equal.
    fn other_copy(&self, profile: &Profile) -> Option<String> {
        let is_own = |copy: &&Entry| copy.name() == self.entry.name();
        let copies = Profile::files(self.state.catalog).filter(is_own);
        let first = copies.min_by(|a, b| a.path.cmp(&b.path))?;
        (!self.has(first, &profile.sha256)).then(|| format!("its copy {} differs", first.path))
    }

    /// Returns clauses about folders that lack a copy of the profile. A copy is expected beside each table that the
    /// profile lists, and beside each table with rows that name the profile.
    fn missing_copies(&self, profile: &Profile, naming: &[NamingTable<'_>]) -> Vec<String> {
        let naming = naming.iter().filter(|table| table.ids.contains(&profile.sha256));
        let naming = naming.map(|table| table.file.entry.folder().to_owned());
        let folder = |path: &String| path.rsplit_once('/').map(|(folder, _)| folder.to_owned());
        let stated = profile.tables.iter().map(|table| self.below_systems(table));
        let stated = stated.filter_map(|path| folder(&path));
        let folders: BTreeSet<String> = stated.chain(naming).collect();
        let has_no_copy = |folder: &&String| {
            let mut copies = Profile::files(self.state.catalog);
            !copies.any(|copy| copy.folder() == *folder && copy.name() == self.entry.name())
        };
        let missing = folders.iter().filter(has_no_copy);
        missing.map(|folder| format!("{folder} has no copy of it")).collect()
    }

    /// Checks the tables in the profile's folder. Returns a clause for each table in which a row names a profile that
    /// is not in this folder.
    fn other_rows(&self, profile: &Profile, naming: &[NamingTable<'_>]) -> Vec<String> {
        let profiles = Profile::files(self.state.catalog).filter(|entry| self.is_beside(entry));
        let profiles: Vec<&Entry> = profiles.collect();
        let is_other = |id: &&String| {
            **id != profile.sha256 && !profiles.iter().any(|entry| self.has(entry, id))
        };
        let say = |NamingTable { file, ids }: &NamingTable<'_>| {
            let other = ids.iter().find(is_other)?;
            let (name, other, own) = (&file.table, short(other), short(&profile.sha256));
            Some(format!("the rows of {name} name the profile {other}, but its SHA-256 is {own}"))
        };
        naming.iter().filter(|table| self.is_beside(&table.file.entry)).filter_map(say).collect()
    }

    /// Returns true if a file is in the profile's folder.
    fn is_beside(&self, entry: &Entry) -> bool {
        entry.folder() == self.entry.folder()
    }

    /// Returns the tables whose rows may name profiles: the tables whose spec has the column `profile_id`, and all
    /// tables in the profile's folder.
    fn naming_tables(&self) -> Vec<NamingTable<'a>> {
        let has_column = |file: &TableFile| {
            let spec = self.state.specs.tables.get(&file.table);
            spec.is_some_and(|spec| spec.columns.iter().any(|column| column.name == COLUMN))
        };
        let tables = self.state.catalog.tables.iter();
        let tables = tables.filter(|file| has_column(file) || self.is_beside(&file.entry));
        tables.map(|file| NamingTable { file, ids: self.profile_ids(file) }).collect()
    }

    fn profile_ids(&self, file: &TableFile) -> BTreeSet<String> {
        let table = self.state.columns(file, &BTreeSet::from([COLUMN]));
        match table.as_ref().ok().and_then(|table| table.column(COLUMN)) {
            Some(Column::Text { dict, .. }) => dict.iter().map(ToString::to_string).collect(),
            // A table that cannot be read, or has no such texts, is reported by other rules.
            None
            | Some(
                Column::Int { .. } | Column::Float { .. } | Column::Bool { .. } | Column::Other(_),
            ) => BTreeSet::new(),
        }
    }
}

/// Returns the first digits of a digest, for messages.
fn short(digest: &str) -> &str {
    const DIGITS: usize = 12;
    digest.get(..DIGITS).unwrap_or(digest)
}
