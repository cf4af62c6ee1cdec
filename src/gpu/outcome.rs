//! The measurements of a run, and the verdict on each table.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::base::words::{count, names, plural};
use crate::database::catalog::TableFile;
use crate::findings::{EXAMPLES, Example, Finding, Severity};
use crate::gpu::device::{About, CardState, Complaints};
use crate::gpu::draw::DrawCounts;
use crate::gpu::judge::power::Power;
use crate::gpu::judge::{Measured, Offset, Outcome, Verdict, size};
use crate::gpu::recipe::Margins;

/// The measurements of all tables of a run.
#[derive(Debug)]
pub struct Remeasured {
    /// A description of the measuring device.
    pub about: About,
    /// The clocks, power and temperature of the GPU before and after the run, each with a label. Empty if they cannot
    /// be read.
    pub states: Vec<(&'static str, CardState)>,
    /// The measured points and the verdict of each table.
    pub samples: Vec<Sample>,
    /// Paths of the selected tables without a measurable point.
    pub unmeasured: Vec<String>,
    /// Remarks on the run, one sentence each.
    pub notes: Vec<String>,
}

impl Remeasured {
    /// Returns the worst outcome of all tables. Without tables, the run is inconclusive.
    pub fn outcome(&self) -> Outcome {
        self.samples.iter().map(|s| s.verdict.outcome).max().unwrap_or(Outcome::Inconclusive)
    }
}

/// The measured points of one table, with the verdict on the table.
#[derive(Debug)]
pub struct Sample {
    /// The sampled table.
    pub file: TableFile,
    /// Name and version of the software that was measured, such as `cuBLAS 13.0.2`; `None` if the table has the same
    /// version.
    pub measured_with: Option<String>,
    /// The seed of the random draw, and counts of the table's rows, such as the number of rows that cannot be measured.
    pub draw: DrawCounts,
    /// The smallest error of the table that the sample detects, and the rate of false alarms.
    pub power: Power,
    /// The limits by which the sample is judged.
    pub margins: Margins,
    /// The log ratio by which this GPU is generally slower than the GPU of the recorded times, estimated from control
    /// tables; `None` if there are too few control tables.
    pub offset: Option<Offset>,
    /// The points in the order of measurement.
    pub points: Vec<Measured>,
    /// The verdict on the table.
    pub verdict: Verdict,
    /// Errors and warnings that the runner wrote while the table was measured.
    pub complaints: Complaints,
    /// A sentence that states whether the collector changed since the table was recorded. `None` if the table did not
    /// fail, or if no collector was used for the new measurement.
    pub origin: Option<String>,
}

impl Sample {
    /// Returns the slices that have a judged point, each with its number of rows in the table.
    pub(crate) fn covered(&self) -> BTreeMap<&str, usize> {
        let judged = self.points.iter().filter(|p| p.is_judged());
        let rows = |p: &Measured| self.draw.slices.get_key_value(&p.point.slice);
        judged.filter_map(rows).map(|(slice, rows)| (slice.as_str(), *rows)).collect()
    }

    /// Returns a sentence on the verdict: the reasons, or the maximum error of a passing table. The sentence names the
    /// covered rows if slices of the table were not measured.
    pub fn sentence(&self) -> String {
        let verdict = &self.verdict;
        let (Outcome::Pass, Some(interval)) = (verdict.outcome, verdict.interval) else {
            let reasons = verdict.reasons.iter().chain(&self.origin);
            return reasons.map(String::as_str).collect::<Vec<_>>().join("; ") + ".";
        };
        let (covered, all) = (self.covered(), self.draw.slices.len());
        let rows: usize = covered.values().sum();
        let subject = if rows == self.draw.table {
            "the table is".to_owned()
        } else {
            let of = match covered.len() {
                few if few < all => format!("{few} of {all} slices: "),
                _ => String::new(),
            };
            let (slices, table) = (names(covered.into_keys()), plural(self.draw.table, "row"));
            format!("{} of the table's {table} ({of}{slices}) are", count(rows))
        };
        let (off, percent) = (size(verdict.excluded), interval.confidence * 100.0);
        format!("{subject} at most {off} off ({percent:.0} % confidence).")
    }

    /// Returns one line with the outcome and the sentence on the verdict.
    pub(crate) fn line(&self) -> String {
        format!("{}: {}", self.verdict.outcome.name(), self.sentence())
    }

    /// Returns the finding about the table: an error if it failed, a warning if it is inconclusive, `None` if it
    /// passed.
    pub(crate) fn finding(&self) -> Option<Finding> {
        let severity = match self.verdict.outcome {
            Outcome::Pass => return None,
            Outcome::Inconclusive => Severity::Warning,
            Outcome::Fail => Severity::Error,
        };
        let message = self.line().trim_end_matches('.').to_owned();
        let mut finding =
            Finding::on_table("remeasure", severity, &self.file, message).rows(self.verdict.judged);
        let off = |m: &&Measured| m.ratio().map_or(0.0, |r| r.ln().abs());
        let mut far: Vec<&Measured> = self.points.iter().filter(|m| m.is_judged()).collect();
        far.sort_by(|a, b| off(b).total_cmp(&off(a)));
        finding.examples = far.into_iter().take(EXAMPLES).map(example).collect();
        finding.evidence.insert("seed".into(), self.draw.seed.into());
        Some(finding)
    }
}

fn example(measured: &Measured) -> Example {
    let point = &measured.point;
    let value = |name: &str, v: Option<f64>| (name.to_owned(), v.map_or(Value::Null, Value::from));
    Example {
        row: point.row,
        line: None,
        key: point.key.clone(),
        values: vec![
            value("recorded_ms", Some(point.recorded_ms)),
            value("measured_ms", measured.measured_ms()),
            value("ratio", measured.ratio()),
        ],
    }
}
