//! Whole series against references: shapes that are off all along their sweep, and how rough slices are.

use std::collections::{BTreeMap, BTreeSet};

use super::evidence::{Evidence, by_groups, log_ratio};
use super::references::{CurveReference, KEPT, ReferenceGroups};
use crate::base::stats::upper_median;
use crate::checks::compare::series::{
    KeyLatencies, KeyPoint, ShapePoints, TableCurve, least_telling,
};

/// A slice less rough than that is smooth.
const SMOOTH: f64 = 0.04;
/// Stretches from which a slice's roughness along an axis is computed, at least.
const STRETCHES: usize = 20;

/// A series against the other series of its slice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShapeScore {
    /// The series' index in [`TableCurve::shapes`].
    pub shape: usize,
    /// Logarithm of how many times it is slower than its slice, in the ratio to the references. That of
    /// the group that shows least.
    pub score: f64,
    /// Independent groups of references that say something.
    pub groups: usize,
}

/// The roughness of a slice, along the axis of its sweep that shows least: a kernel that steps along one axis is smooth
/// along the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Roughness {
    /// The slice's index in the sketch.
    pub slice: u32,
    /// The distance of the middle one of five successive points from the mean of its neighbours, or of the points beyond
    /// them, in the logarithm of the ratio to the smoothest reference: the lesser of both medians.
    pub median: f64,
    /// References that could show it.
    pub references: usize,
    /// Stretches of five points.
    pub stretches: usize,
}

/// The shapes that are off.
pub(super) fn shape_scores(curve: &TableCurve, groups: &ReferenceGroups) -> Vec<ShapeScore> {
    (0..curve.shapes.len()).filter_map(|number| shape_score(curve, number, groups)).collect()
}

/// Returns the score of a shape; `None` if it is less than [`KEPT`].
fn shape_score(curve: &TableCurve, number: usize, groups: &ReferenceGroups) -> Option<ShapeScore> {
    let shape = &curve.shapes[number];
    let Evidence { score, groups } =
        by_groups(groups, KEPT, |reference| off_by_reference(shape, reference));
    (score.abs() >= KEPT).then_some(ShapeScore { shape: number, score, groups })
}

/// Returns the score of a shape beside a reference; `None` if the reference has no level for the shape's slice.
fn off_by_reference(shape: &ShapePoints, reference: &CurveReference) -> Option<f64> {
    let level = reference.levels.get(shape.slice as usize).filter(|level| level.is_finite())?;
    off_as_a_whole(&shape.points, *level, reference)
}

/// Returns the least distance of a shape's points from the level of their slice. It is 0 if one of them is near or if
/// they are on both sides, and `None` if the reference lacks one.
fn off_as_a_whole(points: &[KeyPoint], level: f64, reference: &CurveReference) -> Option<f64> {
    let mut least: Option<f64> = None;
    for point in points {
        let off = log_ratio(*point, &reference.latencies)? - level;
        let off = least.map_or(off, |known| least_telling(known, off));
        if off.abs() < KEPT {
            return Some(0.0);
        }
        least = Some(off);
    }
    least
}

/// Returns the roughness of the slices, each beside the reference that gives the smallest. Slices that are smooth beside
/// one of the `references` are left out.
pub(super) fn roughness<'k>(
    curve: &TableCurve,
    mut references: impl Iterator<Item = &'k KeyLatencies>,
) -> Vec<Roughness> {
    let along = |(slice, stretches)| {
        (Roughness { slice, median: f64::INFINITY, references: 0, stretches: 0 }, stretches)
    };
    let mut all: Vec<(Roughness, Vec<[KeyPoint; 5]>)> =
        stretches(curve).into_iter().map(along).collect();
    let mut smooth: BTreeSet<u32> = BTreeSet::new();
    // Noise of two measurements does not cancel, so one reference beside which a slice is smooth is enough.
    while !all.is_empty()
        && let Some(reference) = references.next()
    {
        let found = all.iter_mut().filter_map(|(one, stretches)| {
            one.is_smooth(stretches, reference).then_some(one.slice)
        });
        smooth.extend(found);
        all.retain(|(one, _)| !smooth.contains(&one.slice));
    }
    along_every_axis(all.into_iter().map(|(one, _)| one).filter(|one| one.references > 0))
}

/// Returns one roughness for each slice: that along the axis which shows least.
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
    /// Returns true if the slice is smooth beside a reference. If it is not, the reference counts.
    fn is_smooth(&mut self, stretches: &[[KeyPoint; 5]], reference: &KeyLatencies) -> bool {
        let mut all = Vec::new();
        let mut smooth = [0, 0];
        for (next, beyond) in stretches.iter().filter_map(|five| rough(five, reference)) {
            all.push((next, beyond));
            smooth[0] += usize::from(next < SMOOTH);
            smooth[1] += usize::from(beyond < SMOOTH);
            // More than half of all stretches are smooth, so that the median is. Nearly every slice ends here.
            if all.len() >= STRETCHES && 2 * smooth[0].max(smooth[1]) > stretches.len() {
                return true;
            }
        }
        if all.len() >= STRETCHES {
            self.stretches = self.stretches.max(all.len());
            self.median = self.median.min(median(&all));
            self.references += 1;
        }
        self.median < SMOOTH
    }
}

/// Returns the lesser of the medians by both ways of [`rough`].
fn median(rough: &[(f64, f64)]) -> f64 {
    let (mut next, mut beyond): (Vec<f64>, Vec<f64>) = rough.iter().copied().unzip();
    upper_median(&mut next).min(upper_median(&mut beyond))
}

/// Returns the roughness of the slices beside their latencies `before` a pull request, where they were smoother in
/// themselves: if the ratio of two states is rough, one of the states is noisy. Smooth slices are left out.
pub(super) fn rougher(curve: &TableCurve, before: &KeyLatencies) -> Vec<Roughness> {
    let mut found = Vec::new();
    let mut smooth = BTreeSet::new();
    for (slice, stretches) in stretches(curve) {
        let mut ratios = Vec::new();
        let (mut own, mut earlier) = (Vec::new(), Vec::new());
        for five in &stretches {
            let Some(ratio) = rough(five, before) else { continue };
            let then = five.map(|point| before.get(point.hash));
            ratios.push(ratio);
            own.extend(off_line(five.map(|point| log(point.latency))));
            earlier.extend(off_line(then.map(|latency| latency.and_then(log))));
        }
        if ratios.len() < STRETCHES || earlier.len() < STRETCHES {
            continue;
        }
        let median = median(&ratios);
        if median >= SMOOTH && upper_median(&mut own) > upper_median(&mut earlier) {
            found.push(Roughness { slice, median, references: 1, stretches: ratios.len() });
        } else {
            smooth.insert(slice);
        }
    }
    along_every_axis(found.into_iter().filter(|one| !smooth.contains(&one.slice)))
}

/// The stretches of each slice along each axis that has enough of them.
fn stretches(curve: &TableCurve) -> Vec<(u32, Vec<[KeyPoint; 5]>)> {
    let mut along: BTreeMap<(u32, u8), Vec<[KeyPoint; 5]>> = BTreeMap::new();
    for stretch in &curve.stretches {
        along.entry((stretch.slice, stretch.axis)).or_default().push(stretch.points);
    }
    let enough = along.into_iter().filter(|(_, stretches)| stretches.len() >= STRETCHES);
    enough.map(|((slice, _), stretches)| (slice, stretches)).collect()
}

fn log(latency: f32) -> Option<f64> {
    (latency > 0.0).then(|| f64::from(latency).ln())
}

/// Returns the distance of the middle one of five logarithms from the mean of its neighbours.
fn off_line([_, before, own, after, _]: [Option<f64>; 5]) -> Option<f64> {
    Some((own? - (before? + after?) / 2.0).abs())
}

/// Returns the distance of the middle one of five points from the mean of its neighbours, and from the mean of the points
/// beyond them, in the ratio to a reference. A kernel that pads every other size makes a zigzag, which is
/// rough by the first and smooth by the second; noise is rough by both.
fn rough(five: &[KeyPoint; 5], reference: &KeyLatencies) -> Option<(f64, f64)> {
    let ratios @ [far_before, _, own, _, far_after] = five.map(|point| log_ratio(point, reference));
    let beyond = (own? - (far_before? + far_after?) / 2.0).abs();
    Some((off_line(ratios)?, beyond))
}
