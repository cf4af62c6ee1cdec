//! Which of two files a history has had for longer.

use std::cmp::Ordering;
use std::path::Path;

use git2::{Oid, Repository};

use super::DatedBy;

/// Commits that are looked through; older than that is as old as the other.
const FAR: usize = 10_000;

/// A file's path below the repository's top, and the id of its bytes.
pub(super) type FileVersion<'a> = (&'a str, FileBytes);

/// The bytes of a file whose age is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) enum FileBytes {
    /// These; without an id no commit has them.
    Of(Option<Oid>),
    /// Any that were at its path.
    Any,
}

impl FileBytes {
    /// Those of a file that is dated `by`.
    pub fn new(by: DatedBy, id: impl FnOnce() -> Option<Oid>) -> Self {
        match by {
            DatedBy::Bytes => Self::Of(id()),
            DatedBy::Path => Self::Any,
        }
    }
}

/// Compares when two files came to their places, along the first parents of `head`: `Greater` where `a`
/// came later. `None` where both came at once, or that is not known.
pub(super) fn age(
    repo: &Repository,
    head: Oid,
    a: FileVersion<'_>,
    b: FileVersion<'_>,
) -> Option<Ordering> {
    let has = |tree: &git2::Tree<'_>, (path, bytes): FileVersion<'_>| {
        let there = tree.get_path(Path::new(path)).ok().map(|entry| entry.id());
        match bytes {
            FileBytes::Of(id) => id.is_some() && there == id,
            FileBytes::Any => there.is_some(),
        }
    };
    let mut walk = repo.revwalk().ok()?;
    walk.push(head).ok()?;
    walk.simplify_first_parent().ok()?;
    for commit in walk.take(FAR) {
        let tree = repo.find_commit(commit.ok()?).ok()?.tree().ok()?;
        match (has(&tree, a), has(&tree, b)) {
            (true, true) => {}
            (false, true) => return Some(Ordering::Greater),
            (true, false) => return Some(Ordering::Less),
            (false, false) => return None,
        }
    }
    None
}
