//! Slices of one operation that differ in a dtype, at the keys that they have in common.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use schemars::JsonSchema;
use serde::Deserialize;

use super::{OddSlice, times};
use crate::base::words::{Figure, count};
use crate::checks::context::RowContext;
use crate::database::table::{Keys, number_bits, part_hash};

/// When a slice is much slower than the other dtypes at small sizes only.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FloorLimits {
    /// The factor between the smallest latencies of a slice and of every other dtype.
    factor: f64,
    /// The share of that factor that remains at the largest size.
    remains: f64,
}

/// The slices of a table, with the dtypes and other texts of each.
pub(super) struct SlicesOfDtypes<'a> {
    rows: &'a RowContext<'a>,
    keys: &'a Keys<'a>,
    /// The slice of each row.
    numbers: &'a [u32],
    /// The texts of each slice's key: those of dtypes, then the others.
    texts: Vec<[Vec<String>; 2]>,
}

/// Two slices that differ in a dtype and in no other text.
pub(super) struct DtypePair {
    /// The number of the slice that comes first in the file.
    pub first: usize,
    /// The number of the other slice.
    pub second: usize,
    /// The number of keys that both have.
    pub common: usize,
    /// The rows of the second slice whose latency is that of the first, bit for bit.
    pub equal: Vec<usize>,
    /// The smallest latency of each.
    least: [f64; 2],
    /// The latencies of each where the other takes longest.
    at_longest: [[f64; 2]; 2],
}

impl<'a> SlicesOfDtypes<'a> {
    pub fn new(
        dtypes: &[String],
        rows: &'a RowContext<'a>,
        keys: &'a Keys<'a>,
        slices: &'a [u32],
    ) -> Self {
        let is_dtype = |name: &str| dtypes.iter().any(|end| name.ends_with(end.as_str()));
        let texts = first_rows(slices).into_iter().map(|row| {
            let (own, others): (Vec<_>, Vec<_>) =
                keys.texts(row).into_iter().partition(|(name, _)| is_dtype(name));
            [own, others].map(|texts| texts.into_iter().map(|(_, text)| text).collect())
        });
        Self { rows, keys, numbers: slices, texts: texts.collect() }
    }

    /// Compares every two slices that differ in a dtype alone.
    pub fn pairs(&self, latency: &[f64]) -> Vec<DtypePair> {
        let mut alike: BTreeMap<&Vec<String>, usize> = BTreeMap::new();
        self.texts.iter().for_each(|[_, others]| *alike.entry(others).or_default() += 1);
        let has_peers: Vec<bool> =
            self.texts.iter().map(|[_, others]| alike.get(others) > Some(&1)).collect();
        let numeric: Vec<usize> = (0..self.rows.at.spec.key.len())
            .filter(|part| self.keys.numbers(*part).is_some())
            .collect();
        // The first row of each slice at each combination of numbers.
        let mut by_numbers: HashMap<u64, Vec<(usize, usize)>> = HashMap::new();
        for (row, slice) in self.numbers.iter().map(|slice| *slice as usize).enumerate() {
            if !has_peers[slice] || latency[row] <= 0.0 || !latency[row].is_finite() {
                continue;
            }
            let number = |part: &usize| Some(self.keys.numbers(*part)?.get(row));
            let hash = numeric.iter().fold(0, |hash: u64, part| {
                let bits = number(part).map_or(0, number_bits);
                hash.wrapping_add(part_hash(*part, bits))
            });
            let at = by_numbers.entry(hash).or_default();
            if at.iter().all(|(other, _)| *other != slice) {
                at.push((slice, row));
            }
        }
        let mut pairs: BTreeMap<(usize, usize), DtypePair> = BTreeMap::new();
        for at in by_numbers.values() {
            for (n, (a, row_a)) in at.iter().enumerate() {
                for (b, row_b) in &at[n + 1..] {
                    if self.texts[*a][1] == self.texts[*b][1] {
                        let (x, y) = if a < b {
                            ((*a, *row_a), (*b, *row_b))
                        } else {
                            ((*b, *row_b), (*a, *row_a))
                        };
                        let pair =
                            pairs.entry((x.0, y.0)).or_insert_with(|| DtypePair::new(x.0, y.0));
                        pair.add(y.1, [latency[x.1], latency[y.1]]);
                    }
                }
            }
        }
        let mut pairs: Vec<DtypePair> = pairs.into_values().collect();
        pairs.iter_mut().for_each(|pair| pair.equal.sort_unstable());
        pairs
    }

    /// Names a slice by its dtypes.
    pub fn words(&self, slice: usize) -> String {
        self.texts[slice][0].join(" and ")
    }

    /// The rows of a slice.
    fn rows_of(&self, slice: usize) -> Vec<usize> {
        (0..self.numbers.len()).filter(|row| self.numbers[*row] as usize == slice).collect()
    }
}

/// The first row of each slice, by the slice's number.
pub(super) fn first_rows(slices: &[u32]) -> Vec<usize> {
    let mut first: Vec<usize> = Vec::new();
    for (row, slice) in slices.iter().enumerate() {
        // Slices are numbered in the order of their first rows.
        if *slice as usize == first.len() {
            first.push(row);
        }
    }
    first
}

impl DtypePair {
    fn new(first: usize, second: usize) -> Self {
        let (least, none) = ([f64::INFINITY; 2], [0.0; 2]);
        Self { first, second, common: 0, equal: Vec::new(), least, at_longest: [none; 2] }
    }

    fn add(&mut self, row: usize, latency: [f64; 2]) {
        self.common += 1;
        if latency[0].to_bits() == latency[1].to_bits() {
            self.equal.push(row);
        }
        for side in 0..2 {
            self.least[side] = self.least[side].min(latency[side]);
            let longest = &mut self.at_longest[side];
            if latency[1 - side] > longest[1 - side] {
                *longest = latency;
            }
        }
    }

    /// The smallest latency of a side over that of the other, and the ratio where the other takes longest.
    fn ratios(&self, side: usize) -> (f64, f64) {
        let ratio = |latency: [f64; 2]| latency[side] / latency[1 - side];
        (ratio(self.least), ratio(self.at_longest[side]))
    }
}

impl FloorLimits {
    /// Slices that take several times as long as every other dtype at small sizes, but not at large ones.
    pub fn odd(
        &self,
        slices: &SlicesOfDtypes<'_>,
        pairs: &[DtypePair],
        keys: usize,
    ) -> Vec<OddSlice> {
        let mut peers: BTreeMap<usize, Vec<(&DtypePair, usize)>> = BTreeMap::new();
        for pair in pairs.iter().filter(|pair| pair.common >= keys) {
            peers.entry(pair.first).or_default().push((pair, 0));
            peers.entry(pair.second).or_default().push((pair, 1));
        }
        let mut odd = Vec::new();
        for (slice, peers) in peers {
            let is_slow = |(pair, side): &(&DtypePair, usize)| {
                let (at_least, at_longest) = pair.ratios(*side);
                tracing::debug!(
                    at_least,
                    at_longest,
                    path = slices.rows.at.file.entry.path,
                    "floor"
                );
                at_least >= self.factor && at_longest <= self.remains * at_least
            };
            let slow: Vec<bool> = peers.iter().map(is_slow).collect();
            if slow.contains(&false) {
                continue;
            }
            let ratio = |(pair, side): &(&DtypePair, usize)| pair.ratios(*side).0;
            let nearest = peers.iter().min_by(|a, b| ratio(a).total_cmp(&ratio(b)));
            let Some((pair, side)) = nearest else { continue };
            let others: BTreeSet<String> = peers
                .iter()
                .map(|(pair, side)| slices.words(if *side == 0 { pair.second } else { pair.first }))
                .collect();
            let others: Vec<String> = others.into_iter().collect();
            let says = format!(
                "{} never takes less than {:.4} ms, {} the least of {} at the same {} keys; large sizes do not show this, so it looks like a launch or a synchronisation, not a kernel",
                slices.words(slice),
                Figure(pair.least[*side]),
                times(ratio(&(*pair, *side))),
                others.join(" and "),
                count(pair.common),
            );
            odd.push(OddSlice { says, rows: slices.rows_of(slice) });
        }
        odd
    }
}
