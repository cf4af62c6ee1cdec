//! Tables that lose keys in a pull request, and which of the keys other versions still serve.
//!
//! The other versions are held against each other by other rules, too. So what is decoded of them for that is looked
//! through at once; what nobody decodes is read at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hashbrown::HashMap;

use crate::base::expr::ExprError;
use crate::base::threads;
use crate::database::catalog::{Format, TableFile};
use crate::database::diff::{Diff, LostKey, ServedDiff, SliceName, TableDiff, each_served_key};
use crate::database::source::Source;
use crate::database::state::State;
use crate::database::table::{Keys, TableScope};
use crate::findings::Reads;
use crate::specs::{Specs, TableSpec};

/// System, backend and name of a table.
type Group<'a> = (&'a str, &'a str, &'a str);

/// The tables of a pull request that lose keys or measurements.
pub struct LosingTables<'a> {
    /// What the head knows of tables.
    specs: &'a Specs,
    groups: BTreeMap<Group<'a>, LosingTable<'a>>,
}

/// A table of a backend on a system, in all versions, that loses something.
pub struct LosingTable<'a> {
    /// System.
    pub system: &'a str,
    /// Backend.
    pub backend: &'a str,
    /// Name.
    pub table: &'a str,
    /// What changed of it in versions that lose keys or measurements.
    pub changes: Vec<(&'a TableDiff, &'a ServedDiff)>,
    /// The number of the first lost key of each change.
    starts: Vec<u32>,
    /// The head's tables of the group, by path with the id of their bytes.
    files: BTreeMap<&'a str, (&'a TableFile, Option<git2::Oid>)>,
    lost: LostKeys,
    seen: Mutex<SeenTables>,
}

/// The lost keys of all changes, each key once. Several versions are looked through at once.
struct LostKeys {
    /// Their numbers by hash.
    numbers: HashMap<u64, u32>,
    /// Whether a version that was looked through serves a key, by its number.
    is_served: Vec<AtomicBool>,
}

/// The versions that were looked through.
#[derive(Debug, Default)]
pub struct SeenTables {
    /// Slices that one of them serves.
    pub served: BTreeSet<SliceName>,
    /// Their paths.
    paths: BTreeSet<String>,
}

/// A slice of which keys are lost.
#[derive(Default)]
pub struct LostSlice<'a> {
    /// How many.
    pub keys: u64,
    /// Versions that served them.
    pub versions: BTreeSet<&'a str>,
}

impl<'a> LosingTables<'a> {
    /// Those of a pull request. That all of a system is gone is another rule's to say.
    pub fn of(head: State<'a>, diff: &'a Diff) -> Self {
        let tables = &head.catalog.tables;
        let left: BTreeSet<&str> = tables.iter().map(|t| t.place.system.as_str()).collect();
        let mut changes: BTreeMap<Group<'a>, Vec<(&TableDiff, &ServedDiff)>> = BTreeMap::new();
        for table in diff.tables.iter().filter(|d| left.contains(d.place.system.as_str())) {
            let Some(served) = &table.served else { continue };
            if served.lost > 0 || !served.unmeasured.is_empty() {
                let group = (&*table.place.system, &*table.place.backend, &*table.table);
                changes.entry(group).or_default().push((table, served));
            }
        }
        let groups: Vec<_> = changes.into_iter().collect();
        let keys = |(_, changes): &(Group<'a>, Vec<(&TableDiff, &ServedDiff)>)| -> usize {
            changes.iter().map(|(_, served)| served.lost_keys.len()).sum()
        };
        let found = threads::map_largest_first(&groups, keys, |(group, changes)| {
            LosingTable::new(head, *group, changes.clone())
        });
        let specs = head.specs;
        Self { specs, groups: groups.into_iter().map(|(group, _)| group).zip(found).collect() }
    }

    /// The tables in the order of their systems, backends and names.
    pub fn iter(&self) -> impl Iterator<Item = &LosingTable<'a>> {
        self.groups.values()
    }

    /// Looks through a table that was decoded with all that its loader reads of it, if the head has it and a lost key
    /// may be in it.
    ///
    /// # Errors
    ///
    /// When a formula of its spec does not fit its columns.
    pub fn see(
        &self,
        source: &dyn Source,
        file: &TableFile,
        specs: &Specs,
        scope: &TableScope<'_>,
        keys: &Keys<'_>,
    ) -> Result<(), ExprError> {
        let place = &file.place;
        let group = (place.system.as_str(), place.backend.as_str(), file.table.as_str());
        let Some(table) = self.groups.get(&group) else { return Ok(()) };
        let of_head = table.files.get(file.entry.path.as_str()).and_then(|(_, id)| *id);
        let is_of_head = of_head.is_some() && of_head == source.id(&file.entry);
        // Lost keys do not depend on figures of the system, which these may.
        let is_alike =
            || specs.know_alike(self.specs, &file.table) && !Reads::loaded(scope.spec).reads_any();
        if is_of_head && is_alike() { table.see(file, scope, keys) } else { Ok(()) }
    }
}

impl<'a> LosingTable<'a> {
    fn new(
        head: State<'a>,
        group: Group<'a>,
        changes: Vec<(&'a TableDiff, &'a ServedDiff)>,
    ) -> Self {
        let of_group = |file: &&TableFile| {
            (&*file.place.system, &*file.place.backend, file.table.as_str()) == group
        };
        // Text stands in for text alone: the loader does not read it.
        let had_parquet = changes.iter().any(|(diff, _)| diff.was_parquet());
        let serves = |file: &&TableFile| {
            file.format == Format::Parquet || head.specs.loader.text_tables || !had_parquet
        };
        let files = head.catalog.tables.iter().filter(of_group).filter(serves);
        let files =
            files.map(|file| (file.entry.path.as_str(), (file, head.source.id(&file.entry))));
        let (mut starts, mut next) = (Vec::with_capacity(changes.len()), 0);
        for (_, served) in &changes {
            starts.push(next);
            next += served.lost_keys.len() as u32;
        }
        let (system, backend, table) = group;
        let (files, lost) = (files.collect(), LostKeys::of(&changes, &starts));
        Self { system, backend, table, changes, starts, files, lost, seen: Mutex::default() }
    }

    /// A lost key by its number, and the place of its change.
    fn key(&self, number: u32) -> (usize, LostKey) {
        let change = self.starts.partition_point(|start| *start <= number) - 1;
        let key = (number - self.starts[change]) as usize;
        (change, self.changes[change].1.lost_keys[key])
    }

    /// The lost keys that no version serves by slice: how many, and which versions served them.
    pub fn by_slice(&self) -> BTreeMap<&'a SliceName, LostSlice<'a>> {
        let mut counts: Vec<Vec<u64>> =
            self.changes.iter().map(|(_, served)| vec![0; served.key_slices.len()]).collect();
        for number in self.lost.left() {
            let (change, key) = self.key(number);
            counts[change][key.slice as usize] += 1;
        }
        let mut slices: BTreeMap<&SliceName, LostSlice<'_>> = BTreeMap::new();
        for ((diff, served), counts) in self.changes.iter().zip(counts) {
            for (slice, keys) in served.key_slices.iter().zip(counts).filter(|(_, n)| *n > 0) {
                let slice = slices.entry(slice).or_default();
                slice.keys += keys;
                slice.versions.insert(&diff.place.version);
            }
        }
        slices
    }

    /// Bytes of the versions that have not been looked through.
    pub fn size(&self) -> u64 {
        let seen = self.seen();
        let unseen = self.files.iter().filter(|(path, _)| !seen.paths.contains(**path));
        unseen.map(|(_, (file, _))| file.entry.size).sum()
    }

    fn seen(&self) -> MutexGuard<'_, SeenTables> {
        // A thread that panicked has added slices that are served, or not yet.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn see(
        &self,
        file: &TableFile,
        scope: &TableScope<'_>,
        keys: &Keys<'_>,
    ) -> Result<(), ExprError> {
        if self.lost.are_served() || !self.seen().paths.insert(file.entry.path.clone()) {
            return Ok(());
        }
        let mut slices = Vec::new();
        each_served_key(scope, keys, |hash| self.lost.serve(hash), |slice| slices.push(slice))?;
        self.seen().served.extend(slices);
        Ok(())
    }

    /// Reads the versions of the head that nobody looked through, so that [`by_slice`](Self::by_slice) has the keys that
    /// none serves.
    ///
    /// # Errors
    ///
    /// When a formula of the `spec` of the table does not fit a version's columns.
    pub fn see_all(
        &self,
        head: State<'_>,
        spec: &TableSpec,
    ) -> Result<MutexGuard<'_, SeenTables>, ExprError> {
        let columns = spec.loaded_columns();
        for (path, (file, _)) in &self.files {
            if self.lost.are_served() {
                break;
            }
            let is_seen = self.seen().paths.contains(*path);
            if is_seen {
                continue;
            }
            // What cannot be read is a finding of its own, and serves nothing.
            let Ok(table) = head.columns(file, head.specs, &columns) else { continue };
            let scope = TableScope::new(&table, spec, &file.place, None, &head.specs.lookups);
            self.see(file, &scope, &Keys::new(&spec.key, &scope)?)?;
        }
        Ok(self.seen())
    }
}

impl LostKeys {
    /// Those of some changes, those of each numbered from its start; of a key that several versions lost the number is
    /// that of the last change.
    fn of(changes: &[(&TableDiff, &ServedDiff)], starts: &[u32]) -> Self {
        let mut numbers = HashMap::new();
        let mut given = 0;
        for ((_, served), start) in changes.iter().zip(starts) {
            numbers.extend(
                served.lost_keys.iter().zip(*start..).map(|(key, number)| (key.hash, number)),
            );
            given += served.lost_keys.len();
        }
        let is_served = (0..given).map(|_| AtomicBool::new(false)).collect();
        Self { numbers, is_served }
    }

    /// Notes that a version serves a key, by its hash.
    fn serve(&self, hash: u64) {
        if let Some(number) = self.numbers.get(&hash) {
            self.is_served[*number as usize].store(true, Ordering::Relaxed);
        }
    }

    /// Whether each is served by some version.
    fn are_served(&self) -> bool {
        self.left().next().is_none()
    }

    /// The numbers of those that none serves, in no order.
    fn left(&self) -> impl Iterator<Item = u32> {
        let numbers = self.numbers.values().copied();
        numbers.filter(|number| !self.is_served[*number as usize].load(Ordering::Relaxed))
    }
}
