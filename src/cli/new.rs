//! The command `perfdb-gate new`.

use perfdb_gate::base::error::{Exit, Result};
use perfdb_gate::jobs::new::{self, NewOptions};
use perfdb_gate::report::{self, ReportFormat, ReportView};

use super::output::FailOn;
use super::outputs::text_style;
use super::terminal::TerminalArgs;

/// Runs `perfdb-gate new`.
pub(crate) fn run(options: &NewOptions, terminal: TerminalArgs) -> Result<Exit> {
    let made = new::run(options)?;
    let mut text = made.files_text();
    let mut exit = Exit::Clean;
    if let Some(report) = &made.report {
        let outcome = report.outcome(FailOn::Error.least());
        let view = ReportView::new(report, outcome);
        text += "\n";
        text += &report::render(&view, ReportFormat::Human, text_style(false, true, terminal))?;
        exit = outcome.verdict.exit();
    }
    report::print(&(text + &made.next_text()))?;
    Ok(exit)
}
