//! The tables that a table's curves are held against.

use std::ops::Range;
use std::sync::Arc;

use super::latencies::KeyLatencies;
use crate::base::stats::upper_median;
use crate::checks::compare::kin::{Kin, Kinship};
use crate::checks::compare::sketch::{Sketch, Sketched};

/// A shape that is off is kept from this logarithm on (1.3).
pub const KEPT: f64 = 0.262;

/// Points of the sketches that show whether two tables are one measurement.
const SAMPLE: usize = 1024;
/// Points that two tables must share.
const SHARED: usize = 20;
/// Two figures that differ by no more are one measurement.
pub const SAME: f64 = 1e-6;
/// How far two ways of comparing a ratio may be apart.
pub const ROUNDING: f64 = 1e-9;
/// The number of tables of one kinship that are tried as references, at most. A copy of the same measurement is never
/// a reference, however many copies there are. The report on the public database is the same without this limit.
const TRIED: usize = 64;
/// Share of the common keys from which on two tables with the same figures are one measurement.
const SAME_SHARE: f64 = 0.3;

impl Kinship {
    /// References of a kind that are asked, at most.
    fn most(self) -> usize {
        if self == Self::Name { 2 } else { 3 }
    }
}

/// A reference.
pub struct CurveReference {
    /// Path of its file.
    pub path: String,
    /// Its latencies.
    pub latencies: Arc<KeyLatencies>,
    /// The table's latency over its own by slice of the table.
    pub levels: Vec<Level>,
}

/// The latency of a slice over that of a reference: the median of the points both have.
pub struct Level {
    /// Its logarithm; NaN where they share no point.
    pub log: f64,
    /// Ratios that are certainly near it.
    near: Range<f64>,
}

impl Level {
    fn of(log: f64) -> Self {
        // A little less than what is kept, for rounding.
        let kept = KEPT * (1.0 - ROUNDING);
        Self { log, near: (log - kept).exp()..(log + kept).exp() }
    }

    /// Whether a ratio is too near for its series to be off.
    pub fn is_near(&self, ratio: f64) -> bool {
        self.near.contains(&ratio)
    }
}

/// The references of a table, by what they have in common with it: independent groups.
pub type ReferenceGroups = Vec<(Kinship, Vec<CurveReference>)>;

/// The references of a table among those of its name: of each group those whose number of keys is nearest to
/// its own.
pub fn reference_groups(kin: &Kin<'_>, (file, own): Sketched<'_>) -> ReferenceGroups {
    let mut groups: ReferenceGroups = Vec::new();
    if own.points.len() < SHARED {
        return groups;
    }
    for kinship in [Kinship::Version, Kinship::System, Kinship::Backend, Kinship::Name] {
        if kinship == Kinship::Name && groups.len() >= 2 {
            break;
        }
        let tried = kin.nearest(kinship, file, own.keys).take(TRIED);
        let references = tried.filter_map(|(other, sketch)| {
            let latencies = sketch.latencies.clone()?;
            let levels = levels(own, sketch)?;
            Some(CurveReference { path: other.entry.path.clone(), latencies, levels })
        });
        let group: Vec<CurveReference> = references.take(kinship.most()).collect();
        if !group.is_empty() {
            groups.push((kinship, group));
        }
    }
    groups
}

/// The latencies of all other tables of a name that share enough keys with a table and are not the same measurement.
pub fn comparable<'k, 's>(
    kin: &'s Kin<'k>,
    (file, own): Sketched<'s>,
) -> impl Iterator<Item = &'k KeyLatencies> + use<'k, 's> {
    let others = kin.tables.iter().filter(|(other, _)| other.place != file.place);
    others.filter_map(|(_, sketch)| levels(own, sketch).and(sketch.latencies.as_deref()))
}

/// How far two tables are apart by slice of the first; none where they share too little, or are one
/// measurement.
fn levels(own: &Sketch, other: &Sketch) -> Option<Vec<Level>> {
    let mut by_slice = own.room_by_slice::<f64>();
    let (mut shared, mut same) = (0, 0);
    let timed = own.common(other).filter(|(a, b)| a.latency > 0.0 && b.latency > 0.0);
    for (a, b) in timed.take(SAMPLE) {
        let ratio = a.log - b.log;
        shared += 1;
        same += usize::from(ratio.abs() <= SAME);
        by_slice[a.slice as usize].push(ratio);
    }
    let apart = shared >= SHARED && same as f64 <= SAME_SHARE * shared as f64;
    apart.then(|| by_slice.iter_mut().map(|ratios| Level::of(upper_median(ratios))).collect())
}
