//! Groups findings by cause for the start of a report.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::run::Report;
use crate::base::escape::clean;
use crate::base::words::count;
use crate::findings::{Finding, Severity};

/// The number of findings above which a report starts with an overview. The overview groups the findings by rule,
/// severity and backend.
const GLANCE: usize = 10;

/// A group of findings of the same rule, severity and backend. A report shows the group as one cause. The texts are
/// escaped.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Cause {
    #[serde(skip)]
    pub level: Severity,
    pub severity: &'static str,
    pub rule: String,
    /// The backend of the findings; empty for findings without a backend, such as those on a system's YAML.
    pub backend: String,
    pub versions: Vec<String>,
    pub systems: Vec<String>,
    /// The number of files that the findings are about.
    pub files: usize,
    /// The number of rows that the findings are about.
    pub count: u64,
    /// The number of rows, formatted for people.
    pub rows: String,
    /// The path of the file whose finding is about the most rows.
    pub worst: String,
}

/// Groups a report's findings by rule, severity and backend. Empty if the report has at most [`GLANCE`] findings.
pub(super) fn at_a_glance(report: &Report) -> Vec<Cause> {
    let counted: Vec<&Finding> = report.findings.iter().filter(|f| f.counts()).collect();
    if counted.len() > GLANCE { causes(counted) } else { Vec::new() }
}

/// Groups errors and warnings by cause. Causes with errors come first; among causes of the same severity, those with
/// more rows come first.
fn causes<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Vec<Cause> {
    let mut groups: BTreeMap<(Severity, &str, &str), Vec<&Finding>> = BTreeMap::new();
    for finding in findings.into_iter().filter(|f| f.severity != Severity::Info) {
        let backend = finding.place.as_ref().map_or("", |p| p.backend.as_str());
        groups.entry((finding.severity, &finding.rule, backend)).or_default().push(finding);
    }
    let mut causes: Vec<Cause> = groups.values().filter_map(|group| cause(group)).collect();
    // The sort is stable: causes with equally many rows stay in the order of rule and backend.
    causes.sort_by_key(|c| (c.level, Reverse(c.count)));
    causes
}

/// Combines findings of one severity, rule and backend into a [`Cause`]; `None` without findings.
fn cause(group: &[&Finding]) -> Option<Cause> {
    // The path decides between findings with equally many rows, so that reports are reproducible.
    let worst = group.iter().min_by_key(|f| (Reverse(f.rows), &f.path))?;
    let places = || group.iter().filter_map(|f| f.place.as_ref());
    let versions: BTreeSet<&str> = places().map(|p| p.version.as_str()).collect();
    let systems: BTreeSet<&str> = places().map(|p| p.system.as_str()).collect();
    let rows: u64 = group.iter().map(|f| f.rows).sum();
    Some(Cause {
        level: worst.severity,
        severity: worst.severity.into_str(),
        rule: clean(&worst.rule),
        backend: clean(worst.place.as_ref().map_or("", |p| &p.backend)),
        versions: versions.into_iter().map(clean).collect(),
        systems: systems.into_iter().map(clean).collect(),
        files: group.iter().map(|f| &f.path).collect::<BTreeSet<_>>().len(),
        count: rows,
        rows: count(rows as usize),
        worst: clean(&worst.path),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::catalog::Place;

    fn finding(rule: &str, severity: Severity, version: &str, rows: usize) -> Finding {
        let place = Place {
            system: "h200_sxm".into(),
            family: None,
            backend: "vllm".into(),
            version: version.into(),
        };
        Finding::on_path(rule, severity, version, "synthetic").at(&place).rows(rows)
    }

    #[test]
    fn causes_are_ordered_by_severity_and_rows() {
        let findings = [
            finding("duplicate-key", Severity::Warning, "0.1", 900),
            finding("device-mismatch", Severity::Error, "0.1", 5),
            finding("duplicate-key", Severity::Error, "0.1", 30),
            finding("duplicate-key", Severity::Error, "0.2", 40),
            finding("coverage-hole", Severity::Info, "0.2", 1000),
        ];
        let causes = causes(&findings);
        let ranked: Vec<_> =
            causes.iter().map(|c| (c.rule.as_str(), c.count, c.versions.len())).collect();
        let expected =
            [("duplicate-key", 70, 2), ("device-mismatch", 5, 1), ("duplicate-key", 900, 1)];
        assert_eq!(ranked, expected);
        assert_eq!(causes[0].worst, "0.2");
    }
}
