//! Slices of the key space: its parts by the texts of the key, before and after.

use std::collections::BTreeMap;

use super::ratios::LatencyChange;
use super::served::Joined;
use crate::base::stats::quantile;
use crate::database::table::{Keys, NumberedRows};

/// A slice's texts, by part of the key.
pub type SliceName = Vec<(String, String)>;

/// A key that is served no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostKey {
    /// A hash of the key: equal keys hash alike in every table.
    pub hash: u64,
    /// Its slice, as an index.
    pub slice: u32,
}

/// The keys of a comparison by slice.
#[derive(Default)]
pub(super) struct SlicedKeys {
    /// Slices that differ from the table as a whole: their middle ratio by more than [`super::FAR`], or by
    /// being there on one side only. None where there is one slice.
    pub differ: Vec<SliceDiff>,
    /// Keys that are served no more.
    pub lost: Vec<LostKey>,
    /// The slices by number.
    pub names: Vec<SliceName>,
}

/// What happened to a part of the key space.
#[derive(Debug, Clone, PartialEq)]
pub struct SliceDiff {
    /// The slice, by the texts of the key.
    pub slice: SliceName,
    /// Keys served before and after.
    pub common: u64,
    /// Keys served no more.
    pub lost: u64,
    /// Keys not served before.
    pub gained: u64,
    /// The middle ratio; none where no key has one.
    pub median_ratio: Option<f64>,
}

/// The rows of a side by their slices.
struct Side<'k> {
    keys: &'k Keys<'k>,
    /// The slice of each row, as the side numbers them.
    own: Vec<u32>,
    /// The number of each of those, once it is met.
    known: Vec<Option<usize>>,
}

impl<'k> Side<'k> {
    fn new(keys: &'k Keys<'_>) -> Self {
        let NumberedRows { of_rows, counts } = keys.slice_numbers();
        Self { keys, own: of_rows, known: vec![None; counts.len()] }
    }
}

/// What is gathered of a slice.
#[derive(Default)]
struct Gathered {
    common: u64,
    lost: u64,
    gained: u64,
    ratios: Vec<f64>,
}

/// The slices of both sides by number, in the order in which they come.
#[derive(Default)]
struct Slices {
    numbers: BTreeMap<SliceName, usize>,
    /// What is gathered of each.
    gathered: Vec<Gathered>,
}

impl Slices {
    /// The number of a row's slice, on one of the sides.
    fn of(&mut self, side: &mut Side<'_>, row: u32) -> usize {
        let Side { keys, own, known } = side;
        *known[own[row as usize] as usize].get_or_insert_with(|| {
            *self.numbers.entry(keys.texts(row as usize)).or_insert_with(|| {
                self.gathered.push(Gathered::default());
                self.gathered.len() - 1
            })
        })
    }
}

/// Takes the keys of a comparison apart by slice; `whole` is the middle ratio of all.
pub(super) fn slices(
    joined: &Joined,
    latencies: &[LatencyChange],
    base: Option<&Keys<'_>>,
    head: Option<&Keys<'_>>,
    whole: Option<f64>,
) -> SlicedKeys {
    let mut found = Slices::default();
    if let Some(keys) = head {
        let mut side = Side::new(keys);
        for (i, (_, row)) in joined.common.iter().enumerate() {
            let number = found.of(&mut side, *row);
            let gathered = &mut found.gathered[number];
            gathered.common += 1;
            gathered.ratios.extend(latencies.get(i).and_then(LatencyChange::ratio));
        }
        for row in &joined.gained {
            let number = found.of(&mut side, *row);
            found.gathered[number].gained += 1;
        }
    }
    let lost = base.map(|keys| {
        let mut side = Side::new(keys);
        let lost = joined.lost.iter().map(|(hash, row)| {
            let number = found.of(&mut side, *row);
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

/// The slices that stand out, by name.
fn differing(names: &[SliceName], gathered: Vec<Gathered>, whole: Option<f64>) -> Vec<SliceDiff> {
    let diffs = names.iter().zip(gathered).map(|(slice, gathered)| {
        let Gathered { common, lost, gained, mut ratios } = gathered;
        ratios.sort_by(f64::total_cmp);
        let median_ratio = (!ratios.is_empty()).then(|| quantile(&ratios, 0.5));
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
