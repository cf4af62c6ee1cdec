//! Findings by cause: what a maintainer reads first.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::Report;
use crate::findings::{Finding, Severity};

/// Findings that are read at a glance; of more, the causes are told first.
const GLANCE: usize = 10;

/// Findings of one rule on one backend.
#[derive(Debug, PartialEq)]
pub(super) struct Cause<'a> {
    pub severity: Severity,
    pub rule: &'a str,
    /// Empty where the findings concern no backend: a system's YAML, a stray file.
    pub backend: &'a str,
    pub versions: BTreeSet<&'a str>,
    pub systems: BTreeSet<&'a str>,
    /// Files concerned.
    pub files: usize,
    /// Rows concerned: how much of what is served misleads.
    pub rows: u64,
    /// The finding with most rows.
    pub worst: &'a Finding,
}

/// The causes behind a report's findings; none where these can be read at a glance.
pub(super) fn at_a_glance(report: &Report) -> Vec<Cause<'_>> {
    let counted = || report.findings.iter().filter(|f| f.counts());
    if counted().count() > GLANCE { causes(counted()) } else { Vec::new() }
}

/// The causes behind findings, errors before warnings, those that mislead most rows first. Infos
/// have none.
fn causes<'a>(findings: impl Iterator<Item = &'a Finding>) -> Vec<Cause<'a>> {
    let mut groups: BTreeMap<(Severity, &str, &str), Vec<&Finding>> = BTreeMap::new();
    for finding in findings.filter(|f| f.severity != Severity::Info) {
        let backend = finding.place.as_ref().map_or("", |p| p.backend.as_str());
        groups.entry((finding.severity, &finding.rule, backend)).or_default().push(finding);
    }
    let cause = |((severity, rule, backend), findings): (_, Vec<&'a Finding>)| {
        let places = || findings.iter().filter_map(|f| f.place.as_ref());
        // Of findings alike the first by path, so that reports do not depend on chance.
        let worst = findings.iter().min_by_key(|f| (Reverse(f.rows), &f.path))?;
        Some(Cause {
            severity,
            rule,
            backend,
            versions: places().map(|p| p.version.as_str()).collect(),
            systems: places().map(|p| p.system.as_str()).collect(),
            files: findings.iter().map(|f| &f.path).collect::<BTreeSet<_>>().len(),
            rows: findings.iter().map(|f| f.rows).sum(),
            worst,
        })
    };
    let mut causes: Vec<Cause<'_>> = groups.into_iter().filter_map(cause).collect();
    causes.sort_by_key(|c| (c.severity, Reverse(c.rows), c.rule, c.backend));
    causes
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
    fn causes_are_ranked_by_severity_and_rows() {
        let findings = [
            finding("duplicate-key", Severity::Warning, "0.1", 900),
            finding("device-mismatch", Severity::Error, "0.1", 5),
            finding("duplicate-key", Severity::Error, "0.1", 30),
            finding("duplicate-key", Severity::Error, "0.2", 40),
            finding("coverage-hole", Severity::Info, "0.2", 1000),
        ];
        let causes = causes(findings.iter());
        let told: Vec<_> = causes.iter().map(|c| (c.rule, c.rows, c.versions.len())).collect();
        let expected =
            [("duplicate-key", 70, 2), ("device-mismatch", 5, 1), ("duplicate-key", 900, 1)];
        assert_eq!(told, expected);
        assert_eq!(causes[0].worst.rows, 40);
    }
}
