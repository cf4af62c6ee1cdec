//! A state of a database under judgement: its tables by themselves, against each other, and what lies
//! around them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use tracing::debug;

use super::cached::{CachedJob, Parts, SketchPart};
use super::cross::{CrossExtent, CrossInputs, Crossed, PeersByRule};
use super::names::{NamedTables, ToRead};
use super::table::{JudgedTable, TableTerms};
use crate::base::cache::Cache;
use crate::base::error::Result;
use crate::base::progress::Progress;
use crate::base::threads;
use crate::checks::compare::curves::SharedKeys;
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
use crate::findings::Finding;
use crate::planner::{NameCodes, SharedFileKeys};
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
    /// Whether another state is judged by the sketches of this one.
    pub keeps_sketches: bool,
    /// What earlier runs found, where that is kept.
    pub cache: Option<&'a Cache>,
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
}

/// What reading and judging tables leaves.
pub(super) struct ReadTables {
    pub sketches: Sketches,
    findings: Vec<Finding>,
    /// Whether another run would read the same.
    pub are_reproducible: bool,
}

impl ReadTables {
    /// No table yet; the texts of their slices are numbered by `names`.
    fn new(names: &Arc<NameCodes>) -> Self {
        let sketches = Sketches { names: names.clone(), ..Sketches::default() };
        Self { sketches, findings: Vec::new(), are_reproducible: true }
    }

    /// Takes in the tables of another name.
    fn add(&mut self, mut others: Self) {
        self.sketches.by_path.append(&mut others.sketches.by_path);
        self.sketches.slices.append(&mut others.sketches.slices);
        self.findings.append(&mut others.findings);
        self.are_reproducible &= others.are_reproducible;
    }
}

impl Job<'_> {
    /// Judges the tables `alone` by themselves and those `against` others by what those have, as
    /// indices into the catalog; then the sidecars, systems and strays selected. Of tables that are
    /// not `alone`, sketches that are `known` are not taken again.
    ///
    /// Tables of one name are read together and held against each other before the next name's are
    /// read, so that a database needs the memory of the largest name.
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
        let by_name = self.by_name(alone, &neighbours, against);
        let (slices, keys) = (&SharedFileKeys::default(), &SharedKeys::default());
        let terms = TableTerms { sidecars: &sidecars, named: &named, names, slices, keys };
        let cached = self.cache.and_then(|cache| {
            let read = by_name.iter().flat_map(|of_name| &of_name.read);
            let read: Vec<&TableFile> = read.map(|t| &self.catalog.tables[t.index]).collect();
            CachedJob::new(cache, self, &read, &judged, terms)
        });
        let cached = cached.as_ref();
        let inputs = CrossInputs::new(self, &shelf, &sidecars, &judged, cached);
        let tables: Vec<&TableFile> = self.catalog.tables.iter().collect();
        let whole = inputs.kept(&tables, CrossExtent::Whole);
        let done = AtomicUsize::new(0);
        let step = || progress.step(done.fetch_add(1, Ordering::Relaxed) + 1, alone.len());
        let mut judgement = Judgement {
            findings: Vec::new(),
            files: 0,
            rows: 0,
            table_rows: BTreeMap::new(),
            sketches: Sketches::default(),
        };
        let mut all = ReadTables::new(&known.names);
        all.sketches.slices = std::mem::take(&mut known.slices);
        let mut peers = PeersByRule::default();
        for NamedTables { tables, read, are_compared } in by_name {
            let crossed = if are_compared {
                inputs.kept(&tables, CrossExtent::Name)
            } else {
                Some(Crossed::default())
            };
            let sketch = match (&crossed, &whole) {
                _ if !are_compared => SketchPart::None,
                (Some(_), Some(_)) if !self.keeps_sketches => SketchPart::None,
                (Some(_), None) if !self.keeps_sketches => SketchPart::Outline,
                _ => SketchPart::Whole,
            };
            let mut found = self.read_tables(&read, sketch, terms, cached, &step)?;
            found.sketches.names = known.names.clone();
            for file in &tables {
                // What was read is sketched as this state asks.
                if let Some(sketch) = known.by_path.remove(&file.entry.path) {
                    found.sketches.by_path.entry(file.entry.path.clone()).or_insert(sketch);
                }
            }
            let crossed = match crossed {
                Some(crossed) => crossed,
                None => {
                    inputs.cross(&tables, CrossExtent::Name, &found, &PeersByRule::default())?
                }
            };
            for (rule, of_name) in crossed.peers {
                peers.entry(rule).or_default().push(of_name);
            }
            let judged = read.iter().filter(|item| item.judge).map(|item| path(item.index));
            let rows = judged.filter_map(|path| crossed.rows.get(path));
            judgement.rows += rows.map(|rows| *rows as u64).sum::<u64>();
            judgement.table_rows.extend(crossed.rows);
            found.findings.extend(crossed.findings);
            if !self.keeps_sketches {
                for sketch in found.sketches.by_path.values_mut() {
                    drop(sketch.take_detail());
                }
            }
            all.add(found);
        }
        let whole = match whole {
            Some(whole) => whole,
            None => inputs.cross(&tables, CrossExtent::Whole, &all, &peers)?,
        };
        judgement.findings = all.findings;
        judgement.findings.extend(whole.findings);
        if self.keeps_sketches {
            judgement.sketches = all.sketches;
        }
        judgement.files =
            self.dirs(&sidecars, &mut judgement.findings) + self.systems(&mut judgement.findings);
        judgement.findings.extend(self.strays());
        Ok(judgement)
    }

    /// Reads tables of a name, the first ones first, and calls `step` for each that was judged.
    fn read_tables(
        &self,
        read: &[ToRead],
        sketch: SketchPart,
        terms: TableTerms<'_>,
        cached: Option<&CachedJob<'_>>,
        step: &(dyn Fn() + Sync),
    ) -> Result<ReadTables> {
        let order: Vec<usize> = (0..read.len()).collect();
        let found = threads::map(read, &order, self.threads, |item| {
            let file = &self.catalog.tables[item.index];
            let parts = Parts { findings: item.judge, sketch };
            let judged = self.read_table(file, parts, terms, cached);
            if item.judge {
                step();
            }
            judged
        });
        let mut all = ReadTables::new(&Arc::default());
        for (item, judged) in read.iter().zip(found) {
            let path = &self.catalog.tables[item.index].entry.path;
            let JudgedTable { sketch, slices, findings, is_reproducible } = judged?;
            all.findings.extend(findings);
            all.are_reproducible &= is_reproducible;
            all.sketches.slices.extend(slices.map(|slices| (path.clone(), slices)));
            all.sketches.by_path.extend(sketch.map(|sketch| (path.clone(), sketch)));
        }
        Ok(all)
    }

    /// Reads a table, and judges it by itself where its findings are asked for; what earlier runs kept of
    /// it need not be read again.
    fn read_table(
        &self,
        file: &TableFile,
        parts: Parts,
        terms: TableTerms<'_>,
        cached: Option<&CachedJob<'_>>,
    ) -> Result<JudgedTable> {
        let start = Instant::now();
        // Of what is judged by figures alone, no findings are all.
        let cached = cached.filter(|_| self.by_figures(file).is_none());
        if let Some(judged) = cached.and_then(|cached| cached.judged(file, parts)) {
            debug!(path = ?file.entry.path, took = ?start.elapsed(), "known");
            return Ok(judged);
        }
        let rules = if parts.findings { &self.rules[..] } else { &[] };
        // What is kept is whole.
        let sketch = parts.sketch != SketchPart::None || cached.is_some();
        let mut judged = self.table(file, rules, sketch, terms)?;
        let rows = judged.sketch.as_ref().map(|sketch| sketch.rows);
        let judge = parts.findings;
        debug!(path = ?file.entry.path, rows, judge, took = ?start.elapsed(), "read");
        if let Some(cached) = cached {
            cached.keep_judged(file, parts, &mut judged);
        }
        Ok(judged)
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

    /// The figures by which alone a table is judged, where a pull request changes nothing else.
    pub(super) fn by_figures(&self, file: &TableFile) -> Option<&BTreeSet<String>> {
        self.pr?.by_figures.get(&file.entry.path)
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

    /// Tables that are not judged `alone` but that those `against` others are compared with: the
    /// same table elsewhere.
    fn neighbours(&self, alone: &[usize], against: &[usize]) -> Vec<usize> {
        if !self.compares() {
            return Vec::new();
        }
        let name = |i: &usize| self.catalog.tables[*i].table.as_str();
        let wanted: BTreeSet<&str> = against.iter().map(name).collect();
        let judged: BTreeSet<usize> = alone.iter().copied().collect();
        let others = (0..self.catalog.tables.len()).filter(|i| !judged.contains(i));
        others.filter(|i| wanted.contains(name(i))).collect()
    }
}
