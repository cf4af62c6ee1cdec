//! Judges the tables of one name against each other, in all states.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use rayon::prelude::*;
use tracing::debug;

use super::judging::JudgeRun;
use super::lineage::JudgedLineage;
use super::scope::{Group, Lineage};
use crate::base::error::Result;
use crate::base::group::grouped;
use crate::checks::compare::peers::Peers;
use crate::checks::compare::sketch::{Sketch, Sketches};
use crate::checks::rule::Rule;
use crate::checks::{CrossContext, History, RuleHead};
use crate::database::catalog::TableFile;
use crate::database::table::Reads;
use crate::findings::{Finding, Hit, Hits, RowStates};

/// The findings on the tables of one state, and sketches of these tables. Both are collected while tables are judged.
/// The sketches have no points, to save memory.
#[derive(Default)]
pub(super) struct StateResults<'a> {
    pub findings: Vec<Finding>,
    /// Sketches without points, by the table's path.
    pub sketches: BTreeMap<String, Arc<Sketch>>,
    /// Number of rows of each readable table, by path.
    pub rows: BTreeMap<String, usize>,
    /// Paths of the tables that rules compared with other tables.
    pub compared: BTreeSet<&'a str>,
}

impl StateResults<'_> {
    /// Adds the results for other tables of the same state.
    pub(crate) fn add(&mut self, mut others: Self) {
        self.findings.append(&mut others.findings);
        self.sketches.append(&mut others.sketches);
        self.rows.append(&mut others.rows);
        self.compared.append(&mut others.compared);
    }
}

/// The result of comparing the tables of one group with each other. The tables usually have the same name.
pub(super) struct GroupResult<'a> {
    /// The findings on the group's tables and the sketches of the tables; one item for each state.
    pub kept: Vec<StateResults<'a>>,
    /// Errors that the pull request hides by changing facts, such as a system's YAML.
    pub excused: Vec<Finding>,
}

/// The findings of a rule on all tables of one name.
struct RuleFindings {
    by_state: Vec<Vec<Finding>>,
    excused: Vec<Finding>,
}

/// A table in all states, with the result of judging it.
type LineageResult<'j, 'a> = (&'j Lineage<'a>, &'j JudgedLineage);

impl<'a> JudgeRun<'a> {
    /// Judges the tables of a group against each other, in the base and in the head.
    pub(super) fn group(
        &self,
        group: &Group<'a>,
        judged: &[(&Lineage<'a>, JudgedLineage)],
        history: &History,
    ) -> Result<GroupResult<'a>> {
        let compared = self.compared(judged);
        let mut kept: Vec<StateResults<'a>> = Vec::new();
        let mut sketches: Vec<Sketches> = Vec::new();
        for (number, compared) in compared.into_iter().enumerate() {
            let mut of_state = StateResults { compared, ..StateResults::default() };
            let mut by_path = BTreeMap::new();
            for (lineage, judged) in judged {
                let sketch = judged.sketches[number].as_ref();
                if let (Some(file), Some(sketch)) = (self.side(lineage, number), sketch) {
                    by_path.insert(file.entry.path.clone(), sketch.clone());
                    of_state.rows.insert(file.entry.path.clone(), sketch.rows);
                }
            }
            sketches.push(Sketches { by_path });
            kept.push(of_state);
        }
        let mut excused = Vec::new();
        for name in &group.names {
            excused.extend(self.name(name, judged, history, &sketches, &mut kept)?);
        }
        for (lineage, judged) in judged {
            for (number, sketch) in judged.sketches.iter().enumerate() {
                if let (Some(file), Some(sketch)) = (self.side(lineage, number), sketch) {
                    let small = Arc::new(sketch.without_points());
                    kept[number].sketches.insert(file.entry.path.clone(), small);
                }
            }
        }
        Ok(GroupResult { kept, excused })
    }

    /// Returns the table's file in the state with the index `number`; `None` if the state does not have the table.
    fn side(&self, lineage: &Lineage<'a>, number: usize) -> Option<&'a TableFile> {
        lineage.sides[number.min(self.head)]
    }

    /// Returns, for each state, the paths of the tables that rules compare with other tables. These are the judged
    /// tables. If the pull request removes rows from a table, its other versions are also included, since the loader
    /// may have served the removed rows for these versions.
    fn compared(&self, judged: &[(&Lineage<'a>, JudgedLineage)]) -> Vec<BTreeSet<&'a str>> {
        let version_of = |file: &'a TableFile| {
            let (system, backend, _, table) = file.identity();
            (system, backend, table)
        };
        let mut poorer = BTreeSet::new();
        for (lineage, judged) in judged {
            let (Some(diff), Some(before)) = (&judged.diff, lineage.sides[0]) else { continue };
            let after = lineage.sides.last().copied().flatten();
            let is_moved = after.is_some_and(|after| after.identity() != before.identity());
            let lost = diff.rows.as_ref().is_none_or(|rows| !rows.removed.is_empty());
            if is_moved || lost {
                poorer.insert(version_of(before));
            }
        }
        let is_compared = |lineage: &Lineage<'a>| {
            let head = lineage.sides.last().copied().flatten();
            lineage.is_subject || head.is_some_and(|file| poorer.contains(&version_of(file)))
        };
        let of_state = |number: usize| {
            let lineages = judged.iter().map(|(lineage, _)| *lineage);
            let compared = lineages.filter(|lineage| is_compared(lineage));
            compared
                .filter_map(move |lineage| self.side(lineage, number))
                .map(|f| f.entry.path.as_str())
        };
        (0..self.states.len()).map(|number| of_state(number).collect()).collect()
    }

    /// Compares the tables of one name with each other in all states. Adds the findings to `kept`. Returns the errors
    /// that the head would have under the facts of the base.
    fn name(
        &self,
        name: &str,
        judged: &[(&Lineage<'a>, JudgedLineage)],
        history: &History,
        sketches: &[Sketches],
        kept: &mut [StateResults<'a>],
    ) -> Result<Vec<Finding>> {
        let tables: Vec<Vec<&TableFile>> = self
            .states
            .iter()
            .map(|judged| {
                let tables = judged.state.catalog.tables.iter();
                tables.filter(|file| file.table == name).collect()
            })
            .collect();
        let of_states = self.states.iter().zip(tables.iter().zip(sketches));
        let peers: Vec<Peers<'_>> = of_states
            .map(|(judged, (tables, sketches))| Peers::new(judged.state, sketches, tables))
            .collect();
        let contexts = peers.iter().zip(sketches).enumerate();
        let contexts: Vec<CrossContext<'_>> = contexts
            .map(|(number, of)| self.context(number, history, of, &kept[number].compared))
            .collect();
        let rules: Vec<&Arc<Rule>> = self.comparing_rules().collect();
        // Several rules need the scores. They are computed before, since rules that wait for them would block
        // threads.
        if self.needs.curves.is_some() {
            contexts.iter().for_each(|context| _ = context.curve_scores());
        }
        let changes: BTreeMap<&str, LineageResult<'_, 'a>> = judged
            .iter()
            .filter_map(|(lineage, judged)| {
                let head = lineage.sides[self.head]?;
                Some((head.entry.path.as_str(), (*lineage, judged)))
            })
            .collect();
        let found: Vec<_> =
            rules.par_iter().map(|rule| self.by_rule(rule, &contexts, &changes)).collect();
        let found = found.into_iter().collect::<Result<Vec<RuleFindings>>>()?;
        let mut excused = Vec::new();
        for found in found {
            for (kept, findings) in kept.iter_mut().zip(found.by_state) {
                kept.findings.extend(findings);
            }
            excused.extend(found.excused);
        }
        Ok(excused)
    }

    /// Applies a rule that compares tables with each other to all tables of one name, in each state.
    fn by_rule(
        &self,
        rule: &Rule,
        at: &[CrossContext<'_>],
        changes: &BTreeMap<&str, LineageResult<'_, 'a>>,
    ) -> Result<RuleFindings> {
        let start = Instant::now();
        let judge = rule.check.judge();
        let mut hits = Vec::new();
        for at in at {
            let is_judged = at.judged_tables().next().is_some();
            hits.push(if is_judged {
                let failed = |why| rule.head().unjudged(RuleHead::IN_LIMITS, why);
                judge.cross(rule.head(), at).map_err(failed)?
            } else {
                Hits::new()
            });
        }
        let under_base = self.excused_state().and_then(|_| hits.pop()).unwrap_or_default();
        let head = hits.last().into_iter().flatten();
        let errors: BTreeSet<&str> =
            head.filter_map(Hit::error).map(|finding| finding.path.as_str()).collect();
        let is_changed =
            |path: &str| changes.get(path).is_some_and(|(_, judged)| judged.is_changed());
        let excused: Vec<Finding> = under_base
            .iter()
            .filter_map(Hit::error)
            .filter(|f| is_changed(&f.path) && !errors.contains(f.path.as_str()))
            .cloned()
            .collect();
        let mut by_state = self.settle_hits(hits, changes);
        let table = at.iter().flat_map(|at| at.tables).next().map(|file| &file.table);
        debug!(rule = rule.id, table, took = ?start.elapsed(), "compared tables");
        for (found, at) in by_state.iter_mut().zip(at) {
            found.retain(|finding| at.is_on_known_table(finding));
        }
        Ok(RuleFindings { by_state, excused })
    }

    /// Turns the hits of each state into findings. A hit on rows of a table in the head is compared with the hits of
    /// the same rule on this table in the base.
    fn settle_hits<'v>(
        &self,
        mut hits: Vec<Hits<'v>>,
        changes: &BTreeMap<&str, LineageResult<'_, 'a>>,
    ) -> Vec<Vec<Finding>> {
        let path = |hit: &Hit<'v>| hit.file().map(|file| file.entry.path.as_str());
        let by_table = |hits: Hits<'v>| grouped(hits.into_iter().map(|hit| (path(&hit), hit)));
        let after = by_table(hits.pop().unwrap_or_default());
        let mut before = by_table(hits.pop().unwrap_or_default());
        let (mut findings_before, mut findings) = (Vec::new(), Vec::new());
        for (path, hits) in after {
            let changed = path.and_then(|path| changes.get(path));
            let Some((lineage, judged)) = changed else {
                let settled = hits.into_iter().flat_map(|hit| hit.settle(&RowStates::unjudged()));
                findings.extend(settled);
                continue;
            };
            let table = lineage.file().map(|file| file.table.as_str());
            let spec = table
                .and_then(|table| self.head().state.specs.tables.get(table))
                .map(AsRef::as_ref);
            let reads = spec.map_or_else(Reads::all, Reads::loaded);
            let mut states = RowStates::new(&judged.change, &reads);
            let base = lineage.sides[0].filter(|_| self.has_base());
            let base = base.and_then(|file| before.remove(&Some(file.entry.path.as_str())));
            findings_before.extend(states.take_base(base.unwrap_or_default()));
            findings.extend(hits.into_iter().flat_map(|hit| hit.settle(&states)));
        }
        for hit in before.into_values().flatten() {
            findings_before.extend(hit.settle(&RowStates::unjudged()));
        }
        let before = self.has_base().then_some(findings_before);
        before.into_iter().chain([findings]).collect()
    }

    /// Returns the context for rules that compare tables, in the state with the index `number`. `subjects` are the
    /// paths of the judged tables.
    pub(super) fn context<'v>(
        &'v self,
        number: usize,
        history: &'v History,
        (peers, sketches): (&'v Peers<'v>, &'v Sketches),
        subjects: &'v BTreeSet<&'v str>,
    ) -> CrossContext<'v> {
        let judged = &self.states[number];
        CrossContext {
            state: judged.state,
            tables: peers.files,
            sketches,
            shelf: &judged.shelf,
            support: &judged.support,
            ledger: self.terms.ledger,
            judged: subjects,
            reread: judged,
            curves: OnceLock::new(),
            peers,
            history: self.has_base().then_some(history),
        }
    }
}
