//! The command `perfdb-gate init`.

use perfdb_gate::base::error::{Exit, Result};
use perfdb_gate::jobs::init::{self, InitOptions};
use perfdb_gate::report;

use super::bar::Bar;
use super::terminal::TerminalArgs;

/// Runs `perfdb-gate init`.
pub(crate) fn run(options: &InitOptions, terminal: TerminalArgs) -> Result<Exit> {
    let setup = init::run(options, &Bar::of("tables", terminal))?;
    report::print(&setup.text())?;
    Ok(Exit::Clean)
}
