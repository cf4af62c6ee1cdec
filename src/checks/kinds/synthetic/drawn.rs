//! Series that are drawn: many of their points lie on the line between their neighbours.
//!
//! A line is straight, or a power law (straight in the logarithms of size and latency). A point is on it
//! when it is as near as its own digits can say. One such point says nothing, since sweeps have flat and
//! straight stretches; several in each of several series are an interpolation.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;

use super::digits::{Digits, digits};
use super::sign::Sign;
use crate::base::stats::upper_median;
use crate::base::words::{count, plural};
use crate::checks::series::AxisSeries;

/// How many points of how many series lie on a line.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Drawn")]
pub(super) struct DrawnSign {
    /// Points of a series on the line, at least.
    points: usize,
    /// Their least share of the points that can be decided.
    share: f64,
    /// How many times the share that chance puts on the line, at least.
    chance: f64,
    /// The coarsest rounding of a point, over its latency, at which it can be decided.
    rounding: f64,
    /// Rows of the table that may have a point's latency: a timer's quanta repeat.
    repeats: usize,
    /// Such series along one axis that make a finding.
    series: usize,
}

/// Rounding of a number with all its digits, over the number.
const ARITHMETIC: f64 = 1e-7;

/// The number of series from which an axis' usual distance from the line is computed.
const SPREAD: usize = 256;

/// A table's latencies, in the forms in which lines are drawn through them.
pub(super) struct Latencies<'a> {
    values: &'a [f64],
    /// Digits that most of them have.
    digits: Digits,
}

impl<'a> Latencies<'a> {
    pub(super) fn new(values: &'a [f64], digits: Digits) -> Self {
        Self { values, digits }
    }

    fn around(&self, rows: &[u32], at: usize) -> [f64; 3] {
        [at - 1, at, at + 1].map(|at| self.values[rows[at] as usize])
    }

    /// Returns the largest error of a value's rounding: by its own digits, or by those of the table where it has
    /// fewer, since an honest value may end in zeros.
    fn rounding(&self, value: f64) -> f64 {
        match (digits(value), self.digits) {
            (Digits::All, _) | (_, Digits::All) => ARITHMETIC * value,
            (own, usual) => own.cut().min(usual.cut()),
        }
    }

    /// Counts the points of a series that are on the line between their neighbours, by the digits of the table.
    fn on_line(&self, rows: &[u32], sizes: &[f64]) -> usize {
        let inner = 1..rows.len().saturating_sub(1);
        let is_on = |at: &usize| {
            let y = self.around(rows, *at);
            let most = self.digits.cut().max(ARITHMETIC * y[1]);
            y[0] != y[2] && distance(y, neighbourhood(sizes, *at)) <= most
        };
        inner.filter(is_on).count()
    }
}

/// Returns the distance of a point from the nearer of the two lines between its neighbours.
pub(super) fn distance([y0, y1, y2]: [f64; 3], [x0, x1, x2]: [f64; 3]) -> f64 {
    let straight = y0 + (y2 - y0) * (x1 - x0) / (x2 - x0);
    let power = y0 * ((y2 / y0).ln() * (x1 / x0).ln() / (x2 / x0).ln()).exp();
    // Without a logarithm of the size there is no power law; `min` leaves out what is not a number.
    (y1 - straight).abs().min((y1 - power).abs())
}

fn neighbourhood(values: &[f64], at: usize) -> [f64; 3] {
    [values[at - 1], values[at], values[at + 1]]
}

/// The points of a series that can be decided.
#[derive(Default)]
struct Judged {
    /// Rows on the line.
    on: Vec<usize>,
    /// Points that can be decided.
    told: usize,
    /// The sum of their rounding over their latency.
    rounding: f64,
}

impl DrawnSign {
    /// The points of hot series, along the first axis with enough of them.
    pub(super) fn check(&self, series: &[AxisSeries], latencies: &Latencies<'_>) -> Option<Sign> {
        let mut counts: Option<Vec<u64>> = None;
        series.iter().find_map(|axis| self.along(axis, latencies, &mut counts))
    }

    fn along(
        &self,
        axis: &AxisSeries,
        latencies: &Latencies<'_>,
        sorted: &mut Option<Vec<u64>>,
    ) -> Option<Sign> {
        let series = axis.iter().filter(|(rows, _)| rows.len() >= self.points + 2);
        let is_near =
            |(rows, sizes): &(&[u32], &[f64])| latencies.on_line(rows, sizes) >= self.points;
        let near: Vec<(&[u32], &[f64])> = series.filter(is_near).collect();
        if near.len() < self.series {
            return None;
        }
        let sorted = sorted.get_or_insert_with(|| {
            let mut bits: Vec<u64> = latencies.values.iter().map(|v| v.to_bits()).collect();
            bits.sort_unstable();
            bits
        });
        let usual = usual_distance(axis, latencies);
        let mut hot = Vec::new();
        for (rows, sizes) in near {
            let judged = self.judged(rows, sizes, latencies, sorted);
            if self.is_hot(&judged, usual) {
                hot.push(judged.on);
            }
        }
        (hot.len() >= self.series).then(|| sign(&axis.axis, &hot))
    }

    fn is_hot(&self, judged: &Judged, usual: f64) -> bool {
        let (on, told) = (judged.on.len(), judged.told as f64);
        // Either side of the line, as far as the digits reach, of a distance that is usually `usual`.
        let expected = 2.0 * judged.rounding / told / usual;
        let least = self.share.max(self.chance * expected);
        on >= self.points && on as f64 >= least * told
    }

    /// The points of a series that have neighbours on both sides and a latency that is not a timer's
    /// quantum.
    fn judged(&self, rows: &[u32], sizes: &[f64], of: &Latencies<'_>, sorted: &[u64]) -> Judged {
        let mut judged = Judged::default();
        for at in 1..rows.len() - 1 {
            let y = of.around(rows, at);
            let rounding = of.rounding(y[1]);
            if rounding > self.rounding * y[1] || y[0] == y[2] || self.repeats(y[1], sorted) {
                continue;
            }
            judged.told += 1;
            judged.rounding += rounding / y[1];
            if distance(y, neighbourhood(sizes, at)) <= rounding {
                judged.on.push(rows[at] as usize);
            }
        }
        judged
    }

    fn repeats(&self, value: f64, sorted: &[u64]) -> bool {
        let bits = value.to_bits();
        let first = sorted.partition_point(|b| *b < bits);
        sorted[first..].iter().take_while(|b| **b == bits).take(self.repeats + 1).count()
            > self.repeats
    }
}

/// The median distance of an axis' points from their lines, over their latency.
fn usual_distance(axis: &AxisSeries, latencies: &Latencies<'_>) -> f64 {
    let mut distances = Vec::new();
    for (rows, sizes) in axis.spread(SPREAD) {
        for at in 1..rows.len() - 1 {
            let y = latencies.around(rows, at);
            distances.push(distance(y, neighbourhood(sizes, at)) / y[1]);
        }
    }
    upper_median(&mut distances)
}

fn sign(axis: &str, hot: &[Vec<usize>]) -> Sign {
    let rows: BTreeSet<usize> = hot.iter().flatten().copied().collect();
    let series = count(hot.len());
    let axis = axis.to_owned();
    let say = move |rows: &[usize]| {
        let points = plural(rows.len(), "point");
        format!(
            "{points} in {series} series are exactly on the line between their neighbours along column {axis}"
        )
    };
    Sign { say: Box::new(say), rows: rows.into_iter().collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearer_line_counts() {
        assert!(distance([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]) < 1e-12, "straight");
        assert!(distance([1.0, 3.0, 9.0], [1.0, 2.0, 4.0]) < 1e-12, "a power law");
        assert!(distance([1.0, 1.5, 2.0], [0.0, 1.0, 2.0]) < 1e-12, "from size 0");
        assert!(distance([1.0, 2.5, 9.0], [1.0, 2.0, 4.0]) > 0.1);
    }
}
