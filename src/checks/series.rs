//! The series of a table: rows that have the same key except for one size, in the order of that size.
//!
//! Checks compare a point with its neighbours in a series. Points drawn between their neighbours, rows missing from the
//! middle of a sweep, and latencies or power that jump from point to point all show there.

use std::borrow::Cow;

use crate::base::expr::{Vals, WholeNumbers};
use crate::database::table::{
    CodedColumn, Column, Combinations, Keys, Numbering, PartNumbers, Table, all_equal, mix,
    number_bits, part_hash, text_hash,
};
use crate::specs::TableSpec;

/// The maximum number of rows that a check of a single table examines along each axis. Of a larger table, whole series
/// are chosen by the hashes of their keys.
const ROWS: usize = 16_384;

/// The minimum number of points of a series.
const POINTS: usize = 3;

/// The sizes along one axis, and the size that each row of a table has.
pub(crate) struct AxisSizes<'k> {
    /// The size code of each row: an index into `sizes`.
    codes: Cow<'k, [u32]>,
    /// The size that each code stands for.
    sizes: Vec<AxisSize>,
}

/// A size along an axis.
#[derive(Clone, Copy)]
pub(crate) struct AxisSize {
    size: f64,
    /// The hash of this size, as a part of a key's hash: the hash of a key is the sum of the hashes of its parts.
    hash: u64,
    /// The rank of the size among the sizes of the axis, from 0.
    pub rank: u32,
}

/// The series along one axis.
#[derive(Default)]
pub(crate) struct AxisSeries {
    /// The name of the key part or column that differs within a series.
    pub axis: String,
    /// The rows of all series, one series after the other, each in the order of its sizes.
    rows: Vec<u32>,
    /// The size of each row in `rows` along the axis.
    sizes: Vec<f64>,
    /// The end of each series, as an index into `rows`.
    ends: Vec<u32>,
}

impl<'k> AxisSizes<'k> {
    pub(crate) fn of_column(column: &'k CodedColumn) -> Self {
        let sizes = column.numbers.iter().map(|number| *number as f64);
        Self::new((&column.codes[..]).into(), sizes, 0)
    }

    /// Returns the sizes of a key part. Returns `None` if the part is not a number, or if it is a formula that has the
    /// same value in all rows.
    fn of_part(keys: &'k Keys<'_>, part: usize) -> Option<Self> {
        let mut numbering = Numbering::default();
        let mut code = |size: f64| numbering.number(number_bits(size));
        let codes: Vec<u32> = match keys.numbers(part)? {
            PartNumbers::Whole(WholeNumbers::Codes { codes, numbers }) => {
                let sizes = numbers.iter().map(|number| *number as f64);
                return Some(Self::new(codes.into(), sizes, part));
            }
            PartNumbers::Whole(WholeNumbers::Values(values)) => {
                values.iter().map(|value| code(*value as f64)).collect()
            }
            PartNumbers::Float(Vals::Rows(sizes)) if !all_equal(sizes) => {
                sizes.iter().map(|size| code(*size)).collect()
            }
            PartNumbers::Float(_) => return None,
        };
        let sizes = numbering.into_values().into_iter().map(f64::from_bits);
        Some(Self::new(codes.into(), sizes, part))
    }

    /// Creates the sizes of an axis from the code of each row and the size of each code. `part` is the index of the
    /// key part. It makes the hashes of equal sizes on different axes differ.
    fn new(codes: Cow<'k, [u32]>, sizes: impl Iterator<Item = f64>, part: usize) -> Self {
        // The bits of non-negative numbers have the same order as the numbers.
        let bits: Vec<u64> = sizes.map(number_bits).collect();
        let size = |(bits, rank): (&u64, u32)| AxisSize {
            size: f64::from_bits(*bits),
            hash: part_hash(part, *bits),
            rank,
        };
        Self { codes, sizes: bits.iter().zip(ranks(&bits)).map(size).collect() }
    }

    /// Adds a column to `combinations` that has the size of each row along this axis.
    pub(crate) fn add_to<'c>(&'c self, combinations: &mut Combinations<'c>) {
        combinations.add_codes(&self.codes[..], self.sizes.len());
    }

    #[inline]
    pub(crate) fn size(&self, row: u32) -> AxisSize {
        self.sizes[self.codes[row as usize] as usize]
    }
}

/// Returns the rank of each number among the distinct numbers.
fn ranks(numbers: &[u64]) -> Vec<u32> {
    let mut order = numbers.to_vec();
    order.sort_unstable();
    order.dedup();
    numbers.iter().map(|number| order.partition_point(|other| other < number) as u32).collect()
}

/// The axes of a table's sweep, from the parts of its key.
pub(crate) struct Sweep<'k> {
    /// The axes: the name and sizes of each key part that depends on a column of the sweep.
    pub(crate) axes: Vec<(&'k str, AxisSizes<'k>)>,
    /// For each row, the sum of the hashes of its key parts, its kernel and its operation.
    pub(crate) hashes: Cow<'k, [u64]>,
}

impl<'k> Sweep<'k> {
    /// Creates the sweep of a table from the table's keys.
    pub(crate) fn new(keys: &'k Keys<'_>, table: &Table, spec: &'k TableSpec) -> Self {
        let along = |column: &&str| spec.sweep.iter().any(|s| s == column);
        let parts = spec.key.iter().enumerate();
        let axes = parts.filter(|(_, p)| p.value.columns().iter().any(along));
        let axes = axes.filter_map(|(part, p)| Some((&*p.name, AxisSizes::of_part(keys, part)?)));
        Self { axes: axes.collect(), hashes: hashes(keys, table) }
    }

    /// Returns a sample of the series along every axis. Rows without a positive latency are left out.
    pub(crate) fn series(&self, latency: &[f64]) -> Vec<AxisSeries> {
        let most = u32::MAX / self.hashes.len().div_ceil(ROWS).max(1) as u32;
        let along = |(name, axis): &(&str, AxisSizes<'k>)| {
            // The low half of the hash decides on the sample, because the high half sorts the series.
            let is_in = |row: &u32| {
                latency[*row as usize] > 0.0 && self.series_of(axis, *row) as u32 <= most
            };
            let series = self.along(axis, (0..self.hashes.len() as u32).filter(is_in));
            AxisSeries { axis: (*name).to_owned(), ..series }
        };
        self.axes.iter().map(along).collect()
    }

    /// Groups the given rows into series along an axis, in the order of the series' hashes. If several rows of a
    /// series have the same size, only the first one is used.
    pub(crate) fn along(
        &self,
        axis: &AxisSizes<'_>,
        rows: impl Iterator<Item = u32>,
    ) -> AxisSeries {
        let mut numbering = Numbering::default();
        let number = |row: u32| (row, numbering.number(self.series_of(axis, row)));
        let numbered: Vec<(u32, u32)> = rows.map(number).collect();
        let ranks = ranks(&numbering.into_values());
        let ranked = numbered.into_iter().map(|(row, number)| (row, ranks[number as usize]));
        AxisSeries::along(axis, ranks.len(), ranked, |_, _| false)
    }

    /// Returns the hash of the series to which a row belongs along an axis. It is the row's hash minus the hash of the
    /// row's size on the axis.
    fn series_of(&self, axis: &AxisSizes<'_>, row: u32) -> u64 {
        self.hashes[row as usize].wrapping_sub(axis.size(row).hash)
    }
}

impl AxisSeries {
    /// Builds the series along an axis from pairs of a row and the index of its series, which is less than `count`. If
    /// several rows of a series have the same size, the first one is used, unless `is_better` prefers a later one.
    /// Series with fewer than three points are left out.
    pub(super) fn along(
        axis: &AxisSizes<'_>,
        count: usize,
        rows: impl Iterator<Item = (u32, u32)>,
        is_better: impl Fn(u32, u32) -> bool,
    ) -> Self {
        let mut all: Vec<Vec<u64>> = vec![Vec::new(); count];
        for (row, series) in rows {
            let AxisSize { size, rank, .. } = axis.size(row);
            if size >= 0.0 {
                // The rank of the size and the row as a single number, which sorts fast.
                all[series as usize].push(u64::from(rank) << 32 | u64::from(row));
            }
        }
        let mut found = Self::default();
        for mut series in all.into_iter().filter(|series| series.len() >= POINTS) {
            series.sort_unstable();
            let start = found.rows.len();
            for of_size in series.chunk_by(|a, b| a >> 32 == b >> 32) {
                let rows = of_size.iter().map(|place| *place as u32);
                let best = rows.reduce(|a, b| if is_better(b, a) { b } else { a });
                found.sizes.extend(best.map(|row| axis.size(row).size));
                found.rows.extend(best);
            }
            if found.rows.len() - start < POINTS {
                found.rows.truncate(start);
                found.sizes.truncate(start);
            } else {
                found.ends.push(found.rows.len() as u32);
            }
        }
        found
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the rows and the sizes of the series with the index `number`, in ascending order of the sizes.
    fn series(&self, number: usize) -> (&[u32], &[f64]) {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        let end = self.ends[number] as usize;
        (&self.rows[start..end], &self.sizes[start..end])
    }

    /// Iterates over the rows and sizes of every series.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u32], &[f64])> {
        (0..self.len()).map(|number| self.series(number))
    }

    /// Iterates over at most `most` series, which are evenly spread over all series.
    pub(crate) fn spread(&self, most: usize) -> impl Iterator<Item = (&[u32], &[f64])> {
        let taken = self.len().min(most);
        (0..taken).map(move |n| self.series(n * self.len() / taken))
    }
}

fn hashes<'k>(keys: &'k Keys<'_>, table: &Table) -> Cow<'k, [u64]> {
    let mut hashes = Cow::Borrowed(keys.hashes());
    for name in ["kernel_source", "op_name"] {
        if let Some(Column::Text { codes, dict, .. }) = table.column(name)
            && dict.len() > 1
        {
            let added: Vec<u64> =
                dict.iter().map(|text| mix(text_hash(name), text_hash(text))).collect();
            let added = |code: u32| added.get(code as usize).copied().unwrap_or(0);
            let rows = hashes.to_mut().iter_mut().zip(codes);
            rows.for_each(|(hash, code)| *hash = hash.wrapping_add(added(*code)));
        }
    }
    hashes
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::base::random::Random;
    use crate::database::catalog::{Format, Place};
    use crate::database::table::TableScope;
    use crate::specs::Specs;

    /// Synthetic: the series of GEMMs of one dtype. Each line has `m`, `n`, `k` and the latency.
    fn of_gemms(lines: &[String]) -> Vec<AxisSeries> {
        let lines: String = lines.iter().map(|line| format!("bfloat16,{line}\n")).collect();
        let text = format!("gemm_dtype,m,n,k,latency\n{lines}");
        let table = Table::decode(text.as_bytes(), Format::Csv, &|_| false).unwrap();
        let specs = Specs::embedded().unwrap();
        let spec = specs.tables.get("gemm_perf").unwrap();
        let place = Place {
            system: "h200_sxm".into(),
            family: None,
            backend: "vllm".into(),
            version: "1".into(),
        };
        let scope = TableScope::new(&table, spec, &place, None, &specs.lookups);
        let keys = Keys::new(&spec.key, &scope).unwrap();
        let Some(Column::Float { values, .. }) = table.column("latency") else { panic!() };
        Sweep::new(&keys, &table, spec).series(values)
    }

    #[test]
    fn rows_of_a_series_differ_along_one_axis_and_are_ascending() {
        let mut rows = Vec::new();
        for m in [4, 1, 2] {
            for n in [64, 128, 32] {
                rows.push(format!("{m},{n},64,0.0{m}{n}"));
            }
        }
        let all = of_gemms(&rows);
        let axes: Vec<(&str, usize)> = all.iter().map(|a| (a.axis.as_str(), a.len())).collect();
        assert_eq!(axes, [("m", 3), ("n", 3)]);
        for (rows, sizes) in all[0].iter() {
            assert_eq!(sizes, [1.0, 2.0, 4.0]);
            assert!(rows.iter().all(|row| row % 3 == rows[0] % 3), "one n");
        }
        assert_eq!(all[1].spread(2).count(), 2);
    }

    /// Synthetic: rows in random order, some repeated, some without a size or latency. The larger table has more rows
    /// than are sampled.
    #[test]
    fn a_series_is_complete_and_has_the_first_row_of_each_size() {
        let mut random = Random::new(9);
        for (rows, sizes) in [(600, 12), (3 * ROWS, 60)] {
            let row = |_| [0; 3].map(|_| random.below(sizes) as i64 - 1);
            let places: Vec<[i64; 3]> = (0..rows).map(row).collect();
            let latency = |row: usize| if row % 50 == 7 { 0.0 } else { 0.5 + row as f64 };
            let line =
                |(row, [m, n, k]): (usize, &[i64; 3])| format!("{m},{n},{k},{}", latency(row));
            let lines: Vec<String> = places.iter().enumerate().map(line).collect();
            for (along, axis) in of_gemms(&lines).iter().enumerate() {
                let mut expected: BTreeMap<[i64; 3], BTreeMap<i64, u32>> = BTreeMap::new();
                for (row, place) in places.iter().enumerate() {
                    let mut others = *place;
                    others[along] = 0;
                    if place[along] >= 0 && latency(row) > 0.0 {
                        let series = expected.entry(others).or_default();
                        series.entry(place[along]).or_insert(row as u32);
                    }
                }
                expected.retain(|_, series| series.len() >= 3);
                let count = axis.iter().count();
                let one_of = rows.div_ceil(ROWS);
                let least = expected.len() / one_of;
                let is_share = count >= least / 2 && count <= 2 * least;
                assert!(is_share && (one_of > 1 || count == expected.len()), "{count}");
                for (rows, sizes) in axis.iter() {
                    let mut others = places[rows[0] as usize];
                    others[along] = 0;
                    let series = &expected[&others];
                    assert!(series.values().eq(rows));
                    assert!(series.keys().map(|size| *size as f64).eq(sizes.iter().copied()));
                }
            }
        }
    }
}
