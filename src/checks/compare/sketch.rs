//! What cross-table checks need to know of a table, without its rows.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::base::expr::{ExprError, Scope};
use crate::checks::compare::series::{self, Outlier};
use crate::database::coverage::Coverage;
use crate::database::table::{Keys, TableScope};

/// Points a sketch keeps, about. Those with the smallest key hashes are kept, so that sketches of
/// two tables hold the same points of the keys that both have.
const POINTS: usize = 4096;

/// The texts of a key by name: dtypes, kernels, phases.
pub type Slice = BTreeMap<String, String>;

/// A point of a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Hash of its key.
    pub hash: u64,
    /// Latency in ms; of a repeated key, the first row's.
    pub latency: f64,
    /// Its slice, an index into [`Sketch::slices`].
    pub slice: u32,
}

/// A point that stands out from its neighbours, by key.
#[derive(Debug, Clone, PartialEq)]
pub struct Apart {
    /// Where it stands and how far.
    pub outlier: Outlier,
    /// Hash of its key.
    pub hash: u64,
    /// Its slice, an index into [`Sketch::slices`].
    pub slice: u32,
    /// Its key for people; of the most telling alone.
    pub key: Vec<(String, Value)>,
}

/// A sample of a table's points, by key, and all that stand out.
#[derive(Debug, Clone, Default)]
pub struct Sketch {
    /// Rows of the table.
    pub rows: usize,
    /// Keys that the loader serves from it: exact where all are points here, else estimated from
    /// the share of hashes that are.
    pub keys: usize,
    /// Points by hash.
    pub points: Vec<Point>,
    /// The slices its points are of: the texts of the key (dtypes, kernels, phases).
    pub slices: Vec<Slice>,
    /// Greatest hash that the sketch would hold.
    pub end: u64,
    /// Points that stand out from their neighbours, by row.
    pub apart: Vec<Apart>,
    /// What the points are, of a table that others are compared with key by key.
    pub coverage: Coverage,
}

/// Sketches by path, of judged tables and their neighbours; a table that cannot be read has none.
#[derive(Debug, Clone, Default)]
pub struct Sketches {
    /// Sketches by path.
    pub by_path: BTreeMap<String, Sketch>,
    /// Which of the rows that default models ask for a table has, by path.
    pub held: BTreeMap<String, Vec<bool>>,
}

impl Sketch {
    /// Takes the sketch of a table; points that stand out by `apart` or more are in it whole, and
    /// what its points are where they are `named`: told of tables that lack them.
    pub fn of(
        keys: &Keys<'_>,
        scope: &TableScope<'_>,
        apart: Option<f64>,
        named: bool,
    ) -> Result<Self, ExprError> {
        let spec = scope.spec;
        let rows = scope.rows();
        let Some(latency) = spec.latency.first() else {
            return Ok(Self { rows, ..Self::default() });
        };
        let latency = latency.value.numbers(scope)?;
        let end = if rows <= POINTS { u64::MAX } else { u64::MAX / rows as u64 * POINTS as u64 };
        let loaded = spec.filter.as_ref().map(|f| f.mask(scope)).transpose()?;
        let kept = keys.hashes().iter().copied().zip(0u32..).filter(|(hash, row)| {
            *hash <= end && loaded.as_ref().is_none_or(|l| l.get(*row as usize))
        });
        let mut order: Vec<(u64, u32)> = kept.collect();
        order.sort_unstable();
        order.dedup_by_key(|(hash, _)| *hash);
        let mut slices: Vec<Slice> = Vec::new();
        let mut by_code: BTreeMap<u64, u32> = BTreeMap::new();
        let mut slice = |row: usize| {
            *by_code.entry(keys.text_code(row)).or_insert_with(|| {
                let texts = keys.show(row).into_iter();
                slices.push(texts.filter_map(|(k, v)| Some((k, v.as_str()?.to_owned()))).collect());
                slices.len() as u32 - 1
            })
        };
        let points: Vec<Point> = order
            .iter()
            .map(|(hash, row)| {
                let row = *row as usize;
                Point { hash: *hash, latency: latency.get(row), slice: slice(row) }
            })
            .collect();
        let apart = apart.map_or_else(Vec::new, |least| {
            let loads = |row: usize| loaded.as_ref().is_none_or(|l| l.get(row));
            let found = series::outliers(scope.table, spec, &latency, loads, least);
            let of = |outlier: Outlier| {
                let row = outlier.row as usize;
                Apart { outlier, hash: keys.hashes()[row], slice: slice(row), key: Vec::new() }
            };
            let mut found: Vec<Apart> = found.into_iter().map(of).collect();
            name_most_telling(&mut found, keys);
            found
        });
        let share = end as f64 / u64::MAX as f64;
        let count = (points.len() as f64 / share).round() as usize;
        let rows_of_points = || order.iter().map(|(_, row)| *row).collect();
        let coverage =
            if named { Coverage::of(keys, rows_of_points()) } else { Coverage::default() };
        Ok(Self { rows, keys: count, points, slices, end, apart, coverage })
    }

    /// Pairs of latencies at the keys that both sketches would hold if both tables had them.
    pub fn common<'a>(&'a self, other: &'a Self) -> Common<'a> {
        let end = self.end.min(other.end);
        let within = |s: &'a Self| &s.points[..s.points.partition_point(|p| p.hash <= end)];
        Common { a: within(self), b: within(other) }
    }
}

/// Gives a key to the points that a report may show: reports show few, a table may hold thousands.
fn name_most_telling(found: &mut [Apart], keys: &Keys<'_>) {
    const NAMED: usize = 64;
    for spike in [true, false] {
        let mut order: Vec<usize> =
            (0..found.len()).filter(|i| found[*i].outlier.spike() == spike).collect();
        order.sort_by(|a, b| {
            let telling = |i: &usize| found[*i].outlier.telling();
            telling(b).total_cmp(&telling(a)).then(a.cmp(b))
        });
        for i in order.into_iter().take(NAMED) {
            found[i].key = keys.show(found[i].outlier.row as usize);
        }
    }
}

/// Iterates over the keys that two sketches share.
pub struct Common<'a> {
    a: &'a [Point],
    b: &'a [Point],
}

impl Iterator for Common<'_> {
    /// The point of the one and of the other.
    type Item = (Point, Point);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (a, b) = (*self.a.first()?, *self.b.first()?);
            match a.hash.cmp(&b.hash) {
                std::cmp::Ordering::Less => self.a = &self.a[1..],
                std::cmp::Ordering::Greater => self.b = &self.b[1..],
                std::cmp::Ordering::Equal => {
                    (self.a, self.b) = (&self.a[1..], &self.b[1..]);
                    return Some((a, b));
                }
            }
        }
    }
}

impl Sketches {
    /// Those of the tables that `path` gives the path for, by that path: the sketches of another
    /// state of the same tables.
    pub fn of_state(self, path: impl Fn(&str) -> Option<String>) -> Self {
        let path = &path;
        let sketches = self.by_path.into_iter().filter_map(|(at, s)| Some((path(&at)?, s)));
        let held = self.held.into_iter().filter_map(|(at, held)| Some((path(&at)?, held)));
        Self { by_path: sketches.collect(), held: held.collect() }
    }

    /// Keys of the table at `path`, 0 where it cannot be read.
    pub fn keys(&self, path: &str) -> usize {
        self.by_path.get(path).map_or(0, |s| s.keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sketch(points: &[(u64, f64)], end: u64) -> Sketch {
        let points: Vec<Point> = points
            .iter()
            .map(|(hash, latency)| Point { hash: *hash, latency: *latency, slice: 0 })
            .collect();
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
    fn sketches_share_the_keys_that_both_tables_have() {
        let a = sketch(&[(1, 0.1), (4, 0.4), (9, 0.9)], u64::MAX);
        let b = sketch(&[(1, 0.2), (5, 0.5)], 6);
        // Beyond 6 the other table may have the key without its sketch holding it.
        let common: Vec<(f64, f64)> = a.common(&b).map(|(a, b)| (a.latency, b.latency)).collect();
        assert_eq!(common, [(0.1, 0.2)]);
        assert_eq!(a.common(&a).count(), 3);
    }
}
