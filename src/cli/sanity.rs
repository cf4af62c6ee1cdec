//! The command `perfdb-gate sanity`.

use std::path::PathBuf;

use clap::Args;
use perfdb_gate::base::error::{Exit, Result};
use perfdb_gate::base::escape::clean;
use perfdb_gate::jobs::sanity::{self, SanityOptions};
use perfdb_gate::jobs::smoke;
use perfdb_gate::report::{ReportFormat, ReportView, RunVerdict, chart, comment};

use super::bar::Bar;
use super::output::{FailOn, OutputArgs};
use super::outputs::{self, Outputs};
use super::terminal::TerminalArgs;

/// The arguments of `perfdb-gate sanity`.
#[derive(Debug, Args)]
pub(crate) struct Sanity {
    #[command(flatten)]
    options: SanityOptions,
    /// Write a Markdown comment for the pull request, at most 16,000 characters long.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub output_md_file: Option<PathBuf>,
    /// Write SVG charts of the largest changes to a folder.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub output_dir: Option<PathBuf>,
    /// Maximum number of charts.
    #[arg(long, value_name = "N", default_value_t = 12, help_heading = "Output")]
    pub charts: usize,
    /// A shell command that tries the database, such as `aiconfigurator cli default …`. The comment
    /// shows its exit status and output, and the run fails if the command fails.
    #[arg(long, value_name = "CMD", help_heading = "Output")]
    pub smoke_command: Option<String>,
    /// Fail if there is a new finding of this severity or worse.
    #[arg(long, value_enum, default_value_t = FailOn::Error, help_heading = "Output")]
    pub fail_on: FailOn,
    #[command(flatten)]
    pub output: OutputArgs,
}

impl Sanity {
    pub(crate) fn run(&self, terminal: TerminalArgs) -> Result<Exit> {
        let folders = self.output_dir.iter().chain(&self.options.detail_dir);
        outputs::check(self.output.files().chain(&self.output_md_file), folders)?;
        let (report, figures) = sanity::run(&self.options(), &Bar::of("tables", terminal))?;
        let drawings = if self.draws() { chart::drawings(&figures)? } else { Vec::new() };
        let smoke = self.smoke_command.as_deref().map(smoke::run).transpose()?;
        let mut outcome = report.outcome(self.fail_on.least());
        if let Some(smoke) = smoke.as_ref().filter(|s| !s.passed) {
            eprintln!("perfdb-gate: the smoke command failed: {}", clean(&smoke.ended));
            outcome.verdict = RunVerdict::Failed;
        }
        let view = ReportView::new(&report, outcome);
        let folder = self.output_dir.as_deref();
        let mut outputs = Outputs::default();
        if let Some(path) = &self.output_md_file {
            let extras = comment::Extras {
                figures: &figures,
                folder,
                smoke: smoke.as_ref(),
                inconclusive_passes: self.output.inconclusive.passes(&report),
            };
            outputs.add(path, comment::render(&view, extras)?);
        }
        if let Some(folder) = folder {
            outputs.charts(folder, &drawings);
        }
        outputs.report(&view, &drawings, &self.output, terminal)?;
        outputs.write()?;
        Ok(self.output.inconclusive.exit(outcome.verdict, &report))
    }

    fn options(&self) -> SanityOptions {
        SanityOptions {
            most_charts: self.figures(),
            stages: self.output.shows(ReportFormat::Stages),
            audit: self.output.shows(ReportFormat::Audit),
            ..self.options.clone()
        }
    }

    /// Returns true if large charts are drawn, as SVG files or in the HTML page.
    fn draws(&self) -> bool {
        self.output_dir.is_some() || self.output.html.is_some()
    }

    /// Returns the maximum number of charts to draw. It is 0 unless charts, an HTML page or a pull request comment is
    /// requested.
    fn figures(&self) -> usize {
        if self.draws() {
            self.charts
        } else if self.output_md_file.is_some() {
            self.charts.min(comment::SKETCHES)
        } else {
            0
        }
    }
}
