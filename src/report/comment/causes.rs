//! Groups new findings by cause for the pull request comment: one block per cause, with its paths
//! as a list.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::base::words::plural;
use crate::findings::{Domain, Finding, Severity};
use crate::report::run::{farthest, urgency};
use crate::report::view::ReportView;
use crate::report::view::finding::FindingView;

/// The maximum number of words that identify the cause of a finding. They are taken from the start of the finding's
/// message.
const WORDS: usize = 5;

/// Words that are ignored when messages are grouped by cause, because they depend on the numbers in a message. For
/// example, `have` follows only a plural.
const OF_NUMBERS: [&str; 2] = ["about", "have"];

/// The findings of one rule and severity that share a cause. The findings can concern several versions.
#[derive(Serialize)]
pub(super) struct CauseSection<'a> {
    mark: &'static str,
    rule: &'a str,
    /// The backend and version that the findings concern, such as `vllm 0.24.0`, or the number of versions if there are
    /// several. Empty if the findings concern no backend.
    place: String,
    /// The number of findings, and the number of rows that the findings concern, as text for people.
    extent: String,
    /// The most serious finding of the cause, which is shown as an example.
    pub example: &'a FindingView<'a>,
    /// The paths that are shown; the paths of the worst findings come first.
    pub paths: Vec<&'a str>,
    /// The number of the cause's paths that are not shown.
    pub rest: usize,
    /// True if the comment has a folded section with the paths, rows and advice of the cause.
    pub block: bool,
    /// The rows of the example finding as lines of text; empty if there is no room.
    pub lines: Vec<&'a str>,
    /// The advice of the rule. Empty if an earlier cause of the same rule already shows this advice in the comment.
    pub instead: &'a str,
    /// The command that reproduces the findings.
    command: String,
}

/// Groups the new errors and warnings by cause. Causes of errors come before causes of warnings. Causes of equal
/// severity are sorted by their most urgent finding.
pub(super) fn causes<'a>(view: &'a ReportView<'a>) -> Vec<CauseSection<'a>> {
    let mut groups: BTreeMap<(Severity, &str, Vec<&str>), Vec<&FindingView<'a>>> = BTreeMap::new();
    for finding in view.counted().filter(|f| f.raw.severity != Severity::Info) {
        let cause = (finding.raw.severity, finding.rule.as_str(), words(&finding.message));
        groups.entry(cause).or_default().push(finding);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_cached_key(|(_, group)| group.iter().map(|f| urgency(f.raw)).min());
    let mut advised = BTreeSet::new();
    let sections = groups.into_iter().filter_map(|((_, rule, _), mut group)| {
        group.sort_by_key(|f| farthest(f.raw));
        let instead = view.rule(rule).map_or("", |rule| &rule.instead);
        let instead = if advised.insert(rule) { instead } else { "" };
        CauseSection::new(view, rule, &group, instead)
    });
    sections.collect()
}

/// Returns the words that identify the cause of a message: its first words that are neither names nor numbers. Messages
/// with the same words share a cause.
fn words(message: &str) -> Vec<&str> {
    let (start, _) = message.split_once(": ").unwrap_or((message, ""));
    let plain = |word: &&str| word.bytes().all(|b| b.is_ascii_lowercase());
    let plain = start.split([' ', ',']).filter(plain).map(|word| word.trim_end_matches('s'));
    plain.filter(|word| word.len() > 3 && !OF_NUMBERS.contains(word)).take(WORDS).collect()
}

/// Returns the backend and version of the findings, or the number of versions if the findings concern several.
fn place(group: &[&FindingView<'_>]) -> String {
    let place = |f: &FindingView<'_>| [&*f.backend, &*f.version].join(" ").trim().to_owned();
    let places: BTreeSet<String> = group.iter().map(|f| place(f)).collect();
    match places.first() {
        Some(only) if places.len() == 1 => only.clone(),
        _ => plural(places.len(), "version"),
    }
}

impl<'a> CauseSection<'a> {
    /// Sums up the findings of a cause, which are sorted with the worst first; `None` if there are no findings.
    fn new(
        view: &ReportView<'_>,
        rule: &'a str,
        group: &[&'a FindingView<'a>],
        instead: &'a str,
    ) -> Option<Self> {
        let example = group.first().copied()?;
        let rows: u64 = group.iter().map(|f| f.count).sum();
        let rows =
            if rows > 0 { format!(", {}", plural(rows as usize, "row")) } else { String::new() };
        // The command compares the same states by this rule alone, so it reproduces the findings.
        let of_change = Finding { domain: Domain::Change, ..example.raw.clone() };
        Some(Self {
            mark: if example.raw.severity == Severity::Error { "❌" } else { "⚠️" },
            rule,
            place: place(group),
            extent: format!("{}{rows}", plural(group.len(), "finding")),
            example,
            paths: group.iter().map(|f| f.short_path.as_str()).collect(),
            rest: 0,
            block: true,
            lines: example.examples.lines.iter().map(String::as_str).collect(),
            instead,
            command: of_change.command(&view.raw.states),
        })
    }

    /// Returns true if the findings are errors.
    pub(crate) fn is_error(&self) -> bool {
        self.example.raw.severity == Severity::Error
    }

    /// Returns the rule's id and the first step of its advice; `None` if an earlier cause of the same rule shows the
    /// advice, or the rule has no advice.
    pub(crate) fn first_step(&self) -> Option<(&'a str, &'a str)> {
        let step = self.instead.split_once(". ").map_or(self.instead, |(first, _)| first);
        (!step.is_empty()).then_some((self.rule, step.trim_end_matches('.')))
    }

    /// Limits the number of shown paths to `paths`. At least one path remains.
    pub(crate) fn limit(&mut self, paths: usize) {
        let shown = self.paths.len().min(paths.max(1));
        self.rest += self.paths.len() - shown;
        self.paths.truncate(shown);
    }
}
