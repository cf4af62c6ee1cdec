//! What a run found, in the formats its readers want.

mod absent;
pub mod chart;
pub mod comment;
pub(crate) mod document;
pub mod explore;
mod facts;
mod github;
mod headline;
pub mod health;
mod html;
mod human;
mod json;
mod junit;
mod markdown;
mod measured;
pub mod predictions;
mod sarif;
mod style;
pub mod template;
mod triage;
mod view;
mod xml;

pub use absent::AbsentFiles;
use chart::Undrawn;
pub(crate) use json::schema;
pub use predictions::Predictions;
pub use view::ReportView;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::base::error::{Error, Result};
use crate::base::exit::Exit;
use crate::checks::rule::Rule;
use crate::database::diff::Diff;
use crate::database::facts::Fact;
use crate::findings::{ComparedStates, Counts, Finding, Repaired, Severity};
use crate::gpu::judge;
use crate::gpu::outcome::Remeasured;
use crate::report::chart::Drawing;
use crate::report::health::JudgedPlaces;

/// The outcome of a run. A job fills what it has; the rest is empty.
#[derive(Debug, Default)]
pub struct Report {
    /// The job's name.
    pub command: &'static str,
    /// The rules that ran.
    pub rules: Vec<Arc<Rule>>,
    /// Files and folders that changed what the embedded rules would say.
    pub overlays: Vec<String>,
    /// Tables below no root, which nothing judges.
    pub outside: Vec<String>,
    /// Whether such tables make the run inconclusive.
    pub strict: bool,
    /// Files that were asked for and are not in this clone, which make the run inconclusive.
    pub absent: AbsentFiles,
    /// Where the facts are from that the head was judged by.
    pub facts: Vec<Fact>,
    /// Tables judged or compared.
    pub tables: u64,
    /// Sidecars and system YAML judged or compared.
    pub files: u64,
    /// Rows judged; of tables compared, those that the head has.
    pub rows: u64,
    /// The tables judged or compared, by place.
    pub judged: JudgedPlaces,
    /// Findings, in order.
    pub findings: Vec<Finding>,
    /// Findings by severity.
    pub counts: Counts,
    /// What changed, where two states were compared.
    pub diff: Option<Diff>,
    /// The states that were judged, for commands that judge them again.
    pub states: ComparedStates,
    /// Findings of the base that the head no longer has, where two states were compared.
    pub repaired: Vec<Repaired>,
    /// What it does to predictions, where that was asked.
    pub predictions: Option<Predictions>,
    /// Tables that changed and have no chart, where charts were asked for.
    pub undrawn: Vec<Undrawn>,
    /// What was measured again.
    pub remeasured: Option<Remeasured>,
    /// Wall time.
    pub elapsed: Duration,
    /// Set where the findings are a draw: how it was made.
    pub drawn: Option<String>,
}

/// How a run ended, for every format alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunVerdict {
    /// Nothing at or above the severity that fails.
    Clean,
    /// Findings at or above it.
    Failed,
    /// Nothing was checked or compared, or too noisy to say.
    Inconclusive,
}

impl RunVerdict {
    /// How a run with this verdict ends.
    pub fn exit(self) -> Exit {
        match self {
            Self::Clean => Exit::Clean,
            Self::Failed => Exit::Findings,
            Self::Inconclusive => Exit::Inconclusive,
        }
    }

    /// Its name in reports.
    fn name(self) -> &'static str {
        match self {
            Self::Clean => "passed",
            Self::Failed => "failed",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// How a run ended, and by which findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunOutcome {
    /// How it ended.
    pub verdict: RunVerdict,
    /// Findings of this severity and worse fail a run; without one, none do.
    pub fail_on: Option<Severity>,
}

impl RunOutcome {
    /// Whether the finding fails a run.
    fn fails(self, finding: &Finding) -> bool {
        finding.counts() && self.fail_on.is_some_and(|least| finding.severity <= least)
    }
}

impl Report {
    /// How the run ended when findings of `fail_on` and worse fail it; `None` fails none. Measuring
    /// again fails by its verdict alone, and what a failed verdict finds is an error.
    pub fn outcome(&self, fail_on: Option<Severity>) -> RunOutcome {
        if let Some(remeasured) = &self.remeasured {
            let verdict = match remeasured.outcome() {
                judge::Outcome::Pass => RunVerdict::Clean,
                judge::Outcome::Fail => RunVerdict::Failed,
                judge::Outcome::Inconclusive => RunVerdict::Inconclusive,
            };
            return RunOutcome { verdict, fail_on: Some(Severity::Error) };
        }
        let outcome = RunOutcome { verdict: RunVerdict::Failed, fail_on };
        let verdict = if self.findings.iter().any(|f| outcome.fails(f)) {
            RunVerdict::Failed
        } else if self.tables + self.files == 0
            || self.strict && !self.outside.is_empty()
            || !self.absent.is_empty()
            || self.diff.as_ref().is_some_and(|d| d.not_compared() > 0)
        {
            RunVerdict::Inconclusive
        } else {
            RunVerdict::Clean
        };
        RunOutcome { verdict, ..outcome }
    }

    /// The report as every format reads it.
    pub fn view(&self, outcome: RunOutcome) -> ReportView<'_> {
        ReportView::new(self, outcome)
    }

    /// Leaves `n` findings of each rule and severity, chosen by `seed`: a sample to open and judge
    /// by hand. The counts stay those of all findings.
    pub fn draw(&mut self, n: usize, seed: u64) {
        let mut kinds: BTreeMap<(String, Severity), Vec<[u8; 32]>> = BTreeMap::new();
        for finding in self.findings.iter().filter(|f| f.counts()) {
            let kind = (finding.rule.clone(), finding.severity);
            kinds.entry(kind).or_default().push(lot(finding, seed));
        }
        kinds.values_mut().for_each(|lots| {
            lots.sort_unstable();
            lots.truncate(n);
        });
        let all = self.findings.len();
        self.findings.retain(|f| {
            let drawn = kinds.get(&(f.rule.clone(), f.severity));
            f.counts() && drawn.is_some_and(|lots| lots.contains(&lot(f, seed)))
        });
        let left = self.findings.len();
        self.drawn = Some(format!(
            "{left} of {all} findings: {n} of each rule and severity, drawn with seed {seed}"
        ));
    }
}

/// The number under which a finding takes part in a draw; the lowest are drawn.
fn lot(finding: &Finding, seed: u64) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(seed.to_le_bytes());
    hash.update(finding.fingerprint());
    hash.update(&finding.path);
    hash.finalize().into()
}

/// How a report is rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportFormat {
    /// For people, with colour or without: brief is the line that sums it up, full every finding, however
    /// many.
    Human { colour: bool, brief: bool, full: bool },
    /// One line per finding.
    Concise,
    /// The versioned JSON of the contract.
    Json,
    /// SARIF 2.1.0.
    Sarif,
    /// Annotations of GitHub Actions.
    Github,
    /// JUnit XML.
    Junit,
    /// A step's summary; of a comparison, the comment on the pull request.
    Markdown,
}

/// Renders a report.
///
/// # Errors
///
/// When a template fails, which is a fault of this program.
pub fn render(view: &ReportView<'_>, format: ReportFormat) -> Result<String> {
    Ok(match format {
        ReportFormat::Human { brief: true, .. } => format!("{}\n", view.head.headline),
        ReportFormat::Human { colour, full, .. } => human::render(view, colour, full),
        ReportFormat::Concise => human::concise(view),
        ReportFormat::Json => json::render(view),
        ReportFormat::Sarif => sarif::render(view),
        ReportFormat::Github => github::render(view),
        ReportFormat::Junit => junit::render(view),
        ReportFormat::Markdown => markdown::render(view)?,
    })
}

/// Renders a report as a page of its own, with charts where there are any.
///
/// # Errors
///
/// When its template fails, which is a fault of this program.
pub fn page(view: &ReportView<'_>, charts: &[Drawing]) -> Result<String> {
    html::render(view, charts)
}

/// A path without what the paths of all tables have in common.
fn below_data(path: &str) -> &str {
    path.rsplit_once("systems/data/").map_or(path, |(_, below)| below)
}

/// What is read first is least: what is worst, then what costs predictions their answer or moves them
/// most, then what concerns most rows.
fn urgency(finding: &Finding) -> impl Ord {
    let models = finding.evidence.models;
    let loses = models.map_or(0, |m| m.loses);
    // Bits of numbers that are not negative are in their order.
    let moves = models.map_or(0, |m| m.moves_ms.max(0.0).to_bits());
    let most = (Reverse(loses), Reverse(moves), Reverse(finding.rows));
    (finding.severity, most, &finding.path, &finding.rule)
}

/// Writes to standard output; a reader that left early is not a failure.
pub fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Error::new(format!("cannot write to standard output: {e}"), ""))
        }
        _ => Ok(()),
    }
}
