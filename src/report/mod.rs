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

/// The minimum width in columns to which reports are wrapped.
const LEAST_COLUMNS: usize = 40;

/// The formats of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ReportFormat {
    /// Text for a terminal.
    Human,
    /// One line per finding.
    Concise,
    /// The numbers of findings by rule.
    #[value(skip)]
    Statistics,
    /// For programs (schema perfdb-gate/v1).
    Json,
    /// For code scanning and editors (SARIF 2.1.0).
    Sarif,
    /// GitHub Actions annotations.
    Github,
    /// For CI systems that display test results.
    Junit,
    /// For a workflow step's summary.
    Markdown,
    /// Only `sanity`: a status per stage, for programs (schema perfdb-gate/stages/v1).
    Stages,
    /// Only `sanity`: what each changed table contained before and after, and which rules examined it
    /// (schema perfdb-gate/audit/v1).
    Audit,
}

impl ReportFormat {
    /// Returns true if the format exists only for comparisons of two states of a database.
    pub fn compares(self) -> bool {
        matches!(self, Self::Stages | Self::Audit)
    }
}

/// The style of a report in the format `human`; other formats ignore it.
#[derive(Debug, Clone, Copy, Default)]
pub struct TextStyle {
    /// True if the text has the colours of a terminal.
    pub colour: bool,
    /// True if only the summary line is rendered.
    pub brief: bool,
    /// True if every finding is rendered. Otherwise, a report with many findings shows only their causes.
    pub full: bool,
    /// The number of columns to which lines are wrapped; `None` for lines of any length.
    pub width: Option<usize>,
}

/// Renders a report.
///
/// # Errors
///
/// If a template fails, which is a bug of this program, or if the stages or the audit are requested for a run that did
/// not compare two states.
pub fn render(view: &ReportView<'_>, format: ReportFormat, style: TextStyle) -> Result<String> {
    Ok(match format {
        ReportFormat::Human if style.brief => format!("{}\n", view.head.headline),
        ReportFormat::Human => {
            style::wrapped(&human::render(view, style.colour, style.full), style.width)
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

/// Returns the width in columns for reports on standard output: the value of `COLUMNS`, or else the width of the
/// terminal. `None` if standard output is a pipe; lines are then not wrapped.
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
