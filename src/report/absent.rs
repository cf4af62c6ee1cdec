//! Files that a run asked for and that are not in this clone.

use std::collections::BTreeSet;

use crate::base::escape::clean;
use crate::base::words::{names, plural_verb};

/// Files that were asked for and are not in this clone. Nothing is wrong with them, but nobody has looked at them either.
#[derive(Debug, Default)]
pub struct AbsentFiles {
    /// Tables that `.gitattributes` keeps in git-LFS.
    pub in_lfs: BTreeSet<String>,
    /// Files whose objects are missing, as in a partial clone.
    pub missing: BTreeSet<String>,
}

impl AbsentFiles {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.in_lfs.is_empty() && self.missing.is_empty()
    }

    /// Their paths, sorted.
    pub(super) fn paths(&self) -> BTreeSet<&str> {
        self.in_lfs.iter().chain(&self.missing).map(String::as_str).collect()
    }

    /// What they are and how to get them, in a sentence; none where there are none.
    pub(super) fn said(&self) -> Option<String> {
        let line = |paths: &BTreeSet<String>, what: &str, verb: [&str; 2], how: &str| {
            // One path shows where they are; the JSON report has all.
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
