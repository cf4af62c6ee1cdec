//! `perfdb-gate sanity`.

use std::path::PathBuf;

use clap::Args;
use perfdb_gate::base::error::Result;
use perfdb_gate::base::escape::clean;
use perfdb_gate::base::exit::Exit;
use perfdb_gate::database::selection::Selection;
use perfdb_gate::jobs::sanity::{self, overview};
use perfdb_gate::jobs::smoke;
use perfdb_gate::report::{self, RunVerdict, chart, comment};

use super::TerminalArgs;
use super::bar::Bar;
use super::output::{FailOn, OutputArgs};
use super::outputs::{self, Outputs};
use super::selection::RuleArgs;

/// `perfdb-gate sanity`.
#[derive(Debug, Args)]
pub struct Sanity {
    /// Repository that holds the database, a bare one too where commits are named; or a folder in it.
    #[arg(long, value_name = "DIR", default_value = ".", help_heading = "What to compare")]
    pub root: PathBuf,
    /// The branch to merge into; the comparison starts where the head's history left it. Without
    /// it, charts are drawn of what is there.
    #[arg(long, value_name = "REF", help_heading = "What to compare")]
    #[arg(required_unless_present = "system")]
    pub base_ref: Option<String>,
    /// The commit to compare, read without a checkout; the files on disk without this.
    #[arg(long, value_name = "REF", help_heading = "What to compare")]
    pub head_ref: Option<String>,
    /// Systems to draw, where there is no base; `*` stands for any characters, may be repeated.
    #[arg(long, value_name = "NAME", requires = "output_dir", help_heading = "What to compare")]
    #[arg(conflicts_with_all = ["base_ref", "output_md_file", "detail_dir", "smoke_command", "only", "skip"])]
    #[arg(conflicts_with_all = ["html", "output", "report", "format", "fail_on"])]
    pub system: Vec<String>,
    /// Write a comment for the pull request, in Markdown, of at most 65,536 characters.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub output_md_file: Option<PathBuf>,
    /// Write charts of what changed most to a folder, as SVG.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub output_dir: Option<PathBuf>,
    /// Charts to draw, at most.
    #[arg(long, value_name = "N", default_value_t = 12, help_heading = "Output")]
    pub charts: usize,
    /// Write the rows that changed to a folder: CSV, a file a table, and summary.csv.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub detail_dir: Option<PathBuf>,
    /// A shell command that tries the database, `aiconfigurator cli default …` for one: the comment
    /// holds how it ended and what it printed, and the run fails where it does.
    #[arg(long, value_name = "CMD", help_heading = "Output")]
    pub smoke_command: Option<String>,
    /// The least severity of a new finding that fails the run.
    #[arg(long, value_enum, default_value_t = FailOn::Error, help_heading = "Output")]
    pub fail_on: FailOn,
    #[command(flatten)]
    pub rules: RuleArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

impl From<&Sanity> for overview::Options {
    fn from(args: &Sanity) -> Self {
        Self {
            root: args.root.clone(),
            reference: args.head_ref.clone(),
            selection: Selection { systems: args.system.clone(), ..Selection::default() },
            rules: args.rules.rules_dir.clone(),
            charts: args.charts,
            threads: args.output.threads,
        }
    }
}

impl Sanity {
    pub fn run(&self, terminal: TerminalArgs) -> Result<Exit> {
        let folders = self.output_dir.iter().chain(&self.detail_dir);
        outputs::check(self.output.files().chain(&self.output_md_file), folders)?;
        match &self.base_ref {
            Some(base) => self.compare(base, terminal),
            None => self.overview(),
        }
    }

    fn options(&self, base: &str) -> sanity::Options {
        sanity::Options {
            root: self.root.clone(),
            base: base.to_owned(),
            head: self.head_ref.clone(),
            only: self.rules.only.clone(),
            skip: self.rules.skip.clone(),
            rules: self.rules.rules_dir.clone(),
            detail_dir: self.detail_dir.clone(),
            charts: self.figures(),
            threads: self.output.threads,
        }
    }

    /// Whether charts are drawn, rather than sketched in a comment alone.
    fn draws(&self) -> bool {
        self.output_dir.is_some() || self.output.html.is_some()
    }

    /// Figures to choose, at most: none where no output shows any.
    fn figures(&self) -> usize {
        if self.draws() {
            self.charts
        } else if self.output_md_file.is_some() {
            self.charts.min(comment::SKETCHES)
        } else {
            0
        }
    }

    fn compare(&self, base: &str, terminal: TerminalArgs) -> Result<Exit> {
        let (report, figures) = sanity::run(&self.options(base), &Bar::of("tables", terminal))?;
        let drawings =
            if self.draws() { chart::drawings(&figures, self.output.threads)? } else { Vec::new() };
        let smoke = self.smoke_command.as_deref().map(smoke::run).transpose()?;
        let mut outcome = report.outcome(self.fail_on.least());
        if let Some(smoke) = smoke.as_ref().filter(|s| !s.passed) {
            eprintln!("perfdb-gate: the smoke command failed: {}", clean(&smoke.ended));
            outcome.verdict = RunVerdict::Failed;
        }
        let view = report.view(outcome);
        let folder = self.output_dir.as_deref();
        let mut outputs = Outputs::default();
        if let Some(path) = &self.output_md_file {
            let extras = comment::Extras { figures: &figures, folder, smoke: smoke.as_ref() };
            outputs.add(path, comment::render(&view, extras)?);
        }
        if let Some(folder) = folder {
            outputs.charts(folder, &drawings);
        }
        outputs.report(&view, &drawings, &self.output, terminal)?;
        outputs.write()?;
        Ok(self.output.inconclusive.exit(outcome.verdict))
    }

    /// Without a base: charts of the tables that a database holds.
    fn overview(&self) -> Result<Exit> {
        let figures = overview::run(&self.into())?;
        let Some(folder) = &self.output_dir else { return Ok(Exit::Inconclusive) };
        let mut outputs = Outputs::default();
        outputs.charts(folder, &chart::drawings(&figures, self.output.threads)?);
        outputs.write()?;
        let names = figures.iter().map(|f| format!("{}.svg\n", folder.join(&f.name).display()));
        report::print(&names.collect::<String>())?;
        Ok(if figures.is_empty() { Exit::Inconclusive } else { Exit::Clean })
    }
}
