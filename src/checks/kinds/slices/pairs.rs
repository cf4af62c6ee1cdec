//! Slices of one operation that differ in a dtype, at the keys that they have in common.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::take;

use schemars::JsonSchema;
use serde::Deserialize;

use super::odd::OddSlice;
use crate::base::group::grouped;
use crate::base::stats::upper_median;
use crate::base::words::{Figure, count};
use crate::checks::context::RowContext;
use crate::database::table::{Keys, NumberedRows};

/// The approximate maximum number of compared rows. Larger tables are sampled.
const ROWS: usize = 16_384;
/// The strict maximum number of compared rows. A sample may exceed [`ROWS`] if its rows share few keys.
const MOST_ROWS: usize = 4 * ROWS;
/// A slice is compared with at most this many of the slices before it in the file. In known tables, at most nine slices
/// differ only in a dtype.
const NEAREST: usize = 32;

/// Limits for a slice that is much slower than the same operation in other dtypes, but only at small sizes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FloorLimits {
    /// A slice is reported if its latencies at small sizes are at least this many times those of every other dtype.
    factor: f64,
    /// A stricter limit that replaces `factor` if the slice is slower than only some of the other dtypes, or if there
    /// is only one other dtype.
    one: f64,
    /// The ratio of the slice's latency to another dtype's latency is computed at large and at small sizes. The ratio
    /// at large sizes must be at most this share of the ratio at small sizes.
    remains: f64,
}

/// The slices of a table, with the texts of each slice's key.
pub(super) struct SlicesOfDtypes<'a> {
    rows: &'a RowContext<'a>,
    keys: &'a Keys<'a>,
    /// The index of each row's slice.
    numbers: &'a [u32],
    /// The first row of each slice.
    first_rows: Vec<usize>,
    /// Two lists for each slice: the dtypes in its key, and the other texts in its key.
    texts: Vec<[Vec<String>; 2]>,
}

/// A row that can be compared with rows of other slices. In sorted order, comparable rows are adjacent.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct PlacedRow {
    /// The hash of the numbers in the key.
    hash: u64,
    /// The index of the group to which the row's slice belongs. The slices of a group differ in their dtypes alone.
    group: u32,
    /// The position of the row's slice within its group, from 0.
    place: usize,
    slice: u32,
    row: usize,
}

/// Two slices that differ in a dtype and in no other text.
pub(super) struct DtypePair {
    /// The index of the slice that comes first in the file.
    pub first: usize,
    /// The index of the slice that comes second in the file.
    pub second: usize,
    /// The rows of the second slice at the common keys.
    rows: Vec<usize>,
    /// The latencies in ms of both slices at each common key.
    latencies: Vec<[f64; 2]>,
}

/// The most frequent factor between the latencies of two slices, and the rows with this factor.
pub(super) struct Proportion {
    /// The latency of the pair's second slice divided by the latency of its first slice.
    pub factor: f64,
    pub rows: Vec<usize>,
    /// The number of common keys at which the two latencies were compared.
    pub of: usize,
}

/// The maximum relative difference of two ratios that count as the same factor, because tables contain rounded numbers.
const ROUNDING: f64 = 1e-6;

impl<'a> SlicesOfDtypes<'a> {
    pub(crate) fn new(
        dtypes: &[String],
        rows: &'a RowContext<'a>,
        keys: &'a Keys<'a>,
        slices: &'a NumberedRows,
    ) -> Self {
        let is_dtype = |name: &str| dtypes.iter().any(|end| name.ends_with(end.as_str()));
        let first_rows = slices.first_rows();
        let texts = first_rows.iter().map(|row| {
            let (own, others): (Vec<_>, Vec<_>) =
                keys.texts(*row).into_iter().partition(|(name, _)| is_dtype(name));
            [own, others].map(|texts| texts.into_iter().map(|(_, text)| text).collect())
        });
        let texts = texts.collect();
        Self { rows, keys, numbers: &slices.of_rows, first_rows, texts }
    }

    /// Compares slices that differ in a dtype alone. Slices with fewer than `least` rows are left out.
    pub(crate) fn pairs(&self, latency: &[f64], least: usize) -> Vec<DtypePair> {
        let alike = grouped(self.texts.iter().map(|[_, others]| others).zip(0u32..));
        // The group of each slice with peers, and its place among them.
        let mut places: Vec<Option<(u32, usize)>> = vec![None; self.texts.len()];
        for (group, slices) in (0u32..).zip(alike.values().filter(|slices| slices.len() > 1)) {
            for (place, slice) in slices.iter().enumerate() {
                places[*slice as usize] = Some((group, place));
            }
        }
        let numeric: Vec<usize> = (0..self.rows.spec.key.len())
            .filter(|part| self.keys.numbers(*part).is_some())
            .collect();
        // The hash of a key is a sum. Its texts are the same in all rows of a slice.
        let texts = self.first_rows.iter().map(|row| self.keys.without(&numeric, *row));
        let texts: Vec<u64> = texts.collect();
        let hashes = self.keys.hashes();
        let hash = |row: usize, slice: u32| hashes[row].wrapping_sub(texts[slice as usize]);
        // A larger table is sampled by the hashes of its keys, so that all slices keep the same keys.
        let most = u32::MAX / self.numbers.len().div_ceil(ROWS).max(1) as u32;
        // The rows of slices with peers, by the numbers in their keys.
        let mut placed: Vec<PlacedRow> = (0..self.numbers.len())
            .filter(|row| latency[*row] > 0.0 && latency[*row].is_finite())
            .filter_map(|row| {
                let slice = self.numbers[row];
                let (group, place) = places[slice as usize]?;
                Some(PlacedRow { hash: hash(row, slice), group, place, slice, row })
            })
            .filter(|row| (row.hash >> 32) as u32 <= most)
            .collect();
        placed.sort_unstable();
        // If a slice has several rows with one key, only the first one is compared.
        placed.dedup_by_key(|row| (row.hash, row.slice));
        let mut counts = vec![0; self.texts.len()];
        placed.iter().for_each(|row| counts[row.slice as usize] += 1);
        placed.retain(|row| counts[row.slice as usize] >= least);
        placed.truncate(MOST_ROWS);
        let mut pairs: BTreeMap<(usize, usize), DtypePair> = BTreeMap::new();
        for at in placed.chunk_by(|a, b| (a.hash, a.group) == (b.hash, b.group)) {
            for (n, a) in at.iter().enumerate() {
                for b in at[n + 1..].iter().take_while(|b| b.place - a.place <= NEAREST) {
                    let slices = (a.slice as usize, b.slice as usize);
                    let pair = pairs.entry(slices).or_insert_with(|| DtypePair::of(slices));
                    pair.add(b.row, [latency[a.row], latency[b.row]]);
                }
            }
        }
        pairs.into_values().collect()
    }

    /// Returns the dtypes of a slice, joined with "and". Messages name the slice by this text.
    pub(crate) fn words(&self, slice: usize) -> String {
        self.texts[slice][0].join(" and ")
    }

    fn rows_by_slice(&self) -> Vec<Vec<usize>> {
        let mut rows = vec![Vec::new(); self.texts.len()];
        let slices = self.numbers.iter().enumerate();
        slices.for_each(|(row, slice)| rows[*slice as usize].push(row));
        rows
    }
}

impl DtypePair {
    fn of((first, second): (usize, usize)) -> Self {
        Self { first, second, rows: Vec::new(), latencies: Vec::new() }
    }

    fn add(&mut self, row: usize, latency: [f64; 2]) {
        self.rows.push(row);
        self.latencies.push(latency);
    }

    /// Finds the most frequent factor between the latencies of the two slices at their common keys. Keys at which one
    /// of the latencies is below `least` ms are ignored.
    pub(crate) fn proportion(&self, least: f64) -> Proportion {
        let long =
            self.rows.iter().zip(&self.latencies).filter(|(_, of)| of[0].min(of[1]) >= least);
        let mut ratios: Vec<(f64, usize)> = long.map(|(row, of)| (of[1] / of[0], *row)).collect();
        ratios.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let (mut start, mut most) = (0, 0..0);
        for end in 0..ratios.len() {
            while ratios[end].0 > ratios[start].0 * (1.0 + ROUNDING) {
                start += 1;
            }
            if end + 1 - start > most.len() {
                most = start..end + 1;
            }
        }
        let mut rows: Vec<usize> = ratios[most.clone()].iter().map(|(_, row)| *row).collect();
        rows.sort_unstable();
        let factor = ratios.get(most.start).map_or(1.0, |(ratio, _)| *ratio);
        Proportion { factor, rows, of: ratios.len() }
    }

    /// Returns the number of keys that both slices have.
    pub(crate) fn common(&self) -> usize {
        self.latencies.len()
    }

    /// Returns how slow one slice of the pair (`side`: 0 or 1) is relative to the other one, at small and at large
    /// sizes. Small sizes are the keys where the other slice is fastest, and large sizes the keys where it is slowest.
    fn floor(&self, side: usize) -> RelativeLatency {
        let mut latencies = self.latencies.clone();
        let [own, other] = [side, 1 - side];
        let by_other = |a: &[f64; 2], b: &[f64; 2]| {
            a[other].total_cmp(&b[other]).then(a[own].total_cmp(&b[own]))
        };
        let ratio = |at: &[[f64; 2]]| {
            upper_median(
                &mut at.iter().map(|latency| latency[own] / latency[other]).collect::<Vec<_>>(),
            )
        };
        // The medians of both ends do not depend on an order within them.
        let count = latencies.len();
        let (few, large) = (count.div_ceil(4), count - count.div_ceil(10));
        latencies.select_nth_unstable_by(large, by_other);
        let remains = ratio(&latencies[large..]);
        latencies.select_nth_unstable_by(few - 1, by_other);
        let small = &latencies[..few];
        let mut own_at_small: Vec<f64> = small.iter().map(|latency| latency[own]).collect();
        RelativeLatency { latency: upper_median(&mut own_at_small), ratio: ratio(small), remains }
    }
}

/// The latency of a slice relative to another slice of the same operation with another dtype.
struct RelativeLatency {
    /// The median latency of the slice in ms at small sizes: at the quarter of the keys where the other slice is
    /// fastest.
    latency: f64,
    /// The median ratio of the slice's latency to the other slice's latency at small sizes: at the quarter of the keys
    /// where the other slice is fastest.
    ratio: f64,
    /// The median ratio of the slice's latency to the other slice's latency at large sizes: at the tenth of the keys
    /// where the other slice is slowest.
    remains: f64,
}

impl FloorLimits {
    /// Finds slices that are several times as slow as another dtype at small sizes, but not at large sizes. `keys` is
    /// the minimum number of keys that two compared slices have in common.
    pub(crate) fn odd(
        &self,
        slices: &SlicesOfDtypes<'_>,
        pairs: &[DtypePair],
        keys: usize,
    ) -> Vec<OddSlice> {
        let pairs = pairs.iter().filter(|pair| pair.common() >= keys);
        let peers =
            grouped(pairs.flat_map(|pair| [(pair.first, (pair, 0)), (pair.second, (pair, 1))]));
        let mut rows = slices.rows_by_slice();
        let mut odd = Vec::new();
        for (slice, peers) in peers {
            let is_slow = |floor: &RelativeLatency| {
                floor.ratio >= self.factor && floor.remains <= self.remains * floor.ratio
            };
            let floors = peers.iter().map(|(pair, side)| (*pair, *side, pair.floor(*side)));
            let mut slow: Vec<(&DtypePair, usize, RelativeLatency)> =
                floors.filter(|(_, _, floor)| is_slow(floor)).collect();
            // Two of three dtypes may be timed with their launches. Where there are two dtypes, either may be the odd
            // one.
            if slow.len() < peers.len() || peers.len() == 1 {
                slow.retain(|(_, _, floor)| floor.ratio >= self.one);
            }
            let floors = slow.iter().map(|(_, _, floor)| floor);
            let nearest = floors.min_by(|a, b| a.ratio.total_cmp(&b.ratio));
            let Some(RelativeLatency { latency, ratio, .. }) = nearest else { continue };
            let other = |(pair, side, _): &(&DtypePair, usize, RelativeLatency)| {
                slices.words(if *side == 0 { pair.second } else { pair.first })
            };
            let others: BTreeSet<String> = slow.iter().map(other).collect();
            let others: Vec<String> = others.into_iter().collect();
            let keys = slow.iter().map(|(pair, ..)| pair.common()).min().unwrap_or_default();
            let says = format!(
                "{} takes {:.4} ms and {:.1} times as long as {} at small sizes, but not at large ones ({} common keys examined), as if its launch or a synchronisation were timed",
                slices.words(slice),
                Figure(*latency),
                Figure(*ratio),
                others.join(" and "),
                count(keys),
            );
            odd.push(OddSlice { says, rows: take(&mut rows[slice]) });
        }
        odd
    }
}
