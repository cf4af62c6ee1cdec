//! The series of a table along the axes of its sweep, for checks that look at a point beside its
//! neighbours in the same table.
//!
//! Rows of a series have the same key except for one size. Points drawn between their neighbours, rows
//! missing from the middle of a sweep and power that jumps from point to point all show there.

use crate::base::expr::{NULL_CODE, Vals, Value, WholeNumbers};
use crate::base::hash_order::sorted_by_hash;
use crate::database::table::{
    Column, Keys, PartNumbers, PartValues, Table, all_equal, mix, number_bits, text_hash,
};
use crate::specs::TableSpec;

/// Rows that are looked at along an axis. Of a larger table a sample of its series is, each of them
/// whole: those whose hashes fall into one of as many parts as it has this many rows.
const ROWS: usize = 16_384;

/// Rows of which at once it is decided whether they are in the sample.
const BLOCK: usize = 1024;

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
    series: u64,
    /// Bits of its size, which is not negative, so they are in its order.
    size: u64,
    row: u32,
}

impl AxisSeries {
    /// The series along every axis of a table's sweep, of rows with a latency: three points or more.
    pub fn all(keys: &Keys<'_>, table: &Table, spec: &TableSpec, latency: &[f64]) -> Vec<Self> {
        let along = |column: &&str| spec.sweep.iter().any(|s| s == column);
        let parts = spec.key.iter().enumerate();
        let axes = parts.filter(|(_, p)| p.value.columns().iter().any(along));
        let hashes = hashes(keys, table);
        let series = axes.filter_map(|(part, p)| {
            let salt = salt(part);
            let size_hash = |size: f64| mix(salt, number_bits(size));
            let mut series = match keys.numbers(part)? {
                PartNumbers::Whole(WholeNumbers::Codes { codes, numbers }) => {
                    let size = |row: usize| numbers[codes[row] as usize] as f64;
                    let own: Vec<u64> = numbers.iter().map(|n| size_hash(*n as f64)).collect();
                    Self::along(size, |row| own[codes[row] as usize], &hashes, latency)
                }
                PartNumbers::Whole(WholeNumbers::Values(values)) => {
                    let size = |row: usize| values[row] as f64;
                    Self::along(size, |row| size_hash(size(row)), &hashes, latency)
                }
                PartNumbers::Formula(Vals::Rows(sizes)) if !all_equal(sizes) => {
                    let size = |row: usize| sizes[row];
                    Self::along(size, |row| size_hash(size(row)), &hashes, latency)
                }
                PartNumbers::Formula(_) => return None,
            };
            series.axis.clone_from(&p.name);
            Some(series)
        });
        series.collect()
    }

    /// The series of rows by their `size`, whose hash is a part of that of their keys.
    fn along(
        size: impl Fn(usize) -> f64,
        size_hash: impl Fn(usize) -> u64,
        hashes: &[u64],
        latency: &[f64],
    ) -> Self {
        let rows = hashes.len();
        let one_of = rows.div_ceil(ROWS).max(1);
        let series = |row: usize| hashes[row].wrapping_sub(size_hash(row));
        let of_row = |row: usize| PlacedRow {
            series: series(row),
            size: number_bits(size(row)),
            row: row as u32,
        };
        // Of all numbers of 32 bits one of so many is that small. The high half sorts them below.
        let is_sampled =
            |series: u64| u64::from(series as u32) * one_of as u64 <= u64::from(u32::MAX);
        let mut placed: Vec<PlacedRow> = Vec::with_capacity(rows.min(2 * ROWS));
        let mut sampled = [0; BLOCK];
        for start in (0..rows).step_by(BLOCK) {
            // Which rows are in the sample nobody foresees, so it is not branched on.
            let mut count = 0;
            for row in start..rows.min(start + BLOCK) {
                sampled[count] = row;
                count += usize::from(is_sampled(series(row)));
            }
            let has_point = |row: &&usize| size(**row) >= 0.0 && latency[**row] > 0.0;
            placed.extend(sampled[..count].iter().filter(has_point).map(|row| of_row(*row)));
        }
        let place = |row: &PlacedRow| (row.series, row.size, row.row);
        let placed = sorted_by_hash(placed, u64::MAX, |row| row.series, place);
        let mut this =
            Self { axis: String::new(), rows: vec![], sizes: vec![], ends: vec![], one_of };
        for series in placed.chunk_by(|a, b| a.series == b.series) {
            let start = this.rows.len();
            for point in series {
                let size = f64::from_bits(point.size);
                // Of a repeated key the first row counts.
                if this.rows.len() == start || this.sizes.last() != Some(&size) {
                    this.rows.push(point.row);
                    this.sizes.push(size);
                }
            }
            if this.rows.len() - start < 3 {
                this.rows.truncate(start);
                this.sizes.truncate(start);
            } else {
                this.ends.push(this.rows.len() as u32);
            }
        }
        this
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

/// What a part of the key adds to a hash.
fn salt(part: usize) -> u64 {
    mix(0x5eed, part as u64 + 1)
}

/// A hash of each row's key and of what else its series have in common: a sum, so that the part of an
/// axis can be taken away again.
fn hashes(keys: &Keys<'_>, table: &Table) -> Vec<u64> {
    let mut hashes = vec![0_u64; table.rows];
    for (part, values) in keys.values().enumerate() {
        let salt = salt(part);
        match values {
            PartValues::Whole(WholeNumbers::Codes { codes, numbers }) => {
                let parts = numbers.iter().map(|n| mix(salt, number_bits(*n as f64)));
                let parts: Vec<u64> = parts.collect();
                add(&mut hashes, codes, |code| parts[code as usize]);
            }
            PartValues::Whole(WholeNumbers::Values(values)) => {
                add(&mut hashes, values, |v| mix(salt, number_bits(v as f64)));
            }
            // The same in every row, which is soon told of a column that is not.
            PartValues::Formula(Value::Number(Vals::Rows(v))) if all_equal(v) => {}
            PartValues::Formula(Value::Number(Vals::Rows(v))) => {
                add(&mut hashes, v, |v| mix(salt, number_bits(v)));
            }
            PartValues::Formula(Value::Bool(Vals::Rows(v))) => {
                add(&mut hashes, v, |b| mix(salt, u64::from(b)));
            }
            PartValues::Formula(Value::Text(Vals::Rows(codes), dict)) => {
                add_texts(&mut hashes, codes, salt, dict.len());
            }
            PartValues::Formula(_) => {}
        }
    }
    for name in ["kernel_source", "op_name"] {
        if let Some(Column::Text { codes, dict, .. }) = table.column(name)
            && dict.len() > 1
        {
            add_texts(&mut hashes, codes, text_hash(name), dict.len());
        }
    }
    hashes
}

fn add<T: Copy>(hashes: &mut [u64], values: &[T], part: impl Fn(T) -> u64) {
    hashes.iter_mut().zip(values).for_each(|(hash, v)| *hash = hash.wrapping_add(part(*v)));
}

fn add_texts(hashes: &mut [u64], codes: &[u32], salt: u64, texts: usize) {
    let parts: Vec<u64> = (0..texts as u64).map(|code| mix(salt, code)).collect();
    let part = |code: u32| if code == NULL_CODE { 0 } else { parts[code as usize] };
    add(hashes, codes, part);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::catalog::{Format, Place};
    use crate::database::table::TableScope;
    use crate::specs::Specs;

    /// Synthetic: GEMMs in any order.
    #[test]
    fn rows_of_a_series_differ_in_one_size_and_are_in_its_order() {
        let mut rows = Vec::new();
        for m in [4, 1, 2] {
            for n in [64, 128, 32] {
                rows.push(format!("bfloat16,{m},{n},64,0.0{m}{n}"));
            }
        }
        let text = format!("gemm_dtype,m,n,k,latency\n{}\n", rows.join("\n"));
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
        let all = AxisSeries::all(&keys, &table, spec, values);
        let axes: Vec<(&str, usize)> = all.iter().map(|a| (a.axis.as_str(), a.len())).collect();
        assert_eq!(axes, [("m", 3), ("n", 3)]);
        for (rows, sizes) in all[0].iter() {
            assert_eq!(sizes, [1.0, 2.0, 4.0]);
            assert!(rows.iter().all(|row| row % 3 == rows[0] % 3), "one n");
        }
        assert_eq!(all[1].spread(2).count(), 2);
    }
}
