//! Slices, compared with the least time that the machine needs for their work.

use schemars::JsonSchema;
use serde::Deserialize;

use super::odd::OddSlice;
use crate::base::words::{Figure, count};
use crate::database::table::{Keys, NumberedRows};

/// Limits for latencies that do not fit the work of their slice.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkLimits {
    /// A slice is judged if it has at least this many points.
    points: usize,
    /// At least one large point of a slice must reach this share of the machine's peak speed. A point's share is the
    /// shortest time that the machine's rates allow, divided by the measured latency.
    share: f64,
    /// A point is large if the shortest latency that the machine's rates allow for it is at least this many ms.
    large_ms: f64,
    /// A slice's latency must grow if its largest work is at least this many times its smallest work.
    work: f64,
    /// The minimum ratio of the largest to the smallest latency of a slice whose latency must grow.
    growth: f64,
}

impl WorkLimits {
    /// Finds slices whose latencies do not fit their work. `bounds` has the lower bound of each row's latency in ms,
    /// which follows from the machine's rates.
    pub(crate) fn odd(
        &self,
        keys: &Keys<'_>,
        slices: &NumberedRows,
        latency: &[f64],
        bounds: &[f64],
    ) -> Vec<OddSlice> {
        let mut rows: Vec<Vec<usize>> = vec![Vec::new(); slices.counts.len()];
        for (row, slice) in slices.of_rows.iter().enumerate() {
            let has_both = bounds[row] > 0.0 && bounds[row].is_finite() && latency[row] > 0.0;
            rows[*slice as usize].extend(has_both.then_some(row));
        }
        rows.retain(|rows| rows.len() >= self.points);
        let odd = |rows: Vec<usize>| {
            let says = self.says(&rows, latency, bounds)?;
            let texts =
                keys.texts(rows[0]).into_iter().map(|(name, text)| format!("{name} {text}"));
            let texts: Vec<String> = texts.collect();
            Some(OddSlice { says: format!("{}: {says}", texts.join(", ")), rows })
        };
        rows.into_iter().filter_map(odd).collect()
    }

    /// Describes how the latencies of a slice do not fit its work; `None` if they fit.
    fn says(&self, rows: &[usize], latency: &[f64], bounds: &[f64]) -> Option<String> {
        let range = |of: &[f64]| {
            let values = || rows.iter().map(|row| of[*row]);
            (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max))
        };
        let (work, time) = (range(bounds), range(latency));
        let large = rows.iter().filter(|row| bounds[**row] >= self.large_ms);
        let best = large.map(|row| bounds[*row] / latency[*row]).reduce(f64::max);
        if let Some(best) = best.filter(|best| *best < self.share) {
            let percent = Figure(100.0 * best);
            return Some(format!(
                "no large point reaches more than {percent:.1} % of the machine's speed"
            ));
        }
        let is_flat = work.1 / work.0 >= self.work && time.1 / time.0 < self.growth;
        is_flat.then(|| {
            format!(
                "{} times the work takes {:.2} times as long, from {:.4} to {:.4} ms",
                count((work.1 / work.0).round() as usize),
                Figure(time.1 / time.0),
                Figure(time.0),
                Figure(time.1)
            )
        })
    }
}
