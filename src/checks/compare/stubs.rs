//! Stubs: tables, or slices of them, that hold next to nothing of their own, whatever is served beside
//! them.
//!
//! Their own size is held against that of the other versions here and of the systems of the generation,
//! and against that of all other tables of the name and backend, whatever their system and version. A
//! table of keys that no earlier version has is an addition, and small by right.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::stats::upper_median;
use crate::base::words::{count, names, plural};
use crate::checks::compare::served_keys::keys;
use crate::checks::compare::sketch::{Sketch, Slice, slice_id, slice_words};
use crate::checks::context::CrossContext;
use crate::checks::rule_head::RuleHead;
use crate::database::catalog::{Place, TableFile};
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
    /// Other tables that a judgement takes.
    tables: usize,
    /// Share of keys that no earlier version has which makes an addition.
    addition: f64,
}

/// The tables of a name, whatever their system, backend and version, and how many keys each slice of them
/// has.
#[derive(Default)]
pub struct Namesakes<'a> {
    tables: Vec<NumberedTable<'a>>,
    /// Numbers of the tables by path.
    numbers: BTreeMap<&'a str, usize>,
    /// The number of a table, and how many keys of the slice it has, about.
    by_slice: BTreeMap<&'a Slice, Vec<(usize, usize)>>,
}

/// A table with numbers for the names of its place: each is compared with every other.
struct NumberedTable<'a> {
    sketch: &'a Sketch,
    backend: usize,
    /// System, backend and version.
    place: usize,
    /// The generation of its system, or the system where none is known.
    machines: usize,
}

/// A slice, or the whole table, that is far smaller than elsewhere.
struct Stub<'a> {
    /// None of the whole table.
    slice: Option<&'a Slice>,
    own: usize,
    median: usize,
    others: usize,
}

/// A table whose size is judged.
#[derive(Clone, Copy)]
struct SizedTable<'t, 'c> {
    at: &'t CrossContext<'c>,
    file: &'t TableFile,
    sketch: &'t Sketch,
    namesakes: &'t Namesakes<'c>,
}

/// The number of a name, the next one where it is new.
fn number_of<K: Ord>(numbers: &mut BTreeMap<K, usize>, name: K) -> usize {
    let next = numbers.len();
    *numbers.entry(name).or_insert(next)
}

impl<'a> Namesakes<'a> {
    /// The tables that can be read.
    pub fn of(at: &CrossContext<'a>) -> Self {
        let mut namesakes = Self::default();
        let (mut backends, mut places, mut machines) =
            (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for (file, sketch) in at.sketched() {
            let Place { system, backend, version, .. } = &file.place;
            let generation =
                at.state.catalog.system(system, at.state.specs).and_then(|s| s.generation());
            let named =
                generation.map_or((None, Some(system)), |generation| (Some(generation), None));
            let number = namesakes.tables.len();
            namesakes.numbers.insert(&file.entry.path, number);
            namesakes.tables.push(NumberedTable {
                sketch,
                backend: number_of(&mut backends, backend),
                place: number_of(&mut places, (system, backend, version)),
                machines: number_of(&mut machines, named),
            });
            for (slice, keys) in keys_by_slice(sketch) {
                namesakes.by_slice.entry(slice).or_default().push((number, keys));
            }
        }
        namesakes
    }

    /// The others of a table's backend, by number, in order; where these are too few, all others.
    fn others(&self, own: &NumberedTable<'_>, least: usize) -> Vec<usize> {
        let of_backend = self.chosen(own, |other| other.backend == own.backend);
        if of_backend.len() >= least { of_backend } else { self.chosen(own, |_| true) }
    }

    /// The others of a table's backend on its system and on those of its generation.
    fn near(&self, own: &NumberedTable<'_>) -> Vec<usize> {
        self.chosen(own, |other| other.backend == own.backend && other.machines == own.machines)
    }

    /// The others of some kind. The same version in another layout is the same table.
    fn chosen(
        &self,
        own: &NumberedTable<'_>,
        is_chosen: impl Fn(&NumberedTable<'_>) -> bool,
    ) -> Vec<usize> {
        let all = self.tables.iter().enumerate();
        all.filter(|(_, other)| other.place != own.place && is_chosen(other))
            .map(|(i, _)| i)
            .collect()
    }

    fn keys(&self, table: usize) -> usize {
        self.tables[table].sketch.keys
    }

    /// How many keys of a slice each of some tables has, of those that have any.
    fn keys_of(&self, slice: &Slice, tables: &[usize]) -> Vec<usize> {
        let held = self.by_slice.get(slice).into_iter().flatten();
        let held = held.filter(|(table, _)| tables.binary_search(table).is_ok());
        held.map(|(_, keys)| *keys).collect()
    }
}

impl StubSize {
    /// What is a stub of a table, as one finding.
    pub fn finding<'a>(
        &self,
        rule: RuleHead<'_>,
        at: &CrossContext<'a>,
        file: &TableFile,
        namesakes: &Namesakes<'a>,
    ) -> Option<Finding> {
        let own = at.sketches.by_path.get(&file.entry.path).filter(|s| s.keys > 0)?;
        let sized = SizedTable { at, file, sketch: own, namesakes };
        let number = &namesakes.tables[*namesakes.numbers.get(file.entry.path.as_str())?];
        let (near, others) = (namesakes.near(number), namesakes.others(number, self.tables));
        let mut stubs = self.stubs(sized, &near);
        if stubs.is_empty() && !self.is_small_plan(namesakes, &near, &others) {
            stubs = self.stubs(sized, &others);
        }
        if stubs.is_empty() {
            return None;
        }
        let told: Vec<String> = stubs.iter().take(3).map(Stub::say).collect();
        let mut message = told.join("; ");
        if stubs.len() > told.len() {
            message +=
                &format!("; {} more have too few keys", plural(stubs.len() - told.len(), "slice"));
        }
        message += &filled(at, file);
        let mut severity = rule.severity.at_most(Severity::Warning);
        let editions = at.shelf.editions(file)?;
        let current = at.shelf.current(&file.place.system, editions)?;
        if at.partial(file) {
            message += "; the sidecar says status: partial";
            severity = severity.at_most(Severity::Info);
        } else if at.planned_so(file, own.rows as u64) {
            message += "; the sidecar says that the whole plan was measured, and reuse.yaml declares the rest";
            severity = severity.at_most(Severity::Info);
        } else if current.version != file.place.version {
            message += &format!("; version {} supersedes this one", current.version);
            severity = severity.at_most(Severity::Info);
        }
        let slices = stubs.iter().filter_map(|s| {
            let figure = ("keys".into(), serde_json::json!([s.own, s.median]));
            Some(SliceEvidence { slice: s.slice?.clone(), figure })
        });
        let finding = Finding::on_table(rule.id, severity, file, message)
            .rows(stubs.iter().map(|s| s.own).sum())
            .parts(stubs.iter().map(|s| s.slice.map_or_else(String::new, slice_id)))
            .evidence("own_keys", own.keys)
            .slices(slices);
        Some(finding)
    }

    /// Whether another table near by is as small beside all others: machines of its kind have a small plan.
    fn is_small_plan(&self, namesakes: &Namesakes<'_>, near: &[usize], others: &[usize]) -> bool {
        let mut keys: Vec<f64> = others.iter().map(|i| namesakes.keys(*i) as f64).collect();
        let median = upper_median(&mut keys);
        near.iter().any(|i| (namesakes.keys(*i) as f64) < self.median * median)
    }

    fn stub<'a>(&self, own: usize, mut others: Vec<usize>) -> Option<Stub<'a>> {
        if others.len() < self.tables {
            return None;
        }
        others.sort_unstable();
        let tenth = others[others.len() / 10] as f64;
        let median = upper_median(&mut others.iter().map(|n| *n as f64).collect::<Vec<_>>());
        let few = (own as f64) < self.median * median && (own as f64) < self.tenth * tenth;
        few.then_some(Stub { slice: None, own, median: median as usize, others: others.len() })
    }

    /// The table where it is a stub beside others, else its slices that are.
    fn stubs<'t>(&self, table: SizedTable<'t, '_>, others: &[usize]) -> Vec<Stub<'t>> {
        let sizes = others.iter().map(|i| table.namesakes.keys(*i)).collect();
        match self.stub(table.sketch.keys, sizes) {
            Some(stub) if !self.adds(table, None) => vec![stub],
            Some(_) => Vec::new(),
            None => self.slices(table, others),
        }
    }

    /// Slices that are stubs, of a table that is none.
    fn slices<'t>(&self, table: SizedTable<'t, '_>, others: &[usize]) -> Vec<Stub<'t>> {
        let mut found = Vec::new();
        for (slice, keys) in keys_by_slice(table.sketch) {
            let stub = self
                .stub(keys, table.namesakes.keys_of(slice, others))
                .filter(|_| !self.adds(table, Some(slice)));
            found.extend(stub.map(|stub| Stub { slice: Some(slice), ..stub }));
        }
        found
    }

    /// Whether a table, or a slice of it, holds mostly keys that no earlier version has.
    fn adds(&self, table: SizedTable<'_, '_>, slice: Option<&Slice>) -> bool {
        let SizedTable { at, file, sketch: own, .. } = table;
        // A table that versions do not share is compared with those of earlier versions all the same.
        let served = at.shelf.sources(&file.place, &file.table, Filling::Always);
        let before = served.donors.iter().chain(&served.earlier);
        let earlier: Vec<&Sketch> = before.filter_map(|f| at.sketches.get(&f.entry.path)).collect();
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

/// What the loader fills a table up with.
fn filled(at: &CrossContext<'_>, file: &TableFile) -> String {
    let Some(spec) = at.state.specs.tables.get(&file.table) else { return String::new() };
    let served = at.shelf.sources(&file.place, &file.table, spec.filling);
    let versions = |files: &[&TableFile]| {
        let versions: BTreeSet<&str> = files.iter().map(|f| f.place.version.as_str()).collect();
        names(versions.into_iter())
    };
    let mut by = Vec::new();
    if !served.donors.is_empty() {
        by.push(format!("reuse.yaml adds rows of {}", versions(&served.donors)));
    }
    if !served.earlier.is_empty() {
        by.push(format!("the loader adds rows of {}", versions(&served.earlier)));
    }
    if by.is_empty() {
        return "; nothing adds rows to it".to_owned();
    }
    let sketches: Vec<&Sketch> =
        served.files().filter_map(|f| at.sketches.get(&f.entry.path)).collect();
    format!("; {}, which makes {}", by.join(" and "), plural(keys(&sketches), "key"))
}

/// About how many keys each slice of a table has.
fn keys_by_slice(sketch: &Sketch) -> BTreeMap<&Slice, usize> {
    let points = sketch.counts.iter().sum::<u32>().max(1);
    let keys =
        |count: &u32| (f64::from(*count) * sketch.keys as f64 / f64::from(points)).round() as usize;
    sketch.slices.iter().zip(sketch.counts.iter().map(keys)).collect()
}

impl Stub<'_> {
    fn say(&self) -> String {
        let of = self.slice.map_or_else(|| "the table".to_owned(), slice_words);
        let (own, others) = (plural(self.own, "key"), plural(self.others, "other table"));
        format!(
            "{of} has only {own} of its own, while {} have {} in the median",
            others,
            count(self.median)
        )
    }
}
