//! Learns a spec of a table from the rows of its files, for jobs that meet a table without one.

mod learned;
mod yaml;

pub(super) use self::learned::LearnedTable;
use crate::base::error::{Error, Result};
use crate::specs;

/// Renders a learned spec as YAML for `rules/tables/`; `unread` names files that were not read.
///
/// # Errors
///
/// Returns an error if no column is named like a latency.
pub(super) fn yaml(learned: &LearnedTable<'_>, unread: &[String]) -> Result<String> {
    if learned.latencies().is_empty() {
        let message = format!("no column of {} looks like a latency", learned.name);
        return Err(Error::new(message, "name the column latency, *_ms or *_us"));
    }
    let text = yaml::render(learned, unread);
    // The YAML must be valid for --rules.
    specs::check_tables(&text)?;
    Ok(text)
}
