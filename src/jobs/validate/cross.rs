//! Tables against each other, and the database as a whole.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use tracing::debug;

use super::batch::ReadTables;
use super::cached::CachedJob;
use super::job::Job;
use super::surroundings::Sidecars;
use crate::base::error::{Error, Result};
use crate::base::threads;
use crate::checks::CrossContext;
use crate::checks::compare::relative_latency::NamedPeers;
use crate::checks::compare::sketch::Sketches;
use crate::checks::rule::Rule;
use crate::database::catalog::TableFile;
use crate::database::served::Shelf;
use crate::database::source::Dated;
use crate::database::support::{self, Matrices};
use crate::findings::Finding;

/// What rules ask for when they hold tables against each other, read once.
pub(super) struct CrossInputs<'a> {
    job: &'a Job<'a>,
    shelf: &'a Shelf<'a>,
    sidecars: &'a Sidecars,
    /// Paths of the tables under judgement.
    judged: &'a BTreeSet<&'a str>,
    cached: Option<&'a CachedJob<'a>>,
    /// In how many ways tables name another origin, by path: each is decoded again once, however many
    /// others it is like.
    foreign: Mutex<BTreeMap<String, usize>>,
}

/// Which of two tables came to its place later, by their paths: 1 where the first did, 0 where they came at
/// once, none where nothing shows.
pub(super) type Ages = BTreeMap<[String; 2], Option<i8>>;

/// What rules kept of the tables of each name, by rule.
pub(super) type PeersByRule = BTreeMap<String, Vec<NamedPeers>>;

/// What holding tables against each other finds.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Crossed {
    pub findings: Vec<Finding>,
    /// What it was found by beside the tables.
    pub ages: Ages,
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
    pub fn new(
        job: &'a Job<'a>,
        shelf: &'a Shelf<'a>,
        sidecars: &'a Sidecars,
        judged: &'a BTreeSet<&'a str>,
        cached: Option<&'a CachedJob<'a>>,
    ) -> Self {
        Self { job, shelf, sidecars, judged, cached, foreign: Mutex::default() }
    }

    /// What the rules found in some tables, where an earlier run kept that.
    pub fn kept(&self, tables: &[&TableFile], extent: CrossExtent) -> Option<Crossed> {
        self.cached?.crossed(tables, extent)
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
        if let Some(cached) = self.cached.filter(|_| read.are_reproducible) {
            cached.keep_crossed(tables, extent, &crossed);
        }
        Ok(crossed)
    }

    fn find(
        &self,
        tables: &[&TableFile],
        sketches: &Sketches,
        extent: CrossExtent,
        peers: &PeersByRule,
    ) -> Result<Crossed> {
        let job = self.job;
        let is_judged = |table: &&TableFile| self.judged.contains(table.entry.path.as_str());
        if extent == CrossExtent::Name && !tables.iter().any(is_judged) {
            return Ok(Crossed::default());
        }
        let needs = job.needs();
        let is_whole = extent == CrossExtent::Whole;
        let support = if is_whole && needs.support_matrices {
            support::read(job.source, job.catalog)
        } else {
            Matrices::default()
        };
        let asks = |rule: &Arc<Rule>| rule.check.judge().asks_for_models(job.catalog, job.specs);
        let models =
            if is_whole && job.rules.iter().any(asks) { job.models.get()? } else { Arc::default() };
        let ages: Mutex<Ages> = Mutex::default();
        let age = |a: Dated<'_>, b: Dated<'_>| {
            let order = job.source.age(a, b);
            let pair = [a, b].map(|dated| dated.entry.path.clone());
            ages.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(pair, order.map(|o| o as i8));
            order
        };
        let cross = CrossContext {
            catalog: job.catalog,
            tables,
            support: &support,
            sharing: job.facts.sharing.as_ref(),
            sketches,
            shelf: self.shelf,
            meta: &self.sidecars.meta,
            ledger: job.ledger,
            judged: self.judged,
            foreign: &|file| self.foreign(file),
            over_bound: &|file| job.over_bound(file),
            threads: job.threads,
            age: &age,
            peers,
            curves: Default::default(),
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
        let found = threads::map(&rules, job.threads, |rule| by_rule(rule, &cross, extent));
        let is_known =
            |f: &Finding| f.table.as_ref().is_none_or(|name| job.specs.tables.contains_key(name));
        let mut crossed = Crossed::default();
        for (rule, found) in rules.into_iter().zip(found) {
            let (findings, peers) = found?;
            crossed.findings.extend(findings.into_iter().filter(is_known));
            crossed.peers.extend(peers.map(|peers| (rule.id.clone(), peers)));
        }
        drop(cross);
        crossed.ages = ages.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(crossed)
    }

    fn foreign(&self, file: &TableFile) -> usize {
        let path = file.entry.path.as_str();
        let known = || self.foreign.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ways) = known().get(path).copied() {
            return ways;
        }
        let ways = self.job.foreign(file, self.sidecars);
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
