//! What references say of a point: how far it stands out from its neighbours in the ratio to them.

use super::curve::{BendPoint, KeyPoint, TableCurve};
use super::references::{CurveReference, ReferenceGroups, SAME};
use crate::base::stats::median;
use crate::checks::compare::series::least_telling;

/// What the references say of a point.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Evidence {
    /// Logarithm of how many times it is slower than its neighbours, in the ratio to the references. That
    /// of the group that shows least.
    pub score: f64,
    /// Independent groups of references that say something.
    pub groups: usize,
}

impl Evidence {
    /// Whether a point stands out by a factor of `least` or more beside this many groups.
    pub fn is(&self, least: f64, groups: usize) -> bool {
        self.groups >= groups && self.score.abs() >= least.ln()
    }
}

/// What the groups of references say of a bend.
///
/// Every step takes what shows least, 0 where two contradict: of a reference the axes, and on an axis the
/// ratio to the reference less that of the neighbours' median, of the one before and of the one after.
/// Of a group the median counts. So a bump that the references have as well cancels, and so does a block
/// that another kernel serves, on whose edge one of the neighbours agrees.
pub fn evidence(curve: &TableCurve, bend: &BendPoint, groups: &ReferenceGroups) -> Evidence {
    let mut found = Evidence::default();
    for (_, group) in groups {
        let told = group.iter().filter_map(|reference| by_reference(curve, bend, reference));
        let Some(told) = middle(told.collect()) else { continue };
        let first = found.groups == 0;
        found.score = if first { told } else { least_telling(found.score, told) };
        found.groups += 1;
    }
    // What is slow beside other tables and fast in its own curve is neither.
    found.score = if found.score * f64::from(bend.log_ratio) > 0.0 { found.score } else { 0.0 };
    found
}

/// The path of a reference beside which a bend stands out as far as `found` says: of those that are most
/// like the table the first.
pub fn shown_by<'g>(
    curve: &TableCurve,
    bend: &BendPoint,
    groups: &'g ReferenceGroups,
    found: Evidence,
) -> Option<&'g str> {
    let shows = |reference: &&CurveReference| {
        let told = by_reference(curve, bend, reference).unwrap_or(0.0);
        told * found.score > 0.0 && told.abs() >= found.score.abs()
    };
    groups.iter().flat_map(|(_, group)| group).find(shows).map(|reference| reference.path.as_str())
}

/// The median; of an even number that of the two in the middle that shows less.
pub fn middle(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let (last, half) = (values.len().checked_sub(1)?, values.len() / 2);
    Some(if last == 2 * half {
        values[half]
    } else {
        least_telling(values[half - 1], values[half])
    })
}

/// Logarithm of a point's latency over a reference's; none where that lacks it.
pub fn log_ratio(point: KeyPoint, reference: &TableCurve) -> Option<f64> {
    let own = f64::from(point.latency);
    let other = f64::from(reference.latencies.get(point.hash)?);
    (own > 0.0 && other > 0.0).then(|| (own / other).ln())
}

fn by_reference(curve: &TableCurve, bend: &BendPoint, reference: &CurveReference) -> Option<f64> {
    // The same figure is the same measurement.
    let own = log_ratio(bend.point, &reference.curve).filter(|ratio| ratio.abs() > SAME)?;
    let mut least: Option<f64> = None;
    for around in curve.neighbours(bend) {
        let [far_before, before, after, far_after] =
            around.map(|neighbour| log_ratio(neighbour, &reference.curve));
        let (Some(before_it), Some(after_it)) = (before.or(far_before), after.or(far_after)) else {
            continue;
        };
        let known: Vec<f64> =
            [far_before, before, after, far_after].into_iter().flatten().collect();
        let level = median(&known);
        let told = [own - before_it, own - after_it].into_iter().fold(own - level, least_telling);
        if told == 0.0 {
            return Some(0.0);
        }
        least = Some(least.map_or(told, |known| least_telling(known, told)));
    }
    least
}
