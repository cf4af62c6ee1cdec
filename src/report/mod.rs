//! The report of a run and its rendering in every format.

mod absent;
pub(crate) mod audit;
mod change;
pub mod chart;
pub mod comment;
pub(crate) mod document;
pub(crate) mod explore;
mod facts;
mod github;
mod headline;
pub(crate) mod health;
mod html;
mod human;
mod json;
mod junit;
mod markdown;
mod measured;
pub(crate) mod predictions;
mod run;
mod sarif;
mod stage_input;
pub(crate) mod stages;
mod style;
pub(crate) mod template;
mod triage;
mod view;
mod xml;

pub use absent::AbsentFiles;
pub use change::{first_row, kind_tables};
pub use html::page;
pub use json::schema;
pub use predictions::Predictions;
pub use run::{Report, RunOutcome, RunVerdict};
pub use view::ReportView;
pub(crate) use view::finding::below_data;

use std::io::Write;

use crate::base::error::{Error, Result};

/// The least width to which reports are wrapped, in columns.
const LEAST_COLUMNS: usize = 40;

/// The format of a rendered report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportFormat {
    /// Text for a terminal, with or without colour. `brief` renders only the summary line, `full` renders every
    /// finding. Lines longer than `width` columns are wrapped.
    Human { colour: bool, brief: bool, full: bool, width: Option<usize> },
    /// One line per finding.
    Concise,
    /// The numbers of findings by rule.
    Statistics,
    /// The versioned JSON report.
    Json,
    /// SARIF 2.1.0.
    Sarif,
    /// Annotations of GitHub Actions.
    Github,
    /// JUnit XML.
    Junit,
    /// A job summary; for a comparison, the comment on the pull request.
    Markdown,
    /// The stages of a change, as JSON.
    Stages,
    /// The audit of a change, as JSON.
    Audit,
}

/// Renders a report.
///
/// # Errors
///
/// If a template fails, which is a bug of this program, or if the stages or the audit of a run are requested that did
/// not compare two states.
pub fn render(view: &ReportView<'_>, format: ReportFormat) -> Result<String> {
    Ok(match format {
        ReportFormat::Human { brief: true, .. } => format!("{}\n", view.head.headline),
        ReportFormat::Human { colour, full, width, .. } => {
            style::wrapped(&human::render(view, colour, full), width)
        }
        ReportFormat::Concise => human::concise(view),
        ReportFormat::Statistics => human::statistics(view),
        ReportFormat::Json => json::render(view),
        ReportFormat::Sarif => sarif::render(view),
        ReportFormat::Github => github::render(view),
        ReportFormat::Junit => junit::render(view),
        ReportFormat::Markdown => markdown::render(view)?,
        ReportFormat::Stages => stages::json(view)?,
        ReportFormat::Audit => audit::render(view)?,
    })
}

/// Returns the width in columns of reports on standard output: the value of `COLUMNS`, or else the width of the
/// terminal. `None` for a pipe, whose lines are not wrapped.
pub fn columns() -> Option<usize> {
    let set = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let terminal = terminal_size::terminal_size_of(std::io::stdout());
    let width = set.or_else(|| terminal.map(|(columns, _)| usize::from(columns.0)));
    width.map(|columns| columns.max(LEAST_COLUMNS))
}

/// Writes a text to standard output. A closed pipe is not an error.
///
/// # Errors
///
/// If the text cannot be written for another reason.
pub fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Error::new(format!("cannot write to standard output: {e}"), ""))
        }
        _ => Ok(()),
    }
}
