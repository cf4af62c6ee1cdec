//! Tables against each other, and the database as a whole.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use rayon::prelude::*;
use tracing::debug;

use super::batch::ReadTables;
use super::job::Job;
use super::surroundings::Sidecars;
use crate::base::error::{Error, Result};
use crate::checks::CrossContext;
use crate::checks::compare::kin::Kin;
use crate::checks::compare::relative_latency::NamedPeers;
use crate::checks::compare::sketch::Sketches;
use crate::checks::rule::Rule;
use crate::database::catalog::TableFile;
use crate::database::served::Shelf;
use crate::database::source::Dated;
use crate::database::support::Matrices;
use crate::findings::Finding;

/// What was read beside the tables.
#[derive(Clone, Copy)]
pub(super) struct Beside<'a> {
    pub shelf: &'a Shelf<'a>,
    pub sidecars: &'a Sidecars,
    pub support: &'a Matrices,
}

/// What rules ask for when they hold tables against each other, read once.
pub(super) struct CrossInputs<'a> {
    job: &'a Job<'a>,
    beside: Beside<'a>,
    /// Paths of the tables under judgement.
    judged: &'a BTreeSet<&'a str>,
    /// In how many ways tables name another origin, by path: each is decoded again once, however many
    /// others it is like.
    foreign: Mutex<BTreeMap<String, usize>>,
}

/// What rules kept of the tables of each name, by rule.
pub(super) type PeersByRule = BTreeMap<String, Vec<NamedPeers>>;

/// What holding tables against each other finds.
#[derive(Debug, Default)]
pub(super) struct Crossed {
    pub findings: Vec<Finding>,
    /// Rows of each table of a name that can be read, by path.
    pub rows: BTreeMap<String, usize>,
    /// What rules keep of the tables of a name to judge the database as a whole by, by rule.
    pub peers: BTreeMap<String, NamedPeers>,
}

/// What is judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum CrossExtent {
    /// The tables of one name against each other.
    Name,
    /// The database as a whole.
    Whole,
}

impl<'a> CrossInputs<'a> {
    pub fn new(job: &'a Job<'a>, beside: Beside<'a>, judged: &'a BTreeSet<&'a str>) -> Self {
        Self { job, beside, judged, foreign: Mutex::default() }
    }

    /// What the rules find in some tables, of which those that matter were `read`; `peers` are what they
    /// kept of each name.
    pub fn cross(
        &self,
        tables: &[&TableFile],
        extent: CrossExtent,
        read: &ReadTables,
        peers: &PeersByRule,
    ) -> Result<Crossed> {
        let sketches = &read.sketches;
        let mut crossed = self.find(tables, sketches, extent, peers)?;
        if extent == CrossExtent::Name {
            let rows = sketches.by_path.iter().map(|(path, sketch)| (path.clone(), sketch.rows));
            crossed.rows = rows.collect();
        }
        Ok(crossed)
    }

    fn find<'t>(
        &self,
        tables: &[&'t TableFile],
        sketches: &'t Sketches,
        extent: CrossExtent,
        peers: &PeersByRule,
    ) -> Result<Crossed> {
        let job = self.job;
        let is_judged = |table: &&TableFile| self.judged.contains(table.entry.path.as_str());
        if extent == CrossExtent::Name && !tables.iter().any(is_judged) {
            return Ok(Crossed::default());
        }
        let is_whole = extent == CrossExtent::Whole;
        let asks = |rule: &Arc<Rule>| rule.check.judge().asks_for_models(job.catalog, job.specs);
        let models =
            if is_whole && job.rules.iter().any(asks) { job.models.get()? } else { Arc::default() };
        let age = |a: Dated<'_>, b: Dated<'_>| job.source.age(a, b);
        let sketched = |file: &'t TableFile| Some((file, sketches.by_path.get(&file.entry.path)?));
        let kin = Kin::of(tables.iter().copied().filter_map(sketched));
        let cross = CrossContext {
            catalog: job.catalog,
            tables,
            support: self.beside.support,
            sharing: job.facts.sharing.as_ref(),
            sketches,
            shelf: self.beside.shelf,
            meta: &self.beside.sidecars.meta,
            ledger: job.ledger,
            judged: self.judged,
            foreign: &|file| self.foreign(file),
            over_bound: &|file| job.over_bound(file),
            age: &age,
            peers,
            curves: Default::default(),
            kin: &kin,
            specs: job.specs,
            models: &models,
            pr: job.pr,
        };
        let rules: Vec<&Arc<Rule>> =
            job.rules.iter().filter(|r| r.check.judge().compares()).collect();
        // Several rules ask for them: those that come later would wait, and keep a thread from helping.
        if extent == CrossExtent::Name && rules.iter().any(|r| r.check.needs().curves.is_some()) {
            cross.curve_scores();
        }
        let found: Vec<_> = rules.par_iter().map(|rule| by_rule(rule, &cross, extent)).collect();
        let is_known =
            |f: &Finding| f.table.as_ref().is_none_or(|name| job.specs.tables.contains_key(name));
        let mut crossed = Crossed::default();
        for (rule, found) in rules.into_iter().zip(found) {
            let (findings, peers) = found?;
            crossed.findings.extend(findings.into_iter().filter(is_known));
            crossed.peers.extend(peers.map(|peers| (rule.id.clone(), peers)));
        }
        Ok(crossed)
    }

    fn foreign(&self, file: &TableFile) -> usize {
        let path = file.entry.path.as_str();
        let known = || self.foreign.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ways) = known().get(path).copied() {
            return ways;
        }
        let ways = self.job.foreign(file, self.beside.sidecars);
        known().insert(path.to_owned(), ways);
        ways
    }
}

/// What a rule finds in some tables, and what it keeps of those of a name.
fn by_rule(
    rule: &Rule,
    cross: &CrossContext<'_>,
    extent: CrossExtent,
) -> Result<(Vec<Finding>, Option<NamedPeers>)> {
    let start = Instant::now();
    let judge = rule.check.judge();
    let found = match extent {
        CrossExtent::Name => judge.cross(rule, cross).map(|found| (found, judge.peers(cross))),
        CrossExtent::Whole => judge.whole(rule, cross).map(|found| (found, None)),
    };
    let table =
        cross.tables.first().filter(|_| extent == CrossExtent::Name).map(|file| &file.table);
    let what = match extent {
        CrossExtent::Name => "compared tables",
        CrossExtent::Whole => "checked the database as a whole",
    };
    debug!(rule = rule.id, table, took = ?start.elapsed(), "{what}");
    let hint = "the formula is in rules/limits.yaml";
    found.map_err(|e| Error::caused(format!("cannot check the rule {}", rule.id), hint, e))
}
