//! Slices of the key space (keys with the same texts) before and after.

use std::collections::BTreeMap;

use super::join::JoinedKeys;
use super::ratios::LatencyChange;
use crate::base::stats::quantile;
use crate::database::table::{Keys, NumberedRows};

/// The name of a slice: the name and text of each text part of the key.
pub type SliceName = Vec<(String, String)>;

/// A key that is served only before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostKey {
    /// The hash of the key, which is the same in every table.
    pub hash: u64,
    /// The index of the key's slice.
    pub slice: u32,
}

/// The keys of a comparison by slice.
#[derive(Default)]
pub(super) struct SlicedKeys {
    /// The slices that differ from the whole table: their median ratio differs by more than [`super::FAR`],
    /// or they have lost or gained keys. Empty if there is only one slice.
    pub differ: Vec<SliceDiff>,
    /// The keys that are served only before.
    pub lost: Vec<LostKey>,
    /// The names of all slices, by number.
    pub names: Vec<SliceName>,
}

/// The differences in one slice of the key space.
#[derive(Debug, Clone, PartialEq)]
pub struct SliceDiff {
    /// The name of the slice.
    pub slice: SliceName,
    /// The number of keys served before and after.
    pub common: u64,
    /// The number of keys served only before.
    pub lost: u64,
    /// The number of keys served only after.
    pub gained: u64,
    /// The median latency ratio; `None` if no key has a ratio.
    pub median_ratio: Option<f64>,
}

/// The rows of one side with their slices.
struct SlicedSide<'k> {
    keys: &'k Keys<'k>,
    /// The slice of each row, in this side's own numbering.
    own: Vec<u32>,
    /// The common number of each slice in this side's numbering; `None` until the slice is first looked up.
    known: Vec<Option<usize>>,
}

impl<'k> SlicedSide<'k> {
    fn new(keys: &'k Keys<'_>) -> Self {
        let NumberedRows { of_rows, counts } = keys.slice_numbers();
        Self { keys, own: of_rows, known: vec![None; counts.len()] }
    }
}

/// The counts and ratios of a slice.
#[derive(Default)]
struct Gathered {
    common: u64,
    lost: u64,
    gained: u64,
    ratios: Vec<f64>,
}

/// The slices of both sides, numbered in the order in which they are first looked up.
#[derive(Default)]
struct Slices {
    numbers: BTreeMap<SliceName, usize>,
    /// The counts and ratios of each slice, by number.
    gathered: Vec<Gathered>,
}

impl Slices {
    /// Returns the common number of a row's slice.
    fn number(&mut self, side: &mut SlicedSide<'_>, row: u32) -> usize {
        let SlicedSide { keys, own, known } = side;
        *known[own[row as usize] as usize].get_or_insert_with(|| {
            *self.numbers.entry(keys.texts(row as usize)).or_insert_with(|| {
                self.gathered.push(Gathered::default());
                self.gathered.len() - 1
            })
        })
    }
}

/// Groups the keys of a comparison by slice; `whole` is the median ratio of all keys.
pub(super) fn slices(
    joined: &JoinedKeys,
    latencies: &[LatencyChange],
    base: Option<&Keys<'_>>,
    head: Option<&Keys<'_>>,
    whole: Option<f64>,
) -> SlicedKeys {
    let mut found = Slices::default();
    if let Some(keys) = head {
        let mut side = SlicedSide::new(keys);
        for (i, (_, row)) in joined.common.iter().enumerate() {
            let number = found.number(&mut side, *row);
            let gathered = &mut found.gathered[number];
            gathered.common += 1;
            gathered.ratios.extend(latencies.get(i).and_then(LatencyChange::ratio));
        }
        for row in &joined.gained {
            let number = found.number(&mut side, *row);
            found.gathered[number].gained += 1;
        }
    }
    let lost = base.map(|keys| {
        let mut side = SlicedSide::new(keys);
        let lost = joined.lost.iter().map(|(hash, row)| {
            let number = found.number(&mut side, *row);
            found.gathered[number].lost += 1;
            LostKey { hash: *hash, slice: number as u32 }
        });
        lost.collect()
    });
    let Slices { gathered, numbers } = found;
    let mut names = vec![SliceName::new(); numbers.len()];
    numbers.into_iter().for_each(|(name, number)| names[number] = name);
    let differ = if gathered.len() < 2 { Vec::new() } else { differing(&names, gathered, whole) };
    SlicedKeys { differ, lost: lost.unwrap_or_default(), names }
}

/// Returns the slices that differ from the whole table, sorted by name.
fn differing(names: &[SliceName], gathered: Vec<Gathered>, whole: Option<f64>) -> Vec<SliceDiff> {
    let diffs = names.iter().zip(gathered).map(|(slice, gathered)| {
        let Gathered { common, lost, gained, mut ratios } = gathered;
        let median_ratio = (!ratios.is_empty()).then(|| {
            ratios.sort_by(f64::total_cmp);
            quantile(&ratios, 0.5)
        });
        SliceDiff { slice: slice.clone(), common, lost, gained, median_ratio }
    });
    let mut differ: Vec<SliceDiff> = diffs.filter(|diff| stands_out(diff, whole)).collect();
    differ.sort_by(|a, b| a.slice.cmp(&b.slice));
    differ
}

fn stands_out(diff: &SliceDiff, whole: Option<f64>) -> bool {
    let one_sided = diff.common == 0 || diff.lost > 0 || diff.gained > 0;
    let apart = match (diff.median_ratio, whole) {
        (Some(own), Some(whole)) => (own / whole - 1.0).abs() > super::FAR,
        _ => false,
    };
    one_sided || apart
}
