//! The interface of all kinds of operations.

use super::super::evidence::Provenance;
use super::super::keys::SliceSource;
use super::super::refusal::Refusal;
use super::super::session::PlannerSession;
use super::super::tables::TableName;

/// The point at which an operation is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Query {
    /// Number of requests that are computed together.
    pub batch: u64,
    /// Tokens of a request: in prefill the new tokens, in decode the tokens attended to.
    pub sequence: u64,
    /// Number of tokens that the operation processes.
    pub tokens: u64,
    /// Number of a request's tokens that are already in the cache; prefill only.
    pub prefix: u64,
}

/// The evaluation of an operation at a point.
pub(super) struct Evaluation<'e, 's, 'a> {
    pub session: &'e PlannerSession<'s, 'a>,
    pub query: Query,
    /// Collects the lookups of the evaluation.
    pub evidence: &'e mut Provenance,
}

/// An operation of one kind.
pub(super) trait Operation {
    /// The tables that the operation may read, without those of operations inside it.
    fn tables(&self) -> &'static [TableName] {
        &[]
    }

    /// The time at a point over all layers, in ms.
    ///
    /// # Errors
    ///
    /// If the data or the machine's figures give no time.
    fn ms(&self, at: &mut Evaluation<'_, '_, '_>) -> Result<f64, Refusal>;

    /// Checks that the slices that the operation reads are served.
    ///
    /// # Errors
    ///
    /// The first refusal.
    fn check(&self, _: &dyn SliceSource) -> Result<(), Refusal> {
        Ok(())
    }

    /// Bytes of the weights on one GPU over all layers.
    fn weight_bytes(&self) -> f64 {
        0.0
    }
}

/// The default of fields that split work: 1.
pub(super) fn one() -> u64 {
    1
}

/// The default factor of an operation: 1.
pub(super) fn once() -> f64 {
    1.0
}

/// The share of prefill attention that is new work if `prefix` tokens are cached: (full² − prefix²) /
/// full².
pub(super) fn new_share(full: u64, prefix: u64) -> f64 {
    let (full, prefix) = (full as f64, prefix as f64);
    (full * full - prefix * prefix) / (full * full)
}
