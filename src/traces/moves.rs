//! Files that a pull request moves: an existing finding on a moved file is not new at the new path.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::find::split;
use crate::database::source::Entry;
use crate::database::state::State;
use crate::findings::Finding;

/// Files and directories of the base that are at another path in the head.
#[derive(Debug, Default)]
pub(crate) struct MovedFiles {
    /// The new path of each moved file, by its old path.
    pub files: BTreeMap<String, String>,
    dirs: BTreeMap<String, String>,
}

/// Returns entries by their paths.
pub(crate) fn by_path<'e>(
    entries: impl IntoIterator<Item = &'e Entry>,
) -> BTreeMap<&'e str, &'e Entry> {
    entries.into_iter().map(|entry| (entry.path.as_str(), entry)).collect()
}

impl MovedFiles {
    /// Pairs each deleted file with an added file of the same bytes, preferring one of the same
    /// name.
    pub(crate) fn new(base: State<'_>, before: &[Entry], head: State<'_>, after: &[Entry]) -> Self {
        let (before, after) = (by_path(before), by_path(after));
        let mut added: BTreeMap<git2::Oid, Vec<&str>> = BTreeMap::new();
        for (path, entry) in after.iter().filter(|(path, _)| !before.contains_key(*path)) {
            if let Some(id) = head.source.id(entry) {
                added.entry(id).or_default().push(path);
            }
        }
        let mut moves = Self::default();
        let mut renamed = Vec::new();
        for (old, entry) in before.iter().filter(|(path, _)| !after.contains_key(*path)) {
            let Some(id) = base.source.id(entry) else { continue };
            let Some(paths) = added.get_mut(&id) else { continue };
            match paths.iter().position(|new| split(new).2 == split(old).2) {
                Some(at) => moves.add(old, paths.remove(at)),
                None => renamed.push((id, old)),
            }
        }
        for (id, old) in renamed {
            if let Some(paths) = added.get_mut(&id).filter(|paths| !paths.is_empty()) {
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
    pub(crate) fn relocated(&self, mut finding: Finding) -> Finding {
        if let Some(new) = self.files.get(&finding.path) {
            finding.path.clone_from(new);
        }
        for value in finding.slice.values_mut() {
            if let Some(text) = value.as_str().and_then(|text| self.relocated_text(text)) {
                *value = Json::from(text);
            }
        }
        finding
    }

    /// If a text ends with the old path of a moved file, or of a file in a moved directory, returns the text with the
    /// new path instead. Otherwise, returns `None`.
    fn relocated_text(&self, text: &str) -> Option<String> {
        let (above, name) = text.rsplit_once('/')?;
        let file =
            self.files.iter().find_map(|(old, new)| Some(before(text, old)?.to_owned() + new));
        file.or_else(|| {
            let mut dirs = self.dirs.iter();
            dirs.find_map(|(old, new)| Some(format!("{}{new}/{name}", before(above, old)?)))
        })
    }
}

/// Returns the text without `path` at its end; `None` if the text does not end with `path` as a separate word.
fn before<'t>(text: &'t str, path: &str) -> Option<&'t str> {
    text.strip_suffix(path).filter(|before| before.is_empty() || before.ends_with(' '))
}
