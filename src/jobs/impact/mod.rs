//! Predicts step times of default models before and after a change, with the rows behind every
//! changed time.
//!
//! A prediction estimates static steps; [`LEFT_OUT`] lists the effects that it does not model.

mod case;
mod cause;
pub(crate) mod choose;
mod document;
mod findings;
mod opened;
mod options;
mod planned_version;
pub(crate) mod predict;
pub(crate) mod predictions;
mod summary;
mod text;

use std::time::Instant;

use tracing::debug;

use crate::base::error::Result;
use crate::jobs::DocumentFormat;
use crate::planner::Store;

pub use case::{Fate, Impact, ImpactCase, LEFT_OUT, OpMove, PointImpact, PowerCoverage};
pub use document::schema;
pub(crate) use opened::Opened;
pub use options::ImpactOptions;
pub use planned_version::PlannedVersion;
pub(crate) use planned_version::States;

/// Predicts one state, or two states to compare.
///
/// # Errors
///
/// Returns an error if there is no database, a commit or name is unknown, or a list of operations
/// is malformed. Lookups without an answer are part of the result.
pub fn run(options: &ImpactOptions) -> Result<Impact> {
    let start = Instant::now();
    let opened = Opened::read(options)?;
    debug!(models = opened.models.lists.len(), took = ?start.elapsed(), "read lists and listed files");
    let mut impact = Impact { compared: options.base.is_some(), ..Impact::default() };
    let versions = opened.versions(options)?;
    for of_system in versions.chunk_by(|a, b| a.system == b.system) {
        // The decoded tables of a system are dropped before the next system is read.
        let store = Store::default();
        let states = opened.states(&store)?;
        impact.cases.extend(predict::cases(&states, &opened.models, of_system));
    }
    impact.versions = versions;
    impact.elapsed = start.elapsed();
    debug!(cases = impact.cases.len(), took = ?impact.elapsed, "predicted");
    Ok(impact)
}

/// Renders an impact.
pub fn render(impact: &Impact, format: DocumentFormat) -> String {
    format.render(
        || summary::headline(impact),
        || text::document(impact),
        || document::json(impact),
    )
}
