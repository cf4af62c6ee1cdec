//! The slices that tables serve. Lookups check them before they interpolate. The keys of files suffice
//! to find what a plan lacks; rows are not needed.

use std::collections::BTreeSet;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use hashbrown::{HashMap, HashSet};

use super::machine::MachineFigures;
use super::names::NameCodes;
use super::refusal::Refusal;
use super::slices::{FileSlices, SliceKey, key_columns};
use super::tables::TableName;
use crate::database::table::TableScope;
use crate::specs::TableSpec;

/// A machine, with the slices that its tables serve.
pub trait SliceSource {
    /// The machine's figures.
    fn machine(&self) -> &MachineFigures;

    /// The number of a text in slice keys.
    fn code(&self, text: &str) -> u32;

    /// Returns true if the loader finds a file of a table.
    fn has_files(&self, table: TableName) -> bool;

    /// The slice keys that lookups in a table must match, of all served rows.
    ///
    /// # Errors
    ///
    /// If the loader refuses the table or serves none of its rows; [`Refusal::Unread`] if one of its
    /// files was not read.
    fn keys(&self, table: TableName) -> Result<&HashSet<SliceKey>, Refusal>;
}

/// The refusal of a lookup without rows; `of` describes the slice for people.
pub(super) fn no_rows(table: TableName, of: &str) -> Refusal {
    Refusal::Missing(format!("{} has no rows of {of}", table.stem()))
}

/// Returns `key` if the table serves that slice.
///
/// # Errors
///
/// If the table does not serve the slice; `of` describes the slice for people.
pub(super) fn served(
    source: &dyn SliceSource,
    table: TableName,
    key: SliceKey,
    of: impl FnOnce() -> String,
) -> Result<SliceKey, Refusal> {
    if source.keys(table)?.contains(&key) { Ok(key) } else { Err(no_rows(table, &of())) }
}

/// The slices of a file, each with the kernels of its rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FileKeys(HashSet<(SliceKey, u32)>);

impl FileKeys {
    /// The columns of a table that decide its slice keys.
    pub(crate) fn columns(spec: &TableSpec) -> BTreeSet<&str> {
        key_columns(spec)
    }

    /// The keys of a decoded table; `None` if the loader refuses the file or one of its rows, because
    /// the served rows are unknown then.
    pub(crate) fn of(scope: &TableScope<'_>, names: &NameCodes) -> Option<Self> {
        Self::of_slices(&FileSlices::group(scope, names).ok()?)
    }

    /// The keys of a file's slices; `None` if the loader refuses a row.
    pub(super) fn of_slices(slices: &FileSlices) -> Option<Self> {
        let is_refused = slices.fault(|_| true).is_some();
        (!is_refused).then(|| Self(slices.keys().collect()))
    }

    /// The keys of the slices with rows of admitted kernels.
    fn admitted(&self, admits: impl Fn(u32) -> bool) -> impl Iterator<Item = &SliceKey> {
        self.0.iter().filter(move |(_, kernel)| admits(*kernel)).map(|(key, _)| key)
    }
}

/// The keys of many files. Equal sets are kept once, because versions mostly measure the same slices.
#[derive(Debug, Default)]
pub(crate) struct SharedFileKeys(Mutex<HashMap<u64, Vec<Arc<FileKeys>>>>);

impl SharedFileKeys {
    /// Returns the kept copy of equal keys, or keeps the given keys.
    pub(crate) fn share(&self, keys: FileKeys) -> Arc<FileKeys> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let hasher = known.hasher();
        // The hashes are added up, because a set has no order.
        let sum = keys.0.iter().fold(0, |sum: u64, key| sum.wrapping_add(hasher.hash_one(key)));
        let alike = known.entry(sum).or_default();
        if let Some(equal) = alike.iter().find(|equal| ***equal == keys) {
            return equal.clone();
        }
        let keys = Arc::new(keys);
        alike.push(keys.clone());
        keys
    }
}

/// A file of a table, by its keys.
pub(crate) struct KeySource<'k> {
    /// The file's keys; `None` if the file was not read.
    pub keys: Option<&'k FileKeys>,
    /// The kernel_source values whose rows are served; `None` serves all.
    pub kernels: Option<BTreeSet<String>>,
}

type MergedKeys = OnceLock<Result<HashSet<SliceKey>, Refusal>>;

/// The tables of a backend's version on a machine, by the keys of their files.
pub(crate) struct ServedKeys<'k> {
    machine: &'k MachineFigures,
    names: &'k NameCodes,
    sources: [Vec<KeySource<'k>>; TableName::ALL.len()],
    merged: [MergedKeys; TableName::ALL.len()],
}

impl<'k> ServedKeys<'k> {
    /// Creates the tables of a machine from their `sources`; `names` numbers the texts in keys.
    pub(crate) fn new(
        machine: &'k MachineFigures,
        names: &'k NameCodes,
        sources: impl Fn(TableName) -> Vec<KeySource<'k>>,
    ) -> Self {
        let merged = [const { OnceLock::new() }; TableName::ALL.len()];
        Self { machine, names, sources: TableName::ALL.map(sources), merged }
    }

    fn merge(&self, table: TableName) -> Result<HashSet<SliceKey>, Refusal> {
        let mut merged = HashSet::new();
        for KeySource { keys, kernels } in &self.sources[table as usize] {
            let keys = keys.ok_or(Refusal::Unread(table.stem()))?;
            let kernels: Option<HashSet<u32>> =
                kernels.as_ref().map(|k| k.iter().map(|name| self.names.code(name)).collect());
            let admits = |kernel| kernels.as_ref().is_none_or(|all| all.contains(&kernel));
            merged.extend(keys.admitted(admits));
        }
        if merged.is_empty() {
            return Err(Refusal::no_rows_at_all(table.stem()));
        }
        Ok(merged)
    }
}

impl SliceSource for ServedKeys<'_> {
    fn machine(&self) -> &MachineFigures {
        self.machine
    }

    fn code(&self, text: &str) -> u32 {
        self.names.code(text)
    }

    fn has_files(&self, table: TableName) -> bool {
        !self.sources[table as usize].is_empty()
    }

    fn keys(&self, table: TableName) -> Result<&HashSet<SliceKey>, Refusal> {
        let merged = self.merged[table as usize].get_or_init(|| self.merge(table));
        merged.as_ref().map_err(Clone::clone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_keys_are_shared_and_others_are_not() {
        let keys = |number: u32| FileKeys([([number; 9], 0), ([7; 9], 1)].into_iter().collect());
        let shared = SharedFileKeys::default();
        let [a, b, c] = [1, 2, 1].map(|number| shared.share(keys(number)));
        assert!(Arc::ptr_eq(&a, &c) && !Arc::ptr_eq(&a, &b));
        assert_eq!((a.as_ref(), b.as_ref()), (&keys(1), &keys(2)));
    }
}
