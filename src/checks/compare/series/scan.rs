//! One walk over the series of a table.
//!
//! The first axis of the sweep is walked for all rows. What stands out there, or bends, is a candidate,
//! and the series of the other axes are collected for the candidates alone.

use super::bend::{Bend, BendCandidate, log_ratio};
use super::candidate::{OutlierCandidate, candidate, is_inner, ratio_over_neighbours};
use super::group::{Grouped, Members};
use super::{Axis, Outlier, SeriesPoint, fixed};
use crate::base::expr::Vals;
use crate::database::table::Table;
use crate::specs::TableSpec;

/// Points of a series that a [`Shape`] keeps.
pub const SHAPE_POINTS: usize = 3;
/// Points that a series needs.
const SHAPE_LEAST: usize = 5;

/// What a scan looks for.
#[derive(Debug, Clone, Copy)]
pub struct ScanTerms {
    /// Outliers, from this factor over (or under) their neighbours.
    pub outliers: Option<f64>,
    /// Bends, from this factor over (or under) the line between their neighbours; shapes with them.
    pub bends: Option<f64>,
}

/// A series along the first axis of the sweep.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    /// Rows of points spread evenly over it, in its order.
    pub rows: [u32; SHAPE_POINTS],
    /// Where its points with two neighbours end in [`Scan::inner`].
    pub inner_end: u32,
}

/// What a scan finds.
#[derive(Debug, Default)]
pub struct Scan {
    /// By row.
    pub outliers: Vec<Outlier>,
    /// By row.
    pub bends: Vec<Bend>,
    /// Series with enough points for a level.
    pub shapes: Vec<Shape>,
    /// Rows of the points of the shapes that have two neighbours, shape by shape in the order of the sweep.
    pub inner: Vec<u32>,
}

/// A point on its way to be an outlier, a bend, or both.
struct Candidate {
    row: u32,
    outlier: Option<OutlierCandidate>,
    bend: Option<BendCandidate>,
}

/// Scans a table. `latency` in ms, one value per row; `loaded` marks the rows that the loader reads.
pub fn scan(
    table: &Table,
    spec: &TableSpec,
    latency: &Vals<'_, f64>,
    loaded: impl Fn(usize) -> bool,
    terms: ScanTerms,
) -> Scan {
    let numbered = spec.sweep.iter().enumerate();
    let axes: Vec<Axis<'_>> = numbered.filter_map(|(n, name)| Axis::of(table, name, n)).collect();
    let Some((first, others)) = axes.split_first() else { return Scan::default() };
    let fixed = fixed(table);
    let times = |row: usize| {
        let time = latency.get(row);
        (time > 0.0 && time.is_finite() && loaded(row)).then_some(time)
    };
    let least_bend = terms.bends.map(f64::ln);

    let mut found = Scan::default();
    let mut candidates: Vec<Candidate> = Vec::new();
    let mut points = Vec::new();
    let grouped = Grouped::by(table.rows, |row| fixed[row].wrapping_sub(first.part(row)));
    for rows in grouped.series() {
        first.points(rows, &times, &mut points);
        for i in 0..points.len() {
            let outlier = terms.outliers.and_then(|least| candidate(&points, i, least, first.bit));
            let bend = least_bend.and_then(|least| bend_candidate(&points, i, least, first.bit));
            if outlier.is_some() || bend.is_some() {
                candidates.push(Candidate { row: points[i].row, outlier, bend });
            }
        }
        if least_bend.is_some() {
            found.add_shape(&points);
        }
    }
    let mut numbers = vec![u32::MAX; if others.is_empty() { 0 } else { table.rows }];
    for (number, candidate) in (0u32..).zip(&candidates) {
        if let Some(slot) = numbers.get_mut(candidate.row as usize) {
            *slot = number;
        }
    }
    for axis in others {
        let waits = |c: &&Candidate| {
            c.outlier.is_some()
                || c.bend.as_ref().is_some_and(|b| b.may_bend(least_bend.unwrap_or(0.0)))
        };
        let series = |row: usize| fixed[row].wrapping_sub(axis.part(row));
        let waiting = candidates.iter().filter(waits);
        let members = Members::of(table.rows, series, waiting.map(|c| series(c.row as usize)));
        for rows in members.series() {
            axis.points(rows, &times, &mut points);
            for i in 0..points.len() {
                let number = numbers[points[i].row as usize] as usize;
                if let Some(candidate) = candidates.get_mut(number) {
                    candidate.judge(&points, i, axis.bit, terms.outliers.unwrap_or(1.0));
                }
            }
        }
    }
    candidates.sort_unstable_by_key(|c| c.row);
    for Candidate { row, outlier, bend } in candidates {
        let least = terms.outliers.unwrap_or(f64::INFINITY);
        let outlier = outlier.filter(|o| o.axes != 0 && o.factor() >= least);
        found.outliers.extend(outlier.map(OutlierCandidate::outlier));
        found.bends.extend(bend.and_then(|bend| bend.bend(row, least_bend.unwrap_or(0.0))));
    }
    found
}

/// A point that bends along the first axis, or is at an end of it, where other axes decide.
fn bend_candidate(points: &[SeriesPoint], i: usize, least: f64, bit: u8) -> Option<BendCandidate> {
    if log_ratio(points, i).is_some_and(|ratio| ratio.abs() < least) {
        return None;
    }
    let mut bend = BendCandidate::default();
    bend.judge(points, i, bit);
    Some(bend)
}

impl Candidate {
    fn judge(&mut self, points: &[SeriesPoint], i: usize, bit: u8, least: f64) {
        if let Some(outlier) = &mut self.outlier {
            let ratio = ratio_over_neighbours(points, i, outlier.spike, least);
            outlier.judge(ratio, bit, is_inner(points, i));
        }
        if let Some(bend) = &mut self.bend {
            bend.judge(points, i, bit);
        }
    }
}

impl Scan {
    fn add_shape(&mut self, points: &[SeriesPoint]) {
        if points.len() < SHAPE_LEAST {
            return;
        }
        let last = points.len() - 1;
        let row = |at: usize| points[at].row;
        self.inner.extend(points[1..last].iter().map(|p| p.row));
        self.shapes.push(Shape {
            rows: std::array::from_fn(|n| row((1 + 2 * n) * last / (2 * SHAPE_POINTS))),
            inner_end: self.inner.len() as u32,
        });
    }
}
