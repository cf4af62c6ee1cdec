//! Deviating points that another table has, too, so that they are a step of the kernel and not a disturbed
//! measurement.
//!
//! The point and its neighbours are looked up by their keys in the other table, which needs only its latencies by
//! key.

use smallvec::SmallVec;

use super::evidence::{ComparedDeviation, ReferenceEvidence, evidence};
use super::references::{ReferenceGroups, SAME};
use crate::checks::compare::series::{
    AxisPoints, KeyLatencies, KeyPoint, Window, deviation_from_line, stands_out,
};

/// Returns a point and its neighbours along each axis, with the latencies that the table `other` has at the same keys.
/// Empty if `other` lacks the point.
fn windows<'a>(
    point: KeyPoint,
    around: &'a [AxisPoints],
    other: &'a KeyLatencies,
) -> impl Iterator<Item = Window> + 'a {
    around.iter().filter_map(move |axis| {
        let AxisPoints { points: [far_before, before, after, far_after], sizes } = *axis;
        let of = |point: KeyPoint| other.get(point.hash);
        Window::of(&sizes, [of(far_before), of(before), of(point), of(after), of(far_after)])
    })
}

/// Returns true if an outlier is also an outlier in another table, by a factor of at least `least`. An exactly equal
/// latency does not count, since it is the same measurement in a copy or a later version.
pub(crate) fn is_outlier_in(
    other: &KeyLatencies,
    point: KeyPoint,
    around: &[AxisPoints],
    spike: bool,
    least: f64,
) -> bool {
    other.get(point.hash).is_some_and(|there| there != point.latency)
        && stands_out(windows(point, around, other), spike, least)
}

/// Finds the point of the table `other` that has the same key as a deviating point of another table. Compares the found
/// point with the references of `other`, which `groups` returns. `None` if `other` lacks the key, has the same latency
/// at the key, or does not deviate there in the same direction.
pub(crate) fn evidence_in<'g>(
    other: &KeyLatencies,
    groups: impl FnOnce() -> &'g ReferenceGroups,
    deviation: &ComparedDeviation<'_>,
) -> Option<ReferenceEvidence> {
    let there = other.get(deviation.point.hash)?;
    let (own, theirs) = (f64::from(deviation.point.latency), f64::from(there));
    let distance = deviation_from_line(windows(deviation.point, deviation.neighbours, other))?;
    let is_same = (own / theirs).ln().abs() <= SAME;
    if is_same || (distance > 0.0) != deviation.slow || distance.abs() < deviation.least.ln() {
        return None;
    }
    let at = |point: KeyPoint| KeyPoint { latency: other.get(point.hash).unwrap_or(0.0), ..point };
    let around = deviation
        .neighbours
        .iter()
        .map(|axis| AxisPoints { points: { axis.points }.map(at), sizes: axis.sizes });
    let around: SmallVec<[AxisPoints; 2]> = around.collect();
    let point = KeyPoint { latency: there, ..deviation.point };
    Some(evidence(&ComparedDeviation { point, neighbours: &around, ..*deviation }, groups()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Synthetic: the hash of the key with a number.
    fn hash(key: u64) -> u64 {
        (key + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    /// Synthetic: a series of five sizes. Returns the point in the middle, and its neighbours.
    fn around(latencies: [f32; 5]) -> (KeyPoint, AxisPoints) {
        let point = |i: usize| KeyPoint { hash: hash(i as u64), latency: latencies[i] };
        let points = [0, 1, 3, 4].map(point);
        (point(2), AxisPoints { points, sizes: [16.0, 32.0, 64.0, 128.0, 256.0] })
    }

    /// Synthetic: another table's latencies at these five keys; 0 for a key that it lacks.
    fn table(latencies: [f64; 5]) -> KeyLatencies {
        let keys = (0_u64..).zip(latencies).filter(|(_, ms)| *ms > 0.0);
        let points: Vec<(u64, f64)> = keys.map(|(i, ms)| (hash(i), ms)).collect();
        KeyLatencies::of(points.into_iter())
    }

    #[test]
    fn an_outlier_recurs_in_a_table_where_the_same_point_differs_from_its_neighbours() {
        let (point, axis) = around([1.0, 1.0, 5.0, 1.0, 1.0]);
        let recurs = |there| is_outlier_in(&table(there), point, &[axis], true, 2.0);
        assert!(recurs([2.0, 2.0, 6.0, 2.0, 2.0]));
        // In turn: as slow as its neighbours there, faster, the same measurement, the point without neighbours.
        assert!(!recurs([6.0, 6.0, 6.0, 6.0, 6.0]));
        assert!(!recurs([6.0, 6.0, 2.0, 6.0, 6.0]));
        assert!(!recurs([1.0, 1.0, 5.0, 1.0, 1.0]));
        assert!(!recurs([0.0, 0.0, 6.0, 0.0, 0.0]));
        // Missing neighbours are skipped.
        assert!(recurs([2.0, 0.0, 6.0, 2.0, 0.0]));
    }

    #[test]
    fn a_deviation_recurs_only_in_the_same_direction() {
        let (point, axis) = around([1.0, 1.0, 2.0, 1.0, 1.0]);
        let deviation = ComparedDeviation { point, slow: true, least: 1.3, neighbours: &[axis] };
        let groups = Vec::new();
        let told = |there| evidence_in(&table(there), || &groups, &deviation).is_some();
        assert!(told([3.0, 3.0, 4.5, 3.0, 3.0]));
        assert!(!told([3.0, 3.0, 1.5, 3.0, 3.0]));
        assert!(!told([3.0, 3.0, 3.1, 3.0, 3.0]));
        assert!(!told([1.0, 1.0, 2.0, 1.0, 1.0]));
    }
}
