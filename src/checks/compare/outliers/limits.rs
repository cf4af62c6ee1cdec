//! The limits from which on a point is an outlier.

use schemars::JsonSchema;
use serde::Deserialize;

/// Limits for points beside their neighbours in the same table.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Standout")]
pub struct OutlierLimits {
    /// The factor between a point and every neighbour from which on the point is an outlier.
    pub(super) factor: f64,
    /// The least logarithm of the factor, in multiples of the tail of honest reruns.
    pub(super) tails: f64,
    /// The least latency of the slower side, in ms; the timer's resolution explains smaller ones.
    pub(super) floor_ms: f64,
    /// The factor from which on the same key counts as an outlier of another table, too.
    pub(super) recurs: f64,
    /// Limits beside other tables; `None`: points are not compared with other tables.
    #[serde(default)]
    pub(super) curves: Option<CurveLimits>,
}

/// Limits for points in the ratio of a table to other tables.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CurveLimits {
    /// The factor between a point and the line of its neighbours from which on the point is compared with other tables, and
    /// from which on these confirm it.
    pub(super) bends: f64,
    /// The factor in the ratio to other tables from which on a point is an outlier.
    pub(super) factor: f64,
    /// The least logarithm of the factor, in multiples of the tail of honest reruns.
    pub(super) tails: f64,
    /// The value of `factor` for latencies below `floor_ms`.
    pub(super) short: f64,
    /// The least latency of the slower side, in ms; no timer resolves less.
    pub(super) least_ms: f64,
    /// The number of independent groups of tables that must agree.
    pub(super) groups: usize,
    /// The factor from which on a single point is a warning.
    pub(super) warns: f64,
    /// The number of outliers that are a warning, whatever their factor.
    pub(super) points: usize,
    /// Limits for whole series.
    pub(super) shapes: ShapeLimits,
}

/// Limits for series that deviate along the whole sweep from the other series of their slice.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShapeLimits {
    /// The factor in the ratio to other tables from which on a series deviates.
    pub(super) factor: f64,
    /// The factor that few series of a slice exceed if its kernels are the same as in the other tables.
    pub(super) calm: f64,
    /// The share of a slice's series that may exceed `calm`.
    pub(super) share: f64,
}
