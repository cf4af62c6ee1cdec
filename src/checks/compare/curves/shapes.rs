//! Comparison of whole series with references: series that deviate along their whole sweep, and the roughness of
//! slices.

use std::collections::{BTreeMap, BTreeSet};

use super::evidence::{ReferenceEvidence, by_groups, log_ratio};
use super::references::{CurveReference, KEPT, ReferenceGroups};
use crate::base::group::grouped;
use crate::base::stats::upper_median;
use crate::checks::compare::series::{
    KeyLatencies, KeyPoint, SeriesSamplePoints, TableCurve, smaller_deviation,
};

/// A slice counts as smooth if its median roughness, as the logarithm of a factor, is below this limit.
const SMOOTH: f64 = 0.04;
/// The minimum number of segments of five points that are needed to compute a slice's roughness along an axis.
const SEGMENTS: usize = 20;

/// The deviation of a series from the other series of its slice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SeriesScore {
    /// The series' index in [`TableCurve::shapes`].
    pub shape: usize,
    /// The logarithm of the factor by which the series is slower than its slice, after division by the references'
    /// latencies; negative for a faster series. If the groups of references give different deviations, this is the
    /// smallest.
    pub score: f64,
    /// Number of independent groups of references that have the series.
    pub groups: usize,
}

/// How irregular a slice's latencies are along an axis, after division by another table's latencies. It is computed for
/// the axis along which the slice is smoothest, because a kernel may have steps along one axis only.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Roughness {
    /// The slice's index in the sketch.
    pub slice: u32,
    /// The median roughness of the slice's segments of five points, as the logarithm of a factor. A segment's roughness
    /// is the distance of its middle point from the mean of its two adjacent or two outer points, after division by a
    /// reference's latencies. The choice of points and the reference that make the median smallest are used.
    pub median: f64,
    /// The number of references that have enough segments of this slice for a comparison.
    pub references: usize,
    /// The number of compared segments of five points. If there are several references, the largest number counts.
    pub segments: usize,
}

/// Returns the scores of the series that deviate from their slices.
pub(super) fn shape_scores(curve: &TableCurve, groups: &ReferenceGroups) -> Vec<SeriesScore> {
    (0..curve.shapes.len()).filter_map(|number| shape_score(curve, number, groups)).collect()
}

/// Returns the score of the series with the index `number`; `None` if the score is below [`KEPT`].
fn shape_score(curve: &TableCurve, number: usize, groups: &ReferenceGroups) -> Option<SeriesScore> {
    let shape = &curve.shapes[number];
    let ReferenceEvidence { score, groups } =
        by_groups(groups, KEPT, |reference| off_by_reference(shape, reference));
    (score.abs() >= KEPT).then_some(SeriesScore { shape: number, score, groups })
}

/// Returns the logarithm of the factor by which a series is slower than its slice, after division by a reference's
/// latencies. `None` if the reference has no common points with the slice, or lacks one of the series' points.
fn off_by_reference(shape: &SeriesSamplePoints, reference: &CurveReference) -> Option<f64> {
    let level = reference.levels.get(shape.slice as usize).filter(|level| level.is_finite())?;
    off_as_a_whole(&shape.points, *level, reference)
}

/// Returns how far a series deviates from its slice, as the deviation of the point that deviates least. A point's
/// deviation is the logarithm of its latency divided by the reference's latency, minus `level`: the median of this
/// logarithm over the slice. Returns 0 if a point deviates by less than [`KEPT`], or if one point is slow and another
/// one is fast. `None` if the reference lacks a point.
fn off_as_a_whole(points: &[KeyPoint], level: f64, reference: &CurveReference) -> Option<f64> {
    let mut least: Option<f64> = None;
    for point in points {
        let off = log_ratio(*point, &reference.latencies)? - level;
        let off = least.map_or(off, |known| smaller_deviation(known, off));
        if off.abs() < KEPT {
            return Some(0.0);
        }
        least = Some(off);
    }
    least
}

/// Divides each slice's latencies by those of each reference separately, and returns the smallest roughness of each
/// slice. A slice that is smooth after division by at least one reference is left out.
pub(super) fn roughness<'k>(
    curve: &TableCurve,
    mut references: impl Iterator<Item = &'k KeyLatencies>,
) -> Vec<Roughness> {
    let along = |(slice, segments)| {
        (Roughness { slice, median: f64::INFINITY, references: 0, segments: 0 }, segments)
    };
    let mut all: Vec<(Roughness, Vec<[KeyPoint; 5]>)> =
        segments(curve).into_iter().map(along).collect();
    let mut smooth: BTreeSet<u32> = BTreeSet::new();
    // The noise of two measurements does not cancel in their ratio. So a slice is smooth if its ratio to a single
    // reference is.
    while !all.is_empty()
        && let Some(reference) = references.next()
    {
        let found = all
            .iter_mut()
            .filter_map(|(one, segments)| one.is_smooth(segments, reference).then_some(one.slice));
        smooth.extend(found);
        all.retain(|(one, _)| !smooth.contains(&one.slice));
    }
    along_every_axis(all.into_iter().map(|(one, _)| one).filter(|one| one.references > 0))
}

/// Returns for each slice the smallest roughness over its axes.
fn along_every_axis(all: impl Iterator<Item = Roughness>) -> Vec<Roughness> {
    let mut least: BTreeMap<u32, Roughness> = BTreeMap::new();
    for one in all {
        let known = least.entry(one.slice).or_insert(one);
        if one.median < known.median {
            *known = one;
        }
    }
    least.into_values().collect()
}

impl Roughness {
    /// Returns true if the slice is smooth after division by the latencies of `reference`. Otherwise, updates the
    /// smallest roughness and the counts in `self`.
    fn is_smooth(&mut self, segments: &[[KeyPoint; 5]], reference: &KeyLatencies) -> bool {
        let mut all = Vec::new();
        let mut smooth = [0, 0];
        for (next, beyond) in segments.iter().filter_map(|five| rough(five, reference)) {
            all.push((next, beyond));
            smooth[0] += usize::from(next < SMOOTH);
            smooth[1] += usize::from(beyond < SMOOTH);
            // If more than half of all segments are smooth, the median is. Nearly every slice ends here.
            if all.len() >= SEGMENTS && 2 * smooth[0].max(smooth[1]) > segments.len() {
                return true;
            }
        }
        if all.len() >= SEGMENTS {
            self.segments = self.segments.max(all.len());
            self.median = self.median.min(median(&all));
            self.references += 1;
        }
        self.median < SMOOTH
    }
}

/// Takes pairs of distances, as [`rough`] returns them. Returns the median of the first distances or the median of the
/// second distances, whichever is smaller.
fn median(rough: &[(f64, f64)]) -> f64 {
    let (mut next, mut beyond): (Vec<f64>, Vec<f64>) = rough.iter().copied().unzip();
    upper_median(&mut next).min(upper_median(&mut beyond))
}

/// Returns the roughness of each slice that a pull request makes rougher. Latencies are divided by those in the base
/// (`before`). If the slice is smooth after this division, it is left out.
pub(super) fn rougher(curve: &TableCurve, before: &KeyLatencies) -> Vec<Roughness> {
    let mut found = Vec::new();
    let mut smooth = BTreeSet::new();
    for (slice, segments) in segments(curve) {
        let mut ratios = Vec::new();
        let (mut own, mut earlier) = (Vec::new(), Vec::new());
        for five in &segments {
            let Some(ratio) = rough(five, before) else { continue };
            let then = five.map(|point| before.get(point.hash));
            ratios.push(ratio);
            own.extend(off_line(five.map(|point| log(point.latency))));
            earlier.extend(off_line(then.map(|latency| latency.and_then(log))));
        }
        if ratios.len() < SEGMENTS || earlier.len() < SEGMENTS {
            continue;
        }
        let median = median(&ratios);
        if median >= SMOOTH && upper_median(&mut own) > upper_median(&mut earlier) {
            found.push(Roughness { slice, median, references: 1, segments: ratios.len() });
        } else {
            smooth.insert(slice);
        }
    }
    along_every_axis(found.into_iter().filter(|one| !smooth.contains(&one.slice)))
}

/// Returns the sampled segments of five points, grouped by slice and axis. Groups with too few segments are left out.
fn segments(curve: &TableCurve) -> Vec<(u32, Vec<[KeyPoint; 5]>)> {
    let segments = curve.segments.iter();
    let along = grouped(segments.map(|one| ((one.slice, one.axis), one.points)));
    let enough = along.into_iter().filter(|(_, segments)| segments.len() >= SEGMENTS);
    enough.map(|((slice, _), segments)| (slice, segments)).collect()
}

fn log(latency: f32) -> Option<f64> {
    (latency > 0.0).then(|| f64::from(latency).ln())
}

/// Returns the distance of the middle one of five values from the mean of its two neighbours; `None` if one of these
/// three values is missing.
fn off_line([_, before, own, after, _]: [Option<f64>; 5]) -> Option<f64> {
    Some((own? - (before? + after?) / 2.0).abs())
}

/// Divides the latencies of five points by a reference's latencies and takes logarithms. Returns how far the middle
/// point then is from the mean of its two neighbours, and from the mean of the two outer points. `None` if the
/// reference lacks a point.
///
/// Noise makes both distances large. A kernel that pads every other size makes only the first distance large.
fn rough(five: &[KeyPoint; 5], reference: &KeyLatencies) -> Option<(f64, f64)> {
    let ratios @ [far_before, _, own, _, far_after] = five.map(|point| log_ratio(point, reference));
    let beyond = (own? - (far_before? + far_after?) / 2.0).abs();
    Some((off_line(ratios)?, beyond))
}
