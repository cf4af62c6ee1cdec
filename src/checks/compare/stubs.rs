//! Stubs: tables, or slices of them, that hold next to nothing of their own, whatever is served beside
//! them.
//!
//! Their own size is held against that of the other versions here and of the tables of the systems of
//! the generation. A table of keys that no earlier version has is an addition, and small by right.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::stats::upper_median;
use crate::base::words::{count, plural};
use crate::checks::CrossContext;
use crate::checks::compare::sketch::{Sketch, Slice, slice_id, slice_words};
use crate::checks::rule::Rule;
use crate::database::catalog::TableFile;
use crate::findings::{Finding, Severity, SliceEvidence};
use crate::specs::Filling;

/// How small a table must be beside the others of its name and backend.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StubSize {
    /// Share of their median.
    median: f64,
    /// Share of their smallest tenth.
    tenth: f64,
    /// Share of the median where only systems of other generations are left to compare with.
    distant: f64,
    /// Other tables that a judgement takes.
    tables: usize,
    /// Share of keys that no earlier version has which makes an addition.
    addition: f64,
}

/// A slice, or the whole table, that is far smaller than elsewhere.
struct Stub<'a> {
    /// None of the whole table.
    slice: Option<&'a Slice>,
    own: usize,
    median: usize,
    others: usize,
}

impl StubSize {
    /// What is a stub of a table, as one finding.
    pub fn finding(&self, rule: &Rule, at: &CrossContext<'_>, file: &TableFile) -> Option<Finding> {
        let own = at.sketches.by_path.get(&file.entry.path).filter(|s| s.keys > 0)?;
        let (others, distant) = self.others(at, file)?;
        let least = if distant { self.distant } else { self.median };
        let whole = self.stub(own.keys, others.iter().map(|s| s.keys).collect(), least);
        let stubs: Vec<Stub<'_>> = match whole {
            Some(stub) if !self.adds(at, file, own, None) => vec![stub],
            Some(_) => Vec::new(),
            None => self.slices(at, file, own, &others, least),
        };
        if stubs.is_empty() {
            return None;
        }
        let told: Vec<String> = stubs.iter().take(3).map(Stub::say).collect();
        let mut message = told.join("; ");
        if stubs.len() > told.len() {
            message += &format!(" and {} more", plural(stubs.len() - told.len(), "slice"));
        }
        let mut severity = rule.severity.at_most(Severity::Warning);
        let editions = at.shelf.editions(file)?;
        let current = at.shelf.current(&file.place.system, editions)?;
        if at.partial(file) {
            message += "; its sidecar says status: partial";
            severity = severity.at_most(Severity::Info);
        } else if at.planned_so(file, own.rows as u64) {
            message += "; its sidecar says that this was all of the plan, and reuse.yaml declares the rest";
            severity = severity.at_most(Severity::Info);
        } else if current.version != file.place.version {
            message += &format!("; {} supersedes it", current.version);
            severity = severity.at_most(Severity::Info);
        }
        let slices = stubs.iter().filter_map(|s| {
            let figure = ("keys", serde_json::json!([s.own, s.median]));
            Some(SliceEvidence { slice: s.slice?.clone(), figure })
        });
        let finding = Finding::on_table(&rule.id, severity, file, message)
            .rows(stubs.iter().map(|s| s.own).sum())
            .parts(stubs.iter().map(|s| s.slice.map_or_else(String::new, slice_id)))
            .evidence("own_keys", own.keys)
            .slices(slices);
        Some(finding)
    }

    /// The other tables of its name and backend: other versions here and the systems of its generation;
    /// where these are too few, all other systems. None where these are.
    fn others<'a>(
        &self,
        at: &CrossContext<'a>,
        file: &TableFile,
    ) -> Option<(Vec<&'a Sketch>, bool)> {
        let generation = |system: &str| {
            let facts = at.catalog.systems.get(system)?.system.as_ref().ok()?;
            facts.generation()
        };
        let own = generation(&file.place.system);
        let is_other = |f: &&TableFile| {
            f.table == file.table && f.place.backend == file.place.backend && f.place != file.place
        };
        let is_near = |f: &&TableFile| {
            f.place.system == file.place.system
                || own.is_some() && generation(&f.place.system) == own
        };
        let all = || at.catalog.tables.iter().filter(is_other);
        let sketch = |f: &TableFile| at.sketches.by_path.get(&f.entry.path);
        let near: Vec<&Sketch> = all().filter(is_near).filter_map(sketch).collect();
        if near.len() >= self.tables {
            return Some((near, false));
        }
        let every: Vec<&Sketch> = all().filter_map(sketch).collect();
        (every.len() >= self.tables).then_some((every, true))
    }

    fn stub<'a>(&self, own: usize, mut others: Vec<usize>, least: f64) -> Option<Stub<'a>> {
        if others.len() < self.tables {
            return None;
        }
        others.sort_unstable();
        let tenth = others[others.len() / 10] as f64;
        let median = upper_median(&mut others.iter().map(|n| *n as f64).collect::<Vec<_>>());
        let few = (own as f64) < least * median && (own as f64) < self.tenth * tenth;
        few.then_some(Stub { slice: None, own, median: median as usize, others: others.len() })
    }

    /// Slices that are stubs, of a table that is none.
    fn slices<'a>(
        &self,
        at: &CrossContext<'_>,
        file: &TableFile,
        own: &'a Sketch,
        others: &[&Sketch],
        least: f64,
    ) -> Vec<Stub<'a>> {
        let sizes: Vec<BTreeMap<&Slice, usize>> = others.iter().map(|s| keys_by_slice(s)).collect();
        let mut found = Vec::new();
        for (slice, keys) in keys_by_slice(own) {
            let elsewhere = sizes.iter().filter_map(|s| s.get(slice).copied()).collect();
            let stub = self
                .stub(keys, elsewhere, least)
                .filter(|_| !self.adds(at, file, own, Some(slice)));
            found.extend(stub.map(|stub| Stub { slice: Some(slice), ..stub }));
        }
        found
    }

    /// Whether a table, or a slice of it, holds mostly keys that no earlier version has.
    fn adds(
        &self,
        at: &CrossContext<'_>,
        file: &TableFile,
        own: &Sketch,
        slice: Option<&Slice>,
    ) -> bool {
        // A table that versions do not share is compared with those of earlier versions all the same.
        let served = at.shelf.sources(&file.place, &file.table, Filling::Always);
        let before = served.donors.iter().chain(&served.earlier);
        let earlier: Vec<&Sketch> =
            before.filter_map(|f| at.sketches.by_path.get(&f.entry.path)).collect();
        let end = earlier.iter().map(|s| s.end).fold(own.end, u64::min);
        let known: BTreeSet<u64> =
            earlier.iter().flat_map(|s| s.points.iter().map(|p| p.hash)).collect();
        let is_of = |index: u32| slice.is_none_or(|slice| own.slices[index as usize] == *slice);
        let points = own.points.iter().filter(|p| p.hash <= end && is_of(u32::from(p.slice)));
        let (mut all, mut new) = (0, 0);
        for point in points {
            all += 1;
            new += usize::from(!known.contains(&{ point.hash }));
        }
        !earlier.is_empty() && new as f64 >= self.addition * f64::from(all)
    }
}

/// About how many keys each slice of a table has.
fn keys_by_slice(sketch: &Sketch) -> BTreeMap<&Slice, usize> {
    let mut points = vec![0_usize; sketch.slices.len()];
    sketch.points.iter().for_each(|p| points[p.slice as usize] += 1);
    let keys = |points: usize| {
        (points as f64 * sketch.keys as f64 / sketch.points.len().max(1) as f64).round() as usize
    };
    sketch.slices.iter().zip(points).map(|(slice, points)| (slice, keys(points))).collect()
}

impl Stub<'_> {
    fn say(&self) -> String {
        let of = self.slice.map_or_else(|| "the table".to_owned(), slice_words);
        let (own, others) = (plural(self.own, "key"), plural(self.others, "other table"));
        format!(
            "{of} holds {own} of its own, where {} have {} (median)",
            others,
            count(self.median)
        )
    }
}
