//! The results of comparing the tables of a name with their peers, kept until the tables of all names were read.

use std::collections::BTreeMap;

use crate::checks::compare::sketch::Slice;

/// What is kept of the tables of a name until the tables of all names were read.
#[derive(Debug, Clone)]
pub struct NamedPeers {
    pub(super) latencies: PeerLatencies,
    pub(super) differences: Differences,
}

/// The median latency of each slice over that of each reference: every other backend is a reference,
/// the versions of the table's own backend are one together, and so are the [`NEARBY`] systems.
pub type RelativeLatencies = BTreeMap<Slice, BTreeMap<String, f64>>;

/// The latencies of the tables of a name over those of their peers.
#[derive(Debug, Clone, Default)]
pub struct PeerLatencies {
    /// Relative latencies of the judged tables by path, without those over the [`NEARBY`] systems: what machines differ
    /// by shows in the tables of all names only.
    pub(super) relative: BTreeMap<String, RelativeLatencies>,
    /// The same version on two systems of a generation.
    pub(super) runs: Vec<RunPair>,
}

/// A table of one version of a backend on two systems of a generation.
#[derive(Debug, Clone)]
pub(super) struct RunPair {
    pub run: SoftwareRun,
    /// The systems, in the order of the tables.
    pub systems: [String; 2],
    /// Paths of the tables.
    pub paths: [String; 2],
    /// The latency of the first over the second, by slice: an index into the first one's slices.
    pub ratios: Vec<(u32, f64)>,
}

/// A version of a backend on the systems of a generation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SoftwareRun {
    pub generation: String,
    pub backend: String,
    pub version: String,
}

/// How far a slice is off by the differences of its siblings on other systems.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Residual {
    /// How many times slower it is than they say.
    pub ratio: f64,
    /// Whether systems of the generation say so.
    pub near: bool,
    /// Siblings that were judged by.
    pub siblings: usize,
}

/// The residuals of a slice.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Residuals {
    /// Of all of its points.
    pub all: Option<Residual>,
    /// Of its short end.
    pub short: Option<Residual>,
}

/// Residuals by the table's path and slice.
pub(super) type Differences = BTreeMap<String, BTreeMap<Slice, Residuals>>;
