//! What references say of a point: how far it stands out from its neighbours in the ratio to them.

use smallvec::SmallVec;

use super::curve::{AxisPoints, BendPoint, KeyPoint, TableCurve};
use super::latencies::KeyLatencies;
use super::references::{CurveReference, ROUNDING, ReferenceGroups, SAME};
use crate::base::stats::median;
use crate::checks::compare::series::least_telling;

/// What the references say of a point.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Evidence {
    /// Logarithm of how many times it is slower than its neighbours, in the ratio to the references. That
    /// of the group that shows least; 0 where that is less than a rule asks for, or of another sign than
    /// what its own curve shows.
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

/// A point that bends, and what lies around it.
pub struct Bent<'a> {
    /// The point.
    pub point: KeyPoint,
    /// Whether it is slow, not fast.
    pub slow: bool,
    /// Factor from which on it is asked what references say.
    pub least: f64,
    /// What lies around it, axis by axis.
    pub neighbours: &'a [AxisPoints],
}

impl<'a> Bent<'a> {
    /// A bend of a table.
    pub fn of(curve: &'a TableCurve, bend: &BendPoint) -> Self {
        Self {
            point: bend.point,
            slow: bend.log_ratio > 0.0,
            least: curve.least_bend,
            neighbours: curve.neighbours(bend),
        }
    }
}

/// What the groups of references say of a bend.
///
/// Every step takes what shows least, 0 where two contradict or one shows less than a rule asks for: of a
/// reference the axes, and on an axis the ratio to the reference less that of the neighbours' median, of the
/// one before and of the one after. Of a group the median counts. So a bump that the references have as
/// well cancels, and so does a block that another kernel serves, on whose edge one of the neighbours agrees.
pub fn evidence(bent: &Bent<'_>, groups: &ReferenceGroups) -> Evidence {
    let mut found = Evidence::default();
    for (_, group) in groups {
        let by_reference = |reference: &CurveReference| by_reference(bent, &reference.latencies);
        let Some(told) = by_group(group, by_reference) else { continue };
        let first = found.groups == 0;
        found.score = if first { told } else { least_telling(found.score, told) };
        found.groups += 1;
        // Nothing that another group says makes more of it.
        if found.score == 0.0 {
            break;
        }
    }
    found
}

/// The median of what the references of a group say; of three, two that say nothing are enough.
pub(super) fn by_group(
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

/// The path of a reference beside which a bend stands out as far as `found` says: of those that are most
/// like the table the first.
pub fn shown_by<'g>(
    bent: &Bent<'_>,
    groups: &'g ReferenceGroups,
    found: Evidence,
) -> Option<&'g str> {
    let shows = |reference: &&CurveReference| {
        let told = by_reference(bent, &reference.latencies).unwrap_or(0.0);
        told * found.score > 0.0 && told.abs() >= found.score.abs()
    };
    groups.iter().flat_map(|(_, group)| group).find(shows).map(|reference| reference.path.as_str())
}

/// The median; of an even number that of the two in the middle that shows less.
fn middle(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let (last, half) = (values.len().checked_sub(1)?, values.len() / 2);
    Some(if last == 2 * half {
        values[half]
    } else {
        least_telling(values[half - 1], values[half])
    })
}

/// Logarithm of a point's latency over a reference's; none where that lacks it.
pub fn log_ratio(point: KeyPoint, reference: &KeyLatencies) -> Option<f64> {
    ratio(point, reference).map(f64::ln)
}

/// A point's latency over a reference's; none where that lacks it.
pub(super) fn ratio(point: KeyPoint, reference: &KeyLatencies) -> Option<f64> {
    let own = f64::from(point.latency);
    let other = f64::from(reference.get(point.hash)?);
    (own > 0.0 && other > 0.0).then(|| own / other)
}

/// Whether two figures of a ratio are one measurement.
pub(super) fn is_same(ratio: f64) -> bool {
    // Few ratios are so near to 1 that it takes a logarithm to say.
    (ratio - 1.0).abs() < 2.0 * SAME && ratio.ln().abs() <= SAME
}

/// What a reference says of a bend; none where it lacks the point or what lies around it.
pub(super) fn by_reference(bent: &Bent<'_>, reference: &KeyLatencies) -> Option<f64> {
    let Bent { point, slow, least, neighbours } = *bent;
    let ratio = |point: KeyPoint| ratio(point, reference);
    let own_ratio = ratio(point)?;
    let own = own_ratio.ln();
    // The same figure is the same measurement.
    if own.abs() <= SAME {
        return None;
    }
    // What is slow beside other tables and fast in its own curve is neither.
    let factor = least * (1.0 - ROUNDING);
    let shows = |told: f64| (if slow { told } else { -told }) >= least.ln();
    let may_show =
        |beside: f64| own_ratio >= factor * beside && slow || beside >= factor * own_ratio && !slow;
    let mut found: Option<f64> = None;
    for axis in neighbours {
        let [far_before, before, after, far_after] = axis.points;
        let Some(before_it) = ratio(before).or_else(|| ratio(far_before)) else { continue };
        let Some(after_it) = ratio(after).or_else(|| ratio(far_after)) else { continue };
        // Nearly every bend ends here, without a logarithm.
        if !may_show(before_it) || !may_show(after_it) {
            return Some(0.0);
        }
        let own = own_ratio.ln();
        let known = [far_before, before, after, far_after].into_iter();
        let known: SmallVec<[f64; 4]> = known.filter_map(ratio).map(f64::ln).collect();
        let sides = least_telling(own - before_it.ln(), own - after_it.ln());
        let told = least_telling(own - median(&known), sides);
        if !shows(told) {
            return Some(0.0);
        }
        found = Some(found.map_or(told, |known| least_telling(known, told)));
    }
    found
}
