//! One walk over the series of a table.
//!
//! The first axis of the sweep is walked for all rows. What stands out there, or bends, is a candidate,
//! and the series of the other axes are collected for the candidates alone.

use super::bend::{Bend, BendCandidate};
use super::candidate::{OutlierCandidate, candidate, is_inner, ratio_over_neighbours};
use super::line::{is_on_line, log_ratio};
use super::neighbours::{AxisNeighbours, CandidateAxes, CandidateAxis};
use super::points::{Series, SeriesPoints};
use super::times::RowTimes;
use super::{Axis, AxisNumber, Outlier, fixed};
use crate::base::expr::Vals;
use crate::checks::grid::Grid;
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
    /// By row, each with its neighbours along the axes that show it.
    pub outliers: Vec<(Outlier, Vec<AxisNeighbours>)>,
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
    axes: CandidateAxes,
}

/// What a row is, while the axes are walked.
#[derive(Clone, Copy, PartialEq)]
enum ScanState {
    /// Along some axis it is where its neighbours say.
    Settled,
    /// Not decided yet: it is at an end of all axes walked.
    End,
    /// A candidate, by its number.
    Candidate(u32),
}

/// The candidates of a table.
struct Candidates {
    states: Vec<ScanState>,
    all: Vec<Candidate>,
}

impl Candidates {
    /// None yet, of a table in which at most every fourth row is likely to be one.
    fn of_few(rows: usize) -> Self {
        Self { states: vec![ScanState::Settled; rows], all: Vec::with_capacity(rows / 4) }
    }

    fn add(&mut self, candidate: Candidate) {
        self.states[candidate.row as usize] = ScanState::Candidate(self.all.len() as u32);
        self.all.push(candidate);
    }

    /// Candidates in the order of their rows.
    fn by_row(&self) -> impl Iterator<Item = &Candidate> {
        self.states.iter().filter_map(|state| match state {
            ScanState::Candidate(number) => Some(&self.all[*number as usize]),
            ScanState::Settled | ScanState::End => None,
        })
    }

    /// The rows that another axis may still decide.
    fn waiting(&self, least_bend: f64) -> impl Iterator<Item = u32> {
        let may_bend = move |b: &BendCandidate| b.may_bend(least_bend);
        let waits =
            move |c: &&Candidate| c.outlier.is_some() || c.bend.as_ref().is_some_and(may_bend);
        let ends = (0u32..).zip(&self.states).filter(|(_, state)| **state == ScanState::End);
        self.all.iter().filter(waits).map(|c| c.row).chain(ends.map(|(row, _)| row))
    }
}

/// Scans a table. `latency` in ms, one value per row; `loaded` marks the rows that the loader reads.
pub fn scan(
    table: &Table,
    spec: &TableSpec,
    latency: &Vals<'_, f64>,
    loaded: impl Fn(usize) -> bool,
    terms: ScanTerms,
) -> Scan {
    let axes = Axis::all(table, spec);
    let Some((first, others)) = axes.split_first() else { return Scan::default() };
    let swept: Vec<&str> = axes.iter().map(|axis| axis.name).collect();
    let coded = axes.iter().map(|axis| axis.values.coded()).collect();
    let grid = Grid::new(coded, &fixed(table, &swept), table.rows);
    let times = RowTimes::of(latency, table.rows, loaded);

    let mut found = Scan::default();
    let mut candidates = Candidates::of_few(table.rows);
    let mut series = SeriesPoints::along(first.values.coded(), &times);
    if terms.bends.is_some() {
        found.inner.reserve(table.rows);
    }
    for rows in grid.series(0).iter() {
        let points = series.of(rows);
        terms.first_axis(points, first.number, &mut candidates);
        if terms.bends.is_some() {
            found.add_shape(points.rows);
        }
    }
    for (along, axis) in (1..).zip(others) {
        let coded = axis.values.coded();
        // A column of one size has no neighbours.
        if coded.numbers.len() == 1 {
            continue;
        }
        let mut series = SeriesPoints::along(coded, &times);
        let waiting = candidates.waiting(terms.least_bend());
        for rows in grid.series_beside(along, waiting).iter() {
            let points = series.of(rows);
            terms.other_axis(points, axis.number, &mut candidates);
        }
    }
    for candidate in candidates.by_row() {
        let Candidate { row, outlier, bend, axes: along } = candidate;
        let least = terms.outliers.unwrap_or(f64::INFINITY);
        let neighbours = along.iter().map(|axis| axis.sized(*row, &axes));
        if let Some(outlier) = outlier.as_ref().filter(|o| o.axes != 0 && o.factor() >= least) {
            let neighbours = neighbours.clone().filter(|axis| outlier.axes & axis.bit != 0);
            found.outliers.push((outlier.outlier(), neighbours.collect()));
        }
        if let Some(log_ratio) = bend.as_ref().and_then(|b| b.log_ratio(terms.least_bend())) {
            let axes = neighbours.filter(AxisNeighbours::are_on_either_side).collect();
            found.bends.push(Bend { row: *row, log_ratio, axes });
        }
    }
    found
}

impl ScanTerms {
    /// The logarithm of a bend.
    fn least_bend(self) -> f64 {
        self.bends.map_or(0.0, f64::ln)
    }

    /// The logarithm off its line that a point between two neighbours needs to be anything. An outlier is
    /// off both of them by its factor, so it is off a line between them by no less.
    fn screen(self) -> f64 {
        let least = [self.outliers, self.bends].into_iter().flatten().fold(f64::INFINITY, f64::min);
        // Rounding must not hide what is exactly at the limit.
        least.ln() * (1.0 - 1e-9)
    }

    /// Takes in those points of a series along the first axis that are not settled.
    fn first_axis(self, points: Series<'_>, axis: AxisNumber, candidates: &mut Candidates) {
        for (i, off) in points.unsettled(self.screen()) {
            let row = points.rows[i];
            let outlier = self.outliers.and_then(|least| candidate(&points, i, least, axis));
            let bends =
                self.bends.is_some() && off.is_none_or(|off| off.abs() >= self.least_bend());
            if outlier.is_some() || (bends && off.is_some()) {
                let mut candidate = Candidate::new(row, outlier, bends);
                candidate.bend_along(off, &points, i, axis);
                candidates.add(candidate);
            } else if bends {
                candidates.states[row as usize] = ScanState::End;
            }
        }
    }

    /// Takes in a series along another axis.
    fn other_axis(self, points: Series<'_>, axis: AxisNumber, candidates: &mut Candidates) {
        for (i, row) in points.rows.iter().copied().enumerate() {
            match candidates.states[row as usize] {
                ScanState::Settled => {}
                ScanState::Candidate(number) => {
                    let least = self.outliers.unwrap_or(1.0);
                    candidates.all[number as usize].judge(&points, i, axis, least);
                }
                ScanState::End if is_on_line(&points, i, self.least_bend()) => {
                    candidates.states[row as usize] = ScanState::Settled;
                }
                ScanState::End if is_inner(&points, i) => {
                    let mut candidate = Candidate::new(row, None, true);
                    candidate.bend_along(log_ratio(&points, i), &points, i, axis);
                    candidates.add(candidate);
                }
                ScanState::End => {}
            }
        }
    }
}

impl Candidate {
    fn new(row: u32, outlier: Option<OutlierCandidate>, bends: bool) -> Self {
        let bend = bends.then(BendCandidate::default);
        Self { row, outlier, bend, axes: CandidateAxes::new() }
    }

    fn judge(&mut self, points: &Series<'_>, i: usize, axis: AxisNumber, least: f64) {
        if let Some(outlier) = &mut self.outlier {
            let ratio = ratio_over_neighbours(points, i, outlier.spike, least);
            outlier.judge(ratio, axis, is_inner(points, i));
        }
        let off = self.bend.as_ref().and_then(|_| log_ratio(points, i));
        self.bend_along(off, points, i, axis);
    }

    /// Takes in how far it bends along an axis, and what lies around it there.
    fn bend_along(&mut self, off: Option<f64>, points: &Series<'_>, i: usize, axis: AxisNumber) {
        if let Some(bend) = &mut self.bend {
            bend.judge(off);
        }
        self.axes.push(CandidateAxis::of(points, i, axis));
    }
}

impl Scan {
    /// Takes in the rows of a series, in its order.
    fn add_shape(&mut self, rows: &[u32]) {
        if rows.len() < SHAPE_LEAST {
            return;
        }
        let last = rows.len() - 1;
        let row = |at: usize| rows[at];
        self.inner.extend_from_slice(&rows[1..last]);
        self.shapes.push(Shape {
            rows: std::array::from_fn(|n| row((1 + 2 * n) * last / (2 * SHAPE_POINTS))),
            inner_end: self.inner.len() as u32,
        });
    }
}
