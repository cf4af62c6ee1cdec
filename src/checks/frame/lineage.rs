//! Judges one table in all states. The table is decoded once, compared with the base, sketched for comparisons with
//! other tables, and judged by itself.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use tracing::debug;

use super::judging::JudgeRun;
use super::scope::Lineage;
use super::table::{DecodedTable, in_context};
use crate::base::error::{Error, Result};
use crate::base::expr::{ExprError, Scope};
use crate::checks::compare::sketch::{Sketch, SketchTerms};
use crate::checks::rule::Rule;
use crate::checks::{Input, Item, Judged, RowContext, TableContext};
use crate::database::catalog::TableFile;
use crate::database::diff::{Comparison, TableDiff};
use crate::database::state::State;
use crate::database::table::{Reads, ReadsRecord, TableFault, Wanted};
use crate::findings::{
    ComparedRows, Finding, Hits, NewFacts, RowChange, RowStates, excused_errors, wholes,
};

/// The findings on one table, except those of rules that compare tables with each other.
struct TableFindings {
    by_state: Vec<Vec<Finding>>,
    /// Errors that the pull request hides by changing facts, such as a system's YAML.
    excused: Vec<Finding>,
    /// Ids of the rules that read columns of the table; empty if there is no base.
    examined: Vec<String>,
}

/// The result of judging one table in every judged state, such as base and head.
pub(super) struct JudgedLineage {
    /// The table's sketch by state; `None` if the state has no such table, or if the table cannot be read.
    pub sketches: Vec<Option<Arc<Sketch>>>,
    /// The findings on the table, by state.
    pub findings: Vec<Vec<Finding>>,
    /// The difference of the table between base and head; `None` if neither its path nor its bytes changed.
    pub diff: Option<TableDiff>,
    /// The rows of the head's table that count as changed by the pull request.
    pub change: RowChange,
    /// True if the pull request adds the table, or changes most of the rows that the loader reads.
    pub is_mostly_changed: bool,
    /// True if the table should have been judged but is in git-LFS and was not fetched.
    pub is_in_lfs: bool,
    /// Errors that the pull request hides by changing facts, such as a system's YAML.
    pub excused: Vec<Finding>,
    /// Ids of the rules that read rows of the table.
    pub examined: Vec<String>,
}

impl JudgedLineage {
    /// Returns true if the pull request adds the table, changes its rows, or changes its system, backend or version.
    pub(crate) fn is_changed(&self) -> bool {
        self.diff.is_some() && self.change.is_any()
    }
}

impl<'a> JudgeRun<'a> {
    /// Judges one table in every judged state, such as base and head.
    pub(super) fn lineage(&self, lineage: &Lineage<'a>) -> Result<JudgedLineage> {
        let path = lineage.file().map_or("", |file| file.entry.path.as_str());
        let start = Instant::now();
        // A panic is a defect of this program, and must not look like a result on the data.
        let judged = catch_unwind(AssertUnwindSafe(|| self.judge_lineage(lineage)));
        let judged = judged.map_err(|_| {
            let hint = "please report this bug and attach the file";
            Error::new(format!("perfdb-gate failed while checking {path}"), hint)
        })??;
        let sketch = judged.sketches[self.head].as_ref();
        let (rows, judge) = (sketch.map(|sketch| sketch.rows), lineage.is_subject);
        debug!(?path, rows, judge, took = ?start.elapsed(), "read");
        Ok(judged)
    }

    fn judge_lineage(&self, lineage: &Lineage<'a>) -> Result<JudgedLineage> {
        let (sides, side_of_state) = self.read(lineage);
        let diff = lineage.pair.as_ref().map(|pair| {
            let read = |state: usize| side_of_state[state].map(|side| sides[side].table());
            let comparison = Comparison {
                specs: self.head().state.specs,
                base_specs: self.states[0].state.specs,
                details: self.details,
            };
            comparison.compare(pair, (read(0), read(1)))
        });
        let diff = diff.transpose()?;
        let change = self.row_change(lineage, diff.as_ref());
        let path = lineage.file().map_or("", |file| file.entry.path.as_str());
        let judged = in_context(&sides, |contexts| {
            let mut sketches: Vec<Option<Arc<Sketch>>> = Vec::new();
            let excused = self.excused_state().and_then(|state| side_of_state[state]);
            let excused = excused.filter(|side| Some(*side) != side_of_state[self.head]);
            let excused_context = excused.filter(|_| diff.is_some()).map(|side| &contexts[side]);
            for (number, context) in contexts.iter().enumerate() {
                let is_first = number == 0 || excused == Some(number);
                let before = sketches.first().filter(|_| !is_first && self.is_alike(lineage));
                let own = match before {
                    Some(before) => before.clone(),
                    None => self.sketch(context, lineage.is_subject)?,
                };
                let latencies = own.as_ref().and_then(|sketch| sketch.latencies.as_ref());
                let rows = context.scope.map_or(0, Scope::rows);
                let is_distinct = latencies.is_some_and(|own| own.are_of_each(rows));
                _ = context.derived.has_distinct_keys.set(is_distinct);
                sketches.push(own);
            }
            let mut in_states: Vec<Option<&TableContext<'_>>> =
                side_of_state.iter().map(|side| side.map(|side| &contexts[side])).collect();
            in_states.truncate(self.head + 1);
            let rules = if lineage.is_subject { self.terms.rules } else { &[] };
            let found = self.table_findings(rules, &in_states, excused_context, &change)?;
            let sketches = side_of_state.iter().map(|side| sketches[(*side)?].clone());
            Ok((sketches.collect(), found))
        });
        let (sketches, found): (Vec<Option<Arc<Sketch>>>, TableFindings) = judged.map_err(|e| {
            Error::caused(
                format!("cannot check {path}"),
                "the formula is in rules/tables; `perfdb-gate explain` lists the rules",
                e,
            )
        })?;
        let head = side_of_state[self.head].map(|side| &sides[side]);
        let rows = head.and_then(|side| Some(side.table().ok()?.rows)).unwrap_or(0);
        let is_mostly_changed = diff.is_some()
            && head.is_none_or(|side| change.changes_most(rows, &Reads::loaded(&side.spec)));
        let is_in_lfs = head.is_some_and(|side| matches!(side.table(), Err(TableFault::InLfs)));
        let is_in_lfs = is_in_lfs && lineage.is_subject;
        let TableFindings { by_state: findings, excused, examined } = found;
        Ok(JudgedLineage {
            sketches,
            findings,
            diff,
            change,
            is_mostly_changed,
            is_in_lfs,
            excused,
            examined,
        })
    }

    /// Decodes the table in each state, or only once if all states have the same bytes. Returns the decoded tables, and
    /// for each state the index of its decoded table (`None` if the state lacks the table).
    fn read(&self, lineage: &Lineage<'a>) -> (Vec<DecodedTable<'a>>, Vec<Option<usize>>) {
        let mut sides: Vec<DecodedTable<'a>> = Vec::new();
        let mut side_of_state = Vec::new();
        let is_unchanged = lineage.pair.as_ref().is_none_or(|pair| pair.same_bytes);
        for (number, judged) in self.states.iter().enumerate() {
            let state = judged.state;
            if Some(number) == self.excused_state() {
                let head = side_of_state[self.head];
                side_of_state.push(self.excused_side(state, lineage, &mut sides, head));
                continue;
            }
            let Some(file) = lineage.sides[number] else {
                side_of_state.push(None);
                continue;
            };
            if let Some(same) = sides.first().filter(|_| is_unchanged) {
                if lineage.is_subject {
                    let side =
                        DecodedTable::of(state, file, same.table.clone(), same.digest.clone());
                    sides.push(side);
                }
                side_of_state.push(Some(sides.len() - 1));
                continue;
            }
            let stated = state.meta(file).and_then(|meta| meta.tables.get(&file.table));
            let spec = state.specs.tables.get(&file.table);
            let is_stated = stated.is_some_and(|table| table.sha256.is_some())
                || spec.is_some_and(|spec| spec.seal.is_some());
            let columns = spec.filter(|_| !lineage.is_subject).map(|spec| Sketch::columns(spec));
            let wanted = columns.as_ref().map_or(Wanted::All, Wanted::Named);
            sides.push(DecodedTable::read(state, file, is_stated && lineage.is_subject, wanted));
            side_of_state.push(Some(sides.len() - 1));
        }
        for (judged, number) in self.states.iter().zip(&side_of_state) {
            let side = number.map(|number| &mut sides[number]);
            side.into_iter().for_each(|side| side.serving = judged.serving(side.file));
        }
        (sides, side_of_state)
    }

    /// Returns the index in `sides` of the head's table together with the facts of the base. If base and head have the
    /// same facts about the table, this is the index `head`; otherwise, an entry is added to `sides`. `None` if the
    /// head lacks the table.
    fn excused_side(
        &self,
        state: State<'a>,
        lineage: &Lineage<'a>,
        sides: &mut Vec<DecodedTable<'a>>,
        head: Option<usize>,
    ) -> Option<usize> {
        let (own, file) = (&sides[head?], lineage.sides[self.head]?);
        let facts = self.changed_facts.as_ref()?;
        let differs = facts.are_of_table(file) || facts.are_of_system(&file.place.system);
        if !lineage.is_subject || !differs {
            return head;
        }
        let side = DecodedTable::of(state, file, own.table.clone(), own.digest.clone());
        sides.push(side);
        Some(sides.len() - 1)
    }

    /// Returns true if all states have the same sketch of the table, because neither the table's bytes nor the facts
    /// that the sketch depends on changed.
    fn is_alike(&self, lineage: &Lineage<'_>) -> bool {
        let [Some(before), Some(after), ..] = lineage.sides[..] else { return true };
        let reads_facts = || {
            let spec = self.head().state.specs.tables.get(&after.table);
            spec.is_none_or(|spec| Reads::loaded(spec).system)
        };
        let is_unchanged = lineage.pair.as_ref().is_none_or(|pair| pair.same_bytes);
        let new_facts = self.new_facts(before, after);
        is_unchanged
            && match new_facts {
                NewFacts::None => true,
                NewFacts::System => !reads_facts(),
                NewFacts::All => false,
            }
    }

    /// Returns which facts about a table the pull request changes: none, only the system's, or all.
    fn new_facts(&self, before: &TableFile, after: &TableFile) -> NewFacts {
        let Some(facts) = &self.changed_facts else { return NewFacts::None };
        if before.identity() != after.identity() || facts.are_of_table(after) {
            NewFacts::All
        } else if facts.are_of_system(&after.place.system) {
            NewFacts::System
        } else {
            NewFacts::None
        }
    }

    /// Returns the change of a table's rows in the pull request. `diff` is `None` if the table's bytes did not change.
    fn row_change(&self, lineage: &Lineage<'_>, diff: Option<&TableDiff>) -> RowChange {
        if !self.has_base() {
            return RowChange::Unknown;
        }
        // All rows are new if the base does not have the table.
        let [Some(before), Some(after), ..] = lineage.sides[..] else { return RowChange::All };
        let facts = self.new_facts(before, after);
        let has_new_sidecar = self.states[0].state.meta(before) != self.head().state.meta(after);
        let unmatched = ComparedRows { facts, has_new_sidecar, ..ComparedRows::default() };
        let Some(diff) = diff else {
            return if unmatched == ComparedRows::default() {
                RowChange::Untouched
            } else {
                RowChange::Compared(unmatched)
            };
        };
        let is_moved_as_it_is = diff.only_moved() && diff.base_rows.is_none();
        if !is_moved_as_it_is && diff.matched.is_none() {
            return RowChange::All;
        }
        // With another machine or version, the rows count as changed unless the base has the same finding.
        let (matched, moved) = (diff.matched.clone(), diff.old_path.is_some());
        RowChange::Compared(ComparedRows { matched, moved, ..unmatched })
    }

    /// Returns a table's sketch; `None` for an unreadable table. If `is_scanned`, the sketch has outliers and curves.
    fn sketch(
        &self,
        at: &TableContext<'_>,
        is_scanned: bool,
    ) -> Result<Option<Arc<Sketch>>, ExprError> {
        let Some(scope) = at.scope else { return Ok(None) };
        let path = at.file.entry.path.as_str();
        let named = self.states.iter().any(|state| state.named.contains(path));
        let terms = SketchTerms { needs: self.needs, named, scanned: is_scanned };
        let sketch = match at.keys {
            Some(keys) if self.needs.has(Input::Peers) => Sketch::of(keys, scope, terms)?,
            _ => Sketch { rows: scope.rows(), ..Sketch::default() },
        };
        Ok(Some(Arc::new(sketch)))
    }

    /// Returns the findings of `rules` on one table. `at` is the table in each state. `excused` is the head's table
    /// with the facts of the base; `None` unless both the table and these facts changed.
    fn table_findings(
        &self,
        rules: &[Arc<Rule>],
        at: &[Option<&TableContext<'_>>],
        excused: Option<&TableContext<'_>>,
        change: &RowChange,
    ) -> Result<TableFindings, ExprError> {
        let by_state = vec![Vec::new(); at.len()];
        let mut findings = TableFindings { by_state, excused: Vec::new(), examined: Vec::new() };
        for rule in rules {
            let record = ReadsRecord::default();
            let rows: Vec<Option<RowContext<'_>>> =
                at.iter().map(|context| rule.rows((*context)?, &record)).collect();
            let mut hits = Vec::new();
            for ((number, context), rows) in at.iter().enumerate().zip(&rows) {
                hits.push(self.table_hits(number, rule, *context, rows.as_ref())?);
            }
            let reads = record.reads();
            if self.has_base() && reads.reads_any_column() {
                findings.examined.push(rule.id.clone());
            }
            let mut states = RowStates::new(change, &reads);
            let after = hits.pop().unwrap_or_default();
            if let Some(before) = hits.pop() {
                findings.by_state[0].extend(states.take_base(before));
            }
            if let Some(context) = excused {
                let rows = rule.rows(context, &record);
                let hits = self.table_hits(self.head, rule, Some(context), rows.as_ref())?;
                findings.excused.extend(excused_errors(hits, &after, &states));
            }
            let after = after.into_iter().flat_map(|hit| hit.settle(&states));
            findings.by_state[self.head].extend(after);
        }
        Ok(findings)
    }

    /// The hits of a rule on one table in one state. A table without a spec is judged only by checks for unknown
    /// tables.
    fn table_hits<'v>(
        &self,
        state: usize,
        rule: &'v Rule,
        context: Option<&'v TableContext<'v>>,
        rows: Option<&'v RowContext<'v>>,
    ) -> Judged<'v> {
        let judge = rule.check.judge();
        let Some(context) = context else { return Ok(Hits::new()) };
        if context.spec.inferred && !judge.judges_unknown_tables() {
            return Ok(Hits::new());
        }
        let mut hits = match (context.table, rows) {
            (Err(fault), _) => {
                let found = judge.unreadable(rule.head(), context, fault);
                let mut found: Vec<Finding> = found.into_iter().collect();
                self.states[state].name_bytes(&context.file.entry, &mut found);
                wholes(found)
            }
            (Ok(_), Some(rows)) => judge.table(rows)?,
            (Ok(_), None) => Hits::new(),
        };
        hits.extend(wholes(rule.item(&Item::Place(context.file, context.state.specs))));
        Ok(hits)
    }
}
