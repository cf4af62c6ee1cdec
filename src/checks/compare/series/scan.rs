//! A walk over the series of a table.
//!
//! The first axis of the sweep is walked for all rows. Points that deviate there are candidates for outliers and
//! deviating points. Along the other axes, only the series of candidates are walked.

use smallvec::SmallVec;

use super::Outlier;
use super::columns::ColumnSweep;
use super::points::{
    AxisNeighbours, SeriesPoint, is_inner, log_ratio, ratio_over_neighbours, smaller_deviation,
};
use crate::base::expr::Vals;
use crate::checks::series::AxisSeries;
use crate::database::table::{NumberedRows, Table};
use crate::specs::TableSpec;

/// The number of points of a series that a [`SeriesSample`] keeps.
pub(crate) const SHAPE_POINTS: usize = 3;

/// The minimum number of points of a series of which a [`SeriesSample`] is kept.
const SHAPE_LEAST: usize = 5;

/// The limits with which [`scan`] searches a table for outliers and deviating points.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScanTerms {
    /// A point is an outlier if it differs from its neighbours by at least this factor, up or down. `None` if outliers
    /// are not searched.
    pub outliers: Option<f64>,
    /// A point deviates if it differs from the line between its neighbours by at least this factor, up or down. `None`
    /// if neither deviating points nor series are kept.
    pub deviations: Option<f64>,
}

/// A deviating point: a point off the line between its neighbours, along every axis on which it has two neighbours.
///
/// Kernels have steps, so most deviating points are correct measurements. The comparison with other tables shows the
/// disturbed ones.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Deviation {
    /// The point's row.
    pub row: u32,
    /// The logarithm of the point's latency divided by the latency on the line between its neighbours: above 0 for a
    /// slow point. If there are several axes, the smallest deviation counts.
    pub log_ratio: f64,
    /// The point's neighbours, one entry per axis along which the point has two neighbours.
    pub axes: Vec<AxisNeighbours>,
}

/// A series along the first axis of the sweep, represented by a few of its rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SeriesSample {
    /// Rows of points spread evenly over the series, in its order.
    pub rows: [u32; SHAPE_POINTS],
    /// The end of this series in [`Scan::inner`]: the index after its last row.
    pub inner_end: u32,
}

/// The outliers, deviating points, series and segments that [`scan`] found in a table.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// The outliers, sorted by row, each with its neighbours along the axes that show it.
    pub outliers: Vec<(Outlier, Vec<AxisNeighbours>)>,
    /// The deviating points, sorted by row.
    pub deviations: Vec<Deviation>,
    /// The series with at least five points.
    pub shapes: Vec<SeriesSample>,
    /// The rows of the series in `shapes` without the first and the last row of each series. Series are in the order of
    /// `shapes`, and their rows in the order of the sweep.
    pub inner: Vec<u32>,
    /// Segments of five successive rows with a sampled row in the middle, each with the index of its axis.
    pub segments: Vec<(u8, [u32; 5])>,
}

/// A point that may be an outlier, or off the line between its neighbours (a deviating point).
struct ScanCandidate {
    row: u32,
    outlier: Option<OutlierCandidate>,
    may_deviate: bool,
    /// The logarithm of the point's smallest deviation over the axes searched so far; `None` if the point had two
    /// neighbours along none of these axes.
    log_ratio: Option<f64>,
    axes: SmallVec<[AxisNeighbours; 2]>,
}

/// A possible outlier, which is either a spike or a drop.
struct OutlierCandidate {
    point: Outlier,
    spike: bool,
}

/// The state of a row during the search, after some of the axes: whether the row may be a deviating point.
#[derive(Clone, Copy, PartialEq)]
enum ScanState {
    /// The row may still be a deviating point, since it had two neighbours on none of the axes searched so far.
    Open,
    /// The row is on the line between its neighbours along an axis, so it is not a deviating point.
    Settled,
    /// The row may be an outlier or a deviating point. The number is its index in the list of candidates.
    Candidate(u32),
}

/// A search through the series of a table, axis by axis: what is known of each row so far, and the candidates found.
struct SeriesWalk {
    terms: ScanTerms,
    states: Vec<ScanState>,
    candidates: Vec<ScanCandidate>,
}

/// Searches the series of a table for outliers and deviating points. `latency` is in ms, one value per row. `loaded`
/// returns true for the rows that the loader reads, and `sampled` for the rows around which a segment is kept.
pub(crate) fn scan(
    table: &Table,
    spec: &TableSpec,
    latency: &Vals<'_, f64>,
    loaded: impl Fn(usize) -> bool,
    sampled: impl Fn(u32) -> bool,
    terms: ScanTerms,
) -> Scan {
    let sweep = ColumnSweep::new(table, spec);
    // Only deviating points can be found on another axis if the first does not show them.
    let state = if terms.deviations.is_some() { ScanState::Open } else { ScanState::Settled };
    let states = vec![state; table.rows];
    let mut walk = SeriesWalk { terms, states, candidates: Vec::new() };
    let mut found = Scan::default();
    let time = |row: u32| latency.get(row as usize);
    let is_timed = |row: u32| time(row) > 0.0 && time(row) < f64::INFINITY && loaded(row as usize);
    // If several rows have the same key, the fastest one was disturbed least.
    let is_faster = |a: u32, b: u32| time(a) < time(b);
    let sample = 0..if terms.deviations.is_some() { table.rows as u32 } else { 0 };
    let sample: Vec<u32> = sample.filter(|row| sampled(*row)).collect();
    let mut points = Vec::new();
    for (number, (name, axis)) in sweep.axes.iter().enumerate() {
        let place = spec.sweep.iter().position(|column| column == name).unwrap_or_default();
        let bit = 1 << place.min(7);
        let NumberedRows { of_rows, counts } = sweep.series_of_rows(number);
        let mut is_walked = vec![number == 0; counts.len()];
        let walked = walk.undecided_rows(number).chain(sample.iter().copied());
        walked.for_each(|row| is_walked[of_rows[row as usize] as usize] = true);
        let is_in = |(row, series): &(u32, u32)| is_walked[*series as usize] && is_timed(*row);
        let rows = (0..).zip(of_rows).filter(is_in);
        for (rows, sizes) in AxisSeries::along(axis, counts.len(), rows, is_faster).iter() {
            points.clear();
            let point = |(row, size): (&u32, &f64)| SeriesPoint {
                row: *row,
                size: *size,
                time: time(*row),
            };
            points.extend(rows.iter().zip(sizes).map(point));
            let segments = rows.array_windows().filter(|five: &&[u32; 5]| sampled(five[2]));
            if terms.deviations.is_some() {
                found.segments.extend(segments.map(|five| (number as u8, *five)));
            }
            if number > 0 {
                walk.other_axis(&points, bit);
                continue;
            }
            walk.first_axis(&points, bit);
            if terms.deviations.is_some() {
                found.add_shape(rows);
            }
        }
    }
    walk.finish(&mut found);
    found
}

impl ScanTerms {
    /// Returns the logarithm of the least factor by which a point must be off the line between its neighbours to count
    /// as deviating; 0 if deviating points are not searched.
    fn least_deviation(self) -> f64 {
        self.deviations.map_or(0.0, f64::ln)
    }

    /// Returns the minimum distance of a candidate from the line between its two neighbours, as a logarithm. An outlier
    /// differs from both neighbours by its factor, so it differs from the line by at least the same factor.
    fn candidate_distance(self) -> f64 {
        let least =
            [self.outliers, self.deviations].into_iter().flatten().fold(f64::INFINITY, f64::min);
        // Rounding must not hide a point that is exactly at the limit.
        least.ln() * (1.0 - 1e-9)
    }
}

impl SeriesWalk {
    fn add(&mut self, candidate: ScanCandidate) {
        self.states[candidate.row as usize] = ScanState::Candidate(self.candidates.len() as u32);
        self.candidates.push(candidate);
    }

    /// Returns the rows whose series must also be searched along the axis with the index `axis`, because it is not yet
    /// known whether the rows deviate. Empty for the first axis, along which all series are searched.
    fn undecided_rows(&self, axis: usize) -> impl Iterator<Item = u32> {
        let least = self.terms.least_deviation();
        let waits = move |c: &&ScanCandidate| {
            c.outlier.is_some() || c.may_deviate && c.log_ratio.is_none_or(|log| log.abs() >= least)
        };
        let open = (0..).zip(&self.states).filter(|(_, state)| **state == ScanState::Open);
        let rows = self.candidates.iter().filter(waits).map(|c| c.row);
        rows.chain(open.map(|(row, _)| row)).filter(move |_| axis > 0)
    }

    /// Processes a series along the first axis: its deviating points become candidates.
    fn first_axis(&mut self, points: &[SeriesPoint], bit: u8) {
        let terms = self.terms;
        let screen = terms.candidate_distance();
        for (i, point) in points.iter().enumerate() {
            let off = log_ratio(points, i);
            let is_off = |least: f64| off.is_none_or(|off| off.is_nan() || off.abs() >= least);
            let outlier = terms.outliers.filter(|_| is_off(screen));
            let outlier = outlier.and_then(|least| OutlierCandidate::new(points, i, least, bit));
            let may_deviate = terms.deviations.is_some()
                && is_off(screen)
                && off.is_none_or(|off| off.abs() >= terms.least_deviation());
            if outlier.is_some() || (may_deviate && off.is_some()) {
                let log_ratio = off.filter(|_| may_deviate);
                let axes = [AxisNeighbours::new(points, i, bit)].into_iter().collect();
                self.add(ScanCandidate { row: point.row, outlier, may_deviate, log_ratio, axes });
            } else if !may_deviate {
                self.states[point.row as usize] = ScanState::Settled;
            }
        }
    }

    /// Processes a series along another axis: updates the candidates among its points.
    fn other_axis(&mut self, points: &[SeriesPoint], bit: u8) {
        let least_bend = self.terms.least_deviation();
        for (i, point) in points.iter().enumerate() {
            match self.states[point.row as usize] {
                ScanState::Settled => {}
                ScanState::Candidate(number) => {
                    let least = self.terms.outliers.unwrap_or(1.0);
                    self.candidates[number as usize].judge(points, i, bit, least);
                }
                ScanState::Open => match log_ratio(points, i) {
                    Some(off) if off.abs() < least_bend => {
                        self.states[point.row as usize] = ScanState::Settled;
                    }
                    None => {}
                    log_ratio => {
                        let axes = [AxisNeighbours::new(points, i, bit)].into_iter().collect();
                        let (row, outlier, may_deviate) = (point.row, None, true);
                        self.add(ScanCandidate { row, outlier, may_deviate, log_ratio, axes });
                    }
                },
            }
        }
    }

    /// Adds to `found` the candidates that are outliers or deviating points, sorted by row.
    fn finish(mut self, found: &mut Scan) {
        let least = self.terms.outliers.unwrap_or(f64::INFINITY);
        let least_bend = self.terms.least_deviation();
        self.candidates.sort_unstable_by_key(|candidate| candidate.row);
        for ScanCandidate { row, outlier, may_deviate, log_ratio, axes } in self.candidates {
            if let Some(outlier) = outlier.filter(|o| o.point.axes != 0 && o.factor() >= least) {
                let shows = |axis: &&AxisNeighbours| outlier.point.axes & axis.bit != 0;
                found.outliers.push((outlier.point, axes.iter().filter(shows).copied().collect()));
            }
            if let Some(log_ratio) = log_ratio.filter(|log| may_deviate && log.abs() >= least_bend)
            {
                let axes = axes.into_iter().filter(AxisNeighbours::are_on_either_side).collect();
                found.deviations.push(Deviation { row, log_ratio, axes });
            }
        }
    }
}

impl ScanCandidate {
    /// Updates the candidate with a series along another axis, in which the candidate has the index `i`.
    fn judge(&mut self, points: &[SeriesPoint], i: usize, bit: u8, least: f64) {
        if let Some(outlier) = &mut self.outlier {
            let ratio = ratio_over_neighbours(points, i, outlier.spike, least);
            outlier.judge(ratio, bit, is_inner(points, i));
        }
        if let Some(off) = log_ratio(points, i).filter(|_| self.may_deviate) {
            self.log_ratio =
                Some(self.log_ratio.map_or(off, |known| smaller_deviation(known, off)));
        }
        self.axes.push(AxisNeighbours::new(points, i, bit));
    }
}

impl OutlierCandidate {
    /// Returns a candidate for the point at index `i` if it deviates by a factor of `least` along the first axis.
    fn new(points: &[SeriesPoint], i: usize, least: f64, bit: u8) -> Option<Self> {
        let SeriesPoint { row, time, .. } = *points.get(i)?;
        if is_inner(points, i) {
            let (before, after) = (points[i - 1].time, points[i + 1].time);
            // Rounding must not hide a point that is exactly at the limit.
            let factor = least * (1.0 - 1e-9);
            // If two slow points are side by side, each has one slow neighbour. Therefore, a spike need only exceed the
            // faster neighbour here.
            if time < factor * before.min(after) && time * factor > before.min(after) {
                return None;
            }
        }
        [true, false].into_iter().find_map(|spike| {
            let point = Outlier { row, latency: time, ratio: 1.0, axes: 0, inner: false };
            let mut candidate = Self { point, spike };
            let ratio = ratio_over_neighbours(points, i, spike, least);
            candidate.judge(ratio, bit, is_inner(points, i));
            (candidate.factor() >= least).then_some(candidate)
        })
    }

    /// Adds the outlier's ratio along another axis. Of all its ratios, the one nearest to 1 is kept.
    fn judge(&mut self, ratio: Option<f64>, bit: u8, inner: bool) {
        let Some(ratio) = ratio else { return };
        let point = &mut self.point;
        point.ratio = if point.axes == 0 {
            ratio
        } else if self.spike {
            point.ratio.min(ratio)
        } else {
            point.ratio.max(ratio)
        };
        point.axes |= bit;
        point.inner |= inner;
    }

    fn factor(&self) -> f64 {
        if self.spike { self.point.ratio } else { 1.0 / self.point.ratio }
    }
}

impl Scan {
    /// Adds a series along the first axis if it is long enough. `rows` are the series' rows in order.
    fn add_shape(&mut self, rows: &[u32]) {
        if rows.len() < SHAPE_LEAST {
            return;
        }
        let last = rows.len() - 1;
        self.inner.extend_from_slice(&rows[1..last]);
        self.shapes.push(SeriesSample {
            rows: std::array::from_fn(|n| rows[(1 + 2 * n) * last / (2 * SHAPE_POINTS)]),
            inner_end: self.inner.len() as u32,
        });
    }
}
