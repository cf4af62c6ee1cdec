//! Findings that are reported once for all files: novelties, and what tables of one collector share.
//!
//! A column, dtype or name that this program does not know may be newer than its facts. The same novelty in several
//! files is one info.

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, Novelty, Severity, Sink};
use crate::base::words::{names, plural};

/// The name of the evidence that names a novelty.
const UNKNOWN: &str = "unknown";

/// The name under which other findings state what several files share.
const SHARED: &str = "shared";

/// A novelty: the rule that reports it, and what is unknown.
type NoveltyKey = (String, String);

impl Finding {
    /// Marks the finding as a novelty. `what` names it in the same words in every file: `the column rank`.
    pub fn unknown(mut self, what: &str) -> Self {
        self.slice.insert(UNKNOWN.to_owned(), what.into());
        self.evidence(UNKNOWN, what)
    }

    /// Marks a finding that is reported once, as an info, if several files have it. `what` is its sentence without the
    /// files.
    pub fn shared(mut self, what: &str) -> Self {
        self.slice.insert(SHARED.to_owned(), what.into());
        self
    }

    fn novelty_key(&self) -> Option<NoveltyKey> {
        let what = self.slice.get(UNKNOWN).or_else(|| self.slice.get(SHARED))?.as_str()?;
        Some((self.rule.clone(), what.to_owned()))
    }
}

/// Marks novelties that the base has in any file as inherited.
pub(crate) fn inherit_unknown(findings: &mut [Finding], base: &BTreeSet<NoveltyKey>) {
    let is_known =
        |f: &&mut Finding| f.is_new() && f.novelty_key().is_some_and(|k| base.contains(&k));
    findings.iter_mut().filter(is_known).for_each(|finding| finding.novelty = Novelty::Inherited);
}

/// Returns the novelties among findings.
pub(crate) fn unknown_of(findings: &[Finding]) -> BTreeSet<NoveltyKey> {
    findings.iter().filter_map(Finding::novelty_key).collect()
}

impl Sink {
    /// Turns the findings of a novelty, or of what several files share, into one info on the first file.
    /// `not_known` ends the sentence of a novelty. If several rules report the novelty, only the findings of one rule stay.
    pub fn merge_unknown(&mut self, not_known: &str) {
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

/// Returns the rule of most of the findings; of several, the first in the alphabet.
fn most_used_rule(findings: &[Finding]) -> &str {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    findings.iter().for_each(|finding| *counts.entry(&finding.rule).or_default() += 1);
    counts.into_iter().rev().max_by_key(|(_, count)| *count).map_or("", |(rule, _)| rule)
}
