//! Which of two files a history has had for longer.

use std::cmp::Ordering;
use std::path::Path;

use git2::{Oid, Repository};

use super::{Dated, DatedBy, Source};

/// Commits that are looked through; older than that is as old as the other.
const FAR: usize = 10_000;

/// The bytes of a file whose age is asked for.
#[derive(Debug, Clone, Copy)]
enum FileBytes {
    /// These; without an id no commit has them.
    Of(Option<Oid>),
    /// Those that it had before these, once the walk met them.
    Before {
        /// What it has.
        now: Option<Oid>,
        /// What it had.
        then: Option<Oid>,
    },
}

impl FileBytes {
    /// Those of a file that is dated `by`.
    fn new(by: DatedBy, id: Option<Oid>) -> Self {
        match by {
            DatedBy::Bytes => Self::Of(id),
            DatedBy::BytesBefore => Self::Before { now: id, then: None },
        }
    }

    /// Whether they are those that an older commit has there, the commits coming newest first.
    fn are(&mut self, there: Option<Oid>) -> bool {
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

/// Compares when two files came to their places, along the first parents of `head`: `Greater` where `a`
/// came later. `None` where both came at once, or that is not known. `source` knows the ids of both.
pub(super) fn age(
    repo: &Repository,
    head: Oid,
    source: &dyn Source,
    [a, b]: [Dated<'_>; 2],
) -> Option<Ordering> {
    let bytes = |file: Dated<'_>| FileBytes::new(file.by, source.id(file.entry));
    let (mut bytes_a, mut bytes_b) = (bytes(a), bytes(b));
    let id = |tree: &git2::Tree<'_>, file: Dated<'_>| {
        tree.get_path(Path::new(&file.entry.path)).ok().map(|entry| entry.id())
    };
    let mut walk = repo.revwalk().ok()?;
    walk.push(head).ok()?;
    walk.simplify_first_parent().ok()?;
    for commit in walk.take(FAR) {
        let tree = repo.find_commit(commit.ok()?).ok()?.tree().ok()?;
        match (bytes_a.are(id(&tree, a)), bytes_b.are(id(&tree, b))) {
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
    fn a_touched_file_is_as_old_as_the_bytes_that_it_had() {
        let id = |byte: u8| Some(Oid::from_bytes(&[byte; 20]).unwrap());
        let mut bytes = FileBytes::new(DatedBy::BytesBefore, id(3));
        let walk = [id(3), id(2), id(2), id(1), None];
        assert_eq!(walk.map(|there| bytes.are(there)), [true, true, true, false, false]);
        let mut bytes = FileBytes::new(DatedBy::Bytes, id(3));
        assert_eq!(walk.map(|there| bytes.are(there)), [true, false, false, false, false]);
        // What no commit has yet.
        let mut bytes = FileBytes::new(DatedBy::BytesBefore, None);
        assert_eq!([id(2), id(2), None].map(|there| bytes.are(there)), [true, true, false]);
    }
}
