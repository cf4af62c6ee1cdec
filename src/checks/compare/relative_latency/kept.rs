//! The results of comparing the tables of a name with their peers, kept until the tables of all names were read.

use std::collections::BTreeMap;

use crate::checks::compare::sketch::Slice;

/// The relative latencies and residuals of the tables of one name, kept until the tables of all names were read.
#[derive(Debug, Clone)]
pub struct NamedPeers {
    pub(super) latencies: PeerLatencies,
    pub(super) differences: Differences,
}

/// The median latency of each slice divided by the latency of each reference, by the reference's name. Each other backend
/// is a reference. All versions of the table's own backend together are one, and so are the `other systems` nearby.
pub type RelativeLatencies = BTreeMap<Slice, BTreeMap<String, f64>>;

/// The latencies of the tables of a name divided by the latencies of their peers.
#[derive(Debug, Clone, Default)]
pub struct PeerLatencies {
    /// Relative latencies of the judged tables by path, without the systems nearby as a reference: the factor between two
    /// machines can only be estimated from the tables of all names.
    pub(super) relative: BTreeMap<String, RelativeLatencies>,
    /// Pairs of tables of the same version on two systems of a generation.
    pub(super) runs: Vec<RunPair>,
}

/// A table of one version of a backend on two systems of a generation.
#[derive(Debug, Clone)]
pub(super) struct RunPair {
    pub run: SoftwareRun,
    /// The systems of the two tables.
    pub systems: [String; 2],
    /// The paths of the two tables.
    pub paths: [String; 2],
    /// The first table's median latency divided by the second's, with the slice as an index into the first table's slices.
    pub ratios: Vec<(u32, f64)>,
}

/// A version of a backend on the systems of a generation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SoftwareRun {
    pub generation: String,
    pub backend: String,
    pub version: String,
}

/// The factor by which a slice deviates from the ratios of the same tables on other systems.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Residual {
    /// The slice's latency divided by the latency that the other systems predict.
    pub ratio: f64,
    /// True if the prediction comes from systems of the same generation.
    pub near: bool,
    /// The number of sibling tables behind the prediction.
    pub siblings: usize,
}

/// The residuals of a slice.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Residuals {
    /// The residual over all points of the slice.
    pub all: Option<Residual>,
    /// The residual over the shortest quarter of the slice's points.
    pub short: Option<Residual>,
}

/// Residuals by path of the table and by slice.
pub(super) type Differences = BTreeMap<String, BTreeMap<Slice, Residuals>>;
