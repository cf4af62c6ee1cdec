//! Finds the keys that no query reaches any more after a change.
//!
//! A key that a table loses may still be served: the loader fills a table's gaps from earlier versions and donors, and
//! a query can name another version that has the key. So the keys that all changed tables of one name, system and
//! backend lose together are looked up in all versions that the head has of the table. If the database states which
//! version is current, its lost keys are looked up only in the files from which it is loaded.
//!
//! The planner interpolates along the axes of a key. The other parts of a key are its shape. A lost point between two
//! others of its sweep can be interpolated. A lost shape, or the lost end of a sweep, cannot.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use hashbrown::HashMap;
use rayon::prelude::*;

use smallvec::SmallVec;

use super::interpolated::{AxisPoint, ServedLines};
use super::read_keys::each_read_key;
use super::{Diff, FAR, ServedDiff, SliceName, TableDiff};
use crate::base::expr::ExprError;
use crate::base::stats::times_off;
use crate::database::catalog::{Format, Place, TableFile};
use crate::database::served::TableIndex;
use crate::database::state::State;
use crate::specs::{NoiseBands, TableSpec};

/// Keys that no lookup finds any more after a change. All keys are of one table on one system and backend.
#[derive(Debug, Clone, PartialEq)]
pub struct Unserved {
    /// The system, family, backend and version of the changed table; if there are several, of the first one by path.
    pub place: Place,
    /// The name of the table.
    pub table: String,
    /// The version whose file serves the most keys of the table in the head; `None` if no file serves any key.
    pub best_version: Option<String>,
    /// The head's current version; `None` if the base's current version was not loaded from the changed tables.
    pub current: Option<String>,
    /// The keys that no lookup finds any more, counted by slice.
    pub slices: BTreeMap<SliceName, UnservedSlice>,
    /// The number of slices in `slices` of which no key is served any more.
    pub whole_slices: usize,
    /// For each axis, the sorted values of the lost keys that lie between still served points of their sweep.
    pub inner_values: BTreeMap<String, Vec<f64>>,
    /// For each axis, the sorted values of the lost keys that lie beyond the still served points of their sweep.
    pub end_values: BTreeMap<String, Vec<f64>>,
}

/// Counts of the keys in one slice that no lookup finds after a change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnservedSlice {
    /// The number of keys that no lookup finds any more.
    pub keys: u64,
    /// The number of keys that the changed tables lost, including keys that another version still serves.
    pub removed: u64,
    /// The maximum number of keys of the slice that a single file of the head serves.
    pub remaining: u64,
    /// The number of `keys` that lie between still served points of their sweep.
    pub inner: u64,
    /// The number of `inner` keys that the planner can interpolate from still served points.
    pub interpolated: u64,
    /// The number of `interpolated` keys whose interpolated latency differs from the measured one by more than noise.
    pub wrongly_interpolated: u64,
    /// The number of `keys` whose shape no version serves. A shape is a key without its axis values.
    pub of_lost_shapes: u64,
    /// The number of shapes that no version serves. A shape is a key without its axis values.
    pub shapes: u64,
    /// The number of shapes (keys without axis values) that are still served, but with a shorter sweep.
    pub shorter_sweeps: u64,
    /// The versions whose tables served the lost keys before the change.
    pub versions: BTreeSet<String>,
}

impl Unserved {
    /// Returns the number of keys that no lookup finds any more.
    pub(crate) fn keys(&self) -> u64 {
        self.slices.values().map(|slice| slice.keys).sum()
    }

    /// Returns the number of shapes that no version serves. A shape is a key without its axis values.
    pub(crate) fn shapes(&self) -> u64 {
        self.slices.values().map(|slice| slice.shapes).sum()
    }

    /// Returns the number of shapes (keys without axis values) that are still served, but with a shorter sweep.
    pub(crate) fn shorter_sweeps(&self) -> u64 {
        self.slices.values().map(|slice| slice.shorter_sweeps).sum()
    }
}

/// All changed tables that have the same name, system and backend, and that lost keys.
struct LosingTables<'a> {
    system: &'a str,
    backend: &'a str,
    table: &'a str,
    /// The head's current files of the table; `None` if the base's current version was not loaded from changed tables.
    current: Option<CurrentFiles<'a>>,
    changes: Vec<(&'a TableDiff, &'a ServedDiff)>,
}

/// The files from which the current version of a table is loaded.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct CurrentFiles<'a> {
    version: &'a str,
    paths: BTreeSet<&'a str>,
}

/// A key that a changed table served before the change but not after it.
struct PlacedLostKey<'a> {
    version: &'a str,
    slice: &'a SliceName,
    /// A hash of the key's parts that are not axes; the axis values; the latency in ms. `None` until the row is read.
    at: Option<(u64, AxisPoint, f64)>,
}

/// The smallest and the largest served value of a sweep along each axis.
type SweepEnds = SmallVec<[(f64, f64); 2]>;

/// The keys that the head still serves of a table that lost keys: their counts, their points, and their sweeps' ends.
#[derive(Default)]
struct RemainingKeys<'a> {
    /// The ends of each sweep that lost keys, by a hash of the key's non-axis parts; `None` if no point is served.
    ends: HashMap<u64, Option<SweepEnds>>,
    /// For each slice, the maximum number of its keys that a single file serves.
    slices: BTreeMap<SliceName, u64>,
    /// The number of keys that the changed tables lost, by slice.
    removed: BTreeMap<&'a SliceName, u64>,
    /// The maximum number of keys that a single file serves, and this file's version; `None` if no key is served.
    most: Option<(u64, String)>,
    /// The served points of the sweeps that lost keys.
    lines: ServedLines<'a>,
}

impl Diff {
    /// Finds the keys that no version of the head serves any more, sorted by system, backend and table. `impossible`
    /// maps the path of a base table to row numbers; the keys of these rows are not reported.
    ///
    /// # Errors
    ///
    /// If a formula of a table's spec does not fit a version's columns.
    pub(crate) fn find_unserved(
        &self,
        base: State<'_>,
        head: State<'_>,
        impossible: &BTreeMap<&str, HashSet<u32>>,
    ) -> Result<Vec<Unserved>, ExprError> {
        let tables = LosingTables::all(self, base, head);
        let found = tables.par_iter().map(|tables| tables.unserved(base, head, impossible));
        let found: Vec<_> = found.collect::<Result<_, _>>()?;
        Ok(found.into_iter().flatten().collect())
    }
}

impl<'a> LosingTables<'a> {
    fn all(diff: &'a Diff, base: State<'a>, head: State<'a>) -> Vec<Self> {
        // Most changes lose no key and do not need the indices.
        let shelves = LazyCell::new(|| {
            [base, head].map(|s| TableIndex::new(s.catalog, &s.facts.sidecars.reuse, s.specs))
        });
        let mut found: BTreeMap<_, Self> = BTreeMap::new();
        for diff in &diff.tables {
            let Some(served) = diff.served.as_ref().filter(|served| served.lost > 0) else {
                continue;
            };
            let (system, backend, table) =
                (&*diff.place.system, &*diff.place.backend, &*diff.table);
            let [before, after] = shelves.each_ref().map(|s| CurrentFiles::of(s, head, diff));
            let path = diff.old_path.as_deref().unwrap_or(&diff.path);
            let current = after.filter(|_| before.is_some_and(|files| files.paths.contains(path)));
            let key = (system, backend, table, current.clone());
            let new = || Self { system, backend, table, current, changes: Vec::new() };
            let of_name = found.entry(key).or_insert_with(new);
            of_name.changes.push((diff, served));
        }
        found.into_values().collect()
    }

    /// Returns the files from which the loader reads the table in the head.
    fn files_of_head<'h>(&self, head: State<'h>) -> Vec<&'h TableFile> {
        // A text table replaces a text table only: the loader does not read text if there is a Parquet file.
        let had_parquet = self.changes.iter().any(|(diff, _)| diff.was_parquet());
        let reads_text = head.specs.loader.text_tables || !had_parquet;
        let files = head.catalog.tables.iter().filter(|file| {
            let (system, backend, _, table) = file.identity();
            (system, backend, table) == (self.system, self.backend, self.table)
        });
        let is_reached = |file: &&TableFile| {
            self.current.as_ref().is_none_or(|files| files.paths.contains(&*file.entry.path))
        };
        let files = files.filter(is_reached);
        files.filter(|file| file.format == Format::Parquet || reads_text).collect()
    }

    /// Returns the keys that the changed tables lost and no version of the head serves; `None` if there are none.
    fn unserved(
        &self,
        base: State<'_>,
        head: State<'_>,
        impossible: &BTreeMap<&str, HashSet<u32>>,
    ) -> Result<Option<Unserved>, ExprError> {
        let Some(spec) = head.specs.tables.get(self.table) else { return Ok(None) };
        let mut lost = self.lost_keys();
        self.place_keys(base, spec, impossible, &mut lost)?;
        let mut served = RemainingKeys::default();
        lost.values().for_each(|key| *served.removed.entry(key.slice).or_default() += 1);
        served.ends.extend(lost.values().filter_map(|key| Some((key.at.as_ref()?.0, None))));
        for file in self.files_of_head(head) {
            let slices = each_read_key(head, file, spec, |key| {
                lost.remove(&key.hash);
                if let Some(ends) = served.ends.get_mut(&key.shape) {
                    widen(ends, &key.point);
                    served.lines.add(&file.place.version, key.shape, &key.point, key.latency);
                }
            })?;
            let keys = (slices.values().sum(), file.place.version.clone());
            served.most = served.most.take().max(Some(keys).filter(|(keys, _)| *keys > 0));
            for (slice, keys) in slices {
                let most = served.slices.entry(slice).or_default();
                *most = keys.max(*most);
            }
        }
        served.lines.sort();
        Ok(self.sum_up(&lost, &served, spec, head.specs.noise.bands(self.table, self.backend)))
    }

    /// Returns the lost keys of all changed tables, each key once.
    fn lost_keys(&self) -> HashMap<u64, PlacedLostKey<'a>> {
        let mut lost = HashMap::new();
        for (diff, served) in &self.changes {
            let version = diff.place.version.as_str();
            for key in &served.lost_keys {
                let slice = &served.key_slices[key.slice as usize];
                lost.insert(key.hash, PlacedLostKey { version, slice, at: None });
            }
        }
        lost
    }

    /// Reads axis values and latencies of `lost` keys from the base. Removes the keys of the rows in `impossible`.
    fn place_keys(
        &self,
        base: State<'_>,
        spec: &TableSpec,
        impossible: &BTreeMap<&str, HashSet<u32>>,
        lost: &mut HashMap<u64, PlacedLostKey<'a>>,
    ) -> Result<(), ExprError> {
        for (diff, _) in &self.changes {
            let path = diff.old_path.as_deref().unwrap_or(&diff.path);
            let Some(file) = base.catalog.table(path) else { continue };
            let not_missed = impossible.get(path);
            each_read_key(base, file, spec, |key| {
                if not_missed.is_some_and(|rows| rows.contains(&(key.row as u32))) {
                    lost.remove(&key.hash);
                } else if let Some(lost) = lost.get_mut(&key.hash) {
                    lost.at = Some((key.shape, key.point, key.latency));
                }
            })?;
        }
        Ok(())
    }

    fn sum_up(
        &self,
        lost: &HashMap<u64, PlacedLostKey<'_>>,
        served: &RemainingKeys<'_>,
        spec: &TableSpec,
        noise: NoiseBands<'_>,
    ) -> Option<Unserved> {
        let (first, _) = self.changes.first().filter(|_| !lost.is_empty())?;
        let mut found = Unserved {
            place: first.place.clone(),
            table: self.table.to_owned(),
            best_version: served.most.as_ref().map(|(_, version)| version.clone()),
            current: self.current.as_ref().map(|files| files.version.to_owned()),
            slices: BTreeMap::new(),
            whole_slices: 0,
            inner_values: BTreeMap::new(),
            end_values: BTreeMap::new(),
        };
        let (mut lost_shapes, mut shorter) = (HashSet::new(), HashSet::new());
        for (hash, key) in lost {
            let slice = found.slices.entry(key.slice.clone()).or_default();
            slice.keys += 1;
            slice.versions.insert(key.version.to_owned());
            let at = key.at.as_ref().map(|(shape, point, latency)| (*shape, &point[..], *latency));
            let (shape, point, latency) = at.unwrap_or((*hash, &[], 0.0));
            let Some(Some(ends)) = served.ends.get(&shape) else {
                slice.of_lost_shapes += 1;
                slice.shapes += u64::from(lost_shapes.insert(shape));
                continue;
            };
            let axes = spec.axes.iter().zip(point).zip(ends);
            let (inside, beyond): (Vec<_>, Vec<_>) =
                axes.partition(|((_, value), (low, high))| (*low..=*high).contains(*value));
            let is_inside = beyond.is_empty();
            if !is_inside && shorter.insert(shape) {
                slice.shorter_sweeps += 1;
            }
            if is_inside {
                let ratio = served.lines.interpolation_ratio(key.version, shape, point, latency);
                let tail =
                    |ratio: &f64| noise.at(latency * ratio.min(1.0)).map_or(1.0 + FAR, |b| b.p99);
                slice.inner += 1;
                slice.interpolated += u64::from(ratio.is_some());
                slice.wrongly_interpolated +=
                    u64::from(ratio.is_some_and(|ratio| times_off(ratio) > tail(&ratio)));
            }
            let (values, axes) = if is_inside {
                (&mut found.inner_values, inside)
            } else {
                (&mut found.end_values, beyond)
            };
            for ((axis, value), _) in axes {
                values.entry(axis.clone()).or_default().push(*value);
            }
        }
        for values in found.inner_values.values_mut().chain(found.end_values.values_mut()) {
            values.sort_unstable_by(f64::total_cmp);
            values.dedup();
        }
        let is_whole = |slice: &&SliceName| !served.slices.contains_key(*slice);
        found.whole_slices = found.slices.keys().filter(is_whole).count();
        for (slice, lost) in &mut found.slices {
            lost.remaining = served.slices.get(slice).copied().unwrap_or_default();
            lost.removed = served.removed.get(slice).copied().unwrap_or_default();
        }
        Some(found)
    }
}

impl<'a> CurrentFiles<'a> {
    /// Returns the files of the current version of a changed table; `None` if no current version is stated.
    fn of(shelf: &TableIndex<'a>, state: State<'_>, diff: &TableDiff) -> Option<Self> {
        let version = shelf.slots(&diff.place.system, &diff.place.backend)?.current;
        let spec = state.specs.tables.get(&diff.table)?;
        let place = Place { version: version.to_owned(), ..diff.place.clone() };
        let sources = shelf.sources(&place, &diff.table, spec.filling);
        Some(Self { version, paths: sources.files().map(|file| &*file.entry.path).collect() })
    }
}

/// Extends the ends of a sweep so that they include a served point.
fn widen(ends: &mut Option<SweepEnds>, point: &[f64]) {
    let ends = ends.get_or_insert_with(|| point.iter().map(|value| (*value, *value)).collect());
    for ((low, high), value) in ends.iter_mut().zip(point) {
        (*low, *high) = (low.min(*value), high.max(*value));
    }
}
