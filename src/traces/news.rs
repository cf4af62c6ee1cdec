//! Judges the traces of a pull request: the changed files, and which findings are new.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::moves::{MovedFiles, by_path};
use super::{TraceKind, TraceRequest, TraceSpecs, charts, find, jobs, judge, ranks, split};
use crate::base::error::Result;
use crate::checks::rule::Rule;
use crate::database::catalog::Role;
use crate::database::diff::{FileDiff, Status};
use crate::database::source::Entry;
use crate::database::state::State;
use crate::findings::{BaseFindings, Finding, Repaired};
use crate::report::chart::ChartFigure;

/// The differences between the traces of the base and those of the head, and their findings.
#[derive(Debug, Default)]
pub struct Changed {
    /// The changed files: cards, configs, metric files, files that a run's ranks wrote, and job scripts that name a
    /// config.
    pub files: Vec<FileDiff>,
    /// The head's new findings, and its existing findings on changed files. Each finding is marked as new or existing.
    pub findings: Vec<Finding>,
    /// Findings of the base that the head no longer has.
    pub repaired: Vec<Repaired>,
    /// Charts of the changed metric files.
    pub figures: Vec<ChartFigure>,
}

/// Judges the traces of base and head if a trace file differs between them; otherwise, returns no findings. Draws at
/// most `charts` charts of changed metric files.
///
/// # Errors
///
/// If files cannot be read or a formula fails.
pub fn changed(
    base: State<'_>,
    head: State<'_>,
    specs: &TraceSpecs,
    rules: &[Arc<Rule>],
    charts: usize,
) -> Result<Changed> {
    let (before, after) = (&base.catalog.outside_files, &head.catalog.outside_files);
    let moves = MovedFiles::new(base, before, head, after);
    let files = changed_files(base, before, head, after, &moves, specs);
    if files.is_empty() {
        return Ok(Changed::default());
    }
    let judged = judge(head.source, after, specs, rules, TraceRequest(None))?;
    let was = judge(base.source, before, specs, rules, TraceRequest(None))?;
    let known: BaseFindings = was.findings.into_iter().map(|f| moves.relocated(f)).collect();
    let touched: BTreeSet<&str> = files.iter().map(|f| f.path.as_str()).collect();
    let mut findings = judged.findings;
    for finding in &mut findings {
        finding.novelty = known.novelty(finding);
    }
    let repaired = known.repaired(&findings, |_| None);
    findings.retain(|f| f.is_new() || touched.contains(f.path.as_str()));
    let figures =
        charts::figures(base.source, before, head.source, after, specs, &touched, charts)?;
    Ok(Changed { files, findings, repaired, figures })
}

/// An index of the files of base and head by file name. It is used to find out whether a job script contains the name
/// of a config. A file is opened only if a script contains its name.
struct Configs<'a> {
    by_name: BTreeMap<&'a str, SameNamed<'a>>,
    specs: &'a TraceSpecs,
}

/// All files of the base and the head that have the same file name.
#[derive(Default)]
struct SameNamed<'a> {
    files: Vec<(State<'a>, &'a Entry)>,
    /// True if at least one of the files is a config; computed on first use.
    has_config: OnceCell<bool>,
}

impl<'a> Configs<'a> {
    fn new(states: [(State<'a>, &BTreeMap<&'a str, &'a Entry>); 2], specs: &'a TraceSpecs) -> Self {
        let mut by_name: BTreeMap<&str, SameNamed<'_>> = BTreeMap::new();
        for (state, files) in states {
            for (path, entry) in files {
                by_name.entry(split(path).2).or_default().files.push((state, *entry));
            }
        }
        Self { by_name, specs }
    }

    /// Returns true if a text contains the name of a config.
    fn any_in(&self, text: &str) -> bool {
        let is_config = |(state, entry): &(State<'_>, &Entry)| {
            let file = find::classify(state.source, entry, self.specs, TraceRequest(None));
            file.is_some_and(|file| file.kind == TraceKind::Config)
        };
        let mut named = self.by_name.iter().filter(|(name, _)| text.contains(**name));
        named.any(|(_, same)| *same.has_config.get_or_init(|| same.files.iter().any(is_config)))
    }
}

/// Returns the trace files that differ between base and head. A moved file is listed only with its new path.
fn changed_files(
    base: State<'_>,
    before: &[Entry],
    head: State<'_>,
    after: &[Entry],
    moves: &MovedFiles,
    specs: &TraceSpecs,
) -> Vec<FileDiff> {
    let of_rank = |e: &Entry| ranks::is_of_rank(split(&e.path).2, specs);
    let could_be = |e: &&Entry| find::could_be(e, specs) || of_rank(e) || jobs::is_script(e);
    let before = by_path(before.iter().filter(could_be));
    let after = by_path(after.iter().filter(could_be));
    let paths: BTreeSet<&str> = before.keys().chain(after.keys()).copied().collect();
    let moved: BTreeSet<&str> = moves.files.values().map(String::as_str).collect();
    let configs = Configs::new([(base, &before), (head, &after)], specs);
    let is_trace = |state: State<'_>, entry: &Entry| {
        if jobs::is_script(entry) {
            return state.source.text(entry).is_ok_and(|text| configs.any_in(&text));
        }
        of_rank(entry) || find::classify(state.source, entry, specs, TraceRequest(None)).is_some()
    };
    let mut files = Vec::new();
    for path in paths {
        let (was, is) = (before.get(path), after.get(path));
        let status = match (was, is) {
            (Some(a), Some(b)) if base.source.id(a) == head.source.id(b) => continue,
            (Some(_), Some(_)) => Status::Modified,
            (None, _) if moved.contains(path) => Status::Renamed,
            (None, _) => Status::Added,
            // A moved file is listed at its new path.
            (Some(_), None)
                if moves.files.get(path).is_some_and(|to| after.contains_key(&**to)) =>
            {
                continue;
            }
            (Some(_), None) => Status::Deleted,
        };
        if is.is_some_and(|e| is_trace(head, e)) || was.is_some_and(|e| is_trace(base, e)) {
            let (path, role) = (path.to_owned(), Role::Trace);
            files.push(FileDiff { path, status, role, changes: Vec::new() });
        }
    }
    files
}
