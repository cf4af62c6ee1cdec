//! The common part of all kinds of operations.

use super::super::evidence::Provenance;
use super::super::keys::SliceSource;
use super::super::refusal::Refusal;
use super::super::session::PlannerSession;
use super::super::tables::TableName;

/// The point at which an operation is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Query {
    /// Requests that are computed together.
    pub batch: u64,
    /// In prefill the new tokens of a request; in decode the tokens that it attends to.
    pub sequence: u64,
    /// Tokens that the operation works on.
    pub tokens: u64,
    /// Tokens of a request that are in the cache already; prefill only.
    pub prefix: u64,
}

/// An operation's evaluation at a point.
pub(super) struct Evaluation<'e, 's, 'a> {
    pub session: &'e PlannerSession<'s, 'a>,
    pub query: Query,
    /// Notes lookups.
    pub evidence: &'e mut Provenance,
}

/// An operation of one kind.
pub(super) trait Operation {
    /// The tables that it may read, apart from those of operations inside it.
    fn tables(&self) -> &'static [TableName] {
        &[]
    }

    /// The time at a point, ms, over all layers.
    ///
    /// # Errors
    ///
    /// If the data or the machine's figures do not answer.
    fn ms(&self, at: &mut Evaluation<'_, '_, '_>) -> Result<f64, Refusal>;

    /// Checks that the slices that it reads are served.
    ///
    /// # Errors
    ///
    /// The first refusal.
    fn check(&self, _: &dyn SliceSource) -> Result<(), Refusal> {
        Ok(())
    }

    /// Bytes of the weights, on one GPU, over all layers.
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

/// The share of a prefill's attention that is new work when `prefix` tokens are cached:
/// (full² − prefix²) / full².
pub(super) fn new_share(full: u64, prefix: u64) -> f64 {
    let (full, prefix) = (full as f64, prefix as f64);
    (full * full - prefix * prefix) / (full * full)
}
