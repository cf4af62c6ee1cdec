//! Files that a pull request moves: an existing finding on a moved file is not new at the new path.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::find::split;
use crate::database::source::Entry;
use crate::database::state::State;
use crate::findings::Finding;

/// The new paths of the base's files and directories in the head.
#[derive(Debug, Default)]
pub(super) struct Moves {
    /// The new path of each moved file, by its old path.
    pub files: BTreeMap<String, String>,
    dirs: BTreeMap<String, String>,
}

impl Moves {
    /// Pairs each deleted file with an added file of the same bytes, preferring one of the same
    /// name.
    pub fn of(base: State<'_>, before: &[Entry], head: State<'_>, after: &[Entry]) -> Self {
        let path = |e: &Entry| (e.path.clone(), e.clone());
        let was: BTreeMap<String, Entry> = before.iter().map(path).collect();
        let is: BTreeMap<String, Entry> = after.iter().map(path).collect();
        let gone = was.values().filter(|e| !is.contains_key(&e.path));
        let mut came: BTreeMap<git2::Oid, Vec<&str>> = BTreeMap::new();
        for entry in is.values().filter(|e| !was.contains_key(&e.path)) {
            if let Some(id) = head.source.id(entry) {
                came.entry(id).or_default().push(&entry.path);
            }
        }
        let mut moves = Self::default();
        let mut renamed = Vec::new();
        for entry in gone {
            let Some(paths) = base.source.id(entry).and_then(|id| Some((id, came.get_mut(&id)?)))
            else {
                continue;
            };
            let (id, paths) = paths;
            match paths.iter().position(|p| split(p).2 == split(&entry.path).2) {
                Some(at) => moves.add(&entry.path, paths.remove(at)),
                None => renamed.push((id, &entry.path)),
            }
        }
        for (id, old) in renamed {
            let paths = came.get_mut(&id).filter(|paths| !paths.is_empty());
            if let Some(paths) = paths {
                moves.add(old, paths.remove(0));
            }
        }
        moves
    }

    fn add(&mut self, old: &str, new: &str) {
        self.dirs.entry(split(old).0.to_owned()).or_insert_with(|| split(new).0.to_owned());
        self.files.insert(old.to_owned(), new.to_owned());
    }

    /// Returns a finding of the base with its paths replaced by those in the head.
    pub fn told_there(&self, mut finding: Finding) -> Finding {
        if let Some(new) = self.files.get(&finding.path) {
            finding.path.clone_from(new);
        }
        for value in finding.slice.values_mut() {
            if let Some(there) = value.as_str().and_then(|text| self.named_there(text)) {
                *value = Json::from(there);
            }
        }
        finding
    }

    /// Replaces a path at the end of a text, alone or after a space, by the new path; `None` if it
    /// did not move.
    fn named_there(&self, text: &str) -> Option<String> {
        let (above, name) = text.rsplit_once('/')?;
        let before = |text: &'_ str, path: &str| -> Option<String> {
            let before = text.strip_suffix(path)?;
            (before.is_empty() || before.ends_with(' ')).then(|| before.to_owned())
        };
        let file = self.files.iter().find_map(|(old, new)| Some(before(text, old)? + new));
        file.or_else(|| {
            let mut dirs = self.dirs.iter();
            dirs.find_map(|(old, new)| Some(format!("{}{new}/{name}", before(above, old)?)))
        })
    }
}
