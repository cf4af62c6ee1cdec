//! The command `perfdb-gate waive`.

use std::path::PathBuf;

use clap::Args;
use perfdb_gate::base::error::{Exit, Result};
use perfdb_gate::base::escape::clean_lines;
use perfdb_gate::jobs::waive;
use perfdb_gate::report;

use super::bar::Bar;
use super::terminal::TerminalArgs;

/// The arguments of `perfdb-gate waive`.
#[derive(Debug, Args)]
pub(crate) struct WaiveArgs {
    /// Fingerprint of the finding; without it, errors and warnings are listed with theirs.
    #[arg(requires = "reason")]
    pub fingerprint: Option<String>,
    /// Reason why the finding is acceptable.
    #[arg(long, value_name = "TEXT", requires = "fingerprint")]
    pub reason: Option<String>,
    /// Last day on which the waiver applies, YYYY-MM-DD; 90 days from today without it.
    #[arg(long, value_name = "DATE", requires = "fingerprint")]
    pub until: Option<String>,
    /// Link to the evidence for the reason; without it, the finding's message.
    #[arg(long, value_name = "TEXT", requires = "fingerprint")]
    pub evidence: Option<String>,
    /// Person who approves the waiver; without it, git's user.name.
    #[arg(long, value_name = "NAME", requires = "fingerprint")]
    pub approved_by: Option<String>,
    /// Repository that contains the database, or a folder in it.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub root: PathBuf,
}

impl WaiveArgs {
    pub(crate) fn run(self, terminal: TerminalArgs) -> Result<Exit> {
        let bar = Bar::of("tables", terminal);
        let text = match (self.fingerprint, self.reason) {
            (Some(fingerprint), Some(reason)) => {
                let options = waive::WaiveOptions {
                    root: self.root,
                    fingerprint,
                    reason,
                    evidence: self.evidence,
                    approved_by: self.approved_by,
                    until: self.until,
                };
                waive::run(&options, &bar)?
            }
            _ => waive::list(self.root, &bar)?,
        };
        drop(bar);
        report::print(&clean_lines(&text))?;
        Ok(Exit::Clean)
    }
}
