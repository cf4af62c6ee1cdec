//! Collects the results of all tables, and decides at the end which findings are new and which are repaired.

use std::collections::{BTreeMap, BTreeSet};

use super::judging::{JudgeRun, Judgement};
use super::lineage::JudgedLineage;
use super::name::{GroupResult, StateResults};
use super::scope::Lineage;
use crate::base::error::Result;
use crate::checks::context::History;
use crate::database::catalog::TableFile;
use crate::database::diff::{Class, DiffSide, TableDiff};
use crate::findings::{
    BaseFindings, Finding, Novelty, RowChange, Severity, Successor, inherit_unknown, number_lines,
    unknown_of,
};

/// The results of a run, which are collected from one group of tables after the other. Rules that judge a whole state
/// use the results at the end of the run.
#[derive(Default)]
pub(super) struct RunResults<'a> {
    /// The findings and sketches of the tables, by state.
    pub kept: Vec<StateResults<'a>>,
    pub history: History,
    /// The result under construction. It collects differences of tables, excused errors and tables in git-LFS. The
    /// findings are added at the end of the run.
    judgement: Judgement,
    /// For each table of the head, by its path: which of its rows the pull request adds or changes.
    changes: BTreeMap<&'a str, RowChange>,
    /// For each table of the base, the table of the head that replaces it, by the base table's path. The two paths
    /// differ if the pull request moves the table.
    successors: BTreeMap<&'a str, &'a TableFile>,
}

impl History {
    /// Adds the paths of the tables that the pull request changes, and the latencies that the given tables have in the
    /// base.
    pub(super) fn add(&mut self, judged: &[(&Lineage<'_>, JudgedLineage)]) {
        for (lineage, judged) in judged {
            if let ([Some(_), Some(head), ..], [Some(before), ..]) =
                (&lineage.sides[..], &judged.sketches[..])
            {
                let latencies = before.latencies.clone();
                let path = || head.entry.path.clone();
                self.latencies.extend(latencies.map(|latencies| (path(), latencies)));
            }
            if !judged.is_changed() {
                continue;
            }
            let paths = lineage.sides.iter().flatten().map(|file| file.entry.path.clone());
            let paths: Vec<String> = paths.collect();
            self.changed.extend(paths.iter().cloned());
            if judged.is_mostly_changed {
                self.mostly_changed.extend(paths);
            }
        }
    }
}

impl<'a> RunResults<'a> {
    /// Creates an empty collection for a number of `states`.
    pub(crate) fn new(states: usize, history: History) -> Self {
        let kept = (0..states).map(|_| StateResults::default()).collect();
        Self { kept, history, ..Self::default() }
    }

    /// Adds the results for the tables of one group, which usually have the same name.
    pub(crate) fn add(
        &mut self,
        judging: &JudgeRun<'a>,
        lineages: Vec<(&Lineage<'a>, JudgedLineage)>,
        name: GroupResult<'a>,
    ) {
        for (kept, of_name) in self.kept.iter_mut().zip(name.kept) {
            kept.add(of_name);
        }
        self.judgement.hidden_by_facts.extend(name.excused);
        for (lineage, judged) in lineages {
            let head = lineage.sides[judging.head];
            if let (Some(base), Some(head)) = (lineage.sides[0], head)
                && judging.has_base()
            {
                self.successors.insert(&base.entry.path, head);
            }
            for (kept, found) in self.kept.iter_mut().zip(judged.findings) {
                kept.findings.extend(found);
            }
            if let Some(file) = head {
                let path = file.entry.path.as_str();
                self.changes.insert(path, judged.change);
                self.judgement.in_lfs.extend(judged.is_in_lfs.then(|| path.to_owned()));
                if judged.diff.is_some() && judged.sketches[judging.head].is_some() {
                    let compared = judging.comparing_rules().map(|rule| rule.id.clone());
                    let examined = judged.examined.into_iter().chain(compared).collect();
                    self.judgement.examined.insert(path.to_owned(), examined);
                }
            }
            self.judgement.diff.extend(judged.diff);
            self.judgement.hidden_by_facts.extend(judged.excused);
        }
    }
}

impl<'a> JudgeRun<'a> {
    /// Judges each state as a whole, and returns the result of the run. Decides which findings are new and which are
    /// repaired.
    pub(super) fn conclude(&self, mut left: RunResults<'a>) -> Result<Judgement> {
        let mut judgement = std::mem::take(&mut left.judgement);
        judgement.in_lfs.sort_unstable();
        judgement.diff.sort_by(|a, b| a.path.cmp(&b.path));
        let mut findings = Vec::new();
        for number in 0..=self.head {
            let in_lfs = if number == self.head { &judgement.in_lfs[..] } else { &[] };
            let whole = self.whole(number, &left.kept[number], &left.history, in_lfs)?;
            let mut found = std::mem::take(&mut left.kept[number].findings);
            found.extend(whole.findings);
            findings.push(found);
            judgement.files = whole.files;
        }
        let rows = &left.kept[self.head].rows;
        let subjects = self.subjects.iter();
        judgement.rows = subjects.filter_map(|path| rows.get(*path)).sum::<usize>() as u64;
        judgement.findings = findings.pop().unwrap_or_default();
        if let Some(base) = findings.pop() {
            settle(&mut judgement, base, &left.changes, &left.successors);
        }
        number_lines(&mut judgement.findings, self.states[self.head].state);
        Ok(judgement)
    }
}

/// Decides which findings of the head are new. Findings for which this is already known keep their status. Drops
/// findings on unchanged tables that the base also has. Collects the findings of the base that are repaired.
fn settle(
    judgement: &mut Judgement,
    base: Vec<Finding>,
    changes: &BTreeMap<&str, RowChange>,
    successors: &BTreeMap<&str, &TableFile>,
) {
    let successor = |path: &str| {
        let file = successors.get(path)?;
        Some(Successor { path: &file.entry.path, place: &file.place, table: &file.table })
    };
    let novelties = unknown_of(&base);
    let base = BaseFindings::new(base, successor);
    let mut findings = std::mem::take(&mut judgement.findings);
    // Findings follow the measurements, which stay if only their keys are corrected.
    let rekeyed = judgement.diff.iter().filter(|table| table.class == Some(Class::Rekey));
    let rekeyed: BTreeSet<&str> = rekeyed.map(|table| table.path.as_str()).collect();
    for finding in findings.iter_mut().filter(|finding| finding.novelty == Novelty::Unjudged) {
        let is_rekeyed = rekeyed.contains(finding.path.as_str()) && !finding.is_error();
        finding.novelty = if is_rekeyed { Novelty::Inherited } else { base.novelty(finding) };
    }
    base.mark_moved(&mut findings);
    inherit_unknown(&mut findings, &novelties);
    let lacking = |side: DiffSide| -> BTreeSet<&str> {
        let lacking = judgement.diff.iter().filter(|table| table.lacks(side));
        lacking.map(|table| table.path.as_str()).collect()
    };
    // The report's verdict counts a table whose bytes are missing on both sides, so it has no findings.
    let absent = lacking(DiffSide::Both);
    findings.retain(|f| f.table.is_none() || !absent.contains(f.path.as_str()));
    let unread: BTreeSet<&str> = lacking(DiffSide::Head).union(&absent).copied().collect();
    let untouched = RowChange::Untouched;
    judgement.repaired = base.repaired(&findings, |path| {
        (!unread.contains(path)).then(|| changes.get(path).unwrap_or(&untouched))
    });
    let changed: BTreeSet<&str> = judgement.diff.iter().map(|t| t.path.as_str()).collect();
    blame_peers(&mut findings, &judgement.diff, &changed);
    findings.retain(|f| f.is_new() || f.table.is_none() || changed.contains(f.path.as_str()));
    judgement.findings = findings;
}

/// Turns new warnings on unchanged tables into infos. Each info names a changed table of the same name as the cause, if
/// possible one of the same system or backend. `changed` are the paths of the tables in `diff`.
fn blame_peers(findings: &mut [Finding], diff: &[TableDiff], changed: &BTreeSet<&str>) {
    let is_caused = |f: &&mut Finding| {
        f.is_new() && f.severity == Severity::Warning && !changed.contains(f.path.as_str())
    };
    for finding in findings.iter_mut().filter(is_caused) {
        let Some(place) = &finding.place else { continue };
        let distance = |table: &&TableDiff| {
            (table.place.system != place.system, table.place.backend != place.backend)
        };
        let peers = diff.iter().filter(|table| Some(&table.table) == finding.table.as_ref());
        if let Some(cause) = peers.min_by_key(distance) {
            finding.severity = Severity::Info;
            finding.message += &format!("; because of {}", cause.path);
        }
    }
}
