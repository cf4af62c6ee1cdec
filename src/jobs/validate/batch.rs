//! The tables of some names: read at once, then those of each name held against each other.

use std::sync::Arc;
use std::time::Instant;

use rayon::prelude::*;
use tracing::debug;

use super::cross::{CrossExtent, CrossInputs, Crossed, PeersByRule};
use super::job::Job;
use super::names::{NamedTables, ToRead};
use super::table::{JudgedTable, SketchPart, TableTerms};
use crate::base::error::Result;
use crate::base::threads;
use crate::checks::compare::sketch::Sketches;
use crate::findings::Finding;
use crate::planner::NameCodes;

/// What every batch is judged by.
#[derive(Clone, Copy)]
pub(super) struct BatchTerms<'a> {
    pub terms: TableTerms<'a>,
    pub inputs: &'a CrossInputs<'a>,
}

/// What reading and judging tables leaves.
pub(super) struct ReadTables {
    pub sketches: Sketches,
    pub findings: Vec<Finding>,
    /// Paths of the tables that are in git-LFS and were not fetched.
    pub in_lfs: Vec<String>,
}

/// What judging the tables of a name leaves.
pub(super) struct JudgedName {
    pub read: ReadTables,
    pub crossed: Crossed,
    /// Those judged by themselves, as indices into the catalog.
    pub judged: Vec<usize>,
}

impl ReadTables {
    /// No table yet; the texts of their slices are numbered by `names`.
    pub fn new(names: &Arc<NameCodes>) -> Self {
        let sketches = Sketches { names: names.clone(), ..Sketches::default() };
        Self { sketches, findings: Vec::new(), in_lfs: Vec::new() }
    }

    /// Takes in a table.
    fn add_table(&mut self, path: &str, judged: JudgedTable) {
        let JudgedTable { sketch, slices, findings, is_in_lfs } = judged;
        self.in_lfs.extend(is_in_lfs.then(|| path.to_owned()));
        self.findings.extend(findings);
        self.sketches.slices.extend(slices.map(|slices| (path.to_owned(), slices)));
        self.sketches.by_path.extend(sketch.map(|sketch| (path.to_owned(), sketch)));
    }

    /// Takes in the tables of another name.
    pub fn add(&mut self, mut others: Self) {
        self.sketches.by_path.append(&mut others.sketches.by_path);
        self.sketches.slices.append(&mut others.sketches.slices);
        self.findings.extend(others.findings);
        self.in_lfs.append(&mut others.in_lfs);
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
        let mut read = self.read_names(&batch, by, &known.names, step)?;
        for (named, read) in batch.iter().zip(&mut read) {
            for file in &named.tables {
                // What was read is sketched as this state asks.
                if let Some(sketch) = known.by_path.remove(&file.entry.path) {
                    read.sketches.by_path.entry(file.entry.path.clone()).or_insert(sketch);
                }
            }
        }
        let pairs: Vec<(&NamedTables<'_>, &ReadTables)> = batch.iter().zip(&read).collect();
        let compare = |(named, read): &(&NamedTables<'_>, &ReadTables)| {
            if !named.are_compared {
                return Ok(Crossed::default());
            }
            let peers = PeersByRule::default();
            by.inputs.cross(&named.tables, CrossExtent::Name, read, &peers)
        };
        let found: Vec<Result<Crossed>> = pairs.par_iter().map(compare).collect();
        let judged = batch.into_iter().zip(read).zip(found).map(|((named, read), crossed)| {
            let judged = named.read.iter().filter(|item| item.judge).map(|item| item.index);
            Ok(JudgedName { read, crossed: crossed?, judged: judged.collect() })
        });
        judged.collect()
    }

    /// Reads the tables of some names, the largest first.
    fn read_names(
        &self,
        names: &[NamedTables<'_>],
        by: BatchTerms<'_>,
        texts: &Arc<NameCodes>,
        step: &(dyn Fn() + Sync),
    ) -> Result<Vec<ReadTables>> {
        let file = |item: &ToRead| &self.catalog.tables[item.index];
        let mut items: Vec<(usize, &ToRead)> = Vec::new();
        for (number, named) in names.iter().enumerate() {
            items.extend(named.read.iter().map(|item| (number, item)));
        }
        let size = |(_, item): &(usize, &ToRead)| file(item).entry.size;
        let found = threads::map_largest_first(&items, size, |(number, item)| {
            let start = Instant::now();
            let file = file(item);
            let sketch = if !names[*number].are_compared {
                SketchPart::None
            } else if item.judge {
                SketchPart::Scanned
            } else {
                SketchPart::Reference
            };
            let rules = if item.judge { &self.rules[..] } else { &[] };
            let judged = self.table(file, rules, sketch, by.terms)?;
            let rows = judged.sketch.as_ref().map(|sketch| sketch.rows);
            debug!(path = ?file.entry.path, rows, judge = item.judge, took = ?start.elapsed(), "read");
            if item.judge {
                step();
            }
            Ok(judged)
        });
        let mut read: Vec<ReadTables> = names.iter().map(|_| ReadTables::new(texts)).collect();
        for ((number, item), judged) in items.into_iter().zip(found) {
            read[number].add_table(&file(item).entry.path, judged?);
        }
        Ok(read)
    }
}
