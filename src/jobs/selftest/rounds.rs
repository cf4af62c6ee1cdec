//! Rounds of faults: each holds as many as do not see each other, and is judged once.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;

use super::clean::{CleanState, SelftestOptions};
use super::fault::{Plant, Variant};
use super::injection::{Injection, Planted};
use super::overlay::{FileChange, Overlay};
use super::score::Scores;
use crate::base::error::{Error, Result};
use crate::base::progress::Progress;
use crate::base::random::Random;
use crate::base::reason::Reason;
use crate::checks::{Item, WaiverContext};
use crate::database::catalog::{Catalog, TableFile};
use crate::database::diff::files;
use crate::database::facts::TreeFacts;
use crate::database::state::State;
use crate::findings::waiver::Waivers;
use crate::findings::{Finding, Severity};
use crate::jobs::sanity::judge_change;

/// Faults that do not see each other: tables of one name each, or systems.
struct Round<'a> {
    clean: &'a CleanState<'a>,
    injections: Vec<Injection<'a>>,
    /// Names of tables and systems that the injections touch.
    taken: BTreeSet<String>,
}

/// A fault that waits for its round.
struct Waiting<'a> {
    number: usize,
    variant: &'a Variant,
    /// Tables to try, in this order.
    candidates: Vec<usize>,
}

/// Plants every fault in this many tables, and judges round by round.
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
            // A large table is chosen as often as a small one, but each system in turn.
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
            if round.take(&mut fault, &mut tried, &mut random)? == Taken::Later {
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

/// What became of a fault.
#[derive(PartialEq, Eq)]
enum Taken {
    Planted,
    /// What it would touch is touched in this round.
    Later,
    /// It does not grow in any table.
    Never,
}

impl<'a> Round<'a> {
    /// Plants a fault in the first of its tables where it grows. `tried` has the tables where each
    /// variant was planted or does not grow: the same fault there would say the same.
    fn take(
        &mut self,
        fault: &mut Waiting<'a>,
        tried: &mut BTreeSet<(usize, usize)>,
        random: &mut Random,
    ) -> Result<Taken> {
        // A table is decoded to see what grows there; some are enough for a round.
        const TRIES: usize = 8;
        let (number, variant) = (fault.number, fault.variant);
        let catalog = self.clean.state.catalog;
        // A system's fault is seen by all its tables, so such faults have rounds of their own.
        let of_system = variant.touches_system();
        let is_free = self.injections.iter().all(|i| i.variant.touches_system() == of_system);
        fault.candidates.retain(|table| !tried.contains(&(number, *table)));
        for _ in 0..TRIES {
            let Some(table) = fault.candidates.first() else { return Ok(Taken::Never) };
            let file = &catalog.tables[*table];
            let touched = touched(catalog, file, variant);
            // Not another table in its place: rare names, which are free in more rounds, would be drawn
            // more often than others.
            if !is_free || touched.iter().any(|name| self.taken.contains(name)) {
                return Ok(Taken::Later);
            }
            tried.insert((number, fault.candidates.remove(0)));
            let planted = self.clean.plant(variant, file, random).map_err(|e| {
                let hint = "faults are in rules/faults.yaml";
                Error::caused(format!("cannot plant {}", variant.fault.id), hint, e)
            })?;
            let Some(planted) = planted else { continue };
            let paths = paths(catalog, file, variant, &planted);
            self.taken.extend(touched);
            self.injections.push(Injection { number, variant, file, planted, paths });
            return Ok(Taken::Planted);
        }
        Ok(Taken::Later)
    }
}

/// The paths that a planted fault is found at.
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
        // Findings on a directory are findings on its tables.
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

/// What a fault touches: names of tables, of all in the directory where one beside them changes; a system.
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

impl Round<'_> {
    /// Judges a round, and scores what is new against the clean state.
    fn judge(&self, scores: &mut Scores, progress: &dyn Progress) -> Result<()> {
        let (clean, injections) = (self.clean, &self.injections);
        let before = clean.state;
        let changes: BTreeMap<String, FileChange> =
            injections.iter().flat_map(|i| i.planted.changes.clone()).collect();
        let source = Overlay::new(before.source, changes);
        let catalog = Catalog::read(&source, before.specs)?;
        let facts = TreeFacts::read(&source, &catalog, before.specs);
        let planted = State { source: &source, catalog: &catalog, facts: &facts, ..before };
        let files = files(before, planted);
        let found = judge_change((before, planted), &files, None, clean.terms, progress)?.findings;
        scores.round(injections, &found, &|f| is_new(clean, f));
        Ok(())
    }
}

/// Whether the clean state lacks a finding. Infos report what may be right.
fn is_new(clean: &CleanState<'_>, finding: &Finding) -> bool {
    // Of two tables that were alike before, the one that changes now would be reported as the later.
    let is_old_pair = || {
        let other = finding.evidence.other.as_deref();
        other.is_some_and(|other| clean.alike.holds(other, &finding.path))
    };
    finding.severity != Severity::Info && finding.is_new() && !is_old_pair()
}

/// Waivers are judged by what came of applying them to the clean state's findings.
fn waivers(clean: &CleanState<'_>, number: usize, text: &str, scores: &mut Scores) -> Result<()> {
    let path = ".perfdb-gate/waivers.yaml";
    let failed = |why: Reason| {
        Error::new(format!("{path}: {why}"), "it is in src/jobs/selftest/faults.yaml")
    };
    let waivers = Waivers::parse(path, text).map_err(failed)?;
    let mut findings = clean.findings.to_vec();
    // Any day will do for waivers that ended long ago, or end in a thousand years.
    let applied = waivers.apply(&mut findings, Date::constant(2030, 1, 1));
    let applied = applied.map_err(|e| failed(e.to_string().into()))?;
    let rules = clean.terms.all_rules;
    let unused = applied.unused_by(&|id| rules.contains(id), &|id| rules.contains(id));
    let item = Item::Waivers(WaiverContext { path, expired: &applied.expired, unused: &unused });
    let told = rules.all().flat_map(|rule| rule.item(&item));
    let told: Vec<Finding> = told.collect();
    scores.waivers(number, &told);
    Ok(())
}
