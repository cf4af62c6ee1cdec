//! The usual differences between correct measurements of the same point: `rules/noise.yaml`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The spread between reruns of the same measurement, per band of latencies. Tables with enough reruns have their own
/// bands.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Noise {
    /// The noise bands for tables without their own bands. They are computed from the reruns of all tables together.
    pub all: Vec<NoiseBand>,
    /// The noise bands of tables with enough reruns, by table, then by backend.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tables: BTreeMap<String, BTreeMap<String, Vec<NoiseBand>>>,
    /// The tables whose reruns are not counted, by path. The value is the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out: BTreeMap<String, String>,
}

/// The spread between reruns whose latencies are within one band, such as 0.1 to 1 ms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoiseBand {
    /// The band's upper end in ms. The lower end is the previous band's upper end. `None` for the last band.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below_ms: Option<f64>,
    /// The number of pairs of reruns in the band.
    pub pairs: usize,
    /// The number of tables with pairs of reruns in the band.
    pub tables: usize,
    /// The median ratio of the slower to the faster rerun of a pair.
    pub p50: f64,
    /// The 95th percentile of the ratio of the slower to the faster rerun of a pair.
    pub p95: f64,
    /// The 99th percentile of the ratio of the slower to the faster rerun of a pair.
    pub p99: f64,
}

/// The noise bands of a table and backend, and those of all tables together. The bands of all tables apply if the table
/// has no bands of its own.
#[derive(Debug, Clone, Copy)]
pub struct NoiseBands<'a> {
    own: &'a [NoiseBand],
    all: &'a [NoiseBand],
}

impl Noise {
    /// Returns the noise band of a table and backend at a latency in ms; `None` if the spread is unknown.
    pub fn at(&self, table: &str, backend: &str, latency: f64) -> Option<&NoiseBand> {
        self.bands(table, backend).at(latency)
    }

    /// Returns the noise bands of a table and backend.
    pub(crate) fn bands(&self, table: &str, backend: &str) -> NoiseBands<'_> {
        let own = self.tables.get(table).and_then(|bands| bands.get(backend));
        NoiseBands { own: own.map_or(&[], |bands| bands), all: &self.all }
    }
}

impl<'a> NoiseBands<'a> {
    /// Returns the noise band at a latency in ms; `None` if the spread is unknown.
    pub(crate) fn at(&self, latency: f64) -> Option<&'a NoiseBand> {
        let is_band = |band: &&NoiseBand| band.below_ms.is_none_or(|end| latency < end);
        self.own.iter().find(is_band).or_else(|| self.all.iter().find(is_band))
    }
}
