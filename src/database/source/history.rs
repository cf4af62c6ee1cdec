//! Which of two files a history has had for longer.

use std::cmp::Ordering;
use std::path::Path;

use git2::{Oid, Repository};

/// Commits that are looked through; older than that is as old as the other.
const FAR: usize = 10_000;

/// A file's path below the repository's top, and the id of its bytes.
pub(super) type FileVersion<'a> = (&'a str, Option<Oid>);

/// Compares when the bytes of two files came to their places, along the first parents of `head`:
/// `Greater` where `a` came later. `None` where both came at once, or that is not known.
pub(super) fn age(
    repo: &Repository,
    head: Oid,
    a: FileVersion<'_>,
    b: FileVersion<'_>,
) -> Option<Ordering> {
    let has = |tree: &git2::Tree<'_>, (path, id): FileVersion<'_>| {
        id.is_some() && tree.get_path(Path::new(path)).ok().map(|e| e.id()) == id
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
