//! Reports which rows queries can reach: the state of every row, and the rows behind the lookups of
//! default models.

mod document;
mod files;
mod loading;
mod lookups;
mod summary;
mod tables;

use std::time::Instant;

use tracing::debug;

use crate::base::error::Result;
use crate::jobs::DocumentFormat;
use crate::jobs::impact::{Opened, PlannedVersion, predict};
use crate::planner::Store;

pub use document::schema;
pub use files::{FileReach, FileRows, Reach, StateCounts};
pub use lookups::{LookupCounts, LookupSource, ModelLookups, SourceMove};
pub use tables::ReachOptions;

/// Determines the reach of one state, or of two states to compare.
///
/// # Errors
///
/// Returns an error if there is no database, a commit or name is unknown, or a list of operations
/// is malformed. Unreadable files are part of the result.
pub fn run(options: &ReachOptions) -> Result<Reach> {
    let start = Instant::now();
    let opened = Opened::read(&options.select)?;
    debug!(took = ?start.elapsed(), "read lists and listed files");
    let filter = tables::RowFilter::new(options, &opened)?;
    let versions = filter.planned(options, &opened)?;
    let mut reach = Reach {
        compared: options.select.base.is_some(),
        strays: opened.after().strays.len(),
        ..Reach::default()
    };
    for system in filter.systems() {
        // The decoded tables of a system are dropped before the next system is read.
        let store = Store::default();
        let states = opened.states(&store)?;
        let planned: Vec<PlannedVersion> =
            versions.iter().filter(|v| v.system == *system).cloned().collect();
        let sides = predict::sides(&states, &planned);
        let models = &opened.models;
        let tables = tables::SystemTables { states: &states, system, filter: &filter };
        reach.files.extend(tables.files(&predict::files_read(&sides, models))?);
        debug!(system, took = ?start.elapsed(), "rows");
        predict::read_ahead(&sides, models);
        reach.models.extend(lookups::of_models(&sides, models));
        debug!(system, took = ?start.elapsed(), "lookups");
        reach.versions.extend(planned);
    }
    reach.elapsed = start.elapsed();
    Ok(reach)
}

/// Renders a reach.
pub fn render(reach: &Reach, format: DocumentFormat) -> String {
    format.render(
        || summary::headline(reach),
        || summary::document(reach),
        || document::json(reach),
    )
}
