//! What a run has measured, and its verdict on each table.

use serde_json::Value;

use crate::database::catalog::TableFile;
use crate::findings::{EXAMPLES, Example, Finding, Severity};
use crate::gpu::device::{About, CardState};
use crate::gpu::judge::power::Power;
use crate::gpu::judge::{Measured, Outcome, Standing, Verdict};

/// What was measured of all tables.
#[derive(Debug)]
pub struct Remeasured {
    /// The device.
    pub about: About,
    /// The card before and after, where it can be read.
    pub states: Vec<(&'static str, CardState)>,
    /// By table.
    pub samples: Vec<Sample>,
    /// Paths of the selected tables that nothing was drawn from: no recipe describes how their rows were
    /// measured, the device cannot, or no row is selected.
    pub unmeasured: Vec<String>,
    /// What happened on the way, a sentence each.
    pub notes: Vec<String>,
}

impl Remeasured {
    /// The worst outcome; of no table nothing can be said.
    pub fn outcome(&self) -> Outcome {
        self.samples.iter().map(|s| s.verdict.outcome).max().unwrap_or(Outcome::Inconclusive)
    }
}

/// The sample of one table.
#[derive(Debug)]
pub struct Sample {
    /// The table.
    pub file: TableFile,
    /// What the table's version is of, where the device has another version of it: cuBLAS 13.0.2.
    pub measured_with: Option<String>,
    /// Seed of the draw.
    pub seed: u64,
    /// Rows it was drawn from.
    pub rows: usize,
    /// Rows of the table that no recipe describes.
    pub without_recipe: usize,
    /// Rows that were left out, since the device cannot measure them as they were recorded.
    pub proxies: usize,
    /// Strata it was drawn from.
    pub strata: usize,
    /// Drawn points that do not fit the memory and were replaced.
    pub replaced: usize,
    /// What it can show.
    pub power: Power,
    /// Confidence of the intervals.
    pub confidence: f64,
    /// How unlikely a median must be among honest samples to fail.
    pub level: f64,
    /// The points, in the order they were measured.
    pub points: Vec<Measured>,
    /// The verdict.
    pub verdict: Verdict,
}

impl Sample {
    /// What formats of findings report: an error for a table that is wrong, a warning where
    /// nothing can be said.
    pub fn finding(&self) -> Option<Finding> {
        let severity = match self.verdict.outcome {
            Outcome::Pass => return None,
            Outcome::Inconclusive => Severity::Warning,
            Outcome::Fail => Severity::Error,
        };
        let message =
            format!("{}: {}", self.verdict.outcome.name(), self.verdict.reasons.join("; "));
        let mut finding =
            Finding::on_table("remeasure", severity, &self.file, message).rows(self.verdict.judged);
        let off = |m: &&Measured| m.ratio().map_or(0.0, |r| r.ln().abs());
        let mut far: Vec<&Measured> = self
            .points
            .iter()
            .filter(|m| matches!(m.standing(), Standing::Within | Standing::Beyond))
            .collect();
        far.sort_by(|a, b| off(b).total_cmp(&off(a)));
        finding.examples = far.into_iter().take(EXAMPLES).map(example).collect();
        finding.evidence.insert("seed".into(), self.seed.into());
        Some(finding)
    }
}

fn example(measured: &Measured) -> Example {
    let point = &measured.point;
    let value = |name: &str, v: Option<f64>| (name.to_owned(), v.map_or(Value::Null, Value::from));
    Example {
        row: point.row,
        key: point.key.clone(),
        values: vec![
            value("recorded_ms", Some(point.recorded_ms)),
            value("measured_ms", measured.measured_ms()),
            value("ratio", measured.ratio()),
        ],
    }
}
