//! The choice of references: the tables with which a table's curves are compared.

use std::sync::Arc;

use crate::base::stats::upper_median;
use crate::checks::compare::peers::{Kinship, Peers};
use crate::checks::compare::series::KeyLatencies;
use crate::checks::compare::sketch::{Sketch, SketchedTable};

/// The logarithm of the factor 1.3. A series that differs from the other series of its slice by a smaller factor gets
/// no score.
pub(crate) const KEPT: f64 = 0.262;

/// The maximum number of common points that are compared to decide whether two tables are the same measurement.
const SAMPLE: usize = 1024;
/// The minimum number of points that two tables must share to be compared.
const SHARED: usize = 20;
/// The maximum logarithm of the ratio of two latencies that count as the same measurement.
pub(crate) const SAME: f64 = 1e-6;
/// The relative tolerance when a ratio is compared with a limit. Comparisons with and without logarithms are rounded
/// differently.
pub(crate) const ROUNDING: f64 = 1e-9;
/// The maximum number of tables of one kinship (such as other versions or other systems) that are tried as references.
/// Many are tried, because copies of the same measurement are skipped.
const MOST_REFERENCES: usize = 64;
/// The maximum share of common keys with equal latencies. If more are equal, the two tables are one measurement.
const SAME_SHARE: f64 = 0.3;

impl Kinship {
    /// Returns the maximum number of tables of this kinship that are used as references.
    fn most(self) -> usize {
        if self == Self::Name { 2 } else { 3 }
    }
}

/// A table with which the curves of another table are compared.
pub(crate) struct CurveReference {
    pub path: String,
    pub latencies: Arc<KeyLatencies>,
    /// For each slice of the compared table, the median of the logarithm of this ratio: the compared table's latency
    /// divided by the reference's latency at the same key. NaN for a slice without common points.
    pub levels: Vec<f64>,
}

/// The references of a table in independent groups: one group per kinship, such as other versions or other systems.
pub(crate) type ReferenceGroups = Vec<(Kinship, Vec<CurveReference>)>;

/// Returns the references of a table, grouped by kinship. References have the same name as the table. Each group
/// contains the tables whose number of keys is nearest to the table's number of keys.
pub(crate) fn reference_groups(
    peers: &Peers<'_>,
    table @ (_, own): SketchedTable<'_>,
) -> ReferenceGroups {
    let mut groups: ReferenceGroups = Vec::new();
    if own.points.len() < SHARED {
        return groups;
    }
    for of_kinship in peers.nearest(table).chunk_by(|a, b| a.0 == b.0) {
        let kinship = of_kinship[0].0;
        if kinship == Kinship::Name && groups.len() >= 2 {
            break;
        }
        let tried = of_kinship.iter().take(MOST_REFERENCES);
        let references = tried.filter_map(|(_, (other, sketch))| {
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

/// Returns the latencies of all tables that can be compared with a table. They have the same name, share enough keys
/// and are not copies of the same measurement. The most similar tables come first.
pub(crate) fn comparable<'k>(
    peers: &Peers<'k>,
    table @ (_, own): SketchedTable<'_>,
) -> impl Iterator<Item = &'k KeyLatencies> {
    let may_share = own.points.len() >= SHARED;
    let others = if may_share { peers.nearest(table) } else { Vec::new() };
    others
        .into_iter()
        .filter_map(|(_, (_, sketch))| levels(own, sketch).and(sketch.latencies.as_deref()))
}

/// Returns for each slice of `own` the median of the logarithm of this ratio: the latency in `own` divided by the
/// latency in `other` at the same key. `None` if the tables share too few keys or are copies of the same measurement.
fn levels(own: &Sketch, other: &Sketch) -> Option<Vec<f64>> {
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
    apart.then(|| by_slice.iter_mut().map(|ratios| upper_median(ratios)).collect())
}
