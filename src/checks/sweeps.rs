//! The series of a table along the axes of its sweep, for checks that look at a point beside its
//! neighbours in the same table.
//!
//! Rows of a series have the same key except for one size. Points drawn between their neighbours, rows
//! missing from the middle of a sweep and power that jumps from point to point all show there.

use std::borrow::Cow;

use crate::base::expr::{Vals, WholeNumbers};
use crate::base::sample::sampled;
use crate::database::table::{
    Column, Keys, Numbering, PartNumbers, Table, all_equal, mix, number_bits, part_hash, text_hash,
};
use crate::specs::TableSpec;

/// Rows that are looked at along an axis. Of a larger table a sample of its series is, each of them
/// whole: those whose hashes fall into one of as many parts as it has this many rows.
const ROWS: usize = 16_384;

/// The series along one axis.
pub struct AxisSeries {
    /// The axis: the name of a part of the key.
    pub axis: String,
    /// Rows, series by series, in the order of their sizes.
    rows: Vec<u32>,
    /// The size of each of `rows`.
    sizes: Vec<f64>,
    /// Where each series ends in `rows`.
    ends: Vec<u32>,
    /// One of this many series is here.
    pub one_of: usize,
}

/// A row and where it stands.
#[derive(Clone, Copy)]
struct PlacedRow {
    /// A hash of what its series has in common.
    series: u64,
    /// The place of its size along the axis, and its number in the low half.
    place: u64,
}

/// Where rows stand along an axis.
struct AxisPlaces<'k> {
    /// The code of each row's size.
    codes: Cow<'k, [u32]>,
    /// By code.
    sizes: Vec<PlacedSize>,
    /// Sizes in their order, in bits.
    ordered: Vec<u64>,
}

/// A size and where it stands.
#[derive(Clone, Copy)]
struct PlacedSize {
    /// What it adds to the hash of a key.
    hash: u64,
    /// Its place in the order of sizes; [`NO_PLACE`] for what is less than 0 or no number.
    place: u32,
}

/// Beyond the last place.
const NO_PLACE: u32 = u32::MAX;

impl<'k> AxisPlaces<'k> {
    /// Those along a part of the key; none where it holds no numbers, or one number alone.
    fn of(keys: &'k Keys<'_>, part: usize) -> Option<Self> {
        let mut numbering = Numbering::default();
        let mut code = |size: f64| numbering.number(number_bits(size));
        let codes: Vec<u32> = match keys.numbers(part)? {
            PartNumbers::Whole(WholeNumbers::Codes { codes, numbers }) => {
                let bits = numbers.iter().map(|number| number_bits(*number as f64)).collect();
                return Some(Self::placed(codes.into(), bits, part));
            }
            PartNumbers::Whole(WholeNumbers::Values(values)) => {
                values.iter().map(|value| code(*value as f64)).collect()
            }
            PartNumbers::Formula(Vals::Rows(sizes)) if !all_equal(sizes) => {
                sizes.iter().map(|size| code(*size)).collect()
            }
            PartNumbers::Formula(_) => return None,
        };
        Some(Self::placed(codes.into(), numbering.into_values(), part))
    }

    /// Of codes for sizes in bits.
    fn placed(codes: Cow<'k, [u32]>, sizes: Vec<u64>, part: usize) -> Self {
        let is_size = |bits: &u64| f64::from_bits(*bits) >= 0.0;
        // Of numbers that are not negative the bits are in their order.
        let mut ordered: Vec<u64> = sizes.iter().copied().filter(is_size).collect();
        ordered.sort_unstable();
        ordered.dedup();
        let placed = |bits: u64| PlacedSize {
            hash: part_hash(part, bits),
            place: ordered.binary_search(&bits).map_or(NO_PLACE, |place| place as u32),
        };
        Self { codes, sizes: sizes.into_iter().map(placed).collect(), ordered }
    }

    #[inline]
    fn size(&self, row: u32) -> PlacedSize {
        self.sizes[self.codes[row as usize] as usize]
    }

    /// The rows of a sample of series, one of `one_of`, that have a size and a latency.
    fn sampled(&self, one_of: usize, hashes: &[u64], latency: &[f64]) -> Vec<PlacedRow> {
        let rows = self.sampled_rows(one_of, hashes, latency);
        let placed = |row: u32| {
            let PlacedSize { hash, place } = self.size(row);
            PlacedRow {
                series: hashes[row as usize].wrapping_sub(hash),
                place: u64::from(place) << 32 | u64::from(row),
            }
        };
        rows.into_iter().map(placed).collect()
    }

    /// Those in the order of the file.
    fn sampled_rows(&self, one_of: usize, hashes: &[u64], latency: &[f64]) -> Vec<u32> {
        let has_point =
            |row: &u32| self.size(*row).place != NO_PLACE && latency[*row as usize] > 0.0;
        if one_of == 1 {
            return (0..hashes.len() as u32).filter(has_point).collect();
        }
        // Of all numbers of 32 bits one of `one_of` is that small. The high half of a hash sorts the series.
        let most = u32::MAX / one_of as u32;
        let mut found = sampled(hashes, |row, hash| {
            hash.wrapping_sub(self.size(row as u32).hash) as u32 <= most
        });
        found.retain(has_point);
        found
    }
}

impl AxisSeries {
    /// The series along every axis of a table's sweep, of rows with a latency: three points or more.
    pub fn all(keys: &Keys<'_>, table: &Table, spec: &TableSpec, latency: &[f64]) -> Vec<Self> {
        let along = |column: &&str| spec.sweep.iter().any(|s| s == column);
        let parts = spec.key.iter().enumerate();
        let axes = parts.filter(|(_, p)| p.value.columns().iter().any(along));
        let hashes = hashes(keys, table);
        let series = axes.filter_map(|(part, p)| {
            Some(Self::along(&AxisPlaces::of(keys, part)?, p.name.clone(), &hashes, latency))
        });
        series.collect()
    }

    /// The series along an axis, whose sizes are a part of the `hashes` of keys.
    fn along(places: &AxisPlaces<'_>, axis: String, hashes: &[u64], latency: &[f64]) -> Self {
        let one_of = hashes.len().div_ceil(ROWS).max(1);
        let mut placed = places.sampled(one_of, hashes, latency);
        placed.sort_unstable_by_key(|row| (row.series, row.place));
        let mut rows = Vec::with_capacity(placed.len());
        let mut sizes = Vec::with_capacity(placed.len());
        let mut ends = Vec::new();
        for series in placed.chunk_by(|a, b| a.series == b.series) {
            let start = rows.len();
            let mut last = NO_PLACE;
            for point in series {
                let (place, row) = ((point.place >> 32) as u32, point.place as u32);
                // Of a repeated key the first row counts.
                if place != last {
                    rows.push(row);
                    sizes.push(f64::from_bits(places.ordered[place as usize]));
                    last = place;
                }
            }
            if rows.len() - start < 3 {
                rows.truncate(start);
                sizes.truncate(start);
            } else {
                ends.push(rows.len() as u32);
            }
        }
        Self { axis, rows, sizes, ends, one_of }
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    /// The rows and the sizes of a series by its number, in the order of the sizes.
    fn series(&self, number: usize) -> (&[u32], &[f64]) {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        let end = self.ends[number] as usize;
        (&self.rows[start..end], &self.sizes[start..end])
    }

    /// Every series.
    pub fn iter(&self) -> impl Iterator<Item = (&[u32], &[f64])> {
        (0..self.len()).map(|number| self.series(number))
    }

    /// At most `most` of the series, spread evenly over them.
    pub fn spread(&self, most: usize) -> impl Iterator<Item = (&[u32], &[f64])> {
        let taken = self.len().min(most);
        (0..taken).map(move |n| self.series(n * self.len() / taken))
    }
}

/// A hash of each row's key and of what else its series have in common: a sum, so that the part of an
/// axis can be taken away again.
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

    /// Synthetic: the series of GEMMs of a type, one a line: `m`, `n`, `k` and the latency.
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
        AxisSeries::all(&keys, &table, spec, values)
    }

    #[test]
    fn rows_of_a_series_differ_in_one_size_and_are_in_its_order() {
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

    /// Synthetic: rows at random places, some of them more than once, of no size or without a latency; in the larger
    /// table more than are looked at.
    #[test]
    fn series_are_whole_and_have_the_first_row_of_each_size() {
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
                assert_eq!(axis.one_of, rows.div_ceil(ROWS));
                let least = expected.len() / axis.one_of;
                let is_share = count >= least / 2 && count <= 2 * least;
                assert!(is_share && (axis.one_of > 1 || count == expected.len()), "{count}");
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
