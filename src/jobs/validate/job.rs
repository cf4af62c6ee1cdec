//! A state of a database under judgement: its tables by themselves, against each other, and what lies
//! around them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tracing::debug;

use super::surroundings::Sidecars;
use super::table::JudgedTable;
use crate::base::error::{Error, Result};
use crate::base::progress::Progress;
use crate::base::threads;
use crate::checks::compare::sketch::{Sketch, Sketches};
use crate::checks::rule::{Rule, Rules};
use crate::checks::{Check, CheckInputs, CrossContext, PrChange};
use crate::database::catalog::{Catalog, TableFile};
use crate::database::decoded::Decoded;
use crate::database::facts::TreeFacts;
use crate::database::ledger::Ledger;
use crate::database::selection::Selected;
use crate::database::served::Shelf;
use crate::database::source::Source;
use crate::database::support::{self, Matrices};
use crate::findings::Finding;
use crate::planner::{Models, NameCodes};
use crate::specs::Specs;

/// A state of a database under judgement; how, is the same for every job.
pub(crate) struct Job<'a> {
    /// Where its bytes are.
    pub source: &'a dyn Source,
    /// What it holds.
    pub catalog: &'a Catalog,
    /// Which part of it is judged.
    pub selected: Selected,
    /// By what.
    pub rules: Vec<Arc<Rule>>,
    /// All rules, those of this run or not.
    pub all_rules: &'a Rules,
    /// What is known of tables, by the facts of the state too.
    pub specs: &'a Specs,
    /// What the state says of itself.
    pub facts: &'a TreeFacts,
    /// Threads.
    pub threads: usize,
    /// What a collector failed at, where its log was given.
    pub ledger: Option<&'a Ledger>,
    /// What a pull request changes of it, where one is judged.
    pub pr: Option<&'a PrChange>,
    /// Tables of it that another stage decoded already, where one did.
    pub decoded: Option<&'a Decoded>,
}

/// What judging a state leaves.
pub(crate) struct Judgement {
    /// In no order.
    pub findings: Vec<Finding>,
    /// Sidecars and system YAML judged.
    pub files: u64,
    /// Rows of the tables judged.
    pub rows: u64,
    /// Of the tables judged and of those they were compared with.
    pub sketches: Sketches,
}

impl Job<'_> {
    /// Judges the tables `alone` by themselves and those `against` others by what those have, as
    /// indices into the catalog; then the sidecars, systems and strays selected. Of tables that are
    /// not `alone`, sketches that are `known` are not taken again.
    pub fn run(
        &self,
        alone: &[usize],
        against: &[usize],
        known: Sketches,
        progress: &dyn Progress,
    ) -> Result<Judgement> {
        let sidecars = self.sidecars();
        let path = |index: usize| self.catalog.tables[index].entry.path.as_str();
        let shelf = Shelf::new(self.catalog, &sidecars.reuse, self.specs);
        let named = if self.needs().keys { shelf.references(self.specs) } else { BTreeSet::new() };
        let mut neighbours = self.neighbours(alone, against);
        // A sketch of another state serves unless it lacks what this one asks of it.
        let serves = |path: &str, sketch: &Sketch| {
            !named.contains(path) || sketch.points.is_empty() || sketch.coverage.is_taken()
        };
        neighbours.retain(|i| !known.by_path.get(path(*i)).is_some_and(|s| serves(path(*i), s)));

        let names = self.needs().plans.then_some(known.names.as_ref());
        let done = AtomicUsize::new(0);
        let items: Vec<(usize, bool)> = alone
            .iter()
            .map(|i| (*i, true))
            .chain(neighbours.iter().map(|i| (*i, false)))
            .collect();
        let mut order: Vec<usize> = (0..items.len()).collect();
        let size = |i: &usize| self.catalog.tables[items[*i].0].entry.size;
        order.sort_by_key(|i| (Reverse(size(i)), *i));
        let judged = threads::map(&items, &order, self.threads, |(index, judge)| {
            let file = &self.catalog.tables[*index];
            let judged = self.read_table(file, *judge, &sidecars, &named, names);
            if *judge {
                progress.step(done.fetch_add(1, Ordering::Relaxed) + 1, alone.len());
            }
            judged
        });

        let mut findings = Vec::new();
        let mut sketches = known;
        let mut rows = 0;
        for ((index, judge), judged) in items.iter().zip(judged) {
            let judged = judged?;
            findings.extend(judged.findings);
            let Some(sketch) = judged.sketch else { continue };
            if *judge {
                rows += sketch.rows as u64;
            }
            sketches.by_path.insert(path(*index).to_owned(), sketch);
            if let Some(slices) = judged.slices {
                sketches.slices.insert(path(*index).to_owned(), Arc::new(slices));
            }
        }
        let judged = against.iter().map(|i| path(*i)).collect();
        findings.extend(self.cross(&judged, &sketches, &shelf, &sidecars)?);
        let files = self.dirs(&sidecars, &mut findings) + self.systems(&mut findings);
        findings.extend(self.strays());
        Ok(Judgement { findings, files, rows, sketches })
    }

    /// Reads a table, and judges it by itself where that is asked for.
    fn read_table(
        &self,
        file: &TableFile,
        judge: bool,
        sidecars: &Sidecars,
        named: &BTreeSet<&str>,
        names: Option<&NameCodes>,
    ) -> Result<JudgedTable> {
        let rules = if judge { &self.rules[..] } else { &[] };
        let named = named.contains(file.entry.path.as_str());
        let start = Instant::now();
        let judged = self.table(file, sidecars, rules, named, names);
        let rows = judged.as_ref().ok().and_then(|j| Some(j.sketch.as_ref()?.rows));
        debug!(path = ?file.entry.path, rows, judge, took = ?start.elapsed(), "read");
        judged
    }

    /// Holds the tables `judged`, by their paths, against each other and against all that has a sketch.
    fn cross(
        &self,
        judged: &BTreeSet<&str>,
        sketches: &Sketches,
        shelf: &Shelf<'_>,
        sidecars: &Sidecars,
    ) -> Result<Vec<Finding>> {
        let support = if self.needs().support_matrices {
            support::read(self.source, self.catalog)
        } else {
            Matrices::default()
        };
        let models = if self.needs().plans {
            Models::read(&self.specs.library, |_| true)?
        } else {
            Models::default()
        };
        // Each table is decoded again once, however many others it is like.
        let foreign: Mutex<BTreeMap<String, usize>> = Mutex::default();
        let cross = CrossContext {
            catalog: self.catalog,
            support: &support,
            sharing: self.facts.sharing.as_ref(),
            sketches,
            shelf,
            meta: &sidecars.meta,
            ledger: self.ledger,
            judged,
            foreign: &|file| {
                let path = file.entry.path.as_str();
                let known = foreign
                    .lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner)
                    .get(path)
                    .copied();
                known.unwrap_or_else(|| {
                    let ways = self.foreign(file, sidecars);
                    foreign
                        .lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner)
                        .insert(path.to_owned(), ways);
                    ways
                })
            },
            threads: self.threads,
            age: &|a, b| self.source.age(&a.entry, &b.entry),
            relative: Default::default(),
            curves: Default::default(),
            specs: self.specs,
            models: &models,
            pr: self.pr,
        };
        let order: Vec<usize> = (0..self.rules.len()).collect();
        let found = threads::map(&self.rules, &order, self.threads, |rule| by_rule(rule, &cross));
        let found: Vec<Vec<Finding>> = found.into_iter().collect::<Result<_>>()?;
        let is_known = |f: &Finding| {
            f.table.as_ref().is_none_or(|table| self.specs.tables.contains_key(table))
        };
        Ok(found.into_iter().flatten().filter(is_known).collect())
    }

    /// The check whose rule found something; a rule's id is for people.
    pub fn check(&self, finding: &Finding) -> Option<&Check> {
        self.rules.iter().find(|r| r.id == finding.rule).map(|r| &r.check)
    }

    /// What has to be gathered for the rules.
    pub(super) fn needs(&self) -> CheckInputs {
        self.rules.iter().map(|r| r.check.needs()).fold(CheckInputs::default(), CheckInputs::and)
    }

    /// The tables selected, as indices into the catalog.
    pub fn judged_tables(&self) -> Vec<usize> {
        // A sidecar speaks of its tables and a system of its rows, so a change of it is one of theirs.
        let meta = |t: &TableFile| self.catalog.dir_of(t).and_then(|d| d.meta.as_ref());
        let system = |t: &TableFile| self.catalog.systems.get(&t.place.system);
        let judged = |t: &TableFile| {
            self.selected.table(&t.place, &t.table)
                && (self.selected.changed(&t.entry.path)
                    || meta(t).is_some_and(|m| self.selected.changed(&m.path))
                    || system(t).is_some_and(|s| self.selected.changed(&s.yaml)))
        };
        (0..self.catalog.tables.len()).filter(|i| judged(&self.catalog.tables[*i])).collect()
    }

    /// Tables that are not judged `alone` but that those `against` others are compared with: the
    /// same table elsewhere.
    fn neighbours(&self, alone: &[usize], against: &[usize]) -> Vec<usize> {
        let name = |i: &usize| self.catalog.tables[*i].table.as_str();
        let wanted: BTreeSet<&str> = against.iter().map(name).collect();
        let judged: BTreeSet<usize> = alone.iter().copied().collect();
        let others = (0..self.catalog.tables.len()).filter(|i| !judged.contains(i));
        others.filter(|i| wanted.contains(name(i))).collect()
    }
}

/// What a rule finds when tables are held against each other.
fn by_rule(rule: &Rule, cross: &CrossContext<'_>) -> Result<Vec<Finding>> {
    let start = Instant::now();
    let found = rule.check.judge().cross(rule, cross);
    debug!(rule = rule.id, took = ?start.elapsed(), "compared tables");
    let hint = "the formula is in rules/limits.yaml";
    found.map_err(|e| Error::caused(format!("cannot check the rule {}", rule.id), hint, e))
}
