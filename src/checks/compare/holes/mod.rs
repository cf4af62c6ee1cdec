//! Slices and blocks of the grid that nearby systems and versions have and that a table would not
//! serve.
//!
//! The version that counts is judged, against what the nearest systems serve of theirs. What is
//! missing is put into few words by [`crate::checks::compare::blocks`]; what a failure or a limit explains is set
//! apart before.

mod excuse;
mod hole;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use self::excuse::Excuse;
use self::hole::Hole;
use crate::base::expr::ExprError;
use crate::base::words::count;
use crate::checks::CrossContext;
use crate::checks::compare::blocks::{self, Search, State};
use crate::checks::compare::gaps::{Compared, Reference};
use crate::checks::compare::sketch::Sketch;
use crate::checks::rule::Rule;
use crate::database::catalog::TableFile;
use crate::database::served::Nearness;
use crate::findings::{EXAMPLES, Finding, Severity};
use crate::specs::TableSpec;

/// How large a hole has to be.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Size {
    /// Share of the references' keys.
    share: f64,
    /// Points of a sketch.
    points: usize,
    /// Share of a block that is missing.
    purity: f64,
}

/// A table, what it is compared with and what it lacks.
struct Case<'a> {
    at: &'a CrossContext<'a>,
    spec: &'a TableSpec,
    file: &'a TableFile,
    references: Vec<Reference<'a>>,
    found: Compared<'a>,
    /// Why what is missing may be right as a whole.
    excuse: Option<String>,
}

/// What is missing of a table, in words.
struct Told<'a> {
    holes: Vec<Hole>,
    /// Keys that a limit or a failure explains, by what explains them.
    explained: BTreeMap<Excuse<'a>, usize>,
}

impl Size {
    /// One finding for each table that lacks what its references have.
    pub fn check(&self, rule: &Rule, at: &CrossContext<'_>) -> Result<Vec<Finding>, ExprError> {
        let mut found = Vec::new();
        for file in at.catalog.tables.iter().filter(|f| at.judged(f)) {
            let Some(case) = Case::new(at, file) else { continue };
            let least = self.points.max((self.share * case.found.len() as f64).ceil() as usize);
            let search = Search { least, purity: self.purity, most: EXAMPLES };
            if case.found.missing >= least {
                found.extend(case.finding(rule, &case.told(search)?));
            }
        }
        Ok(found)
    }
}

impl<'a> Case<'a> {
    /// None where there is nothing to compare with, or the file is not the version that counts: what
    /// a superseded version lacks, the current one has or is told of.
    fn new(at: &'a CrossContext<'a>, file: &'a TableFile) -> Option<Self> {
        let spec = at.specs.tables.get(&file.table)?;
        let editions = at.shelf.editions(file)?;
        let current = at.shelf.current(&file.place.system, editions)?;
        if current.files[0].entry.path != file.entry.path {
            return None;
        }
        let sketches = |files: &[&TableFile]| -> Vec<&'a Sketch> {
            files.iter().filter_map(|f| at.sketches.by_path.get(&f.entry.path)).collect()
        };
        let served: Vec<_> = at.shelf.served(spec, editions, current).files().collect();
        let own = sketches(&served);
        if own.iter().all(|s| s.points.is_empty()) {
            return None;
        }

        let (nearness, near) = at.shelf.near(file);
        let mut references = Vec::new();
        for (system, editions, edition) in near {
            let there: Vec<_> = at.shelf.served(spec, editions, edition).fresh().collect();
            let (version, sketches) = (edition.version, sketches(&there));
            references.push(Reference { system: Some(system), version, sketches });
        }
        if !spec.shared {
            for other in editions.iter().filter(|e| e.version != current.version) {
                let sketches = sketches(&other.files);
                references.push(Reference { system: None, version: other.version, sketches });
            }
        }
        references.retain(|r| r.sketches.iter().any(|s| !s.points.is_empty()));
        let mut found = Compared::new(&own, &references);
        if nearness == Nearness::SameVersion {
            found.shared_by_systems(&references);
            found.of_kernels(spec, &own);
        }
        let unread = served.iter().find(|f| !at.sketches.by_path.contains_key(&f.entry.path));
        let excuse = if at.partial(file) {
            Some("its sidecar says status: partial".to_owned())
        } else {
            unread.map(|f| format!("{} cannot be read", f.entry.path))
        };
        Some(Self { at, spec, file, references, found, excuse })
    }

    fn told(&self, search: Search) -> Result<Told<'a>, ExprError> {
        let found = &self.found;
        let points = found.points(self.spec);
        let explained = self.explained(&points)?;
        let state = |p: usize| match (found.served(p), explained.contains_key(&p)) {
            (true, _) => State::There,
            (false, true) => State::Excused,
            (false, false) => State::Missing,
        };
        let states: Vec<State> = (0..found.len()).map(state).collect();
        let blocks = blocks::find(&points, &states, search);
        let mut by_excuse: BTreeMap<Excuse<'a>, usize> = BTreeMap::new();
        for why in explained.into_values() {
            *by_excuse.entry(why).or_default() += 1;
        }
        Ok(Told {
            // A block without conditions is the whole table, which is row-count-parity's to tell.
            holes: blocks
                .iter()
                .filter(|b| !b.conditions.is_empty())
                .map(|b| Hole::new(self, &points, &states, b))
                .collect(),
            explained: by_excuse
                .into_iter()
                .filter(|(_, points)| *points >= search.least)
                .map(|(why, points)| (why, found.keys(points)))
                .collect(),
        })
    }

    /// A count of keys for people; an estimate says so, with two digits.
    fn about(&self, keys: usize) -> String {
        if self.found.share >= 1.0 {
            return count(keys);
        }
        let unit = 10_usize.pow(keys.max(1).ilog10().saturating_sub(1));
        format!("about {}", count((keys + unit / 2) / unit * unit))
    }

    fn finding(&self, rule: &Rule, told: &Told<'_>) -> Option<Finding> {
        let holes: Vec<&Hole> = told.holes.iter().filter(|h| h.matters()).collect();
        if holes.is_empty() && told.explained.is_empty() {
            return None;
        }
        let reference = self.found.keys(self.found.len());
        let mut said: Vec<String> = Vec::new();
        if !holes.is_empty() {
            let one = |h: &&Hole| {
                format!("{} ({} keys, had by {})", h.words, self.about(h.keys), h.shares())
            };
            let all: Vec<String> = holes.iter().map(one).collect();
            let why = self.excuse.as_ref().map(|e| format!("; {e}")).unwrap_or_default();
            said.push(format!("it would not serve {}{why}", all.join("; ")));
        }
        for (why, keys) in &told.explained {
            said.push(format!("{} keys are missing by {why}", self.about(*keys)));
        }
        let severity = match (&self.excuse, holes.is_empty()) {
            (None, false) => rule.severity,
            _ => Severity::Info,
        };
        let missing =
            holes.iter().map(|h| h.keys).sum::<usize>() + told.explained.values().sum::<usize>();
        let names = self.references.iter().map(Reference::name);
        let message = format!(
            "of {} keys of {}, {}",
            self.about(reference),
            names.collect::<Vec<_>>().join(", "),
            said.join("; ")
        );
        let mut finding = Finding::on_table(&rule.id, severity, self.file, message)
            .rows(missing)
            .parts(holes.iter().map(|h| h.words.as_str()))
            .evidence("reference_keys", reference)
            .evidence("missing_keys", missing)
            .evidence("estimated", self.found.share < 1.0)
            .evidence("holes", holes.iter().map(|h| h.json()).collect::<Vec<_>>())
            .examples(
                holes.iter().flat_map(|h| h.examples.iter().cloned()).take(EXAMPLES).collect(),
            );
        if !told.explained.is_empty() {
            let explained = told.explained.iter().map(
                |(why, keys)| json!({"by": why.to_string(), "reason": why.reason(), "keys": keys}),
            );
            finding = finding.evidence("explained", explained.collect::<Vec<_>>());
        }
        if let Some(excuse) = &self.excuse {
            finding = finding.evidence("explained_by", excuse.as_str());
        }
        Some(finding)
    }
}
