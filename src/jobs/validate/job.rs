//! A state of a database under judgement: its tables by themselves, against each other, and what lies
//! around them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::batch::{BatchTerms, JudgedName, ReadTables};
use super::cross::{Beside, CrossExtent, CrossInputs, PeersByRule};
use super::table::TableTerms;
use crate::base::error::Result;
use crate::base::progress::Progress;
use crate::checks::compare::losing::LosingTables;
use crate::checks::compare::sketch::{Sketch, Sketches};
use crate::checks::rule::{Rule, Rules};
use crate::checks::{Check, CheckInputs, PrChange};
use crate::database::catalog::{Catalog, TableFile};
use crate::database::decoded::Decoded;
use crate::database::facts::TreeFacts;
use crate::database::ledger::Ledger;
use crate::database::selection::Selected;
use crate::database::served::Shelf;
use crate::database::source::Source;
use crate::database::support::{self, Matrices};
use crate::findings::Finding;
use crate::planner::{PlannerFiles, SharedFileKeys, SharedModels};
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
    /// The models that are planned, for rules that ask for them.
    pub models: &'a SharedModels<'a>,
    /// What a collector failed at, where its log was given.
    pub ledger: Option<&'a Ledger>,
    /// What a pull request changes of it, where one is judged.
    pub pr: Option<&'a PrChange>,
    /// Tables of it that another stage decoded already, where one did.
    pub decoded: Option<&'a Decoded>,
    /// Whether a later stage asks for those, too.
    pub keeps_decoded: bool,
    /// Whether another state is judged by the sketches of this one.
    pub keeps_sketches: bool,
    /// Files that a planner will read, where one will: their rows are taken in while they are decoded.
    pub files: Option<&'a PlannerFiles>,
    /// Tables that lose keys in a pull request, where one is judged: their other versions are looked through while they
    /// are decoded.
    pub losing: Option<&'a LosingTables<'a>>,
}

/// What judging a state leaves.
pub(crate) struct Judgement {
    /// In no order.
    pub findings: Vec<Finding>,
    /// Sidecars and system YAML judged.
    pub files: u64,
    /// Rows of the tables judged.
    pub rows: u64,
    /// Rows of each table that was read, by path.
    pub table_rows: BTreeMap<String, usize>,
    /// Of the tables judged and of those they were compared with, where the job keeps them.
    pub sketches: Sketches,
    /// Paths of the tables judged that are in git-LFS and were not fetched, sorted.
    pub in_lfs: Vec<String>,
}

impl Job<'_> {
    /// Judges the tables `alone` by themselves and those `against` others by what those have, as
    /// indices into the catalog; then the sidecars, systems and strays selected. Of tables that are
    /// not `alone`, sketches that are `known` are not taken again.
    ///
    /// Tables of one name, or of a few small ones, are read together and held against each other before the
    /// next name's are read, so that a database needs the memory of the largest name.
    pub fn run(
        &self,
        alone: &[usize],
        against: &[usize],
        mut known: Sketches,
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
        let judged: BTreeSet<&str> = against.iter().chain(alone).map(|i| path(*i)).collect();
        let names = known.names.clone();
        let names = self.needs().plans.then_some(names.as_ref());
        let planned = self.planned(alone, against);
        let batches = self.batches(alone, &neighbours, against);
        let slices = &SharedFileKeys::default();
        let terms =
            TableTerms { sidecars: &sidecars, named: &named, names, planned: &planned, slices };
        let support = if self.needs().support_matrices {
            support::read(self.source, self.catalog)
        } else {
            Matrices::default()
        };
        let beside = Beside { shelf: &shelf, sidecars: &sidecars, support: &support };
        let inputs = CrossInputs::new(self, beside, &judged);
        let tables: Vec<&TableFile> = self.catalog.tables.iter().collect();
        let done = AtomicUsize::new(0);
        let step = || progress.step(done.fetch_add(1, Ordering::Relaxed) + 1, alone.len());
        let mut judgement = Judgement {
            findings: Vec::new(),
            files: 0,
            rows: 0,
            table_rows: BTreeMap::new(),
            sketches: Sketches::default(),
            in_lfs: Vec::new(),
        };
        let mut all = ReadTables::new(&known.names);
        all.sketches.slices = std::mem::take(&mut known.slices);
        let mut peers = PeersByRule::default();
        let batch_terms = BatchTerms { terms, inputs: &inputs };
        for batch in batches {
            for judged in self.judge_batch(batch, batch_terms, &mut known, &step)? {
                let JudgedName { mut read, crossed, judged } = judged;
                for (rule, of_name) in crossed.peers {
                    peers.entry(rule).or_default().push(of_name);
                }
                let rows = judged.iter().filter_map(|index| crossed.rows.get(path(*index)));
                judgement.rows += rows.map(|rows| *rows as u64).sum::<u64>();
                judgement.table_rows.extend(crossed.rows);
                read.findings.extend(crossed.findings);
                if !self.keeps_sketches {
                    for sketch in read.sketches.by_path.values_mut() {
                        sketch.forget_points();
                    }
                }
                all.add(read);
            }
        }
        let whole = inputs.cross(&tables, CrossExtent::Whole, &all, &peers)?;
        judgement.findings = all.findings;
        judgement.findings.extend(whole.findings);
        if self.keeps_sketches {
            judgement.sketches = all.sketches;
        }
        judgement.files = self.dirs(&sidecars, &mut judgement.findings)
            + self.systems(&mut judgement.findings)
            + self.stated_facts(&support, &mut judgement.findings);
        judgement.findings.extend(self.strays());
        judgement.in_lfs = all.in_lfs;
        judgement.in_lfs.sort_unstable();
        judgement.findings.extend(self.tables_in_lfs(&judgement.in_lfs));
        Ok(judgement)
    }

    /// The check whose rule found something; a rule's id is for people.
    pub fn check(&self, finding: &Finding) -> Option<&Check> {
        self.rules.iter().find(|r| r.id == finding.rule).map(|r| &r.check)
    }

    /// What has to be gathered for the rules.
    pub(super) fn needs(&self) -> CheckInputs {
        self.rules.iter().map(|r| r.check.needs()).fold(CheckInputs::default(), CheckInputs::and)
    }

    /// Whether any of the rules holds tables against each other.
    pub(super) fn compares(&self) -> bool {
        self.rules.iter().any(|rule| rule.check.judge().compares())
    }

    /// Whether a table or its sidecar, which speaks of it, changed.
    pub fn touches(&self, file: &TableFile) -> bool {
        let meta = || self.catalog.dir_of(file).and_then(|d| d.meta.as_ref());
        self.selected.changed(&file.entry.path)
            || meta().is_some_and(|m| self.selected.changed(&m.path))
    }

    /// The tables selected, as indices into the catalog.
    pub fn judged_tables(&self) -> Vec<usize> {
        // A system speaks of its rows, so a change of it is one of theirs.
        let system = |t: &TableFile| self.catalog.systems.get(&t.place.system);
        let judged = |t: &TableFile| {
            self.selected.table(&t.place, &t.table)
                && (self.touches(t) || system(t).is_some_and(|s| self.selected.changed(&s.yaml)))
        };
        (0..self.catalog.tables.len()).filter(|i| judged(&self.catalog.tables[*i])).collect()
    }

    /// Systems that rules may plan models on: those of which a pull request changes tables, or any are judged.
    fn planned(&self, alone: &[usize], against: &[usize]) -> BTreeSet<&str> {
        match self.pr {
            Some(pr) => pr.backends.iter().map(|(system, _)| system.as_str()).collect(),
            None => {
                let judged = alone.iter().chain(against);
                judged.map(|index| self.catalog.tables[*index].place.system.as_str()).collect()
            }
        }
    }

    /// Tables that are not judged `alone` but that those `against` others are compared with: the
    /// same table elsewhere, or what of that says which keys they lack.
    fn neighbours(&self, alone: &[usize], against: &[usize]) -> Vec<usize> {
        if !self.compares() {
            return Vec::new();
        }
        let tables = &self.catalog.tables;
        let judged: BTreeSet<usize> = alone.iter().copied().collect();
        let others = (0..tables.len()).filter(|i| !judged.contains(i));
        let name = |i: &usize| tables[*i].table.as_str();
        let wanted: BTreeSet<&str> = against.iter().map(name).collect();
        others.filter(|i| wanted.contains(name(i))).collect()
    }
}
