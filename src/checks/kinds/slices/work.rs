//! Slices against the time that the machine needs at least for their work.

use schemars::JsonSchema;
use serde::Deserialize;

use super::odd::OddSlice;
use crate::base::expr::ExprError;
use crate::base::words::{Figure, count};
use crate::checks::context::RowContext;
use crate::database::table::{Keys, NumberedRows};

/// When the latencies of a slice do not fit its work.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkLimits {
    /// The least number of points of a slice.
    points: usize,
    /// The share of the machine's speed that the best large point reaches in every honest slice.
    share: f64,
    /// The least time in ms that the machine needs for a large point.
    large_ms: f64,
    /// The factor between the smallest and the largest work of a slice whose latency must grow.
    work: f64,
    /// The least growth of the latency over such a range.
    growth: f64,
}

/// The work of a slice: the time in ms that the machine needs at least, and the latency in ms.
pub(super) struct SliceWork {
    points: Vec<WorkPoint>,
}

/// A row with the time that the machine needs at least.
#[derive(Clone, Copy)]
pub(super) struct WorkPoint {
    pub row: usize,
    pub bound: f64,
    pub latency: f64,
}

impl SliceWork {
    /// Returns the work of every slice of a table whose spec has bounds.
    pub fn all(
        rows: &RowContext<'_>,
        slices: &NumberedRows,
        latency: &[f64],
    ) -> Result<Vec<Self>, ExprError> {
        let bounds = rows.longest_bounds()?;
        let counts = slices.counts.iter().map(|count| *count as usize);
        let mut all: Vec<Self> =
            counts.map(|count| Self { points: Vec::with_capacity(count) }).collect();
        for (row, slice) in slices.of_rows.iter().enumerate() {
            let (bound, latency) = (bounds[row], latency[row]);
            if bound > 0.0 && bound.is_finite() && latency > 0.0 {
                all[*slice as usize].points.push(WorkPoint { row, bound, latency });
            }
        }
        Ok(all)
    }

    /// Returns the rows of the slice that have a bound and a latency.
    pub fn points(&self) -> &[WorkPoint] {
        &self.points
    }
}

impl WorkLimits {
    /// Words what does not fit in a slice.
    pub fn odd(&self, keys: &Keys<'_>, slice: &SliceWork) -> Option<OddSlice> {
        let points = &slice.points;
        if points.len() < self.points {
            return None;
        }
        let by = |of: fn(&WorkPoint) -> f64| {
            let least = points.iter().map(of).fold(f64::INFINITY, f64::min);
            (least, points.iter().map(of).fold(0.0, f64::max))
        };
        let (work, time) = (by(|p| p.bound), by(|p| p.latency));
        let large: Vec<&WorkPoint> = points.iter().filter(|p| p.bound >= self.large_ms).collect();
        let best = large.iter().map(|p| p.bound / p.latency).fold(0.0, f64::max);
        let name = || {
            let texts = keys.texts(points[0].row);
            let texts: Vec<String> =
                texts.into_iter().map(|(name, text)| format!("{name} {text}")).collect();
            texts.join(", ")
        };
        let says = if !large.is_empty() && best < self.share {
            format!(
                "{}: no large point reaches more than {:.1} % of the machine's speed",
                name(),
                Figure(100.0 * best)
            )
        } else if work.1 / work.0 >= self.work && time.1 / time.0 < self.growth {
            let ratio = count((work.1 / work.0).round() as usize);
            format!(
                "{}: {ratio} times the work takes {:.2} times as long, from {:.4} to {:.4} ms",
                name(),
                Figure(time.1 / time.0),
                Figure(time.0),
                Figure(time.1)
            )
        } else {
            return None;
        };
        Some(OddSlice { says, rows: points.iter().map(|p| p.row).collect() })
    }
}
