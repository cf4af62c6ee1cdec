//! The frame: one loop over the names of tables that judges one state of a database, or two against each other.
//!
//! For each name, every table is processed in all states: decoded, compared with the base, sketched, and judged by
//! itself ([`lineage`]). Then the tables of the name are judged against each other ([`name`]) and dropped. Their
//! findings and sketches remain, and each state is judged as a whole ([`whole`]). Checks see only one state; the hits
//! of both states decide which findings are new.

mod conclude;
mod judging;
mod lineage;
mod name;
mod scope;
mod state;
mod table;
mod whole;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use self::conclude::RunResults;
use self::judging::JudgeRun;
use self::lineage::JudgedLineage;
use self::name::GroupResult;
use self::scope::{Group, Lineage, batches};
use self::state::JudgedState;
use super::{CheckInputs, History, Input};
use crate::base::error::Result;
use crate::base::progress::Progress;
use crate::base::threads;

pub(crate) use self::judging::{Judgement, Terms};
pub(crate) use self::scope::{ChangeScope, StateScope};

/// Judges the state `head` of a database. If `before` is given, judges the pull request that leads from `before` to
/// `head`.
///
/// # Errors
///
/// If a formula of a spec, a limit or a rule fails, or if details cannot be written. Faults of the data are findings,
/// not errors.
pub(crate) fn judge<'a>(
    head: StateScope<'a>,
    before: Option<ChangeScope<'a>>,
    terms: Terms<'a>,
    progress: &dyn Progress,
) -> Result<Judgement> {
    let (base, pairs, changed_facts, hidden_by_facts, details) = match before {
        Some(ChangeScope { base, pairs, facts, head_by_base: hidden_by_facts, details }) => {
            (Some(base), pairs, Some(facts), hidden_by_facts, details)
        }
        None => (None, Vec::new(), None, None, None),
    };
    let selected = head.selected;
    let mut scopes: Vec<StateScope<'a>> = base.into_iter().chain([head]).collect();
    let batches = batches(&scopes, pairs);
    let needs = terms.rules.iter().map(|rule| rule.check.needs());
    let needs = needs.fold(CheckInputs::default(), CheckInputs::and);
    let head = scopes.len() - 1;
    let subjects = scopes[head].subjects.clone();
    scopes.extend(hidden_by_facts.map(|state| StateScope {
        state,
        selected,
        subjects: BTreeSet::new(),
    }));
    let judging = JudgeRun {
        terms,
        needs,
        states: scopes
            .into_iter()
            .map(|scope| JudgedState::new(scope, needs, terms.all_rules))
            .collect(),
        head,
        subjects,
        changed_facts,
        details,
    };
    judging.run(batches, progress)
}

impl<'a> JudgeRun<'a> {
    fn run(self, batches: Vec<Vec<Group<'a>>>, progress: &dyn Progress) -> Result<Judgement> {
        let lineages = || batches.iter().flatten().flat_map(|group| &group.lineages);
        let all = lineages().filter(|lineage| lineage.is_subject).count();
        let done = AtomicUsize::new(0);
        let changed = lineages().filter(|lineage| lineage.pair.is_some());
        let changed = changed.filter_map(Lineage::file).map(|file| &file.place.system);
        let head = self.head();
        let matrices = head.state.catalog.support.iter();
        let matrices = matrices.filter(|(_, entry)| head.selected.changed(&entry.path));
        let systems = changed.chain(matrices.map(|(system, _)| system)).cloned().collect();
        let history = History { systems, ..History::default() };
        let mut left = RunResults::new(self.states.len(), history);
        let compares = self.needs.has(Input::Peers);
        for batch in &batches {
            let tables: Vec<(usize, &Lineage<'a>)> = batch
                .iter()
                .enumerate()
                .flat_map(|(number, group)| group.lineages.iter().map(move |one| (number, one)))
                .filter(|(_, lineage)| lineage.is_subject || compares)
                .collect();
            let judged = threads::map_largest_first(
                &tables,
                |(_, lineage)| lineage.size(),
                |(_, lineage)| {
                    let judged = self.lineage(lineage);
                    if lineage.is_subject {
                        progress.step(done.fetch_add(1, Ordering::Relaxed) + 1, all);
                    }
                    judged
                },
            );
            let mut names: Vec<Vec<(&Lineage<'a>, JudgedLineage)>> =
                batch.iter().map(|_| Vec::new()).collect();
            for ((number, lineage), judged) in tables.into_iter().zip(judged) {
                names[number].push((lineage, judged?));
            }
            left.history.latencies.clear();
            for judged in &names {
                left.history.add(judged);
            }
            let numbered: Vec<(&Group<'a>, &Vec<_>)> = batch.iter().zip(&names).collect();
            let crossed: Vec<Result<GroupResult<'a>>> = numbered
                .par_iter()
                .map(|(group, judged)| self.group(group, judged, &left.history))
                .collect();
            for (lineages, crossed) in names.into_iter().zip(crossed) {
                left.add(&self, lineages, crossed?);
            }
        }
        self.conclude(left)
    }
}
