//! The versions of a table, in the loader's order.

use std::str::FromStr;

use pep440_rs::Version;

use crate::database::catalog::TableFile;

/// A version of a table: its files, one unless it lies in two layouts.
#[derive(Debug)]
pub struct Edition<'a> {
    /// As its directory is named.
    pub version: &'a str,
    /// As it is ordered; the loader passes over one that it cannot order.
    parsed: Option<Version>,
    /// By path.
    pub files: Vec<&'a TableFile>,
}

/// The versions of one table of one backend on one system, in their order.
#[derive(Debug, Default)]
pub struct Editions<'a>(Vec<Edition<'a>>);

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

    /// The version of that name.
    pub fn get(&self, version: &str) -> Option<&Edition<'a>> {
        self.0.iter().find(|e| e.version == version)
    }

    /// The versions, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Edition<'a>> {
        self.0.iter()
    }

    /// The one that stands before `version` in their order.
    pub fn last_before(&self, version: &str) -> Option<&Edition<'a>> {
        let at = self.0.iter().position(|e| e.version == version)?;
        self.0[..at].last()
    }

    /// Those strictly before `version`, as the loader orders them.
    pub fn before(&self, version: &str) -> impl Iterator<Item = &Edition<'a>> {
        let version = Version::from_str(version).ok();
        self.0.iter().filter(move |e| e.parsed.is_some() && e.parsed < version)
    }

    /// Puts them in the order of their versions.
    pub(super) fn sort(&mut self) {
        self.0.sort_by_cached_key(|e| (e.parsed.clone(), e.version));
    }

    /// The newest.
    pub(super) fn newest(&self) -> Option<&Edition<'a>> {
        self.0.last()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::table_file;
    use super::*;

    #[test]
    fn versions_are_ordered_as_the_loader_orders_them() {
        let files = ["0.9.0", "0.10.0", "0.10.0rc1", "dev-1aa0e962"].map(|v| table_file("s", v));
        let mut editions = Editions::default();
        files.iter().for_each(|f| editions.add(f));
        editions.sort();
        let order: Vec<&str> = editions.iter().map(|e| e.version).collect();
        assert_eq!(order, ["dev-1aa0e962", "0.9.0", "0.10.0rc1", "0.10.0"]);
        let before: Vec<&str> = editions.before("0.10.0").map(|e| e.version).collect();
        assert_eq!(before, ["0.9.0", "0.10.0rc1"], "one that cannot be ordered is passed over");
        assert_eq!(editions.before("dev-1aa0e962").count(), 0, "nor is anything before it");
        // A local version is one of its release, later than it.
        let local = "0.10.0+nvinternal.rubin.0.8full.66997102";
        assert_eq!(editions.before(local).count(), 3);
    }
}
