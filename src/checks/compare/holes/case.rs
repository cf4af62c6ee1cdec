//! A table and the references that its coverage is compared with.

use super::references::{Reference, ReferencePoints};
use crate::checks::context::CrossContext;
use crate::database::catalog::TableFile;
use crate::specs::TableSpec;

/// A table, the references that it is compared with, and the references' points.
pub(super) struct CoverageCase<'a> {
    pub at: &'a CrossContext<'a>,
    pub spec: &'a TableSpec,
    pub file: &'a TableFile,
    pub references: Vec<Reference<'a>>,
    pub found: ReferencePoints<'a>,
    /// True if all references are systems of other generations.
    pub distant: bool,
    /// The reason why all missing keys may be right; `None` without such a reason.
    pub caveat: Option<String>,
}
