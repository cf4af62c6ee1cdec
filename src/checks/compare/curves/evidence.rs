//! The evidence of references on a point: how far it stands out from its neighbours in the ratio to them.

use smallvec::SmallVec;

use super::references::{CurveReference, ROUNDING, ReferenceGroups, SAME};
use crate::base::stats::median;
use crate::checks::compare::series::{
    AxisPoints, BendPoint, KeyLatencies, KeyPoint, TableCurve, least_telling,
};

/// The evidence of the references on a point.
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
    /// Returns true if a point stands out by a factor of `least` or more beside this many groups.
    pub fn is(&self, least: f64, groups: usize) -> bool {
        self.groups >= groups && self.score.abs() >= least.ln()
    }
}

/// A point that bends, and what lies around it.
pub struct Bent<'a> {
    /// The point.
    pub point: KeyPoint,
    /// True if the point is slow, false if it is fast.
    pub slow: bool,
    /// Factor from which on it is asked what references say.
    pub least: f64,
    /// The point's neighbours, axis by axis.
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

/// Returns the evidence of groups of references on a bend.
///
/// Every step takes the value that shows least; it is 0 if two values contradict each other or one shows less than a rule
/// asks for. For an axis, these are the ratio to the reference less the ratios of the neighbours' median, of the neighbour
/// before and of the neighbour after. For a reference, these are its axes. For a group, the median counts. So a bump that
/// the references have, too, cancels. The same holds for a block that another kernel serves, because one of the neighbours
/// agrees at its edge.
pub fn evidence(bent: &Bent<'_>, groups: &ReferenceGroups) -> Evidence {
    by_groups(groups, 0.0, |reference| by_reference(bent, &reference.latencies))
}

/// Returns what groups of references say together: the score of the group that shows least. A score of at most `least`
/// ends the comparison, because no other group makes more of it.
pub(super) fn by_groups(
    groups: &ReferenceGroups,
    least: f64,
    by_reference: impl Fn(&CurveReference) -> Option<f64>,
) -> Evidence {
    let mut found = Evidence::default();
    for (_, group) in groups {
        let Some(score) = by_group(group, &by_reference) else { continue };
        let first = found.groups == 0;
        found.score = if first { score } else { least_telling(found.score, score) };
        found.groups += 1;
        if found.score.abs() <= least {
            break;
        }
    }
    found
}

/// The median of what the references of a group say; of three, two that say nothing are enough.
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

/// Returns the median. If the number of values is even, the one of the two middle values that shows less counts.
fn middle(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let (last, half) = (values.len().checked_sub(1)?, values.len() / 2);
    Some(if last == 2 * half {
        values[half]
    } else {
        least_telling(values[half - 1], values[half])
    })
}

/// Returns the logarithm of a point's latency over a reference's; `None` if the reference lacks the point.
pub fn log_ratio(point: KeyPoint, reference: &KeyLatencies) -> Option<f64> {
    ratio(point, reference).map(f64::ln)
}

/// Returns a point's latency over a reference's; `None` if the reference lacks the point.
fn ratio(point: KeyPoint, reference: &KeyLatencies) -> Option<f64> {
    let own = f64::from(point.latency);
    let other = f64::from(reference.get(point.hash)?);
    (own > 0.0 && other > 0.0).then(|| own / other)
}

/// Returns what a reference says of a bend; `None` if it lacks the point or its neighbours.
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
