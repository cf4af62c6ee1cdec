//! Traces of a pull request: what it brings, and what was wrong before.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::find::Asked;
use super::{Judged, charts, find, judge};
use crate::catalog::Role;
use crate::chart::Figure;
use crate::diff::{FileDiff, State, Status};
use crate::error::Result;
use crate::finding::Finding;
use crate::news::{Known, Subject};
use crate::source::Entry;
use crate::spec::{Rule, Specs};

/// What changed of traces.
#[derive(Debug, Default)]
pub struct Changed {
    /// Cards, configs and metric files.
    pub files: Vec<FileDiff>,
    /// Each new or not.
    pub findings: Vec<Finding>,
    /// Charts of metric files that changed.
    pub figures: Vec<Figure>,
}

/// Judges the traces of two states, where any of them changed: a file that is no trace's by its name
/// is not opened, one that did not change not before another did.
///
/// # Errors
///
/// When files cannot be listed or a formula fails.
pub fn changed(
    base: State<'_>,
    head: State<'_>,
    specs: &Specs,
    rules: &[Arc<Rule>],
    charts: usize,
) -> Result<Changed> {
    let (before, after) = (&base.catalog.others, &head.catalog.others);
    let files = changed_files(base, before, head, after, specs);
    if files.is_empty() {
        return Ok(Changed::default());
    }
    let judged = judge(head.source, after, specs, rules, Asked(None))?;
    let was: Judged = judge(base.source, before, specs, rules, Asked(None))?;
    let mut known: BTreeMap<Subject, Known> = BTreeMap::new();
    for finding in was.findings {
        known.entry(Subject::of(&finding)).or_default().add(finding);
    }
    let touched: BTreeSet<&str> = files.iter().map(|f| f.path.as_str()).collect();
    let mut findings = judged.findings;
    for finding in &mut findings {
        finding.new = Some(known.get(&Subject::of(finding)).is_none_or(|k| k.grew(finding)));
    }
    findings.retain(|f| f.new == Some(true) || touched.contains(f.path.as_str()));
    let figures =
        charts::figures(base.source, before, head.source, after, specs, &touched, charts)?;
    Ok(Changed { files, findings, figures })
}

/// Cards, configs and metric files that differ.
fn changed_files(
    base: State<'_>,
    before: &[Entry],
    head: State<'_>,
    after: &[Entry],
    specs: &Specs,
) -> Vec<FileDiff> {
    let by_path = |files: &'_ [Entry]| -> BTreeMap<String, Entry> {
        let could_be = files.iter().filter(|e| find::could_be(e, &specs.traces));
        could_be.map(|e| (e.path.clone(), e.clone())).collect()
    };
    let (before, after) = (by_path(before), by_path(after));
    let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let mut files = Vec::new();
    for path in paths {
        let (was, is) = (before.get(path), after.get(path));
        let status = match (was, is) {
            (Some(a), Some(b)) if base.source.id(a) == head.source.id(b) => continue,
            (Some(_), Some(_)) => Status::Modified,
            (None, _) => Status::Added,
            (Some(_), None) => Status::Deleted,
        };
        let is_trace = |state: State<'_>, entry: Option<&Entry>| {
            entry.is_some_and(|e| {
                find::classify(state.source, e, &specs.traces, Asked(None)).is_some()
            })
        };
        if is_trace(head, is) || is_trace(base, was) {
            files.push(FileDiff { path: path.clone(), status, role: Role::Trace });
        }
    }
    files
}
