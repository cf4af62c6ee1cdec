//! Rounds of faults: each holds as many as do not see each other, and is judged once.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;

use super::fault::{Plant, Variant, is_of_system};
use super::overlay::{FileChange, Overlay};
use super::plant::{Injector, Planted};
use super::score::Scores;
use super::{Clean, Options};
use crate::base::error::{Error, Result};
use crate::base::progress::Progress;
use crate::base::random::Random;
use crate::base::reason::Reason;
use crate::checks::WaiverContext;
use crate::database::catalog::{Catalog, TableFile};
use crate::database::diff::files;
use crate::database::facts::TreeFacts;
use crate::database::state::State;
use crate::findings::waiver::Waivers;
use crate::findings::{Finding, Severity};
use crate::jobs::sanity::judge_change;

/// A fault that was injected in a round.
pub struct Injection<'a> {
    /// Which of the variants.
    pub number: usize,
    /// The fault and its size.
    pub variant: Variant<'a>,
    /// The table that has it.
    pub file: &'a TableFile,
    /// What was done.
    pub planted: Planted,
    /// Paths that it is found at: files that it changes, the table, its directory, its system.
    pub paths: BTreeSet<String>,
}

/// Faults that do not see each other: tables of one name each, or systems.
#[derive(Default)]
struct Round<'a> {
    injections: Vec<Injection<'a>>,
    taken: BTreeSet<String>,
}

/// A fault that waits for its round.
struct Waiting<'a> {
    number: usize,
    variant: Variant<'a>,
    /// Tables to try, in this order.
    candidates: Vec<usize>,
}

/// Plants every fault in this many tables, and judges round by round.
pub(super) fn run(
    clean: &Clean<'_>,
    tables: &[usize],
    options: &Options,
    scores: &mut Scores,
    progress: &dyn Progress,
) -> Result<()> {
    let mut random = Random::new(options.seed);
    let variants: Vec<Variant<'_>> =
        clean.faults.faults.iter().flat_map(super::fault::Fault::variants).collect();
    let mut waiting = Vec::new();
    for (number, variant) in variants.iter().enumerate() {
        scores.variant(*variant);
        if let Plant::Waivers(text) = &variant.fault.plant {
            waivers(clean, number, text, scores)?;
            continue;
        }
        for sample in 0..options.samples {
            let mut candidates = tables.to_vec();
            random.shuffle(&mut candidates);
            // A large table is chosen as often as a small one, but each system in turn.
            let systems: BTreeSet<&str> =
                tables.iter().map(|i| system(clean.state.catalog, *i)).collect();
            let turn = systems.iter().nth(sample % systems.len().max(1)).copied();
            candidates.sort_by_key(|i| Some(system(clean.state.catalog, *i)) != turn);
            if !(touches_system(*variant) && sample >= systems.len()) {
                waiting.push(Waiting { number, variant: *variant, candidates });
            }
        }
    }
    let all = waiting.len();
    random.shuffle(&mut waiting);
    let injector = Injector {
        source: clean.state.source,
        catalog: clean.state.catalog,
        specs: clean.state.specs,
        alike: &clean.alike,
    };
    // Tables where a variant does not grow, and those that have it already.
    let mut barren: BTreeSet<(usize, usize)> = BTreeSet::new();
    while !waiting.is_empty() {
        let mut round = Round::default();
        let mut left = Vec::new();
        for mut one in waiting {
            match round.take(&mut one, &injector, &mut barren, &mut random)? {
                Taken::Planted => {}
                Taken::Later => left.push(one),
                Taken::Never => {}
            }
        }
        waiting = left;
        judge(clean, &round, scores, progress)?;
        progress.step(all - waiting.len(), all);
    }
    Ok(())
}

fn system(catalog: &Catalog, table: usize) -> &str {
    &catalog.tables[table].place.system
}

fn touches_system(variant: Variant<'_>) -> bool {
    match &variant.fault.plant {
        Plant::Edit(edit) => is_of_system(&edit.file),
        Plant::Remove(name) => is_of_system(name),
        Plant::Write(text) => is_of_system(&text.file),
        _ => false,
    }
}

/// Whether a fault is planted beside the tables of a directory.
fn is_beside(variant: Variant<'_>) -> bool {
    matches!(variant.fault.plant, Plant::Remove(_) | Plant::Write(_) | Plant::Edit(_))
}

/// What became of a fault.
enum Taken {
    Planted,
    /// What it would touch is touched in this round.
    Later,
    /// It grows nowhere.
    Never,
}

impl<'a> Round<'a> {
    fn take(
        &mut self,
        one: &mut Waiting<'a>,
        injector: &Injector<'a>,
        barren: &mut BTreeSet<(usize, usize)>,
        random: &mut Random,
    ) -> Result<Taken> {
        // A table is decoded to see what grows there; some are enough for a round.
        const TRIES: usize = 8;
        let mut tries = 0;
        let mut later = false;
        for &table in &one.candidates {
            let file = &injector.catalog.tables[table];
            if barren.contains(&(one.number, table)) {
                continue;
            }
            let touched = touched(injector.catalog, file, one.variant);
            // A system's fault is seen by all its tables, so such faults have rounds of their own.
            let of_system = touches_system(one.variant);
            let free = self.injections.iter().all(|i| touches_system(i.variant) == of_system);
            if !free || tries == TRIES || touched.iter().any(|t| self.taken.contains(t)) {
                // Not another table in its place: rare names, which are free in more rounds, would be
                // drawn more often than others.
                later = true;
                break;
            }
            tries += 1;
            let planted = injector.plant(one.variant, file, random).map_err(|e| {
                let id = &one.variant.fault.id;
                Error::caused(format!("cannot plant {id}"), "faults are in rules/faults.yaml", e)
            })?;
            // The same fault in the same table would say the same.
            barren.insert((one.number, table));
            let Some(planted) = planted else { continue };
            let mut paths: BTreeSet<String> = planted.changes.keys().cloned().collect();
            paths.insert(file.entry.path.clone());
            paths.extend(injector.catalog.dir_of(file).map(|d| d.path.clone()));
            if is_beside(one.variant) {
                // What is said of a directory is said of its tables.
                let dir = injector.catalog.dir_of(file).into_iter().flat_map(|d| &d.tables);
                paths.extend(dir.map(|i| injector.catalog.tables[*i].entry.path.clone()));
            }
            let folders = paths.iter().filter_map(|p| Some(p.rsplit_once('/')?.0.to_owned()));
            paths.extend(folders.collect::<Vec<_>>());
            if touches_system(one.variant) {
                let system = injector.catalog.systems.get(&file.place.system);
                paths.extend(system.map(|s| s.data_dir.clone()));
            }
            self.taken.extend(touched);
            self.injections.push(Injection {
                number: one.number,
                variant: one.variant,
                file,
                planted,
                paths,
            });
            return Ok(Taken::Planted);
        }
        Ok(if later { Taken::Later } else { Taken::Never })
    }
}

/// What a fault touches: names of tables, of all in the directory where one beside them changes; a system.
fn touched(catalog: &Catalog, file: &TableFile, variant: Variant<'_>) -> Vec<String> {
    match &variant.fault.plant {
        _ if touches_system(variant) => vec![format!("system {}", file.place.system)],
        _ if is_beside(variant) => {
            let dir = catalog.dir_of(file).into_iter();
            dir.flat_map(|d| d.tables.iter().map(|i| catalog.tables[*i].table.clone())).collect()
        }
        _ => vec![file.table.clone()],
    }
}

/// Judges a round, and scores what is new against the clean state.
fn judge(
    clean: &Clean<'_>,
    round: &Round<'_>,
    scores: &mut Scores,
    progress: &dyn Progress,
) -> Result<()> {
    if round.injections.is_empty() {
        return Ok(());
    }
    let changes: BTreeMap<String, FileChange> =
        round.injections.iter().flat_map(|p| p.planted.changes.clone()).collect();
    let source = Overlay::new(clean.state.source, changes);
    let catalog = Catalog::read(&source, clean.state.specs)?;
    let facts = TreeFacts::read(&source, &catalog, clean.state.specs);
    let planted = State { source: &source, catalog: &catalog, facts: &facts, ..clean.state };
    let (before, files) = (clean.state, files(clean.state, planted));
    let found = judge_change((before, planted), &files, None, clean.terms, progress)?.findings;
    scores.round(&round.injections, &found, &|f| is_new(clean, f));
    Ok(())
}

/// Whether the clean state lacks a finding. Infos report what may be right.
fn is_new(clean: &Clean<'_>, finding: &Finding) -> bool {
    // Of two tables that were alike before, the one that changes now would be reported as the later.
    let is_old_pair = || {
        let other = finding.evidence.other.as_deref();
        other.is_some_and(|other| clean.alike.holds(other, &finding.path))
    };
    finding.severity != Severity::Info && finding.is_new() && !is_old_pair()
}

/// Waivers are judged by what came of applying them to the clean state's findings.
fn waivers(clean: &Clean<'_>, number: usize, text: &str, scores: &mut Scores) -> Result<()> {
    let path = ".perfdb-gate/waivers.yaml";
    let failed = |why: Reason| {
        Error::new(format!("{path}: {why}"), "it is in src/jobs/selftest/faults.yaml")
    };
    let waivers = Waivers::parse(path, text).map_err(failed)?;
    let mut findings = clean.findings.to_vec();
    // Any day will do for waivers that ended long ago, or end in a thousand years.
    let applied = waivers.apply(&mut findings, Date::constant(2030, 1, 1));
    let applied = applied.map_err(|e| failed(e.to_string().into()))?;
    let rules: Vec<std::sync::Arc<crate::checks::rule::Rule>> =
        clean.terms.all_rules.all().cloned().collect();
    let unused = applied.unused_by(&|id| clean.terms.all_rules.contains(id), &|id| {
        clean.terms.all_rules.contains(id)
    });
    let context = WaiverContext { path, expired: &applied.expired, unused: &unused };
    let told: Vec<Finding> =
        rules.iter().filter_map(|r| r.check.judge().waivers(r, &context)).collect();
    scores.waivers(number, &told);
    Ok(())
}
