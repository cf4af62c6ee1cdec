//! The three interpolators (perf_interp.rs, axis_curve.rs). Each is exact at a row and interpolates
//! between rows. Beyond the rows it keeps the utilisation, the ratio of speed of light to latency.

mod curve;
mod grid;
mod leaf;
mod shapes;
mod sites;
#[cfg(test)]
mod tests;

pub(super) use curve::LatencyCurve;
pub(super) use grid::LatencyGrid;
pub use leaf::How;
pub(super) use leaf::{Leaf, RowRef, Weights, first_of_each_place};
pub(super) use shapes::{ShapeRow, ShapeRows};
pub(super) use sites::{Sites, query as query_sites};

use super::refusal::Refusal;

/// Function from coordinates to the speed-of-light time in ms; unused coordinates are 0.
pub(super) type Sol<'a> = &'a dyn Fn([f64; 3]) -> f64;

/// log2 with a floor, so that the distance from a zero coordinate is finite.
fn log2(value: f64) -> f64 {
    value.max(1e-12).log2()
}

/// Returns true if a latency or bound is positive and finite.
fn is_usable(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

/// The refusal if no row at the grid's edge has a positive latency and bound.
fn no_anchor() -> Refusal {
    Refusal::missing(
        "no row at the edge of the grid has a positive latency and speed-of-light bound",
    )
}

/// Weight of `high` in a linear interpolation at `at` between `low` and `high`.
fn fraction(at: f64, low: f64, high: f64) -> f64 {
    (at - low) / (high - low)
}
