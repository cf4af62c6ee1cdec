//! The command `perfdb-gate waive`.

use perfdb_gate::base::error::{Exit, Result};
use perfdb_gate::base::escape::clean_lines;
use perfdb_gate::jobs::waive::{self, WaiveOptions};
use perfdb_gate::report;

use super::bar::Bar;
use super::terminal::TerminalArgs;

/// Runs `perfdb-gate waive`.
pub(crate) fn run(options: &WaiveOptions, terminal: TerminalArgs) -> Result<Exit> {
    let text = waive::run(options, &Bar::of("tables", terminal))?;
    report::print(&clean_lines(&text))?;
    Ok(Exit::Clean)
}
