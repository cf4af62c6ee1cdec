//! The tables of some names: read at once, then those of each name held against each other.

use std::sync::Arc;
use std::time::Instant;

use tracing::debug;

use super::cached::{CachedJob, Parts, SketchPart};
use super::cross::{CrossExtent, CrossInputs, Crossed, PeersByRule};
use super::findings::TableFindings;
use super::job::Job;
use super::names::{NamedTables, ToRead};
use super::table::{JudgedTable, TableTerms};
use crate::base::error::Result;
use crate::base::threads;
use crate::checks::compare::sketch::Sketches;
use crate::database::catalog::TableFile;
use crate::planner::NameCodes;

/// What every batch is judged by.
#[derive(Clone, Copy)]
pub(super) struct BatchTerms<'a> {
    pub terms: TableTerms<'a>,
    pub cached: Option<&'a CachedJob<'a>>,
    pub inputs: &'a CrossInputs<'a>,
    /// Whether it is known what judging the database as a whole finds.
    pub knows_whole: bool,
}

/// What reading and judging tables leaves.
pub(super) struct ReadTables {
    pub sketches: Sketches,
    pub findings: TableFindings,
    /// Paths of the tables that are in git-LFS and were not fetched.
    pub in_lfs: Vec<String>,
    /// Whether another run would read the same.
    pub are_reproducible: bool,
}

/// What judging the tables of a name leaves.
pub(super) struct JudgedName {
    pub read: ReadTables,
    pub crossed: Crossed,
    /// Those judged by themselves, as indices into the catalog.
    pub judged: Vec<usize>,
}

/// The tables of a name, before they are read.
struct NameToJudge<'a> {
    named: NamedTables<'a>,
    /// What holding them against each other finds, where that is known.
    crossed: Option<Crossed>,
    sketch: SketchPart,
}

impl ReadTables {
    /// No table yet; the texts of their slices are numbered by `names`.
    pub fn new(names: &Arc<NameCodes>) -> Self {
        let sketches = Sketches { names: names.clone(), ..Sketches::default() };
        let (findings, in_lfs) = (TableFindings::default(), Vec::new());
        Self { sketches, findings, in_lfs, are_reproducible: true }
    }

    /// Takes in a table.
    fn add_table(&mut self, path: &str, judged: JudgedTable) {
        let JudgedTable { sketch, slices, findings, is_in_lfs, is_reproducible } = judged;
        self.in_lfs.extend(is_in_lfs.then(|| path.to_owned()));
        self.findings.extend(findings);
        self.are_reproducible &= is_reproducible;
        self.sketches.slices.extend(slices.map(|slices| (path.to_owned(), slices)));
        self.sketches.by_path.extend(sketch.map(|sketch| (path.to_owned(), sketch)));
    }

    /// Takes in the tables of another name.
    pub fn add(&mut self, mut others: Self) {
        self.sketches.by_path.append(&mut others.sketches.by_path);
        self.sketches.slices.append(&mut others.sketches.slices);
        self.findings.extend(others.findings);
        self.in_lfs.append(&mut others.in_lfs);
        self.are_reproducible &= others.are_reproducible;
    }
}

impl Job<'_> {
    /// Judges the tables of some names; a sketch that is `known` serves where a table is not read. Calls
    /// `step` for each table that was judged by itself.
    pub(super) fn judge_batch(
        &self,
        batch: Vec<NamedTables<'_>>,
        by: BatchTerms<'_>,
        known: &mut Sketches,
        step: &(dyn Fn() + Sync),
    ) -> Result<Vec<JudgedName>> {
        let names: Vec<NameToJudge<'_>> =
            batch.into_iter().map(|named| self.name_to_judge(named, by)).collect();
        let mut read = self.read_names(&names, by, &known.names, step)?;
        for (name, read) in names.iter().zip(&mut read) {
            for file in &name.named.tables {
                // What was read is sketched as this state asks.
                if let Some(sketch) = known.by_path.remove(&file.entry.path) {
                    read.sketches.by_path.entry(file.entry.path.clone()).or_insert(sketch);
                }
            }
        }
        let pairs: Vec<(&NameToJudge<'_>, &ReadTables)> = names.iter().zip(&read).collect();
        let found = threads::map(&pairs, self.threads, |(name, read)| {
            let cross =
                |tables| by.inputs.cross(tables, CrossExtent::Name, read, &PeersByRule::default());
            name.crossed.is_none().then(|| cross(&name.named.tables)).transpose()
        });
        let judged = names.into_iter().zip(read).zip(found).map(|((name, read), found)| {
            let judged = name.named.read.iter().filter(|item| item.judge).map(|item| item.index);
            let crossed = found?.or(name.crossed).unwrap_or_default();
            Ok(JudgedName { read, crossed, judged: judged.collect() })
        });
        judged.collect()
    }

    fn name_to_judge<'a>(&self, named: NamedTables<'a>, by: BatchTerms<'_>) -> NameToJudge<'a> {
        if !named.are_compared {
            let crossed = Some(Crossed::default());
            return NameToJudge { named, crossed, sketch: SketchPart::None };
        }
        let crossed = by.inputs.kept(&named.tables, CrossExtent::Name);
        let sketch = match (&crossed, by.knows_whole) {
            (Some(_), true) if !self.keeps_sketches => SketchPart::None,
            (Some(_), false) if !self.keeps_sketches => SketchPart::Outline,
            _ => SketchPart::Reference,
        };
        NameToJudge { named, crossed, sketch }
    }

    /// Reads the tables of some names, the largest first.
    fn read_names(
        &self,
        names: &[NameToJudge<'_>],
        by: BatchTerms<'_>,
        texts: &Arc<NameCodes>,
        step: &(dyn Fn() + Sync),
    ) -> Result<Vec<ReadTables>> {
        let file = |item: &ToRead| &self.catalog.tables[item.index];
        let mut items: Vec<(usize, &ToRead)> = Vec::new();
        for (number, name) in names.iter().enumerate() {
            items.extend(name.named.read.iter().map(|item| (number, item)));
        }
        let size = |(_, item): &(usize, &ToRead)| file(item).entry.size;
        let found = threads::map_largest_first(&items, self.threads, size, |(number, item)| {
            let sketch = match names[*number].sketch {
                SketchPart::Reference if item.judge => SketchPart::Scanned,
                sketch => sketch,
            };
            let parts = Parts { findings: item.judge, sketch };
            let judged = self.read_table(file(item), parts, by);
            if item.judge {
                step();
            }
            judged
        });
        let mut read: Vec<ReadTables> = names.iter().map(|_| ReadTables::new(texts)).collect();
        for ((number, item), judged) in items.into_iter().zip(found) {
            read[number].add_table(&file(item).entry.path, judged?);
        }
        Ok(read)
    }

    /// Reads a table, and judges it by itself where its findings are asked for; what earlier runs kept of
    /// it need not be read again.
    fn read_table(
        &self,
        file: &TableFile,
        parts: Parts,
        by: BatchTerms<'_>,
    ) -> Result<JudgedTable> {
        let start = Instant::now();
        // Of what is judged by figures alone, no findings are all.
        let cached = by.cached.filter(|_| self.by_figures(file).is_none());
        if let Some(judged) = cached.and_then(|cached| cached.judged(file, parts)) {
            debug!(path = ?file.entry.path, took = ?start.elapsed(), "known");
            return Ok(judged);
        }
        let rules = if parts.findings { &self.rules[..] } else { &[] };
        let taken = match cached {
            // What is kept serves runs that ask for more.
            Some(_) if parts.findings => Parts { sketch: SketchPart::Scanned, ..parts },
            Some(_) => Parts { sketch: parts.sketch.max(SketchPart::Reference), ..parts },
            None => parts,
        };
        let mut judged = self.table(file, rules, taken.sketch, by.terms)?;
        let rows = judged.sketch.as_ref().map(|sketch| sketch.rows);
        let judge = parts.findings;
        debug!(path = ?file.entry.path, rows, judge, took = ?start.elapsed(), "read");
        if let Some(cached) = cached {
            cached.keep_judged(file, taken, &mut judged);
        }
        Ok(judged)
    }
}
