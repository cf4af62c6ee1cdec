//! The slices of a table before and after a change.

use std::collections::BTreeMap;

use super::{JoinedKeys, LatencyChange};
use crate::base::stats::quantile;
use crate::database::table::{Keys, NumberedRows};
use crate::specs::NoiseBands;

/// The name of a slice: the name and text of each key part that is a name, such as `gemm_dtype` and `fp8`.
pub(crate) type SliceName = Vec<(String, String)>;

/// A key that is served only before a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostKey {
    /// The hash of the key. Equal keys have the same hash in every table.
    pub hash: u64,
    /// The index of the key's slice in the list of all slices.
    pub slice: u32,
}

/// The keys that base and head serve, counted by slice.
#[derive(Default)]
pub(super) struct SlicedKeys {
    /// The differences in each slice, sorted by the slice's name.
    pub all: Vec<SliceDiff>,
    /// The keys that are served only before the change.
    pub lost: Vec<LostKey>,
    /// The names of all slices, indexed by [`LostKey::slice`].
    pub names: Vec<SliceName>,
}

/// The differences between base and head in one slice of a table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SliceDiff {
    /// The name of the slice.
    pub slice: SliceName,
    /// The number of common keys, which are served before and after the change.
    pub common: u64,
    /// The number of keys whose latency is 0 before or after the change. Such keys have no latency ratio. Lost and
    /// gained keys are not counted.
    pub zeros: u64,
    /// The number of keys that are served only before the change.
    pub lost: u64,
    /// The number of keys that are served only after the change.
    pub gained: u64,
    /// The latencies of keys that are served before and after the change; `None` if no key has a latency ratio.
    pub latency: Option<SliceLatency>,
}

/// Statistics of the latencies in a slice, over the keys that are served before and after a change. A latency ratio is
/// after over before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SliceLatency {
    /// The median latency before the change, in ms.
    pub before: f64,
    /// The median latency after the change, in ms.
    pub after: f64,
    /// The median of the latency ratios.
    pub ratio: f64,
    /// The 5th percentile of the latency ratios.
    pub low: f64,
    /// The 95th percentile of the latency ratios.
    pub high: f64,
    /// The number of keys with a latency ratio.
    pub keys: u64,
    /// The number of keys whose latency changed at all.
    pub changed: u64,
    /// The number of keys whose latency changed by a larger factor than in 99 % of reruns.
    pub beyond_noise: u64,
}

impl SliceDiff {
    /// Adds up the common, lost and gained keys of several slices. Latencies are left out.
    pub(crate) fn sum<'s>(slices: impl Iterator<Item = &'s Self>) -> Self {
        slices.fold(Self::default(), |sum, slice| Self {
            common: sum.common + slice.common,
            lost: sum.lost + slice.lost,
            gained: sum.gained + slice.gained,
            ..sum
        })
    }

    /// Returns true if the slice changed differently from its whole table: it lost or gained keys, or its median
    /// latency ratio differs from `whole` by more than [`super::FAR`]. `whole` is the median latency ratio of the
    /// table.
    pub(crate) fn differs_from_table(&self, whole: Option<f64>) -> bool {
        let one_sided = self.common == 0 || self.lost > 0 || self.gained > 0;
        let apart = match (self.latency, whole) {
            (Some(own), Some(whole)) => (own.ratio / whole - 1.0).abs() > super::FAR,
            _ => false,
        };
        one_sided || apart
    }
}

impl SliceLatency {
    /// Returns true if no latency changed.
    pub(crate) fn is_unchanged(&self) -> bool {
        self.changed == 0
    }

    pub(super) fn of(changes: &[&LatencyChange], noise: NoiseBands<'_>) -> Option<Self> {
        let changes = changes.iter().filter_map(|change| Some((*change, change.ratio()?)));
        let changes: Vec<(&LatencyChange, f64)> = changes.collect();
        let sorted = |of: fn(&(&LatencyChange, f64)) -> f64| {
            let mut all: Vec<f64> = changes.iter().map(of).collect();
            all.sort_unstable_by(f64::total_cmp);
            all
        };
        let ratios = sorted(|(_, ratio)| *ratio);
        let is_beyond = |(change, ratio): &&(&LatencyChange, f64)| {
            let tail =
                noise.at(change.before.min(change.after)).map_or(1.0 + super::FAR, |b| b.p99);
            ratio.max(1.0 / ratio) > tail
        };
        (!ratios.is_empty()).then(|| Self {
            before: quantile(&sorted(|(change, _)| change.before), 0.5),
            after: quantile(&sorted(|(change, _)| change.after), 0.5),
            ratio: quantile(&ratios, 0.5),
            low: quantile(&ratios, 0.05),
            high: quantile(&ratios, 0.95),
            keys: ratios.len() as u64,
            changed: ratios.iter().filter(|ratio| **ratio != 1.0).count() as u64,
            beyond_noise: changes.iter().filter(is_beyond).count() as u64,
        })
    }
}

/// The rows of a table in base or head, with their slices.
struct SlicedSide<'k> {
    keys: &'k Keys<'k>,
    /// For each row, the index of its slice among the slices of this table.
    own: &'k [u32],
    /// For each slice of this table, its index in [`Slices`]; `None` until the slice is first looked up.
    known: Vec<Option<usize>>,
}

impl<'k> SlicedSide<'k> {
    fn new(keys: &'k Keys<'_>) -> Self {
        let NumberedRows { of_rows, counts } = keys.slice_numbers();
        Self { keys, own: of_rows, known: vec![None; counts.len()] }
    }
}

/// The numbers of common, lost and gained keys in a slice, and the latencies of its common keys.
#[derive(Default)]
struct Gathered<'l> {
    common: u64,
    lost: u64,
    gained: u64,
    latencies: Vec<&'l LatencyChange>,
}

/// The slices of base and head, in the order in which they are first looked up.
#[derive(Default)]
struct Slices<'l> {
    numbers: BTreeMap<SliceName, usize>,
    /// The counts and latencies of each slice, by index.
    gathered: Vec<Gathered<'l>>,
}

impl Slices<'_> {
    /// Returns the index of a row's slice. Adds the slice if it is new.
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

/// Groups the served keys of base and head by slice. `latencies` are in the order of `joined.common`. `noise` is the
/// spread between reruns of the table.
pub(super) fn slices(
    joined: &JoinedKeys,
    latencies: &[LatencyChange],
    base: Option<&Keys<'_>>,
    head: Option<&Keys<'_>>,
    noise: NoiseBands<'_>,
) -> SlicedKeys {
    let mut found = Slices::default();
    if let Some(keys) = head {
        let mut side = SlicedSide::new(keys);
        for (i, (_, row)) in joined.common.iter().enumerate() {
            let number = found.number(&mut side, *row);
            let gathered = &mut found.gathered[number];
            gathered.common += 1;
            gathered.latencies.extend(latencies.get(i));
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
    let all = names.iter().zip(gathered).map(|(slice, gathered)| {
        let Gathered { common, lost, gained, latencies } = gathered;
        let zeros = latencies.iter().filter(|l| l.before == 0.0 || l.after == 0.0).count() as u64;
        let latency = SliceLatency::of(&latencies, noise);
        SliceDiff { slice: slice.clone(), common, zeros, lost, gained, latency }
    });
    let mut all: Vec<SliceDiff> = all.collect();
    all.sort_by(|a, b| a.slice.cmp(&b.slice));
    SlicedKeys { all, lost: lost.unwrap_or_default(), names }
}
