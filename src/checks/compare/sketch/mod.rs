//! The sketch of a table: a sample of its keys and other facts, from which tables are compared without their rows.

mod parts;
mod point;
mod rows;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(crate) use self::parts::SliceNumbers;
use self::parts::{KERNEL, OPERATION, SketchNames, VERSION, kernels, texts};
use self::point::SharedPoints;
pub use self::point::{SketchOutlier, SketchPoint, Slice, slice_id, slice_name, slice_words};
use self::rows::ReadRows;
use crate::base::expr::{ExprError, Scope};
use crate::base::random::sampled;
use crate::checks::compare::series::{KeyLatencies, TableCurve};
use crate::checks::inputs::CheckInputs;
use crate::database::catalog::TableFile;
use crate::database::coverage::KeyCoverage;
use crate::database::table::{Keys, TableScope, lookup_ranks};
use crate::specs::TableSpec;

/// The approximate number of points in a sketch. The points with the smallest key hashes are kept, so that the
/// sketches of two tables contain the same keys if both tables have them.
const POINTS: usize = 4096;

/// The options with which a sketch is made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SketchTerms {
    /// The kinds of data that the run's rules need, and that the sketch must therefore contain.
    pub needs: CheckInputs,
    /// True if the sketch also keeps the key values of its points, so that findings on other tables can name missing
    /// keys.
    pub named: bool,
    /// True if outliers and curves are kept, because the table is judged; false if it is only a reference for other
    /// tables.
    pub scanned: bool,
}

/// A sample of a table's keys with their latencies, and facts about the whole table. The sample contains the keys with
/// the smallest hashes (a bottom-k sketch). Outliers and curves are kept only for judged tables.
#[derive(Debug, Clone, Default)]
pub struct Sketch {
    /// The number of rows of the table.
    pub rows: usize,
    /// The number of keys that the loader serves from the table. It is exact if `points` contains all keys, otherwise
    /// an estimate.
    pub keys: usize,
    /// The sampled points, sorted by key hash.
    pub points: Vec<SketchPoint>,
    /// The slices of the sampled points: the texts of their keys (dtypes, kernels, phases).
    pub slices: Vec<Slice>,
    /// The number of points of each slice, in the order of `slices`.
    pub counts: Vec<u32>,
    /// The kernels, operations and versions that the rows name.
    pub names: SketchNames,
    /// The largest hash up to which the sketch contains all keys of the table.
    pub end: u64,
    /// The latency of every key; `None` if rules do not need it.
    pub latencies: Option<Arc<KeyLatencies>>,
    /// The table's outliers, sorted by row; empty if the table is only a reference for other tables.
    pub outliers: Vec<SketchOutlier>,
    /// The table's deviating points and samples of its series; `None` if they are not kept.
    pub curve: Option<Arc<TableCurve>>,
    /// The key values of the points; empty unless other tables are compared with this one key by key.
    pub coverage: KeyCoverage,
}

/// A table file and its sketch.
pub(crate) type SketchedTable<'a> = (&'a TableFile, &'a Sketch);

/// The sketches of the judged tables and of their peers. A table that cannot be read does not have one.
#[derive(Debug, Clone, Default)]
pub struct Sketches {
    /// Sketches by path.
    pub by_path: BTreeMap<String, Arc<Sketch>>,
}

impl Sketch {
    /// Returns the columns from which a sketch without outliers and curves is made.
    pub(crate) fn columns(spec: &TableSpec) -> BTreeSet<&str> {
        let lane = spec.lanes.iter().map(|lanes| &lanes.column[..]);
        let swept = spec.sweep.iter().map(String::as_str);
        spec.loaded_columns()
            .into_iter()
            .chain(lane)
            .chain(swept)
            .chain([KERNEL, OPERATION, VERSION])
            .collect()
    }

    /// Makes the sketch of a table.
    ///
    /// # Errors
    ///
    /// If a formula of the table's spec cannot be evaluated.
    pub(crate) fn of(
        keys: &Keys<'_>,
        scope: &TableScope<'_>,
        terms: SketchTerms,
    ) -> Result<Self, ExprError> {
        let SketchTerms { needs, named, scanned } = terms;
        let spec = scope.spec;
        let rows = scope.rows();
        let Some(latency) = spec.latency.first() else {
            return Ok(Self { rows, ..Self::default() });
        };
        let latency = latency.value.numbers(scope)?;
        let end = if rows <= POINTS { u64::MAX } else { u64::MAX / rows as u64 * POINTS as u64 };
        let loaded = spec.filter.as_ref().map(|f| f.mask(scope)).transpose()?;
        let ranks = lookup_ranks(scope);
        let read = ReadRows {
            keys,
            scope,
            latency: &latency,
            loaded: loaded.as_ref(),
            ranks: ranks.as_deref(),
        };
        let hashes = keys.hashes();
        let kept = sampled(hashes, |_, hash| hash <= end).into_iter();
        let kept = kept.filter(|row| read.is_loaded(*row as usize));
        let kept = kept.map(|row| (hashes[row as usize], row));
        let rank = |row: u32| ranks.as_ref().map_or(0, |ranks| ranks[row as usize]);
        let place = |(hash, row): &(u64, u32)| (*hash, rank(*row), *row);
        let mut order: Vec<(u64, u32)> = kept.collect();
        order.sort_unstable_by_key(place);
        order.dedup_by_key(|(hash, _)| *hash);
        let mut slices = SliceNumbers::default();
        let point = |(hash, row): &(u64, u32)| {
            let row = *row as usize;
            let slice = u16::try_from(slices.number(keys, row)).unwrap_or(u16::MAX);
            SketchPoint::new(*hash, latency.get(row), slice)
        };
        let points: Vec<SketchPoint> = order.iter().map(point).collect();
        let kernels = kernels(scope, &order, &points, slices.all.len());
        let [operations, versions] = [OPERATION, VERSION].map(|column| texts(scope, column));
        let names = SketchNames { kernels, operations, versions };
        let mut counts = vec![0; slices.all.len()];
        points.iter().for_each(|point| counts[point.slice as usize] += 1);
        let looks_up = needs.outliers.is_some() || needs.curves.is_some();
        let latencies = looks_up.then(|| Arc::new(read.latencies()));
        let (outliers, curve) =
            if scanned && looks_up { read.scan(needs, &mut slices) } else { Default::default() };
        let share = end as f64 / u64::MAX as f64;
        let count = (points.len() as f64 / share).round() as usize;
        let coverage = if named {
            let rows: Vec<u32> = order.iter().map(|(_, row)| *row).collect();
            KeyCoverage::of(keys, &rows)
        } else {
            KeyCoverage::default()
        };
        Ok(Self {
            rows,
            keys: count,
            points,
            slices: slices.all,
            counts,
            names,
            end,
            latencies,
            outliers,
            curve,
            coverage,
        })
    }

    /// Returns pairs of points, one pair for each key that both sketches contain. Only keys with a hash up to the
    /// smaller of the two `end` hashes are compared.
    pub(crate) fn common<'a>(&'a self, other: &'a Self) -> SharedPoints<'a> {
        let end = self.end.min(other.end);
        let within = |s: &'a Self| &s.points[..s.points.partition_point(|p| p.hash <= end)];
        SharedPoints { a: within(self), b: within(other) }
    }

    /// Returns an empty vector for each slice, with capacity for the slice's points.
    pub(crate) fn room_by_slice<T>(&self) -> Vec<Vec<T>> {
        let points = self.counts.iter().map(|count| *count as usize);
        let lists = points.map(Vec::with_capacity).chain(std::iter::repeat_with(Vec::new));
        lists.take(self.slices.len()).collect()
    }

    /// Returns a copy of the sketch without points, latencies, outliers and curves. Only the comparison with other
    /// tables needs these.
    pub(crate) fn without_points(&self) -> Self {
        Self {
            rows: self.rows,
            keys: self.keys,
            slices: self.slices[..self.counts.len()].to_vec(),
            counts: self.counts.clone(),
            names: self.names.clone(),
            end: self.end,
            ..Self::default()
        }
    }

    /// The estimated number of keys of the slice with this index.
    pub(crate) fn slice_keys(&self, slice: usize) -> usize {
        let points = self.counts.iter().sum::<u32>().max(1);
        let share = f64::from(self.counts[slice]) * self.keys as f64 / f64::from(points);
        share.round() as usize
    }

    /// The estimated number of rows of the slices with these indices.
    pub(crate) fn rows_of(&self, slices: impl Iterator<Item = usize>) -> usize {
        let points = self.counts.iter().sum::<u32>().max(1);
        let within: u32 = slices.map(|slice| self.counts[slice]).sum();
        (f64::from(within) / f64::from(points) * self.rows as f64).round() as usize
    }

    /// Returns the kernels that a slice names; `None` if they are not known.
    pub(crate) fn kernels_of(&self, slice: &Slice) -> Option<&BTreeSet<String>> {
        self.names.kernels.get(self.slices.iter().position(|s| s == slice)?)
    }
}

impl Sketches {
    /// The sketch of the table at `path`.
    pub(crate) fn get(&self, path: &str) -> Option<&Sketch> {
        tracing::trace!("lookup");
        self.by_path.get(path).map(AsRef::as_ref)
    }

    /// Returns the sketches of the files that can be read.
    pub(crate) fn of<'s, 'f>(
        &'s self,
        files: impl IntoIterator<Item = &'f TableFile>,
    ) -> Vec<&'s Sketch> {
        files.into_iter().filter_map(|file| self.get(&file.entry.path)).collect()
    }

    /// The number of keys of the table at `path`; 0 if it cannot be read.
    pub(crate) fn keys(&self, path: &str) -> usize {
        self.by_path.get(path).map_or(0, |s| s.keys)
    }
}

/// Returns the number of different keys that several tables contain together. It is exact if their sketches hold all
/// points, otherwise an estimate.
pub(crate) fn keys(served: &[&Sketch]) -> usize {
    if let [one] = served {
        return one.keys;
    }
    let end = served.iter().map(|s| s.end).min().unwrap_or(0);
    let mut hashes: Vec<u64> = Vec::new();
    for sketch in served {
        hashes.extend(sketch.points.iter().map(|p| p.hash).take_while(|hash| *hash <= end));
    }
    // A few sorted runs, which a stable sort merges.
    hashes.sort();
    hashes.dedup();
    (hashes.len() as f64 * (u64::MAX as f64 / end.max(1) as f64)).round() as usize
}

/// Counts the different keys in several sketches by slice. Only keys with a hash of at most `end` count.
pub(crate) fn points_by_slice<'a>(served: &[&'a Sketch], end: u64) -> BTreeMap<&'a Slice, usize> {
    let mut numbers: BTreeMap<&Slice, usize> = BTreeMap::new();
    let mut points: Vec<(u64, usize)> = Vec::new();
    for sketch in served {
        let mut by_slice: Vec<usize> = Vec::with_capacity(sketch.slices.len());
        for slice in &sketch.slices {
            let next = numbers.len();
            by_slice.push(*numbers.entry(slice).or_insert(next));
        }
        let own = sketch.points.iter().take_while(|p| p.hash <= end);
        points.extend(own.map(|p| (p.hash, by_slice[p.slice as usize])));
    }
    points.sort();
    points.dedup_by_key(|(hash, _)| *hash);
    let mut counts = vec![0; numbers.len()];
    for (_, number) in &points {
        counts[*number] += 1;
    }
    let counted = numbers.into_iter().map(|(slice, number)| (slice, counts[number]));
    counted.filter(|(_, count)| *count > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sketch(points: &[(u64, f64)], end: u64) -> Sketch {
        let points: Vec<SketchPoint> =
            points.iter().map(|(hash, latency)| SketchPoint::new(*hash, *latency, 0)).collect();
        Sketch {
            rows: points.len(),
            keys: points.len(),
            points,
            slices: vec![BTreeMap::new()],
            end,
            ..Sketch::default()
        }
    }

    #[test]
    fn two_sketches_share_the_keys_below_the_end_of_both() {
        let a = sketch(&[(1, 0.1), (4, 0.4), (9, 0.9)], u64::MAX);
        let b = sketch(&[(1, 0.2), (5, 0.5)], 6);
        // Above the hash 6 the other table may have the key although its sketch does not.
        let common: Vec<(f64, f64)> = a.common(&b).map(|(a, b)| (a.latency, b.latency)).collect();
        assert_eq!(common, [(0.1, 0.2)]);
        assert_eq!(a.common(&a).count(), 3);
    }
}
