//! Groups new findings by cause for the pull request comment: one block per cause, with its paths
//! as a list.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::base::words::plural;
use crate::findings::Severity;
use crate::report::run::urgency;
use crate::report::view::ReportView;
use crate::report::view::finding::FindingView;

/// The findings of one rule and severity on one version of a backend.
#[derive(Serialize)]
pub(super) struct CauseSection<'a> {
    mark: &'static str,
    rule: &'a str,
    /// Backend and version; empty if the findings concern no backend.
    place: String,
    /// The number of findings and of the rows that they concern, in words.
    extent: String,
    /// The worst finding.
    example: &'a FindingView<'a>,
    /// The paths shown, of the worst findings first.
    pub paths: Vec<&'a str>,
    /// The number of paths that are not shown.
    pub rest: usize,
    /// True if the cause has a block of its own, not only a line.
    pub block: bool,
    /// Rows of the example; empty if there is no room.
    pub lines: Vec<&'a str>,
    /// The advice of the rule; empty if an earlier cause of the same rule shows it.
    pub instead: &'a str,
}

/// Groups the new errors and warnings by cause: errors before warnings, then the causes with the most urgent
/// finding first.
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
    groups.iter_mut().for_each(|(_, group)| group.sort_by_key(|f| urgency(f.raw)));
    groups.sort_by_key(|(_, group)| group.first().map(|f| urgency(f.raw)));
    let mut told = BTreeSet::new();
    let mut sections = Vec::new();
    for ((severity, rule, backend, version), group) in groups {
        let Some(example) = group.first().copied() else { continue };
        let rows: u64 = group.iter().map(|f| f.count).sum();
        let rows =
            if rows > 0 { format!(", {}", plural(rows as usize, "row")) } else { String::new() };
        let advice = view.rule(rule).map_or("", |r| &r.instead);
        sections.push(CauseSection {
            mark: if severity == Severity::Error { "❌" } else { "⚠️" },
            rule,
            place: [backend, version].join(" ").trim().to_owned(),
            extent: format!("{}{rows}", plural(group.len(), "finding")),
            example,
            paths: group.iter().map(|f| f.short_path.as_str()).collect(),
            rest: 0,
            block: true,
            lines: example.examples.lines.iter().map(String::as_str).collect(),
            instead: if told.insert(rule) { advice } else { "" },
        });
    }
    sections
}

impl CauseSection<'_> {
    /// Returns true if the findings are errors.
    pub fn is_error(&self) -> bool {
        self.example.raw.severity == Severity::Error
    }

    /// Limits the number of paths shown, to at least one.
    pub fn limit(&mut self, paths: usize) {
        let shown = self.paths.len().min(paths.max(1));
        self.rest += self.paths.len() - shown;
        self.paths.truncate(shown);
    }
}
