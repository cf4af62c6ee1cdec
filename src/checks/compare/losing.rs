//! Tables that lose keys in a pull request, and which of the keys other versions still serve.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashMap;

use crate::base::expr::ExprError;
use crate::database::catalog::{Format, TableFile};
use crate::database::diff::{Diff, ServedDiff, SliceName, TableDiff, each_served_key};
use crate::database::state::State;
use crate::database::table::{Keys, TableScope};
use crate::specs::TableSpec;

/// A table of a backend on a system, in all versions, that loses keys or measurements.
pub(super) struct LosingTable<'a> {
    /// System.
    pub system: &'a str,
    /// Backend.
    pub backend: &'a str,
    /// Name.
    pub table: &'a str,
    /// What changed of it in versions that lose keys or measurements.
    pub changes: Vec<(&'a TableDiff, &'a ServedDiff)>,
}

/// The keys that no version serves any more.
#[derive(Default)]
pub(super) struct UnservedKeys<'a> {
    /// The keys by slice.
    pub slices: BTreeMap<&'a SliceName, LostSlice<'a>>,
    /// The number of these slices of which no version serves any key.
    pub whole_slices: usize,
}

/// A slice of which keys are lost.
#[derive(Default)]
pub(super) struct LostSlice<'a> {
    /// How many.
    pub keys: u64,
    /// Versions that served them.
    pub versions: BTreeSet<&'a str>,
}

impl<'a> LosingTable<'a> {
    /// The tables of a pull request that lose something, in the order of systems, backends and names. That all of a
    /// system is gone is another rule's to report.
    pub fn all(head: State<'a>, diff: &'a Diff) -> Vec<Self> {
        let tables = &head.catalog.tables;
        let left: BTreeSet<&str> = tables.iter().map(|t| t.place.system.as_str()).collect();
        let mut found: BTreeMap<(&str, &str, &str), Self> = BTreeMap::new();
        for diff in diff.tables.iter().filter(|d| left.contains(d.place.system.as_str())) {
            let Some(served) = &diff.served else { continue };
            if served.lost > 0 || !served.unmeasured.is_empty() {
                let (system, backend) = (diff.place.system.as_str(), diff.place.backend.as_str());
                let table = diff.table.as_str();
                let new = || Self { system, backend, table, changes: Vec::new() };
                let of_group = found.entry((system, backend, table)).or_insert_with(new);
                of_group.changes.push((diff, served));
            }
        }
        found.into_values().collect()
    }

    /// The head's versions of the table.
    fn versions(&self, head: State<'a>) -> impl Iterator<Item = &'a TableFile> {
        // Text stands in for text alone: the loader does not read it.
        let had_parquet = self.changes.iter().any(|(diff, _)| diff.was_parquet());
        let reads_text = head.specs.loader.text_tables || !had_parquet;
        let (system, backend, table) = (self.system, self.backend, self.table);
        let of_group = move |file: &&TableFile| {
            let (own_system, own_backend, _, own_table) = file.identity();
            (own_system, own_backend, own_table) == (system, backend, table)
        };
        let files = head.catalog.tables.iter().filter(of_group);
        files.filter(move |file| file.format == Format::Parquet || reads_text)
    }

    /// Reads the head's versions, and returns the lost keys that none of them serves.
    ///
    /// # Errors
    ///
    /// When a formula of the `spec` of the table does not fit a version's columns.
    pub fn unserved(
        &self,
        head: State<'a>,
        spec: &TableSpec,
    ) -> Result<UnservedKeys<'a>, ExprError> {
        // Each lost key once, with its version and slice.
        let mut lost: HashMap<u64, (&'a str, &'a SliceName)> = HashMap::new();
        for (diff, served) in &self.changes {
            let keys = served.lost_keys.iter();
            let slice = |number: u32| &served.key_slices[number as usize];
            let version = diff.place.version.as_str();
            lost.extend(keys.map(|key| (key.hash, (version, slice(key.slice)))));
        }
        let mut served = BTreeSet::new();
        let columns = spec.loaded_columns();
        for file in self.versions(head) {
            if lost.is_empty() {
                break;
            }
            // What cannot be read is a finding of its own, and serves nothing.
            let Ok(table) = head.columns(file, &columns) else { continue };
            let scope = TableScope::new(&table, spec, &file.place, None, &head.specs.lookups);
            let keys = Keys::new(&spec.key, &scope)?;
            let forget = |hash: u64| _ = lost.remove(&hash);
            each_served_key(&scope, &keys, forget, |slice| _ = served.insert(slice))?;
        }
        let mut slices: BTreeMap<&SliceName, LostSlice<'_>> = BTreeMap::new();
        for (version, slice) in lost.into_values() {
            let slice = slices.entry(slice).or_default();
            slice.keys += 1;
            slice.versions.insert(version);
        }
        let whole_slices = slices.keys().filter(|slice| !served.contains(**slice)).count();
        Ok(UnservedKeys { slices, whole_slices })
    }
}
