//! New findings by cause: what reviewers read, one block a cause with its paths as a list.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::base::words::plural;
use crate::findings::Severity;
use crate::report::urgency;
use crate::report::view::ReportView;
use crate::report::view::finding::FindingView;

/// Findings of one rule and severity on one version of a backend.
#[derive(Serialize)]
pub(super) struct CauseSection<'a> {
    mark: &'static str,
    rule: &'a str,
    /// Backend and version; empty where there is none.
    place: String,
    /// How many findings it has and how many rows they concern, in words.
    extent: String,
    /// The worst finding.
    example: &'a FindingView<'a>,
    /// Paths of all, worst first, those that are shown.
    pub paths: Vec<&'a str>,
    /// How many paths are not shown; 0 for none.
    pub rest: usize,
    /// Rows of the example; none where there is no room.
    pub lines: Vec<&'a str>,
    /// What to do, said once a rule; empty where an earlier cause says it.
    pub instead: &'a str,
}

/// The causes behind the new errors and warnings, errors before warnings, those first that concern
/// most rows.
pub(super) fn causes<'a>(view: &'a ReportView<'a>) -> Vec<CauseSection<'a>> {
    let mut groups: BTreeMap<(Severity, &str, &str, &str), Vec<&FindingView<'a>>> = BTreeMap::new();
    for finding in view.counted().filter(|f| f.raw.severity != Severity::Info) {
        let cause = (
            finding.raw.severity,
            finding.rule.as_str(),
            finding.backend.as_str(),
            finding.version.as_str(),
        );
        groups.entry(cause).or_default().push(finding);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|((severity, rule, backend, version), group)| {
        let rows: u64 = group.iter().map(|f| f.count).sum();
        (*severity, Reverse(rows), *rule, *backend, *version)
    });
    let mut told = BTreeSet::new();
    let mut sections = Vec::new();
    for ((severity, rule, backend, version), mut group) in groups {
        group.sort_by_key(|f| urgency(f.raw));
        let Some(example) = group.first().copied() else { continue };
        let rows: u64 = group.iter().map(|f| f.count).sum();
        let rows =
            if rows > 0 { format!(", {}", plural(rows as usize, "row")) } else { String::new() };
        let advice = view.rules.iter().find(|r| r.id == rule).map_or("", |r| &r.instead);
        sections.push(CauseSection {
            mark: if severity == Severity::Error { "❌" } else { "⚠️" },
            rule,
            place: [backend, version].join(" ").trim().to_owned(),
            extent: format!("{}{rows}", plural(group.len(), "finding")),
            example,
            paths: group.iter().map(|f| f.short_path.as_str()).collect(),
            rest: 0,
            lines: example.examples.lines.iter().map(String::as_str).collect(),
            instead: if told.insert(rule) { advice } else { "" },
        });
    }
    sections
}

impl CauseSection<'_> {
    /// Shows at most this many paths.
    pub fn limit(&mut self, paths: usize) {
        let shown = self.paths.len().min(paths.max(1));
        self.rest += self.paths.len() - shown;
        self.paths.truncate(shown);
    }
}
