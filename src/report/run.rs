//! The result of a run, its verdict, and the order of its findings.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::absent::AbsentFiles;
use super::change::KindTable;
use super::health::JudgedPlaces;
use super::predictions::Predictions;
use super::stage_input::StageInput;
use crate::base::error::Exit;
use crate::base::group::grouped;
use crate::checks::rule::Rule;
use crate::database::catalog::Role;
use crate::database::diff::Diff;
use crate::database::facts::Fact;
use crate::findings::{ComparedStates, Counts, Finding, Repaired, Severity};
use crate::gpu::judge;
use crate::gpu::outcome::Remeasured;

/// The result of a run. A command fills the fields that concern it; all other fields stay empty.
#[derive(Debug, Default)]
pub struct Report {
    /// The command's name.
    pub command: &'static str,
    /// The rules that ran.
    pub rules: Vec<Arc<Rule>>,
    /// Files and folders that override the embedded rules.
    pub overlays: Vec<String>,
    /// Paths of tables that were not checked because they belong to no database root.
    pub outside: Vec<String>,
    /// True if tables outside the roots make the run inconclusive.
    pub strict: bool,
    /// Requested files that are not in the local clone; they make the run inconclusive.
    pub absent: AbsentFiles,
    /// The facts in use, such as the operation catalog, each with its origin: the judged tree or `rules/`.
    pub facts: Vec<Fact>,
    /// The number of tables that the run judged or compared.
    pub tables: u64,
    /// The number of sidecars and system files judged or compared.
    pub files: u64,
    /// The number of rows that the run judged. If a table was compared, only its rows after the change are counted.
    pub rows: u64,
    /// The versions of each table that were judged or compared, by system.
    pub judged: JudgedPlaces,
    /// The findings, sorted.
    pub findings: Vec<Finding>,
    /// The number of findings by severity.
    pub counts: Counts,
    /// The differences between base and head; `None` if the run did not compare a base with a head.
    pub diff: Option<Diff>,
    /// The commits of the base and the head. The report shows commands that reproduce its findings on these commits.
    pub states: ComparedStates,
    /// Findings of the base that the head no longer has; empty if the run did not compare a base with a head.
    pub repaired: Vec<Repaired>,
    /// The change of predicted step times; `None` if it was not requested.
    pub predictions: Option<Predictions>,
    /// The summary tables of the compared change, one per kind of change.
    pub kind_tables: Vec<KindTable>,
    /// The result of measuring rows again on a GPU; `None` for commands that do not measure.
    pub remeasured: Option<Remeasured>,
    /// The wall-clock time of the run.
    pub elapsed: Duration,
    /// The data that only the report format `stages` needs; `None` if that format was not requested.
    pub(crate) stages: Option<StageInput>,
    /// A sentence about the random sample of findings that the report contains; `None` if the report contains all
    /// findings.
    pub drawn: Option<String>,
}

/// The verdict on a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum_macros::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "lowercase")]
pub enum RunVerdict {
    /// No finding is severe enough to fail the run.
    Passed,
    /// At least one finding fails the run.
    Failed,
    /// No finding fails the run, but nothing was checked, a table could not be compared, or measurements were too
    /// noisy.
    Inconclusive,
}

impl RunVerdict {
    /// Returns the exit code for the verdict.
    pub fn exit(self) -> Exit {
        match self {
            Self::Passed => Exit::Clean,
            Self::Failed => Exit::Findings,
            Self::Inconclusive => Exit::Inconclusive,
        }
    }
}

/// The verdict on a run and the severity that fails it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunOutcome {
    /// The verdict on the run: passed, failed or inconclusive.
    pub verdict: RunVerdict,
    /// Findings of this severity and worse fail the run; with `None`, no finding fails the run.
    pub fail_on: Option<Severity>,
}

impl RunOutcome {
    /// Returns true if this finding makes the run fail.
    pub(super) fn fails(self, finding: &Finding) -> bool {
        finding.counts() && self.fail_on.is_some_and(|least| finding.severity <= least)
    }
}

impl Report {
    /// Returns the verdict on the run. If the run measured tables on a GPU, it is the verdict on these tables.
    /// Otherwise, findings of severity `fail_on` and worse fail the run; with `None`, no finding fails it.
    pub fn outcome(&self, fail_on: Option<Severity>) -> RunOutcome {
        if let Some(remeasured) = &self.remeasured {
            let verdict = match remeasured.outcome() {
                judge::Outcome::Pass => RunVerdict::Passed,
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
            RunVerdict::Passed
        };
        RunOutcome { verdict, ..outcome }
    }

    /// Returns true if a changed file belongs, or may belong, to a database. Also true if the run did not compare a
    /// base with a head.
    pub fn touches_database(&self) -> bool {
        let is_changed = |diff: &Diff| {
            !diff.tables.is_empty() || diff.files.iter().any(|file| file.role != Role::Other)
        };
        self.diff.as_ref().is_none_or(is_changed)
            || !self.outside.is_empty()
            || !self.absent.is_empty()
    }

    /// Keeps a random sample of at most `n` findings per rule and severity, for people to judge. `seed` determines the
    /// sample. The counts still include all findings.
    pub fn draw(&mut self, n: usize, seed: u64) {
        let counted = self.findings.iter().filter(|f| f.counts());
        let mut kinds = grouped(counted.map(|f| ((f.rule.clone(), f.severity), lot(f, seed))));
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

/// Returns the hash of a finding for random sampling. The findings with the lowest hashes form the sample.
fn lot(finding: &Finding, seed: u64) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(seed.to_le_bytes());
    hash.update(finding.fingerprint());
    hash.update(&finding.path);
    hash.finalize().into()
}

/// The names of latency ratios in a finding's evidence. If the evidence has several of them, the first name in this
/// list applies.
const RATIOS: [&str; 3] = ["worst", "worst_ratio", "median_ratio"];

/// Returns a finding's key for sorting by urgency, most urgent first. The key consists of the severity, the effect on
/// predicted step times, and the product of the log latency ratio and the number of rows.
pub(super) fn urgency(finding: &Finding) -> impl Ord {
    let rows = finding.rows.max(1) as f64;
    let weight = ordered(log_ratio(finding).map_or(rows, |far| far * rows));
    let most = (consequence(finding), Reverse(weight));
    (finding.severity, most, &finding.path, &finding.rule)
}

/// Returns a finding's key for sorting the findings of a cause, most serious first. The key consists of the effect on
/// predicted step times, the latency ratio, and the number of rows.
pub(super) fn farthest(finding: &Finding) -> impl Ord {
    let far = ordered(log_ratio(finding).unwrap_or(0.0));
    (consequence(finding), Reverse((far, finding.rows)), &finding.path)
}

/// Returns a finding's key for sorting by the effect on predicted step times, largest first. The key consists of the
/// number of steps that can no longer be predicted, and the change of a step's time in ms.
fn consequence(finding: &Finding) -> impl Ord + use<> {
    let models = finding.evidence.models.as_ref();
    let moves = ordered(models.map_or(0.0, |m| m.moves_ms));
    Reverse((models.map_or(0, |m| m.loses), moves))
}

/// Returns the absolute logarithm of the latency ratio in a finding's evidence; `None` if there is no ratio.
fn log_ratio(finding: &Finding) -> Option<f64> {
    let ratio = RATIOS.iter().find_map(|name| finding.evidence.get(name)?.as_f64());
    ratio.filter(|ratio| *ratio > 0.0).map(|ratio| ratio.ln().abs())
}

/// Returns the bits of a non-negative number as an integer. The larger the number, the larger is this integer, so it
/// can serve as a sort key.
fn ordered(number: f64) -> u64 {
    number.max(0.0).to_bits()
}
