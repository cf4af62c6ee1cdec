//! Series that are drawn with noise: every second point lies near the line between its neighbours, and
//! the points between lie much farther from theirs.
//!
//! In a measured sweep, odd points are about as far from the line between even points as even points are from the line
//! between odd ones.

use schemars::JsonSchema;
use serde::Deserialize;

use super::sign::Sign;
use crate::base::stats::{nearest_rank, upper_median};
use crate::base::words::{count, plural};
use crate::checks::series::AxisSeries;

/// How much nearer every second point is.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Jittered")]
pub(super) struct JitteredSign {
    /// Points of a series, at least.
    points: usize,
    /// How far from the line nine tenths of the near points are at most, by logarithm.
    within: f64,
    /// How many times as far half of the other points are.
    ratio: f64,
    /// Such series along one axis, at least.
    series: usize,
    /// Their share of the axis' series, at least.
    share: f64,
}

/// Series that are looked at along an axis, and those of them that are looked at first.
const LOOKED_AT: usize = 256;
const FIRST: usize = 16;

impl JitteredSign {
    /// The near points of such series, along the first axis with enough of them.
    pub(super) fn check(&self, series: &[AxisSeries], latencies: &[f64]) -> Option<Sign> {
        series.iter().find_map(|axis| self.along(axis, latencies))
    }

    fn along(&self, axis: &AxisSeries, latencies: &[f64]) -> Option<Sign> {
        let (near, looked_at) = self.near(axis, latencies, FIRST);
        // Half the share among the first, so that an accident of the draw hides nothing.
        if (near.len() as f64) < 0.5 * self.share * looked_at as f64 {
            return None;
        }
        let (near, looked_at) = self.near(axis, latencies, LOOKED_AT);
        if near.len() < self.series || (near.len() as f64) < self.share * looked_at as f64 {
            return None;
        }
        let of = format!("{} of {} series examined", count(near.len()), count(looked_at));
        let (axis, within) = (axis.axis.clone(), 100.0 * self.within);
        let mut rows: Vec<usize> = near.into_iter().flatten().collect();
        rows.sort_unstable();
        let say = move |rows: &[usize]| {
            let points = plural(rows.len(), "point");
            format!(
                "{points} along column {axis}, every second one in {of}, are within {within} % of the line \
                 between their neighbours, while the points between them are much farther from it"
            )
        };
        Some(Sign { say: Box::new(say), rows })
    }

    /// The near points of such series among some of an axis, and how many series there were.
    fn near(&self, axis: &AxisSeries, latencies: &[f64], most: usize) -> (Vec<Vec<usize>>, usize) {
        let long = axis.spread(most).filter(|(rows, _)| rows.len() >= self.points);
        let mut looked_at = 0;
        let mut near = Vec::new();
        for (rows, sizes) in long {
            looked_at += 1;
            near.extend(self.near_points(rows, sizes, latencies));
        }
        (near, looked_at)
    }

    /// Every second point of a series, where it is much nearer to its line than the others.
    fn near_points(&self, rows: &[u32], sizes: &[f64], latencies: &[f64]) -> Option<Vec<usize>> {
        let latencies: Vec<f64> = rows.iter().map(|row| latencies[*row as usize]).collect();
        let logs: Vec<f64> = latencies.iter().map(|y| y.ln()).collect();
        let size_logs: Vec<f64> = sizes.iter().map(|x| x.ln()).collect();
        let share = |x: &[f64], i: usize| (x[i] - x[i - 1]) / (x[i + 1] - x[i - 1]);
        let power = |i: usize| {
            (logs[i] - logs[i - 1] - share(&size_logs, i) * (logs[i + 1] - logs[i - 1])).abs()
        };
        let straight = |i: usize| {
            let line = latencies[i - 1] + share(sizes, i) * (latencies[i + 1] - latencies[i - 1]);
            (logs[i] - line.ln()).abs()
        };
        let power: Vec<f64> = (1..rows.len() - 1).map(power).collect();
        let straight: Vec<f64> = (1..rows.len() - 1).map(straight).collect();
        for first in [0, 1] {
            if self.is_near(&power, first) || self.is_near(&straight, first) {
                let second = rows[1..rows.len() - 1].iter().skip(first).step_by(2);
                return Some(second.map(|row| *row as usize).collect());
            }
        }
        None
    }

    /// Returns true if every second distance, from index `first` on, is small beside the others.
    fn is_near(&self, distances: &[f64], first: usize) -> bool {
        let some = |from: usize| distances.iter().skip(from).step_by(2).copied();
        let mut near: Vec<f64> = some(first).collect();
        let mut others: Vec<f64> = some(1 - first).collect();
        near.sort_by(f64::total_cmp);
        let Some(most) = nearest_rank(&near, 0.9) else { return false };
        // Where the near points are exactly on the line they are another sign's.
        most <= self.within && upper_median(&mut others) >= self.ratio * most.max(1e-4)
    }
}
