//! Plants faults in rounds. A round contains faults that do not affect each other, and is judged
//! once.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;

use super::clean::{CleanState, SelftestOptions};
use super::fault::{Plant, Variant};
use super::injection::{Injection, Planted};
use super::overlay::{FileChange, Overlay};
use super::score::Scores;
use perfdb_gate::base::error::{Error, Reason, Result};
use perfdb_gate::base::progress::Progress;
use perfdb_gate::base::random::Random;
use perfdb_gate::checks::{Item, WaiverContext};
use perfdb_gate::database::catalog::{Catalog, TableFile};
use perfdb_gate::database::facts::TreeFacts;
use perfdb_gate::database::state::State;
use perfdb_gate::findings::waiver::Waivers;
use perfdb_gate::findings::{Finding, Severity};
use perfdb_gate::jobs::for_selftest::judge_changed;

/// Faults that do not affect each other: in tables of different names, or in different systems.
struct Round<'a> {
    clean: &'a CleanState<'a>,
    injections: Vec<Injection<'a>>,
    /// Names of tables and systems that the injections touch.
    taken: BTreeSet<String>,
}

/// A fault that is not yet planted.
struct Waiting<'a> {
    number: usize,
    variant: &'a Variant,
    /// Tables to try, in this order.
    candidates: Vec<usize>,
}

/// Plants every fault in `options.samples` tables and judges round by round.
pub(super) fn run(
    clean: &CleanState<'_>,
    tables: &[usize],
    variants: &[Variant],
    options: &SelftestOptions,
    scores: &mut Scores,
    progress: &dyn Progress,
) -> Result<()> {
    let mut random = Random::new(options.seed);
    let system = |table: &usize| clean.state.catalog.tables[*table].place.system.as_str();
    let systems: BTreeSet<&str> = tables.iter().map(system).collect();
    let mut waiting = Vec::new();
    for (number, variant) in variants.iter().enumerate() {
        if let Plant::Waivers(text) = &variant.fault.plant {
            waivers(clean, number, text, scores)?;
            continue;
        }
        for sample in 0..options.samples {
            let mut candidates = tables.to_vec();
            random.shuffle(&mut candidates);
            // All tables have the same chance whatever their size, but systems take turns.
            let turn = systems.iter().nth(sample % systems.len().max(1)).copied();
            candidates.sort_by_key(|table| Some(system(table)) != turn);
            if sample < systems.len() || !variant.touches_system() {
                waiting.push(Waiting { number, variant, candidates });
            }
        }
    }
    let all = waiting.len();
    random.shuffle(&mut waiting);
    let mut tried = BTreeSet::new();
    while !waiting.is_empty() {
        let mut round = Round { clean, injections: Vec::new(), taken: BTreeSet::new() };
        let mut left = Vec::new();
        for mut fault in waiting {
            if !round.take(&mut fault, &mut tried, &mut random)? {
                left.push(fault);
            }
        }
        waiting = left;
        if !round.injections.is_empty() {
            round.judge(scores, progress)?;
        }
        progress.step(all - waiting.len(), all);
    }
    Ok(())
}

impl<'a> Round<'a> {
    /// Plants a fault in its first suitable table. Returns false if the fault has to wait for another
    /// round, and true if it is planted or fits no table. `tried` contains pairs of variant and table
    /// that were used or found unsuitable: the same fault there would give the same result.
    fn take(
        &mut self,
        fault: &mut Waiting<'a>,
        tried: &mut BTreeSet<(usize, usize)>,
        random: &mut Random,
    ) -> Result<bool> {
        // Each try decodes a table, so that their number per round is limited.
        const TRIES: usize = 8;
        let (number, variant) = (fault.number, fault.variant);
        let catalog = self.clean.state.catalog;
        // A system's fault affects all its tables, so that such faults have rounds of their own.
        let of_system = variant.touches_system();
        let is_free = self.injections.iter().all(|i| i.variant.touches_system() == of_system);
        fault.candidates.retain(|table| !tried.contains(&(number, *table)));
        for _ in 0..TRIES {
            let Some(table) = fault.candidates.first() else { return Ok(true) };
            let file = &catalog.tables[*table];
            let touched = touched(catalog, file, variant);
            // The fault waits instead of taking the next table: rare names are free in more rounds
            // and would be chosen more often.
            if !is_free || touched.iter().any(|name| self.taken.contains(name)) {
                return Ok(false);
            }
            tried.insert((number, fault.candidates.remove(0)));
            let planted = self.clean.plant(variant, file, random).map_err(|e| {
                let hint = "faults are in selftest/src/faults/faults.yaml";
                Error::caused(format!("cannot plant {}", variant.fault.id), hint, e)
            })?;
            let Some(planted) = planted else { continue };
            let paths = paths(catalog, file, variant, &planted);
            self.taken.extend(touched);
            self.injections.push(Injection { number, variant, file, planted, paths });
            return Ok(true);
        }
        Ok(false)
    }

    /// Judges a round and scores the findings that are new against the clean state.
    fn judge(&self, scores: &mut Scores, progress: &dyn Progress) -> Result<()> {
        let (clean, injections) = (self.clean, &self.injections);
        let before = clean.state;
        let changes: BTreeMap<String, FileChange> =
            injections.iter().flat_map(|i| i.planted.changes.clone()).collect();
        let source = Overlay::new(before.source, changes);
        let catalog = Catalog::read(&source, before.specs)?;
        let facts = TreeFacts::read(&source, &catalog, before.specs);
        let planted = State { source: &source, catalog: &catalog, facts: &facts, ..before };
        let found = judge_changed(before, planted, clean.rules, clean.all_rules, progress)?;
        scores.round(injections, &found, &|f| is_new(clean, f));
        Ok(())
    }
}

/// Returns the paths at which findings are attributed to a planted fault.
fn paths(
    catalog: &Catalog,
    file: &TableFile,
    variant: &Variant,
    planted: &Planted,
) -> BTreeSet<String> {
    let mut paths: BTreeSet<String> = planted.changes.keys().cloned().collect();
    paths.insert(file.entry.path.clone());
    let dir = catalog.dir_of(file);
    paths.extend(dir.map(|d| d.path.clone()));
    if variant.is_beside() {
        // Findings on a directory can be on its tables.
        let tables = dir.into_iter().flat_map(|d| &d.tables);
        paths.extend(tables.map(|i| catalog.tables[*i].entry.path.clone()));
    }
    let folders = paths.iter().filter_map(|p| Some(p.rsplit_once('/')?.0.to_owned()));
    paths.extend(folders.collect::<Vec<_>>());
    if variant.touches_system() {
        let system = catalog.systems.get(&file.place.system);
        paths.extend(system.map(|s| s.data_dir.clone()));
    }
    paths
}

/// Returns the names that a fault touches: its table, all tables of the directory if the fault is
/// beside them, or the system.
fn touched(catalog: &Catalog, file: &TableFile, variant: &Variant) -> Vec<String> {
    if variant.touches_system() {
        vec![format!("system {}", file.place.system)]
    } else if variant.is_beside() {
        let tables = catalog.dir_of(file).into_iter().flat_map(|d| &d.tables);
        tables.map(|i| catalog.tables[*i].table.clone()).collect()
    } else {
        vec![file.table.clone()]
    }
}

/// Returns true if the clean state lacks a finding; infos do not count, since their data may be
/// right.
fn is_new(clean: &CleanState<'_>, finding: &Finding) -> bool {
    // Two tables were alike before; the one that changed now is reported as the later.
    let is_old_pair = || {
        let other = finding.evidence.other.as_deref();
        other.is_some_and(|other| clean.alike.contains(other, &finding.path))
    };
    finding.severity != Severity::Info && finding.is_new() && !is_old_pair()
}

/// Judges planted waivers by applying them to the findings of the clean state.
fn waivers(clean: &CleanState<'_>, number: usize, text: &str, scores: &mut Scores) -> Result<()> {
    let path = ".perfdb-gate/waivers.yaml";
    let failed = |why: Reason| {
        Error::new(format!("{path}: {why}"), "it is in selftest/src/faults/faults.yaml")
    };
    let waivers = Waivers::parse(path, text).map_err(failed)?;
    let mut findings = clean.findings.to_vec();
    // Any day works: the planted waivers ended long ago or end in a thousand years.
    let applied = waivers.apply(&mut findings, Date::constant(2030, 1, 1));
    let applied = applied.map_err(|e| failed(e.to_string().into()))?;
    let rules = clean.all_rules;
    let unused = applied.unused_by(&|id| rules.contains(id), &|id| rules.contains(id));
    let item = Item::Waivers(WaiverContext { path, expired: &applied.expired, unused: &unused });
    let found: Vec<Finding> = rules.all().flat_map(|rule| rule.item(&item)).collect();
    scores.waivers(number, &found);
    Ok(())
}
