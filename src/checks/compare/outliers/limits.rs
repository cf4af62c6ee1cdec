//! The limits from which on a point is an outlier.

use schemars::JsonSchema;
use serde::Deserialize;

/// When a point stands out.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Standout")]
pub struct OutlierLimits {
    /// Factor over (or under) every neighbour that few points exceed.
    pub(super) factor: f64,
    /// How many times the tail of honest reruns, by logarithm, the factor has to exceed, too.
    pub(super) tails: f64,
    /// Latency in ms that the slower side must reach; below it the timer explains much.
    pub(super) floor_ms: f64,
    /// Factor from which on a point at the same key elsewhere stands out as well.
    pub(super) recurs: f64,
    /// When a point stands out beside other tables; they are not asked without it.
    #[serde(default)]
    pub(super) curves: Option<CurveLimits>,
}

/// When a point stands out in the ratio to other tables.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CurveLimits {
    /// Factor over (or under) the line between its neighbours from which on a point is looked at, and from
    /// which on other tables confirm that it stands out.
    pub(super) bends: f64,
    /// Factor in the ratio to other tables that few points exceed.
    pub(super) factor: f64,
    /// How many times the tail of honest reruns, by logarithm, the factor has to exceed, too.
    pub(super) tails: f64,
    /// The factor below `floor_ms`.
    pub(super) short: f64,
    /// Latency in ms that the slower side must reach; no timer resolves less.
    pub(super) least_ms: f64,
    /// Independent groups of tables that must agree.
    pub(super) groups: usize,
    /// Factor from which on one point is worth a warning.
    pub(super) warns: f64,
    /// Points that are worth one, whatever their factor.
    pub(super) points: usize,
    /// When a series is off all along its sweep.
    pub(super) shapes: ShapeLimits,
}

/// When a series is off all along its sweep, beside the other series of its slice.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShapeLimits {
    /// Factor in the ratio to other tables.
    pub(super) factor: f64,
    /// Factor that few series of a slice exceed where its kernels are those of the other tables.
    pub(super) calm: f64,
    /// The share of them that may.
    pub(super) share: f64,
}
