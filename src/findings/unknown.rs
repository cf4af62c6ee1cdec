//! Findings that several files have in the same words are merged into one info.
//!
//! A column, dtype or name that this program does not know may be newer than its facts: a novelty. Other findings are
//! shared by all tables of a collector.

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, Novelty, Severity, Sink};
use crate::base::words::{names, plural};

/// Name of the entry in a finding's evidence and slice that contains a name which this program does not know.
const UNKNOWN: &str = "unknown";

/// The key in [`Finding::slice`] under which a finding states what it says of any file. Findings of several files that
/// state the same are merged into one.
const SHARED: &str = "shared";

/// Identifies findings that count as the same finding on different files: the id of their rule, and a text. The text is
/// the unknown name or the sentence that they have in common.
type NoveltyKey = (String, String);

impl Finding {
    /// Marks the finding as one about a name that this program does not know. `what` is this name, such as `the column
    /// rank`. Findings of several files with the same `what` are later merged into one.
    pub(crate) fn unknown(mut self, what: &str) -> Self {
        self.slice.insert(UNKNOWN.to_owned(), what.into());
        self.evidence(UNKNOWN, what)
    }

    /// Marks the finding as one that several files may have. `what` is its sentence. Findings of several files with the
    /// same sentence are later merged into one.
    pub(crate) fn shared(mut self, what: &str) -> Self {
        self.slice.insert(SHARED.to_owned(), what.into());
        self
    }

    fn novelty_key(&self) -> Option<NoveltyKey> {
        let what = self.slice.get(UNKNOWN).or_else(|| self.slice.get(SHARED))?.as_str()?;
        Some((self.rule.clone(), what.to_owned()))
    }
}

/// Marks a new finding about an unknown name as old if a finding of the base has the same rule and the same name, even
/// on another file. Does the same for findings with a common sentence.
pub(crate) fn inherit_unknown(findings: &mut [Finding], base: &BTreeSet<NoveltyKey>) {
    let is_known =
        |f: &&mut Finding| f.is_new() && f.novelty_key().is_some_and(|k| base.contains(&k));
    findings.iter_mut().filter(is_known).for_each(|finding| finding.novelty = Novelty::Inherited);
}

/// Returns the keys of all findings that can be merged with findings of other files. A key consists of the rule, and of
/// the unknown name or the common sentence.
pub(crate) fn unknown_of(findings: &[Finding]) -> BTreeSet<NoveltyKey> {
    findings.iter().filter_map(Finding::novelty_key).collect()
}

impl Sink {
    /// Merges findings of several files into one info on the first file, if they have the same unknown name or the same
    /// common sentence. If they are of several rules, only the findings of the most frequent rule are merged and the
    /// others are dropped. `not_known` is the end of the message about an unknown name.
    pub(crate) fn merge_unknown(&mut self, not_known: &str) {
        let mut merged: BTreeMap<(String, bool), Vec<Finding>> = BTreeMap::new();
        for finding in std::mem::take(&mut self.findings) {
            match finding.novelty_key().filter(|_| finding.waived_by.is_none()) {
                Some((_, what)) => {
                    merged.entry((what, finding.is_old())).or_default().push(finding);
                }
                None => self.findings.push(finding),
            }
        }
        for ((what, _), mut same) in merged {
            same.sort_by(|a, b| a.order().cmp(&b.order()));
            let paths: BTreeSet<String> = same.iter().map(|finding| finding.path.clone()).collect();
            let rule = most_used_rule(&same).to_owned();
            same.retain(|finding| finding.rule == rule);
            if paths.len() > 1 {
                let files = plural(paths.len(), "file");
                let named = names(paths.iter().map(String::as_str));
                let listed: Vec<String> = paths.into_iter().collect();
                let is_novelty = same[0].slice.contains_key(UNKNOWN);
                let end = if is_novelty { format!(" is {not_known}") } else { String::new() };
                let message = format!("{what} in {files} ({named}){end}");
                let rows = same.iter().map(|finding| finding.rows).sum();
                let first = same[0].clone().evidence("files", listed);
                same = vec![Finding { severity: Severity::Info, message, rows, ..first }];
            }
            self.findings.append(&mut same);
        }
    }
}

/// Returns the rule with the most findings. Of rules with equally many findings, returns the alphabetically first.
fn most_used_rule(findings: &[Finding]) -> &str {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    findings.iter().for_each(|finding| *counts.entry(&finding.rule).or_default() += 1);
    counts.into_iter().rev().max_by_key(|(_, count)| *count).map_or("", |(rule, _)| rule)
}
