//! Baselines: findings frozen in a file, so that a gate can be enabled on a database that already has findings. A
//! finding is new if the baseline lacks it or if it has grown.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::base::error::{Error, Reason, Result};
use crate::base::read::read_text;
use crate::findings::{Finding, Severity};

/// The findings that a baseline file lists, by fingerprint. They are known, so reports do not count them as new.
#[derive(Debug, Default, PartialEq)]
pub struct Baseline {
    known: BTreeMap<String, FrozenFinding>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct FrozenFinding {
    fingerprint: String,
    rule: String,
    severity: Severity,
    path: String,
    rows: u64,
}

#[derive(Serialize, Deserialize)]
struct BaselineFile {
    schema: String,
    findings: Vec<FrozenFinding>,
}

const SCHEMA: &str = "perfdb-gate/baseline/v1";

impl Baseline {
    /// Creates a baseline from findings. Waived findings are left out, because their waivers cover them.
    pub fn of(findings: &[Finding]) -> Self {
        let mut baseline = Self::default();
        for finding in findings.iter().filter(|f| f.waived_by.is_none()) {
            let known = FrozenFinding {
                fingerprint: finding.fingerprint(),
                rule: finding.rule.clone(),
                severity: finding.severity,
                path: finding.path.clone(),
                rows: size(finding),
            };
            let entry =
                baseline.known.entry(known.fingerprint.clone()).or_insert_with(|| known.clone());
            entry.rows = entry.rows.max(known.rows);
            entry.severity = entry.severity.min(known.severity);
        }
        baseline
    }

    /// Parses the text of a baseline file.
    pub fn parse(text: &str) -> Result<Self, Reason> {
        let file: BaselineFile = serde_json::from_str(text).map_err(|e| e.to_string())?;
        if file.schema != SCHEMA {
            return Err(format!("its schema is {}, not {SCHEMA}", file.schema).into());
        }
        Ok(Self { known: file.findings.into_iter().map(|k| (k.fingerprint.clone(), k)).collect() })
    }

    /// Refuses a target path whose existing file is not a baseline, because writing would destroy that file.
    ///
    /// # Errors
    ///
    /// If the path has a file of other content, or a file that cannot be read.
    pub fn check_target(path: &Path) -> Result<()> {
        if !path.is_file() {
            return Ok(());
        }
        let other = |why: String| {
            let message = format!("{} exists and is not a baseline: {why}", path.display());
            Error::new(message, "--write-baseline replaces only a baseline: name another file")
        };
        let text = read_text(path).map_err(|e| other(e.to_string()))?;
        if text.is_empty() {
            return Ok(());
        }
        Self::parse(&text).map(drop).map_err(|why| other(why.to_string()))
    }

    /// The baseline file's text, sorted by path and rule to keep its diffs readable.
    pub fn text(&self) -> String {
        let mut findings: Vec<FrozenFinding> = self.known.values().cloned().collect();
        findings.sort_by(|a, b| {
            (&a.path, &a.rule, &a.fingerprint).cmp(&(&b.path, &b.rule, &b.fingerprint))
        });
        let file = BaselineFile { schema: SCHEMA.to_owned(), findings };
        serde_json::to_string_pretty(&file).unwrap_or_default() + "\n"
    }

    /// Returns true if a finding is not in the baseline, or has more rows or a worse severity than in the baseline.
    pub(crate) fn is_new(&self, finding: &Finding) -> bool {
        let rows = size(finding);
        self.known
            .get(&finding.fingerprint())
            .is_none_or(|known| rows > known.rows || finding.severity < known.severity)
    }
}

/// Returns the number of rows that shows whether a finding has grown since the baseline: `all_rows`, or `rows` if
/// `all_rows` is `None`.
fn size(finding: &Finding) -> u64 {
    finding.all_rows.unwrap_or(finding.rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_with_more_rows_or_a_worse_severity_is_new() {
        let finding = |rows, severity| Finding::on_path("r", severity, "p", "m").rows(rows);
        let baseline = Baseline::of(&[finding(5, Severity::Warning)]);
        let baseline = Baseline::parse(&baseline.text()).unwrap();
        assert!(!baseline.is_new(&finding(5, Severity::Warning)));
        assert!(!baseline.is_new(&finding(4, Severity::Info)));
        assert!(baseline.is_new(&finding(6, Severity::Warning)));
        assert!(baseline.is_new(&finding(5, Severity::Error)));
        assert!(baseline.is_new(&Finding::on_path("r", Severity::Info, "q", "m")));
    }

    #[test]
    fn a_finding_in_the_baseline_is_not_new() {
        // Rows that are counted in `all_rows` but not in `rows`.
        let told = Finding {
            all_rows: Some(9),
            ..Finding::on_path("r", Severity::Warning, "p", "m").rows(5)
        };
        let baseline = Baseline::of(std::slice::from_ref(&told));
        assert!(!baseline.is_new(&told));
        assert!(baseline.is_new(&Finding { all_rows: Some(10), ..told }));
    }
}
