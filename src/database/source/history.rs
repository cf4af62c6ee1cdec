//! Compares the ages of two files in the git history.

use std::cmp::Ordering;
use std::path::Path;

use git2::{Oid, Repository};

use super::{AgeBasis, AgedFile, Source};

/// The maximum number of commits that are searched to compare the ages of two files. If both files are unchanged in all
/// of these commits, they count as equally old.
const MOST_COMMITS: usize = 10_000;

/// The bytes by which the age of a file is determined. The longer the git history contains these bytes, the older the
/// file.
#[derive(Debug, Clone, Copy)]
enum FileBytes {
    /// The bytes with this id; `None` for bytes that no commit contains.
    Of(Option<Oid>),
    /// The file's current bytes or its previous bytes at the same path. Thus the last change of the file, such as a
    /// pull request's, does not make the file newer.
    Before {
        /// The id of the current bytes.
        now: Option<Oid>,
        /// The id of the previous bytes; `None` until an older commit with these bytes is found.
        then: Option<Oid>,
    },
}

impl FileBytes {
    /// Selects the bytes that determine a file's age. `id` is the git id of the file's current bytes.
    fn new(by: AgeBasis, id: Option<Oid>) -> Self {
        match by {
            AgeBasis::Bytes => Self::Of(id),
            AgeBasis::BytesBefore => Self::Before { now: id, then: None },
        }
    }

    /// Returns true if a commit contains the bytes. `there` is the git id of the file in this commit. Call this for
    /// each commit, from the newest to the oldest.
    fn is_in(&mut self, there: Option<Oid>) -> bool {
        match self {
            Self::Of(id) => id.is_some() && there == *id,
            Self::Before { now, then } => {
                if then.is_none() && there != *now {
                    *then = there;
                }
                there.is_some() && (there == *then || there == *now)
            }
        }
    }
}

/// Compares when the bytes of two files first appeared in the history of `head`, following only first parents.
/// `Greater` means that `a` is newer. `None` means that the files are equally old or that their age is unknown.
/// `source` provides the ids of the files' current bytes.
pub(super) fn age(
    repo: &Repository,
    head: Oid,
    source: &dyn Source,
    [a, b]: [AgedFile<'_>; 2],
) -> Option<Ordering> {
    let bytes = |file: AgedFile<'_>| FileBytes::new(file.by, source.id(file.entry));
    let (mut bytes_a, mut bytes_b) = (bytes(a), bytes(b));
    let id = |tree: &git2::Tree<'_>, file: AgedFile<'_>| {
        tree.get_path(Path::new(&file.entry.path)).ok().map(|entry| entry.id())
    };
    let mut walk = repo.revwalk().ok()?;
    walk.push(head).ok()?;
    walk.simplify_first_parent().ok()?;
    for commit in walk.take(MOST_COMMITS) {
        let tree = repo.find_commit(commit.ok()?).ok()?.tree().ok()?;
        match (bytes_a.is_in(id(&tree, a)), bytes_b.is_in(id(&tree, b))) {
            (true, true) => {}
            (false, true) => return Some(Ordering::Greater),
            (true, false) => return Some(Ordering::Less),
            (false, false) => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_age_of_an_uncommitted_file_is_that_of_its_last_committed_bytes() {
        let id = |byte: u8| Some(Oid::from_bytes(&[byte; 20]).unwrap());
        let mut bytes = FileBytes::new(AgeBasis::BytesBefore, id(3));
        let walk = [id(3), id(2), id(2), id(1), None];
        assert_eq!(walk.map(|there| bytes.is_in(there)), [true, true, true, false, false]);
        let mut bytes = FileBytes::new(AgeBasis::Bytes, id(3));
        assert_eq!(walk.map(|there| bytes.is_in(there)), [true, false, false, false, false]);
        // The bytes are not committed yet.
        let mut bytes = FileBytes::new(AgeBasis::BytesBefore, None);
        assert_eq!([id(2), id(2), None].map(|there| bytes.is_in(there)), [true, true, false]);
    }
}
