//! The versions of a table in the loader's order.

use std::collections::BTreeMap;
use std::str::FromStr;

use pep440_rs::Version;

use crate::database::catalog::TableFile;

/// A version of a table, with its files. There are several files if several layouts or families contain the table.
#[derive(Debug)]
pub(crate) struct Edition<'a> {
    /// The name of the version's directory.
    pub version: &'a str,
    /// The parsed version, by which the versions are sorted. `None` if the version cannot be parsed; the loader skips
    /// such versions.
    parsed: Option<Version>,
    /// The files of the table, sorted by path.
    pub files: Vec<&'a TableFile>,
}

/// The versions of one table of one backend on one system, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Editions<'a>(Vec<Edition<'a>>);

/// The versions of one table of one backend, by system.
pub(super) type BySystem<'a> = BTreeMap<&'a str, Editions<'a>>;

impl<'a> Editions<'a> {
    pub(super) fn add(&mut self, file: &'a TableFile) {
        let version = file.place.version.as_str();
        match self.0.iter_mut().find(|e| e.version == version) {
            Some(edition) => edition.files.push(file),
            None => {
                let parsed = Version::from_str(version).ok();
                self.0.push(Edition { version, parsed, files: vec![file] });
            }
        }
    }

    /// Returns the version with a name.
    pub(crate) fn get(&self, version: &str) -> Option<&Edition<'a>> {
        self.0.iter().find(|e| e.version == version)
    }

    /// Returns the versions, oldest first.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Edition<'a>> {
        self.0.iter()
    }

    /// Returns the version directly before `version` in the list; `None` if `version` is the oldest or not in the
    /// list.
    pub(crate) fn last_before(&self, version: &str) -> Option<&Edition<'a>> {
        let at = self.0.iter().position(|e| e.version == version)?;
        self.0[..at].last()
    }

    /// Returns the versions that are older than `version` in the loader's order. Versions that cannot be parsed are
    /// left out.
    pub(crate) fn before(&self, version: &str) -> impl Iterator<Item = &Edition<'a>> {
        let version = Version::from_str(version).ok();
        self.0.iter().filter(move |e| e.parsed.is_some() && e.parsed < version)
    }

    /// Sorts the versions from oldest to newest.
    pub(super) fn sort(&mut self) {
        self.0.sort_by_cached_key(|e| (e.parsed.clone(), e.version));
    }

    /// Returns the newest version; `None` if there are no versions.
    pub(super) fn newest(&self) -> Option<&Edition<'a>> {
        self.0.last()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::table_file;
    use super::*;

    #[test]
    fn versions_have_the_order_of_the_loader() {
        let files = ["0.9.0", "0.10.0", "0.10.0rc1", "dev-1aa0e962"].map(|v| table_file("s", v));
        let mut editions = Editions::default();
        files.iter().for_each(|f| editions.add(f));
        editions.sort();
        let order: Vec<&str> = editions.iter().map(|e| e.version).collect();
        assert_eq!(order, ["dev-1aa0e962", "0.9.0", "0.10.0rc1", "0.10.0"]);
        let before: Vec<&str> = editions.before("0.10.0").map(|e| e.version).collect();
        assert_eq!(before, ["0.9.0", "0.10.0rc1"], "one that cannot be ordered is passed over");
        assert_eq!(editions.before("dev-1aa0e962").count(), 0, "nor is anything before it");
        // A local version follows its release.
        let local = "0.10.0+nvinternal.rubin.0.8full.66997102";
        assert_eq!(editions.before(local).count(), 3);
    }
}
