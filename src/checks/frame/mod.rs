//! The frame: one loop over the names of tables that judges one state of a database, or two against each other.
//!
//! For each name, every table of every state is taken once: decoded, compared with what it was, sketched, and judged by
//! itself ([`lineage`]). Then the tables of the name are judged against each other ([`name`]) and dropped. What remains is
//! judged as a whole ([`whole`]). Checks see one state; which findings are new is decided from the hits of both.

mod conclude;
mod lineage;
mod name;
mod scope;
mod state;
mod table;
mod whole;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use self::conclude::Leftovers;
use self::lineage::JudgedLineage;
use self::name::JudgedName;
pub(crate) use self::scope::{Before, StateScope};
use self::scope::{Group, Lineage, batches};
use self::state::JudgedState;
use crate::base::error::{Error, Result};
use crate::base::expr::ExprError;
use crate::base::progress::Progress;
use crate::base::threads;
use crate::checks::context::History;
use crate::checks::inputs::CheckInputs;
use crate::checks::rule::{Rule, Rules};
use crate::database::catalog::Place;
use crate::database::diff::{ChangedFacts, Details, TableDiff};
use crate::database::ledger::Ledger;
use crate::findings::{Finding, Repaired};
use crate::planner::{NameCodes, SharedFileKeys, SharedModels};

/// What all states are judged by.
#[derive(Clone, Copy)]
pub(crate) struct Terms<'a> {
    /// The rules of the run.
    pub rules: &'a [Arc<Rule>],
    /// All rules, those of the run or not.
    pub all_rules: &'a Rules,
    /// The models that are planned, for rules that ask for them.
    pub models: &'a SharedModels<'a>,
    /// What a collector failed at, where its log was given.
    pub ledger: Option<&'a Ledger>,
}

/// The result of judging a state or a pull request.
#[derive(Default)]
pub(crate) struct Judgement {
    /// Findings of the head, in no order.
    pub findings: Vec<Finding>,
    /// Findings of the base that the head no longer has.
    pub repaired: Vec<Repaired>,
    /// What changed of tables, by path.
    pub diff: Vec<TableDiff>,
    /// Sidecars, system YAML and files of facts that were judged.
    pub files: u64,
    /// Rows of the tables judged.
    pub rows: u64,
    /// Rows of each table that was read, by path.
    pub table_rows: BTreeMap<String, usize>,
    /// Paths of the tables judged that are in git-LFS and were not fetched, sorted.
    pub in_lfs: Vec<String>,
    /// Errors on rows that the pull request adds or changes, which the head does not have since the pull request changes
    /// what the database states.
    pub excused: Vec<Finding>,
}

impl Judgement {
    /// Keeps the findings of some rules.
    pub fn keep(&mut self, rules: &[Arc<Rule>]) {
        let is_asked = |finding: &Finding| rules.iter().any(|rule| rule.id == finding.rule);
        self.findings.retain(is_asked);
        self.repaired.retain(|repaired| is_asked(&repaired.finding));
    }
}

/// A run of the loop.
struct Judging<'a> {
    terms: Terms<'a>,
    needs: CheckInputs,
    /// The base, where there is one, the head, and the head under what the base states, where that is judged.
    states: Vec<JudgedState<'a>>,
    /// The number of the head among the states.
    head: usize,
    /// Paths of the head's tables that all rules judge.
    subjects: BTreeSet<&'a str>,
    changed_facts: Option<ChangedFacts<'a>>,
    details: Option<&'a Details>,
    /// Systems that rules may plan models on: those of which a pull request changes tables, or any are judged.
    planned: BTreeSet<&'a str>,
    /// The numbers of texts in slices.
    names: Arc<NameCodes>,
    /// The slices of all tables.
    slices: SharedFileKeys,
}

/// The error of a rule whose formula fails.
fn unjudged(rule: &Rule, why: ExprError) -> Error {
    let hint = "the formula is in rules/limits.yaml";
    Error::caused(format!("cannot check the rule {}", rule.id), hint, why)
}

/// Judges a state, or what a pull request makes of the state before.
///
/// # Errors
///
/// When a formula of a spec, a limit or a rule fails, or details cannot be written. Whatever is wrong with the data is
/// a finding.
pub(crate) fn judge<'a>(
    head: StateScope<'a>,
    before: Option<Before<'a>>,
    terms: Terms<'a>,
    progress: &dyn Progress,
) -> Result<Judgement> {
    let (base, pairs, changed_facts, excused, details) = match before {
        Some(Before { base, pairs, facts, excused, details }) => {
            (Some(base), pairs, Some(facts), excused, details)
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
    scopes.extend(excused.map(|state| StateScope { state, selected, subjects: BTreeSet::new() }));
    let mut judging = Judging {
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
        planned: BTreeSet::new(),
        names: Arc::default(),
        slices: SharedFileKeys::default(),
    };
    judging.planned = judging.planned(&batches);
    judging.run(batches, progress)
}

impl<'a> Judging<'a> {
    /// The rules that judge tables against each other.
    fn comparing_rules(&self) -> impl Iterator<Item = &'a Arc<Rule>> + use<'a> {
        self.terms.rules.iter().filter(|rule| rule.check.needs().compares)
    }

    fn head(&self) -> &JudgedState<'a> {
        &self.states[self.head]
    }

    /// Whether two states are compared.
    fn has_base(&self) -> bool {
        self.head > 0
    }

    /// The number of the state that is the head under what the base states.
    fn excused(&self) -> Option<usize> {
        (self.states.len() > self.head + 1).then_some(self.head + 1)
    }

    /// Systems that rules may plan models on.
    fn planned(&self, batches: &[Vec<Group<'a>>]) -> BTreeSet<&'a str> {
        let lineages = batches.iter().flatten().flat_map(|group| &group.lineages);
        let planned = lineages.filter(|lineage| {
            if self.has_base() { lineage.pair.is_some() } else { lineage.is_subject }
        });
        planned.filter_map(Lineage::file).map(|file| file.place.system.as_str()).collect()
    }

    fn run(self, batches: Vec<Vec<Group<'a>>>, progress: &dyn Progress) -> Result<Judgement> {
        let lineages = || batches.iter().flatten().flat_map(|group| &group.lineages);
        let all = lineages().filter(|lineage| lineage.is_subject).count();
        let done = AtomicUsize::new(0);
        let changed = lineages().filter(|lineage| lineage.pair.is_some());
        let places: Vec<&Place> = changed.filter_map(Lineage::file).map(|f| &f.place).collect();
        let backends = places.iter().map(|place| (place.system.clone(), place.backend.clone()));
        let head = self.head();
        let matrices = head.state.catalog.support.iter();
        let matrices = matrices.filter(|(_, entry)| head.selected.changed(&entry.path));
        let systems = places.iter().map(|place| &place.system);
        let systems = systems.chain(matrices.map(|(system, _)| system)).cloned().collect();
        let history = History { backends: backends.collect(), systems, ..History::default() };
        let mut left = Leftovers::new(self.states.len(), history);
        let compares = self.needs.compares;
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
            let crossed: Vec<Result<JudgedName<'a>>> = numbered
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
