//! Rows that no machine measured: points drawn on the line between their neighbours, one value over and over.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::stats::upper_median;
use crate::base::words::{count, plural};
use crate::checks::series::AxisSeries;
use crate::checks::{Judge, Judged, RowContext};
use crate::findings::Hits;

/// Limits for the check of rows that seem to be made up instead of measured.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SyntheticLimits {
    /// Rows are reported if at least this many successive rows have different keys and the same latency.
    repeated: usize,
    /// The limits for series whose points are exactly on the line between their neighbours.
    drawn: ComputedSeries,
}

/// Limits for computed series, which were not measured: many of their points are exactly on the line between their
/// neighbours.
///
/// The line is straight either in the values, or in the logarithms of size and latency (a power law). A point is on the
/// line if its distance is within the resolution of the table's latencies. A single such point proves nothing, since
/// sweeps have flat and straight parts. Several points in each of several series show that values were interpolated.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ComputedSeries {
    /// A series counts as computed only if at least this many of its points are on a straight line.
    points: usize,
    /// A series counts as computed only if at least this share of its judged points is on the line between their
    /// neighbours.
    share: f64,
    /// A series counts as computed only if its share of points on the line is at least this many times the share that
    /// is expected by chance.
    chance: f64,
    /// A point is judged only if its rounding error is at most this share of its latency.
    rounding: f64,
    /// A point is judged only if at most this many rows have its latency. If more rows have it, the latency is probably
    /// a step of the timer.
    repeats: usize,
    /// The minimum number of computed series along one axis.
    series: usize,
}

/// A lower limit for the relative rounding error of a latency. It applies to latencies with many decimals.
const ARITHMETIC: f64 = 1e-7;

/// At most this many series are used to compute the usual distance of points from the line between their neighbours.
const SPREAD: usize = 256;

impl Judge for SyntheticLimits {
    fn table<'v>(&'v self, rows: &'v RowContext<'v>) -> Judged<'v> {
        Ok(self.repeated(rows).into_iter().chain(self.drawn.hit(rows)).flatten().collect())
    }
}

impl SyntheticLimits {
    /// Reports successive rows with different keys and the same latency.
    fn repeated<'v>(&self, rows: &'v RowContext<'v>) -> Option<Hits<'v>> {
        let ((name, values), keys) = rows.measured().zip(rows.keys())?;
        let same = |a: usize, b: usize| values[a] == values[b] && values[a] > 0.0;
        let mut found = runs(values.len(), self.repeated, same);
        // Rows that repeat a key are reported by the rule duplicate-key.
        let different = |run: &Range<usize>| {
            let keys: BTreeSet<u64> = keys.hashes()[run.clone()].iter().copied().collect();
            keys.len()
        };
        found.retain(|run| different(run) >= self.repeated);
        // Two runs may touch, so the longest run is searched among rows that repeat the same value.
        let value: BTreeMap<usize, f64> =
            found.iter().flat_map(|run| run.clone().map(|row| (row, values[row]))).collect();
        let all: Vec<usize> = value.keys().copied().collect();
        Some(rows.hit(rows.rule.severity, all, [name, "kernel_source"], move |own| {
            let runs = own.chunk_by(|a, b| b - a == 1 && value[a] == value[b]);
            let longest = runs.max_by_key(|run| (run.len(), Reverse(run[0]))).unwrap_or(&[0]);
            format!(
                "{} at different keys repeat one value, up to {} rows in succession ({} from {})",
                plural(own.len(), "row"),
                longest.len(),
                value.get(&longest[0]).copied().unwrap_or(f64::NAN),
                rows.lines().place(longest[0])
            )
        }))
    }
}

/// Ranges of at least `least` successive rows that are all alike. `alike` compares two rows.
fn runs(rows: usize, least: usize, alike: impl Fn(usize, usize) -> bool) -> Vec<Range<usize>> {
    // A range of `least` rows contains two of the rows at multiples of `step`, so most rows are not compared.
    let step = (least / 2).max(1);
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut row = 0;
    while row + step < rows {
        if !alike(row, row + step) {
            row += step;
            continue;
        }
        let first = found.last().map_or(0, |run| run.end);
        let start = (first..row).rev().take_while(|r| alike(*r, row)).last().unwrap_or(row);
        let end = (row + 1..rows).find(|r| !alike(*r, row)).unwrap_or(rows);
        if end - start >= least {
            found.push(start..end);
        }
        row = end.next_multiple_of(step).max(row + step);
    }
    found
}

/// A table's latencies in ms, with their resolution.
struct Latencies<'a> {
    values: &'a [f64],
    /// The resolution in ms. It is a power of ten, and 90 % of the latencies are multiples of it. 0 if the latencies
    /// have too many decimals.
    step: f64,
}

/// The points of a series that can be judged.
#[derive(Default)]
struct DecidedPoints {
    /// The rows whose points are on the line between their neighbours.
    on: Vec<usize>,
    /// The number of points that can be judged.
    count: usize,
    /// The sum, over all points that can be judged, of the rounding error divided by the latency.
    rounding: f64,
}

impl ComputedSeries {
    /// Reports series whose latencies seem computed instead of measured, along the first axis with enough such series.
    fn hit<'v>(&self, rows: &'v RowContext<'v>) -> Option<Hits<'v>> {
        let (name, values) = rows.measured()?;
        let latencies = Latencies { values, step: rows.step() };
        let (axis, series, all) =
            rows.series().iter().find_map(|axis| self.along(axis, &latencies))?;
        Some(rows.hit(rows.rule.severity, all, [name, "kernel_source"], move |own| {
            let points = plural(own.len(), "point");
            format!(
                "{points} in {} series are exactly on the line between their neighbours along column {axis}",
                count(series)
            )
        }))
    }

    /// Returns the name of the axis, the number of its computed series, and the rows of their points on the line;
    /// `None` if there are too few computed series.
    fn along<'v>(
        &self,
        axis: &'v AxisSeries,
        latencies: &Latencies<'_>,
    ) -> Option<(&'v str, usize, Vec<usize>)> {
        let long = axis.iter().filter(|(rows, _)| rows.len() >= self.points + 2);
        let near: Vec<(&[u32], &[f64])> = long
            .filter(|(rows, sizes)| latencies.on_line(rows, sizes).count() >= self.points)
            .collect();
        if near.len() < self.series {
            return None;
        }
        let mut sorted: Vec<u64> = latencies.values.iter().map(|value| value.to_bits()).collect();
        sorted.sort_unstable();
        let usual = latencies.usual_distance(axis);
        let decided =
            near.into_iter().map(|(rows, sizes)| self.decide(rows, sizes, latencies, &sorted));
        let drawn: Vec<Vec<usize>> =
            decided.filter(|points| self.is_drawn(points, usual)).map(|points| points.on).collect();
        (drawn.len() >= self.series).then(|| {
            let rows: BTreeSet<usize> = drawn.iter().flatten().copied().collect();
            (axis.axis.as_str(), drawn.len(), rows.into_iter().collect())
        })
    }

    fn is_drawn(&self, points: &DecidedPoints, usual: f64) -> bool {
        let (on, decided) = (points.on.len(), points.count as f64);
        // The share of points expected on the line by chance: the range on both sides divided by the usual distance.
        let expected = 2.0 * points.rounding / decided / usual;
        on >= self.points && on as f64 >= self.share.max(self.chance * expected) * decided
    }

    /// Finds the points of a series that can be judged, and which of these points are on the line between their
    /// neighbours. A point can be judged if its neighbours have different latencies, its rounding error is small, and
    /// few rows have the same latency. `sorted` has the bits of all latencies, ascending.
    fn decide(
        &self,
        rows: &[u32],
        sizes: &[f64],
        latencies: &Latencies<'_>,
        sorted: &[u64],
    ) -> DecidedPoints {
        let repeats = |value: f64| {
            let first = sorted.partition_point(|bits| *bits < value.to_bits());
            let same = sorted[first..].iter().take_while(|bits| **bits == value.to_bits());
            same.take(self.repeats + 1).count() > self.repeats
        };
        let is_decidable = |[before, own, after]: [f64; 3]| {
            latencies.rounding(own) <= self.rounding * own && before != after && !repeats(own)
        };
        let mut points = DecidedPoints::default();
        for at in 1..rows.len() - 1 {
            let y = latencies.around(rows, at);
            if is_decidable(y) {
                points.count += 1;
                points.rounding += latencies.rounding(y[1]) / y[1];
            }
        }
        let on = latencies.on_line(rows, sizes);
        let on = on.filter(|at| is_decidable(latencies.around(rows, *at)));
        points.on = on.map(|at| rows[at] as usize).collect();
        points
    }
}

impl Latencies<'_> {
    /// Returns three latencies in ms: of the point before index `at` of a series, of the point itself, and of the point
    /// after it.
    fn around(&self, rows: &[u32], at: usize) -> [f64; 3] {
        [at - 1, at, at + 1].map(|at| self.values[rows[at] as usize])
    }

    /// Returns the maximum rounding error of a latency in ms.
    fn rounding(&self, value: f64) -> f64 {
        // Slightly more than half a step, since binary numbers do not represent decimals exactly.
        (0.51 * self.step).max(ARITHMETIC * value)
    }

    /// Returns the indices of a series' points that are on the line between their neighbours.
    fn on_line<'s>(
        &'s self,
        rows: &'s [u32],
        sizes: &'s [f64],
    ) -> impl Iterator<Item = usize> + 's {
        (1..rows.len().saturating_sub(1)).filter(move |at| {
            let y = self.around(rows, *at);
            y[0] != y[2] && distance(y, neighbourhood(sizes, *at)) <= self.rounding(y[1])
        })
    }

    /// Returns the median distance of an axis' points from the line between their neighbours. Each distance is divided
    /// by the latency of its point.
    fn usual_distance(&self, axis: &AxisSeries) -> f64 {
        let mut distances = Vec::new();
        for (rows, sizes) in axis.spread(SPREAD) {
            for at in 1..rows.len() - 1 {
                let y = self.around(rows, at);
                distances.push(distance(y, neighbourhood(sizes, at)) / y[1]);
            }
        }
        upper_median(&mut distances)
    }
}

/// Returns the distance in ms of a point (`y1` at `x1`) from the nearer of two lines between its neighbours. One is
/// straight in the values, the other in the logarithms.
fn distance([y0, y1, y2]: [f64; 3], [x0, x1, x2]: [f64; 3]) -> f64 {
    let straight = y0 + (y2 - y0) * (x1 - x0) / (x2 - x0);
    let power = y0 * ((y2 / y0).ln() * (x1 / x0).ln() / (x2 / x0).ln()).exp();
    // With a size of 0 the power law is NaN, and `min` ignores NaN.
    (y1 - straight).abs().min((y1 - power).abs())
}

fn neighbourhood(sizes: &[f64], at: usize) -> [f64; 3] {
    [sizes[at - 1], sizes[at], sizes[at + 1]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_synthetic_rows_is_found_whole_at_any_start() {
        for start in 0..20 {
            for len in [15, 16, 17, 40] {
                let is_in = |r: usize| (start..start + len).contains(&r);
                let found = runs(100, 16, |a, b| is_in(a) && is_in(b));
                let want: Vec<Range<usize>> =
                    (len >= 16).then_some(start..start + len).into_iter().collect();
                assert_eq!(found, want, "{len} rows from {start}");
            }
        }
        assert_eq!(runs(40, 16, |a, b| (a < 20) == (b < 20)), [0..20, 20..40]);
        assert!(runs(0, 16, |_, _| true).is_empty());
    }

    #[test]
    fn a_point_is_measured_from_the_nearer_of_a_straight_line_and_a_power_law() {
        assert!(distance([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]) < 1e-12, "straight");
        assert!(distance([1.0, 3.0, 9.0], [1.0, 2.0, 4.0]) < 1e-12, "a power law");
        assert!(distance([1.0, 1.5, 2.0], [0.0, 1.0, 2.0]) < 1e-12, "from size 0");
        assert!(distance([1.0, 2.5, 9.0], [1.0, 2.0, 4.0]) > 0.1);
    }
}
