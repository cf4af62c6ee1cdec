//! The measurements of a run, and the verdict on each table.

use serde_json::Value;

use crate::database::catalog::TableFile;
use crate::findings::{EXAMPLES, Example, Finding, Severity};
use crate::gpu::device::{About, CardState};
use crate::gpu::judge::power::Power;
use crate::gpu::judge::{Measured, Outcome, Standing, Verdict};
use crate::gpu::recipe::Margins;

/// The measurements of all tables of a run.
#[derive(Debug)]
pub struct Remeasured {
    /// The measuring device.
    pub about: About,
    /// The card's state before and after the run, with a label each; empty if it cannot be read.
    pub states: Vec<(&'static str, CardState)>,
    /// One sample per table.
    pub samples: Vec<Sample>,
    /// Paths of the selected tables without a point to measure: no recipe describes how their rows were
    /// measured, the device cannot measure them, or no row is selected.
    pub unmeasured: Vec<String>,
    /// Remarks on the run, one sentence each.
    pub notes: Vec<String>,
}

impl Remeasured {
    /// The worst outcome of all tables; inconclusive if there are none.
    pub fn outcome(&self) -> Outcome {
        self.samples.iter().map(|s| s.verdict.outcome).max().unwrap_or(Outcome::Inconclusive)
    }
}

/// The measured sample of one table.
#[derive(Debug)]
pub struct Sample {
    /// The sampled table.
    pub file: TableFile,
    /// Name and version of the device's software, such as `cuBLAS 13.0.2`, if the table's version
    /// differs.
    pub measured_with: Option<String>,
    /// Seed of the random draw.
    pub seed: u64,
    /// Number of rows that the sample was drawn from.
    pub rows: usize,
    /// Number of the table's rows that no recipe describes.
    pub without_recipe: usize,
    /// Number of rows left out because the device cannot measure them as they were recorded.
    pub proxies: usize,
    /// Number of strata that the sample was drawn from.
    pub strata: usize,
    /// Number of drawn points that do not fit in memory and were replaced.
    pub replaced: usize,
    /// The smallest bias that the sample detects, and its false-alarm rate.
    pub power: Power,
    /// Limits that the sample is judged by.
    pub margins: Margins,
    /// The points in the order of measurement.
    pub points: Vec<Measured>,
    /// The verdict on the table.
    pub verdict: Verdict,
}

impl Sample {
    /// The finding for formats that report findings: an error for a wrong table, a warning for an
    /// inconclusive one, `None` for a table that passes.
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
