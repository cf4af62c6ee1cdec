//! A constant time in every latency of a table: its smallest sizes all take the same time, far more than the machine needs.

use schemars::JsonSchema;
use serde::Deserialize;

use super::odd::OddSlice;
use super::work::{SliceWork, WorkPoint};
use crate::base::stats::upper_median;
use crate::base::words::{Figure, count};

/// When a constant time seems to be in every latency of a table.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ConstantLimits {
    /// The least latency in ms of the fastest point of the table.
    least_ms: f64,
    /// The least factor between this latency and the need of the machine at small points.
    need: f64,
    /// The least number of small points of a slice.
    points: usize,
    /// The factor over the fastest point of the table that half of a slice's small points stay below.
    flat: f64,
    /// The least factor between the smallest and the largest work of a slice.
    work: f64,
    /// The share of the machine's speed that each slice reaches at large points without the constant.
    speed: f64,
}

impl ConstantLimits {
    /// Finds a constant that every slice of a table has.
    pub fn odd(&self, slices: &[SliceWork]) -> Option<OddSlice> {
        let points = || slices.iter().flat_map(SliceWork::points);
        let floor = points().map(|p| p.latency).fold(f64::INFINITY, f64::min);
        if floor < self.least_ms || !slices.iter().all(|slice| self.has(slice, floor)) {
            return None;
        }
        let is_small = |p: &&WorkPoint| p.bound * self.need <= floor;
        let rows: Vec<usize> = points().filter(is_small).map(|p| p.row).collect();
        let mut needs: Vec<f64> = points().filter(is_small).map(|p| p.bound).collect();
        if rows.is_empty() {
            return None;
        }
        let says = format!(
            "no point takes less than {:.4} ms, where the machine needs {:.4} ms in the median of {} small points, and large ones are as fast as usual: as if something constant (a flush of the cache, a launch, a synchronisation) were timed",
            Figure(floor),
            Figure(upper_median(&mut needs)),
            count(rows.len()),
        );
        Some(OddSlice { says, rows })
    }

    /// Returns true if the latencies of a slice are the floor and the time of its work.
    fn has(&self, slice: &SliceWork, floor: f64) -> bool {
        let points = slice.points();
        let is_small = |p: &&WorkPoint| p.bound * self.need <= floor;
        let mut small: Vec<f64> = points.iter().filter(is_small).map(|p| p.latency).collect();
        let bounds = || points.iter().map(|p| p.bound);
        let (least, most) = (bounds().fold(f64::INFINITY, f64::min), bounds().fold(0.0, f64::max));
        let speed = |p: &WorkPoint| p.bound / (p.latency - floor).max(p.bound);
        let is_large = |p: &&WorkPoint| p.bound >= floor;
        let fastest = points.iter().filter(is_large).map(speed).fold(0.0, f64::max);
        let (count, middle) = (small.len(), upper_median(&mut small));
        tracing::debug!(floor, count, middle, fastest, least, most, "constant");
        count >= self.points
            && middle <= self.flat * floor
            && most >= self.work * least
            && fastest >= self.speed
    }
}
