//! The requested files whose contents are not in the local clone.

use std::collections::BTreeSet;

use crate::base::escape::clean;
use crate::base::words::{names, plural_verb};

/// Requested files whose contents are not in the local clone. They were not checked.
#[derive(Debug, Default)]
pub struct AbsentFiles {
    /// Tables that `.gitattributes` keeps in git-LFS.
    pub in_lfs: BTreeSet<String>,
    /// Files whose objects are missing, as in a partial clone.
    pub missing: BTreeSet<String>,
}

impl AbsentFiles {
    /// Returns true if no file is absent.
    pub(crate) fn is_empty(&self) -> bool {
        self.in_lfs.is_empty() && self.missing.is_empty()
    }

    /// Returns the paths of all absent files, sorted.
    pub(super) fn paths(&self) -> BTreeSet<&str> {
        self.in_lfs.iter().chain(&self.missing).map(String::as_str).collect()
    }

    /// Returns a sentence with the number of absent files and the command that fetches them; `None` if no file is
    /// absent.
    pub(super) fn sentence(&self) -> Option<String> {
        let line = |paths: &BTreeSet<String>, what: &str, verb: [&str; 2], how: &str| {
            // One path is an example; the JSON report lists all.
            let first = names(paths.first().into_iter().map(String::as_str));
            let first = if paths.len() > 1 { format!("the first is {first}") } else { first };
            let files = plural_verb(paths.len(), what, verb);
            (!paths.is_empty()).then(|| format!("{files} {how} ({first})"))
        };
        let in_lfs = line(
            &self.in_lfs,
            "table",
            ["was not checked, because it is", "were not checked, because they are"],
            "in git-LFS and not in this clone: run `git lfs pull`",
        );
        let missing = line(
            &self.missing,
            "file",
            [
                "was not checked, because its object is",
                "were not checked, because their objects are",
            ],
            "not in this clone: run `git fetch --refetch --no-filter`",
        );
        let lines: Vec<String> = [in_lfs, missing].into_iter().flatten().collect();
        (!lines.is_empty()).then(|| clean(&lines.join("; ")))
    }
}
