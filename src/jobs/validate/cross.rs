//! Tables against each other, and the database as a whole.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use tracing::debug;

use super::job::Job;
use super::surroundings::Sidecars;
use crate::base::error::{Error, Result};
use crate::base::threads;
use crate::checks::CrossContext;
use crate::checks::compare::sketch::Sketches;
use crate::checks::rule::Rule;
use crate::database::catalog::TableFile;
use crate::database::served::Shelf;
use crate::database::support::{self, Matrices};
use crate::findings::Finding;
use crate::planner::Models;

/// What rules ask for when they hold tables against each other, read once.
pub(super) struct CrossInputs<'a> {
    job: &'a Job<'a>,
    shelf: &'a Shelf<'a>,
    sidecars: &'a Sidecars,
    /// Paths of the tables under judgement.
    judged: BTreeSet<&'a str>,
    support: Matrices,
    models: Models,
    /// In how many ways tables name another origin, by path: each is decoded again once, however many
    /// others it is like.
    foreign: Mutex<BTreeMap<String, usize>>,
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
    pub fn read(
        job: &'a Job<'a>,
        shelf: &'a Shelf<'a>,
        sidecars: &'a Sidecars,
        judged: BTreeSet<&'a str>,
    ) -> Result<Self> {
        let needs = job.needs();
        let support = if needs.support_matrices {
            support::read(job.source, job.catalog)
        } else {
            Matrices::default()
        };
        let models = if needs.plans {
            Models::read(&job.specs.library, |_| true)?
        } else {
            Models::default()
        };
        Ok(Self { job, shelf, sidecars, judged, support, models, foreign: Mutex::default() })
    }

    /// What the rules find in some tables.
    pub fn cross(
        &self,
        tables: &[&TableFile],
        sketches: &Sketches,
        extent: CrossExtent,
    ) -> Result<Vec<Finding>> {
        let job = self.job;
        let of_path = |table: &&TableFile| self.judged.contains(table.entry.path.as_str());
        if extent == CrossExtent::Name && !tables.iter().any(of_path) {
            return Ok(Vec::new());
        }
        let cross = CrossContext {
            catalog: job.catalog,
            tables,
            support: &self.support,
            sharing: job.facts.sharing.as_ref(),
            sketches,
            shelf: self.shelf,
            meta: &self.sidecars.meta,
            ledger: job.ledger,
            judged: &self.judged,
            foreign: &|file| self.foreign(file),
            threads: job.threads,
            age: &|a, b| job.source.age(a, b),
            relative: Default::default(),
            curves: Default::default(),
            specs: job.specs,
            models: &self.models,
            pr: job.pr,
        };
        let order: Vec<usize> = (0..job.rules.len()).collect();
        let found =
            threads::map(&job.rules, &order, job.threads, |rule| by_rule(rule, &cross, extent));
        let found: Vec<Vec<Finding>> = found.into_iter().collect::<Result<_>>()?;
        let is_known =
            |f: &Finding| f.table.as_ref().is_none_or(|name| job.specs.tables.contains_key(name));
        Ok(found.into_iter().flatten().filter(is_known).collect())
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

/// What a rule finds in some tables.
fn by_rule(rule: &Rule, cross: &CrossContext<'_>, extent: CrossExtent) -> Result<Vec<Finding>> {
    let start = Instant::now();
    let judge = rule.check.judge();
    let found = match extent {
        CrossExtent::Name => judge.cross(rule, cross),
        CrossExtent::Whole => judge.whole(rule, cross),
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
