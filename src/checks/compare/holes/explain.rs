//! Which missing keys a classified failure or a declared limit explains.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::case::CoverageCase;
use super::references::ReferencePoints;
use crate::base::expr::{ExprError, Lookup, NULL_CODE, Scope, Vals, Value};
use crate::database::coverage::{Cell, CoveredPoints, Kind};
use crate::findings::Explanation;
use crate::specs::NEAREST;
use crate::specs::system::System;

/// Why a key is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MissingReason<'a> {
    /// A limit's id and its reason.
    Limit(&'a str, &'a str),
    /// The error of a classified failure.
    Failure(&'a str),
}

impl From<MissingReason<'_>> for Explanation {
    fn from(reason: MissingReason<'_>) -> Self {
        match reason {
            MissingReason::Limit(id, reason) => {
                Self::Limit { id: id.into(), reason: reason.into() }
            }
            MissingReason::Failure(error) => Self::Failure(error.into()),
        }
    }
}

impl<'a> CoverageCase<'a> {
    /// The missing points that a failure or a limit explains, and what does.
    pub(super) fn explained(
        &self,
        points: &CoveredPoints,
    ) -> Result<BTreeMap<usize, MissingReason<'a>>, ExprError> {
        let missing = (0..self.found.len()).filter(|p| !self.found.served(*p));
        let mut explained = self.failed(points, missing.clone());
        // The nearest systems' figures are the same for all keys that the same systems have.
        let mut by_had: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for p in missing.filter(|p| !explained.contains_key(p)) {
            by_had.entry(self.found.had_by(p)).or_default().push(p);
        }
        let limits = self.at.state.specs.limits.iter().filter(|(_, l)| l.concerns(&self.spec.name));
        let limits: Vec<_> = limits.collect();
        let facts = MissingFacts::new(&self.found, points);
        for within in by_had.into_values() {
            let has = |(i, _): &(usize, _)| self.found.has(*i, within[0]);
            let having = self.references.iter().enumerate().filter(has);
            let systems =
                having.map(|(_, r)| r.system.unwrap_or(&self.file.place.system)).collect();
            let scope = MissingKeys { case: self, points, within: &within, facts: &facts, systems };
            for (id, limit) in &limits {
                let holds = limit.holds.mask(&scope)?;
                for (_, p) in within.iter().enumerate().filter(|(i, _)| holds.get(*i)) {
                    explained.entry(*p).or_insert(MissingReason::Limit(id, &limit.reason));
                }
            }
        }
        Ok(explained)
    }

    fn failed(
        &self,
        points: &CoveredPoints,
        missing: impl Iterator<Item = usize>,
    ) -> BTreeMap<usize, MissingReason<'a>> {
        let Some(ledger) = self.at.ledger else { return BTreeMap::new() };
        let tables: Vec<&str> = self.at.state.specs.tables.keys().map(String::as_str).collect();
        let place = &self.file.place;
        let failures = ledger.of(self.spec, &place.backend, &place.version, &tables);
        let explain =
            |p| Some((p, MissingReason::Failure(failures.explain(self.spec, points, p)?)));
        missing.filter_map(explain).collect()
    }

    fn system(&self, name: &str) -> Option<&System> {
        self.at.state.catalog.system(name, self.at.state.specs)
    }
}

/// What a limit can ask of a missing key, a point each.
struct MissingFacts {
    /// Whether a point of its slice and shape that is as large along every axis would be served.
    larger_served: Vec<bool>,
    /// How much of its slice (its names alone) is missing.
    missing_share: Vec<f64>,
}

impl MissingFacts {
    fn new(found: &ReferencePoints<'_>, points: &CoveredPoints) -> Self {
        let slices = points.slices(&[Kind::Name, Kind::Shape]);
        let mut served: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for p in (0..found.len()).filter(|p| found.served(*p)) {
            served.entry(slices[p]).or_default().push(p);
        }
        let grid: Vec<&Vec<u32>> =
            points.parts.iter().filter(|p| p.kind == Kind::Grid).map(|p| &p.codes).collect();
        let larger = |p: usize| {
            let as_large = |q: &usize| grid.iter().all(|codes| codes[*q] >= codes[p]);
            !found.served(p) && served.get(&slices[p]).is_some_and(|s| s.iter().any(as_large))
        };
        let names = points.slices(&[Kind::Name]);
        let mut counts: BTreeMap<u32, [f64; 2]> = BTreeMap::new();
        for (p, slice) in names.iter().enumerate() {
            let count = counts.entry(*slice).or_default();
            count[0] += 1.0;
            count[1] += f64::from(u8::from(!found.served(p)));
        }
        Self {
            larger_served: (0..found.len()).map(larger).collect(),
            missing_share: names.iter().map(|slice| counts[slice][1] / counts[slice][0]).collect(),
        }
    }
}

/// Missing keys as a limit's predicate sees them.
struct MissingKeys<'a> {
    case: &'a CoverageCase<'a>,
    points: &'a CoveredPoints,
    within: &'a [usize],
    facts: &'a MissingFacts,
    /// Systems that have them.
    systems: BTreeSet<&'a str>,
}

impl MissingKeys<'_> {
    /// The values of a part of the key.
    fn part(&self, part: usize) -> Value<'_> {
        let part = &self.points.parts[part];
        let codes = self.within.iter().map(|p| part.codes[*p]);
        if part.kind == Kind::Name {
            let text = |cell: &Cell| match cell {
                Cell::Text(t) => t.clone(),
                Cell::Number(_) | Cell::Null => Default::default(),
            };
            let known = |c: u32| matches!(part.values[c as usize], Cell::Text(_));
            let codes = codes.map(|c| if known(c) { c } else { NULL_CODE }).collect();
            Value::Text(Vals::Rows(codes), Cow::Owned(part.values.iter().map(text).collect()))
        } else {
            let number = |c: u32| match &part.values[c as usize] {
                Cell::Number(n) => *n,
                Cell::Text(_) | Cell::Null => f64::NAN,
            };
            Value::Number(Vals::Rows(codes.map(number).collect()))
        }
    }
}

impl Scope for MissingKeys<'_> {
    fn rows(&self) -> usize {
        self.within.len()
    }

    fn column(&self, name: &str) -> Option<Value<'_>> {
        if let Some(part) = self.points.parts.iter().position(|p| p.name == name) {
            return Some(self.part(part));
        }
        let place = &self.case.file.place;
        let text = |t: &str| Value::Text(Vals::One(0), Cow::Owned(vec![t.into()]));
        let points = || self.within.iter();
        Some(match name {
            "system" => text(&place.system),
            "backend" => text(&place.backend),
            "version" => text(&place.version),
            "larger_served" => {
                Value::Bool(Vals::Rows(points().map(|p| self.facts.larger_served[*p]).collect()))
            }
            "missing_share" => {
                Value::Number(Vals::Rows(points().map(|p| self.facts.missing_share[*p]).collect()))
            }
            _ => return None,
        })
    }

    fn field(&self, path: &str) -> Option<f64> {
        match path.strip_prefix(NEAREST) {
            None => self.case.system(&self.case.file.place.system)?.figure(path),
            Some(path) => {
                let figures = self.systems.iter().map(|s| self.case.system(s)?.figure(path));
                // Of a system whose figure is not known nothing can be said.
                figures.collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::min)
            }
        }
    }

    fn lookup(&self, function: &Lookup, text: &str) -> Option<f64> {
        let system = self.case.system(&self.case.file.place.system);
        self.case.at.state.specs.lookups.get(function, text, system)
    }
}
