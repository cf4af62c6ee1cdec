//! The evidence of references on a point: how far it deviates from its neighbours in the ratio to the references'
//! latencies.
//!
//! References are other tables with the same keys. The ratio cancels the steps of kernels, which all tables have.

use smallvec::SmallVec;

use super::references::{CurveReference, ROUNDING, ReferenceGroups, SAME};
use crate::base::stats::median;
use crate::checks::compare::series::{
    AxisPoints, DeviatingPoint, KeyLatencies, KeyPoint, TableCurve, smaller_deviation,
};

/// The result of comparing a deviating point with other tables (references): how much the point still deviates after
/// division by their latencies. Steps of the kernel occur in all tables, so the division removes them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct ReferenceEvidence {
    /// How much the point deviates from its neighbours after division by the references' latencies, as the logarithm of
    /// a factor: positive for a slow point, negative for a fast one. If the groups of references give different
    /// deviations, this is the smallest. It is 0 if a group does not confirm the deviation.
    pub score: f64,
    /// Number of independent groups of references that have the point.
    pub groups: usize,
}

impl ReferenceEvidence {
    /// Returns true if the point deviates by a factor of at least `least`, and at least `groups` groups of references
    /// were compared.
    pub(crate) fn reaches(&self, least: f64, groups: usize) -> bool {
        self.groups >= groups && self.score.abs() >= least.ln()
    }
}

/// A point off the line between its neighbours (a deviating point), which is compared with other tables.
pub(crate) struct ComparedDeviation<'a> {
    pub point: KeyPoint,
    /// True if the point is slow, false if it is fast.
    pub slow: bool,
    /// The minimum factor by which the point must still deviate after division by a reference's latencies.
    pub least: f64,
    /// The point's neighbours along each axis.
    pub neighbours: &'a [AxisPoints],
}

impl<'a> ComparedDeviation<'a> {
    /// Describes a deviating point of a table's curve.
    pub(crate) fn of(curve: &'a TableCurve, deviation: &DeviatingPoint) -> Self {
        Self {
            point: deviation.point,
            slow: deviation.log_ratio > 0.0,
            least: curve.least_deviation,
            neighbours: curve.neighbours(deviation),
        }
    }
}

/// Compares a deviating point with groups of references, in four steps:
///
/// 1. The latencies of the point and its neighbours are divided by a reference's latencies at the same keys. This
///    removes jumps that the kernel has in every table.
/// 2. Along each axis, the point is compared with the neighbour before it, with the neighbour after it, and with the
///    median of the neighbours. The smallest difference, as a logarithm, is the deviation. If any difference is below
///    `deviation.least`, the deviation is 0.
/// 3. The deviation of a group is the median over its references.
/// 4. The score is the smallest deviation over the groups.
///
/// A group's deviation is the median over its references. The score is the smallest deviation over the groups.
pub(crate) fn evidence(
    deviation: &ComparedDeviation<'_>,
    groups: &ReferenceGroups,
) -> ReferenceEvidence {
    // A range of sizes with another kernel is not a deviation: at its edge, one neighbour is in the same range.
    by_groups(groups, 0.0, |reference| by_reference(deviation, &reference.latencies))
}

/// Computes one deviation per group of references. `by_reference` returns the deviation from a single reference. The
/// result contains the number of compared groups and, as its score, the deviation that is closest to 0. If the score's
/// absolute value is at most `least`, the remaining groups are not compared.
pub(super) fn by_groups(
    groups: &ReferenceGroups,
    least: f64,
    by_reference: impl Fn(&CurveReference) -> Option<f64>,
) -> ReferenceEvidence {
    let mut found = ReferenceEvidence::default();
    for (_, group) in groups {
        let Some(score) = by_group(group, &by_reference) else { continue };
        let first = found.groups == 0;
        found.score = if first { score } else { smaller_deviation(found.score, score) };
        found.groups += 1;
        if found.score.abs() <= least {
            break;
        }
    }
    found
}

/// Returns the median of the deviations from a group's references; `None` if no reference has the point. The median is
/// 0 as soon as two deviations are 0, since a group has at most three references.
fn by_group(
    group: &[CurveReference],
    by_reference: impl Fn(&CurveReference) -> Option<f64>,
) -> Option<f64> {
    let mut told: SmallVec<[f64; 3]> = SmallVec::new();
    for reference in group {
        told.extend(by_reference(reference));
        if told.len() == 2 && told.iter().all(|off| *off == 0.0) {
            return Some(0.0);
        }
    }
    middle(&mut told)
}

/// Returns the path of the first reference that confirms a deviation of at least `found.score`; `None` if no reference
/// does. References are searched by group, and within a group the most similar tables come first.
pub(crate) fn shown_by<'g>(
    deviation: &ComparedDeviation<'_>,
    groups: &'g ReferenceGroups,
    found: ReferenceEvidence,
) -> Option<&'g str> {
    let shows = |reference: &&CurveReference| {
        let told = by_reference(deviation, &reference.latencies).unwrap_or(0.0);
        told * found.score > 0.0 && told.abs() >= found.score.abs()
    };
    groups.iter().flat_map(|(_, group)| group).find(shows).map(|reference| reference.path.as_str())
}

/// Returns the median of deviations; `None` if there are no deviations. For an even number of deviations, returns the
/// smaller one of the two middle deviations.
fn middle(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let (last, half) = (values.len().checked_sub(1)?, values.len() / 2);
    Some(if last == 2 * half {
        values[half]
    } else {
        smaller_deviation(values[half - 1], values[half])
    })
}

/// Returns the logarithm of a point's latency divided by the reference's latency at the same key; `None` if the
/// reference lacks the key.
pub(crate) fn log_ratio(point: KeyPoint, reference: &KeyLatencies) -> Option<f64> {
    ratio(point, reference).map(f64::ln)
}

/// Returns a point's latency divided by the reference's latency at the same key; `None` if the reference lacks the key.
fn ratio(point: KeyPoint, reference: &KeyLatencies) -> Option<f64> {
    let own = f64::from(point.latency);
    let other = f64::from(reference.get(point.hash)?);
    (own > 0.0 && other > 0.0).then(|| own / other)
}

/// Divides the latencies of a point and its neighbours by a reference's latencies. Returns the logarithm of the factor
/// by which the point is then slower than its neighbours; negative for a fast point. Returns 0 if the point deviates by
/// a factor below `at.least`, or if the division turns a slow point into a fast one or the reverse. `None` if the
/// reference lacks the point or its neighbours, or has the same latency at the point.
pub(super) fn by_reference(at: &ComparedDeviation<'_>, reference: &KeyLatencies) -> Option<f64> {
    let ComparedDeviation { point, slow, least, neighbours } = *at;
    let ratio = |point: KeyPoint| ratio(point, reference);
    let own_ratio = ratio(point)?;
    let own = own_ratio.ln();
    // Equal latencies are copies of one measurement, which prove nothing.
    if own.abs() <= SAME {
        return None;
    }
    // A point that is slow compared with other tables but fast in its own curve, or the other way round, is not
    // evidence.
    let factor = least * (1.0 - ROUNDING);
    let shows = |told: f64| (if slow { told } else { -told }) >= least.ln();
    let may_show =
        |beside: f64| own_ratio >= factor * beside && slow || beside >= factor * own_ratio && !slow;
    let mut found: Option<f64> = None;
    for axis in neighbours {
        let [far_before, before, after, far_after] = axis.points;
        let Some(before_it) = ratio(before).or_else(|| ratio(far_before)) else { continue };
        let Some(after_it) = ratio(after).or_else(|| ratio(far_after)) else { continue };
        // Nearly every deviating point ends here, without a logarithm.
        if !may_show(before_it) || !may_show(after_it) {
            return Some(0.0);
        }
        let own = own_ratio.ln();
        let known = [far_before, before, after, far_after].into_iter();
        let known: SmallVec<[f64; 4]> = known.filter_map(ratio).map(f64::ln).collect();
        let sides = smaller_deviation(own - before_it.ln(), own - after_it.ln());
        let told = smaller_deviation(own - median(&known), sides);
        if !shows(told) {
            return Some(0.0);
        }
        found = Some(found.map_or(told, |known| smaller_deviation(known, told)));
    }
    found
}
