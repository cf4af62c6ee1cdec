//! The peers of a table on other systems.

use std::ops::Bound;

use super::editions::{BySystem, Edition, Editions};

/// The maximal number of peers on other systems, or in other versions, of a table. Comparing every pair takes
/// quadratic time, and more than eight peers would not improve the result. Tables of the public database have up to
/// four.
pub(super) const MOST_PEERS: usize = 8;

/// Returns the systems for which `wanted` returns an edition, sorted by name. If there are more than [`MOST_NEAR`],
/// those closest to `own` in that order are returned.
pub(super) fn peers_around<'s, 'a>(
    systems: &'s BySystem<'a>,
    own: &str,
    wanted: impl Fn(&str, &'s Editions<'a>) -> Option<&'s Edition<'a>>,
) -> Vec<SystemPeer<'s, 'a>> {
    let near = |(system, editions): (&&'a str, &'s Editions<'a>)| {
        tracing::trace!("lookup");
        Some((*system, editions, wanted(system, editions)?))
    };
    let below = (Bound::Unbounded, Bound::Excluded(own));
    let above = (Bound::Excluded(own), Bound::Unbounded);
    let mut before: Vec<_> =
        systems.range::<str, _>(below).rev().filter_map(near).take(MOST_PEERS).collect();
    let mut after: Vec<_> =
        systems.range::<str, _>(above).filter_map(near).take(MOST_PEERS).collect();
    let half = MOST_PEERS / 2;
    before.truncate(half.max(MOST_PEERS - after.len()));
    after.truncate(MOST_PEERS - before.len());
    before.reverse();
    before.extend(after);
    before
}

/// The kinship of a table and its peers on other systems.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemKinship {
    /// The systems have the same GPU generation.
    Generation,
    /// The systems only have the same version of the measured software.
    SameVersion,
}

/// A peer of a table: its system, the versions of the table there, and the version to compare with.
pub type SystemPeer<'s, 'a> = (&'a str, &'s Editions<'a>, &'s Edition<'a>);

#[cfg(test)]
mod tests {
    use super::super::tests::table_file;
    use super::*;
    use crate::database::catalog::TableFile;

    #[test]
    fn of_many_systems_those_next_to_it_are_near() {
        let files: Vec<TableFile> = (10..99).map(|i| table_file(&format!("s{i}"), "1")).collect();
        let mut systems = BySystem::new();
        files.iter().for_each(|f| systems.entry(&f.place.system).or_default().add(f));
        let names_in = |systems: &BySystem<'_>, own: &str| {
            let near = peers_around(systems, own, |_, editions| editions.get("1"));
            let names: Vec<&str> = near.iter().map(|(system, ..)| *system).collect();
            (names.len(), names[0].to_owned(), names[names.len() - 1].to_owned())
        };
        let names = |own: &str| names_in(&systems, own);
        let expected = |first: &str, last: &str| (8, first.to_owned(), last.to_owned());
        assert_eq!(names("s50"), expected("s46", "s54"));
        assert_eq!(names("s11"), expected("s10", "s18"));
        assert_eq!(names("s98"), expected("s90", "s97"));
        assert_eq!(names("t"), expected("s91", "s98"));
        systems.retain(|name, _| *name < "s13");
        assert_eq!(names_in(&systems, "s11"), (2, "s10".to_owned(), "s12".to_owned()));
    }
}
