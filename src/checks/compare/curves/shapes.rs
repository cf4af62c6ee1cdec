//! Whole series against references: shapes that are off all along their sweep, and how rough slices are.

use std::collections::BTreeMap;

use super::curve::{KeyPoint, ShapePoints, TableCurve};
use super::evidence::{by_group, log_ratio, ratio};
use super::latencies::KeyLatencies;
use super::references::{CurveReference, KEPT, Level, ReferenceGroups};
use crate::base::stats::upper_median;
use crate::checks::compare::series::least_telling;

/// A slice less rough than that is smooth.
const SMOOTH: f64 = 0.04;
/// Stretches from which a slice's roughness is computed, at least.
const STRETCHES: usize = 20;

/// A series against the other series of its slice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShapeScore {
    /// Its number in [`TableCurve::shapes`].
    pub shape: usize,
    /// Logarithm of how many times it is slower than its slice, in the ratio to the references. That of
    /// the group that shows least.
    pub score: f64,
    /// Independent groups of references that say something.
    pub groups: usize,
}

/// How rough a slice is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Roughness {
    /// Its number in the sketch.
    pub slice: u32,
    /// How far the middle of five points one after the other is from the mean of its neighbours, or of those
    /// beyond them, in the logarithm of the ratio to a reference: the lesser of the medians, of the smoothest
    /// reference.
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

/// How far a shape is off; none where that is less than what is kept.
fn shape_score(curve: &TableCurve, number: usize, groups: &ReferenceGroups) -> Option<ShapeScore> {
    let shape = &curve.shapes[number];
    let mut one = ShapeScore { shape: number, score: 0.0, groups: 0 };
    for (_, group) in groups {
        let by_reference = |reference: &CurveReference| off_by_reference(shape, reference);
        let Some(told) = by_group(group, by_reference) else { continue };
        one.score = if one.groups == 0 { told } else { least_telling(one.score, told) };
        one.groups += 1;
        if one.score.abs() < KEPT {
            break;
        }
    }
    (one.score.abs() >= KEPT).then_some(one)
}

/// What a reference says of a shape; none where it has no level for the shape's slice.
fn off_by_reference(shape: &ShapePoints, reference: &CurveReference) -> Option<f64> {
    let level = reference.levels.get(shape.slice as usize);
    off_as_a_whole(&shape.points, level.filter(|level| level.log.is_finite())?, reference)
}

/// How far a shape's points are from the level of their slice, the least of them; 0 where one of them is
/// near, or they are on either side. None where the reference lacks one.
fn off_as_a_whole(points: &[KeyPoint], level: &Level, reference: &CurveReference) -> Option<f64> {
    let mut least: Option<f64> = None;
    for point in points {
        let ratio = ratio(*point, &reference.latencies)?;
        // Nearly every series ends at its first point, without a logarithm.
        if level.is_near(ratio) {
            return Some(0.0);
        }
        let off = ratio.ln() - level.log;
        let told = least.map_or(off, |known| least_telling(known, off));
        if told.abs() < KEPT {
            return Some(0.0);
        }
        least = Some(told);
    }
    least
}

/// Returns the roughness of the slices, each beside the reference that gives the smallest. Slices that are smooth beside
/// one of the `references` are left out.
pub(super) fn roughness<'r, R>(curve: &TableCurve, references: impl Fn() -> R) -> Vec<Roughness>
where
    R: Iterator<Item = &'r KeyLatencies>,
{
    let mut found = Vec::new();
    for (slice, stretches) in stretches(curve) {
        let mut one = Roughness { slice, median: f64::INFINITY, references: 0, stretches: 0 };
        // Noise of two measurements does not cancel, so one reference that it is smooth beside is enough.
        let is_smooth = references().any(|reference| {
            let Some((mut next, mut beyond)) = rough_all(&stretches, reference) else {
                return true;
            };
            if next.len() >= STRETCHES {
                one.stretches = one.stretches.max(next.len());
                let told = upper_median(&mut next).min(upper_median(&mut beyond));
                one.median = one.median.min(told);
                one.references += 1;
            }
            one.median < SMOOTH
        });
        if one.references > 0 && !is_smooth {
            found.push(one);
        }
    }
    found
}

/// How rough stretches are beside a reference, each by both ways of [`rough`]; none as soon as it is certain that
/// the slice is smooth by one of them, which holds for nearly every slice.
fn rough_all(
    stretches: &[[KeyPoint; 5]],
    reference: &KeyLatencies,
) -> Option<(Vec<f64>, Vec<f64>)> {
    let (mut next, mut beyond) = (Vec::new(), Vec::new());
    let (mut smooth, mut smooth_beyond) = (0, 0);
    for five in stretches {
        let Some(told) = rough(five, reference) else { continue };
        next.push(told.0);
        beyond.push(told.1);
        smooth += usize::from(told.0 < SMOOTH);
        smooth_beyond += usize::from(told.1 < SMOOTH);
        // More than half of all that there can be.
        if next.len() >= STRETCHES && 2 * smooth.max(smooth_beyond) > stretches.len() {
            return None;
        }
    }
    Some((next, beyond))
}

/// How rough each slice is beside what it was before, where it was smoother in itself then: of two states
/// whose ratio is rough that one is noisy. Smooth ones are left out.
pub(super) fn rougher(curve: &TableCurve, before: &KeyLatencies) -> Vec<Roughness> {
    let mut found = Vec::new();
    for (slice, stretches) in stretches(curve) {
        let (mut next, mut beyond) = (Vec::new(), Vec::new());
        let (mut own, mut earlier) = (Vec::new(), Vec::new());
        for five in &stretches {
            let Some(ratio) = rough(five, before) else { continue };
            let then = five.map(|point| before.get(point.hash));
            next.push(ratio.0);
            beyond.push(ratio.1);
            own.extend(off_line(five.map(|point| log(point.latency))));
            earlier.extend(off_line(then.map(|latency| latency.and_then(log))));
        }
        if next.len() < STRETCHES || earlier.len() < STRETCHES {
            continue;
        }
        let median = upper_median(&mut next).min(upper_median(&mut beyond));
        if median >= SMOOTH && upper_median(&mut own) > upper_median(&mut earlier) {
            found.push(Roughness { slice, median, references: 1, stretches: next.len() });
        }
    }
    found
}

/// The stretches of each slice that has enough of them.
fn stretches(curve: &TableCurve) -> Vec<(u32, Vec<[KeyPoint; 5]>)> {
    let mut by_slice: BTreeMap<u32, Vec<[KeyPoint; 5]>> = BTreeMap::new();
    for stretch in &curve.stretches {
        by_slice.entry(stretch.slice).or_default().push(stretch.points);
    }
    by_slice.retain(|_, stretches| stretches.len() >= STRETCHES);
    by_slice.into_iter().collect()
}

fn log(latency: f32) -> Option<f64> {
    (latency > 0.0).then(|| f64::from(latency).ln())
}

/// How far the middle of five logarithms is from the mean of its neighbours.
fn off_line([_, before, own, after, _]: [Option<f64>; 5]) -> Option<f64> {
    Some((own? - (before? + after?) / 2.0).abs())
}

/// How far the middle one of five points is from the mean of its neighbours, and from the mean of those
/// beyond them, in the ratio to a reference. A kernel that pads every other size makes a zigzag, which is
/// rough by the first and smooth by the second; noise is rough by both.
fn rough(five: &[KeyPoint; 5], reference: &KeyLatencies) -> Option<(f64, f64)> {
    let ratios @ [far_before, _, own, _, far_after] = five.map(|point| log_ratio(point, reference));
    let beyond = (own? - (far_before? + far_after?) / 2.0).abs();
    Some((off_line(ratios)?, beyond))
}
