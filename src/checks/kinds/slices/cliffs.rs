//! Cliffs: the last step of many series takes several times as long as the steps before it predict.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::odd::OddSlice;
use crate::base::stats::quantile;
use crate::base::words::{Figure, count};
use crate::checks::context::RowContext;

/// Limits for the check of cliffs: sizes at which many series end with a point that is far slower than the points
/// before it predict.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CliffLimits {
    /// The minimum number of series that end at the same size.
    series: usize,
    /// The minimum median of the slowdowns at a cliff. The slowdown of a series is the latency of its last point
    /// divided by the predicted latency.
    factor: f64,
    /// The minimum lower quartile of the slowdowns at a cliff. The slowdown of a series is the latency of its last
    /// point divided by the predicted latency.
    quartile: f64,
    /// A size is not reported as a cliff if longer series slow down at this size, too, and keep growing: at the next
    /// size, they take at least this many times as long.
    grows: f64,
}

/// The last point of a series.
struct SeriesEnd {
    row: u32,
    /// The size of the second to last point of the series.
    before: f64,
    /// The latency of the series' last point divided by the predicted latency.
    factor: f64,
}

impl CliffLimits {
    /// Finds the size at which most series have a cliff.
    pub(crate) fn odd(&self, rows: &RowContext<'_>, latency: &[f64]) -> Option<OddSlice> {
        let of_axis = rows.series().iter().filter_map(|axis| {
            let mut ends: BTreeMap<u64, Vec<SeriesEnd>> = BTreeMap::new();
            for (series, sizes) in axis.iter().filter(|(series, _)| series.len() > 3) {
                let end = SeriesEnd::of(series, sizes, latency);
                ends.entry(sizes[sizes.len() - 1].to_bits()).or_default().extend(end);
            }
            let ends = ends.into_iter().filter(|(_, ends)| self.is_cliff(ends));
            let (size, ends) = ends.max_by_key(|(_, ends)| ends.len())?;
            let size = f64::from_bits(size);
            // If longer series have the same step and keep growing, one kernel is replaced by another there.
            let inner = axis.iter().filter_map(|(series, sizes)| {
                let at = sizes[..sizes.len() - 1].iter().position(|other| *other == size)?;
                let [own, next] = [at, at + 1].map(|at| latency[series[at] as usize]);
                let end = SeriesEnd::of(&series[..=at], &sizes[..=at], latency);
                end.filter(|_| next >= self.grows * own)
            });
            let inner: Vec<SeriesEnd> = inner.collect();
            (!self.is_cliff(&inner)).then_some((&axis.axis, size, ends))
        });
        let (axis, size, ends) = of_axis.max_by_key(|(.., ends)| ends.len())?;
        let says = format!(
            "the step from {} to {} along {axis} takes {:.1} times as long as the steps before it predict, in the median of {} series that end there: captured graphs may end before it",
            Figure(ends[0].before),
            Figure(size),
            Figure(quantile(&factors(&ends), 0.5)),
            count(ends.len()),
        );
        Some(OddSlice { says, rows: ends.iter().map(|end| end.row as usize).collect() })
    }

    /// Returns true if enough of the given series, which end at the same size, have a last point that is far slower
    /// than predicted.
    fn is_cliff(&self, ends: &[SeriesEnd]) -> bool {
        let factors = factors(ends);
        factors.len() >= self.series
            && quantile(&factors, 0.5) >= self.factor
            && quantile(&factors, 0.25) >= self.quartile
    }
}

impl SeriesEnd {
    /// Compares the last point of a series with the line through the two points before it, in logarithms. The predicted
    /// latency grows at least in proportion to the size. Returns `None` for fewer than three points or a size of 0.
    fn of(series: &[u32], sizes: &[f64], latency: &[f64]) -> Option<Self> {
        let (&[.., first, second, row], &[.., low, before, size]) = (series, sizes) else {
            return None;
        };
        let step = |from: u32, to: u32| (latency[to as usize] / latency[from as usize]).ln();
        let slope = (step(first, second) / (before / low).ln()).max(1.0);
        let factor = (step(second, row) - slope * (size / before).ln()).exp();
        (low > 0.0 && factor.is_finite()).then_some(Self { row, before, factor })
    }
}

/// Returns the factors between the last and the predicted latency of some series, ascending.
fn factors(ends: &[SeriesEnd]) -> Vec<f64> {
    let mut factors: Vec<f64> = ends.iter().map(|end| end.factor).collect();
    factors.sort_by(f64::total_cmp);
    factors
}
