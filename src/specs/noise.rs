//! How far honest reruns of a point differ: `rules/noise.yaml`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Spread of reruns by latency, for all tables and for those with enough of their own.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Noise {
    /// Bands of all tables together.
    pub all: Vec<NoiseBand>,
    /// Bands by table and backend.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tables: BTreeMap<String, BTreeMap<String, Vec<NoiseBand>>>,
    /// Repeats that do not count, with the reason, by path.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out: BTreeMap<String, String>,
}

/// Reruns within a band of latencies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoiseBand {
    /// Its upper end in ms; the last band has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below_ms: Option<f64>,
    /// Pairs of reruns.
    pub pairs: usize,
    /// Tables that hold them.
    pub tables: usize,
    /// Slower over faster rerun: half of the pairs are below.
    pub p50: f64,
    /// 95 % are below.
    pub p95: f64,
    /// 99 % are below.
    pub p99: f64,
}

/// The bands of a table, and those of all for where it has none.
#[derive(Debug, Clone, Copy)]
pub struct NoiseBands<'a> {
    own: &'a [NoiseBand],
    all: &'a [NoiseBand],
}

impl Noise {
    /// The spread at a latency in ms; `None` where nothing is known.
    pub fn at(&self, table: &str, backend: &str, latency: f64) -> Option<&NoiseBand> {
        self.bands(table, backend).at(latency)
    }

    /// The bands of a table.
    pub fn bands(&self, table: &str, backend: &str) -> NoiseBands<'_> {
        let own = self.tables.get(table).and_then(|bands| bands.get(backend));
        NoiseBands { own: own.map_or(&[], |bands| bands), all: &self.all }
    }
}

impl<'a> NoiseBands<'a> {
    /// The spread at a latency in ms; `None` where nothing is known.
    pub fn at(&self, latency: f64) -> Option<&'a NoiseBand> {
        let is_band = |band: &&NoiseBand| band.below_ms.is_none_or(|end| latency < end);
        self.own.iter().find(is_band).or_else(|| self.all.iter().find(is_band))
    }
}
