//! What a run takes over from earlier ones: findings and sketches of tables whose bytes are the same, and
//! what comparing them found.
//!
//! Three kinds of result are kept, each by all that it depends on:
//!
//! - of a table its findings, the outline and the detail of its sketch, and what stands out in it, apart:
//!   a run in which nothing changed needs the findings alone, what judges the database as a whole no detail,
//!   and a table that others are compared with nothing of what stands out;
//! - of the tables of a name what holding them against each other found;
//! - of the database what judging it as a whole found.
//!
//! Of a pull request's tables only what does not depend on the pull request is kept. What cannot be read is
//! looked at by every run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::cross::{Ages, CrossExtent, Crossed};
use super::job::Job;
use super::table::{JudgedTable, TableTerms};
use crate::base::cache::{Cache, Origin};
use crate::base::threads;
use crate::checks::compare::sketch::Sketch;
use crate::checks::rule::Rule;
use crate::checks::{CheckInputs, PrChange};
use crate::database::catalog::{Catalog, TableFile};
use crate::database::seal::SealFile;
use crate::database::source::{Dated, DatedBy, Entry};
use crate::findings::RowChange;
use crate::planner::{NameCodes, StoredKeys};

/// Which parts of what judging a table leaves are asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parts {
    /// Whether its findings are.
    pub findings: bool,
    /// Which part of its sketch is.
    pub sketch: SketchPart,
}

/// A part of a sketch; each contains those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SketchPart {
    /// Nothing.
    None,
    /// All but its points and what they show.
    Outline,
    /// What others are compared with.
    Reference,
    /// What stands out in the table, too.
    Scanned,
}

/// What of a state's judgement is kept, and by what.
pub(super) struct CachedJob<'a> {
    cache: &'a Cache,
    job: &'a Job<'a>,
    /// Paths of the tables under judgement.
    judged: &'a BTreeSet<&'a str>,
    terms: TableTerms<'a>,
    /// What tables are judged by.
    judged_by: Origin,
    /// The files that are not tables, by path.
    beside: BTreeMap<&'a str, &'a Entry>,
    /// What lies where and which rows are loaded from elsewhere; none where a file of it cannot be had.
    layout: Option<Origin>,
    /// By what each table that is read is judged, by its path; none of one whose bytes cannot be had.
    tables: BTreeMap<&'a str, Option<Origin>>,
}

impl<'a> CachedJob<'a> {
    /// What is kept of a state's judgement, of which the tables `read` are looked at: none where this
    /// program cannot be read, so that its results cannot be recognised.
    pub fn new(
        cache: &'a Cache,
        job: &'a Job<'a>,
        read: &[&'a TableFile],
        judged: &'a BTreeSet<&'a str>,
        terms: TableTerms<'a>,
    ) -> Option<Self> {
        let mut judged_by = Origin::of_program()?;
        for file in job.specs.library.overlays() {
            judged_by.add(&file.role);
            judged_by.add(file.text.as_bytes());
        }
        // What judges traces or changes alone says nothing of a table, so that a pull request takes over
        // what was found before it.
        let of_state = |rule: &&Arc<Rule>| {
            let needs = rule.check.needs();
            !needs.traces && !needs.changes
        };
        job.rules.iter().filter(of_state).for_each(|rule| judged_by.add(&rule.id));
        let CheckInputs { keys, outliers, curves, .. } = job.needs();
        let curves = curves.map(|terms| [terms.bends, terms.floor_ms]);
        for limit in outliers.into_iter().chain(curves.into_iter().flatten()) {
            judged_by.add(limit.to_bits().to_le_bytes());
        }
        judged_by.add([u8::from(keys), u8::from(outliers.is_some()), u8::from(curves.is_some())]);
        job.facts.origin().for_each(|fact| judged_by.add(fact));
        judged_by.add([u8::from(terms.names.is_some())]);
        let beside = job.catalog.beside.iter().map(|(entry, _)| (entry.path.as_str(), entry));
        let beside = beside.collect();
        let tables = BTreeMap::new();
        let mut own = Self { cache, job, judged, terms, judged_by, beside, layout: None, tables };
        own.layout = own.layout();
        let origins =
            threads::map(read, job.threads, |file| (file.entry.path.as_str(), own.table(file)));
        own.tables = origins.into_iter().collect();
        Some(own)
    }

    /// Adds a file, by its place and bytes; none where there are no bytes to be had.
    fn add(&self, origin: &mut Origin, entry: &Entry) -> Option<()> {
        // A git-LFS pointer has the id of what it points at, and another size.
        let id = self.job.source.id(entry)?;
        origin.add(format!("{} {id} {}", entry.path, entry.size));
        Some(())
    }

    fn add_at(&self, origin: &mut Origin, path: &str) -> Option<()> {
        match self.beside.get(path) {
            Some(entry) => self.add(origin, entry),
            None => {
                origin.add(path);
                Some(())
            }
        }
    }

    /// What a table is judged by.
    fn table(&self, file: &TableFile) -> Option<Origin> {
        let Job { catalog, specs, .. } = self.job;
        let mut origin = self.judged_by.with([u8::from(self.terms.names_keys(file))]);
        self.add(&mut origin, &file.entry)?;
        let place = &file.place;
        for name in [&place.system, &place.backend, &place.version] {
            origin.add(name);
        }
        if let Some(meta) = catalog.dir_of(file).and_then(|dir| dir.meta.as_ref()) {
            self.add(&mut origin, meta)?;
        }
        if let Some(system) = catalog.systems.get(&place.system) {
            self.add_at(&mut origin, &system.yaml)?;
        }
        if let Some(seal) = specs.tables.get(&file.table).and_then(|spec| spec.seal.as_ref()) {
            self.add_at(&mut origin, &SealFile::path(file, seal))?;
        }
        Some(origin)
    }

    /// What tables are held against each other by, beside the tables.
    fn layout(&self) -> Option<Origin> {
        let catalog = self.job.catalog;
        let mut origin = self.judged_by.clone();
        for system in catalog.systems.values() {
            origin.add(&system.name);
            self.add_at(&mut origin, &system.yaml)?;
        }
        for dir in catalog.dirs.values() {
            origin.add(&dir.path);
            origin.add([u8::from(dir.is_vetoed())]);
            if let Some(reuse) = &dir.reuse {
                self.add(&mut origin, reuse)?;
            }
        }
        // What lies elsewhere may be loaded instead.
        catalog.tables.iter().for_each(|file| origin.add(&file.entry.path));
        Some(origin)
    }

    /// What tables are held against each other by.
    fn crossed_by(&self, tables: &[&TableFile], extent: CrossExtent) -> Option<Origin> {
        // What a pull request changes and what a collector logged decide about findings, too.
        if self.job.pr.is_some() || self.job.ledger.is_some() {
            return None;
        }
        let mut origin = self.layout.as_ref()?.with(match extent {
            CrossExtent::Name => "name",
            CrossExtent::Whole => "whole",
        });
        for path in tables.iter().map(|file| file.entry.path.as_str()) {
            if let Some(table) = self.tables.get(path) {
                origin.add(table.as_ref()?.digest());
            }
            origin.add([u8::from(self.judged.contains(path))]);
        }
        if extent == CrossExtent::Whole {
            let Catalog { support, manifest, .. } = self.job.catalog;
            for entry in self.beside.values().copied().chain(support.values()).chain(manifest) {
                self.add(&mut origin, entry)?;
            }
        }
        Some(origin)
    }

    /// What holding tables against each other found, where it was kept.
    pub fn crossed(&self, tables: &[&TableFile], extent: CrossExtent) -> Option<Crossed> {
        let crossed: Crossed = self.cache.get(&self.crossed_by(tables, extent)?)?;
        self.confirms(&crossed.ages).then_some(crossed)
    }

    /// Keeps what holding tables against each other found.
    pub fn keep_crossed(&self, tables: &[&TableFile], extent: CrossExtent, crossed: &Crossed) {
        if let Some(origin) = self.crossed_by(tables, extent) {
            self.cache.put(&origin, crossed);
        }
    }

    /// Whether the history still shows which of two tables came to its place later.
    fn confirms(&self, ages: &Ages) -> bool {
        let tables = &self.job.catalog.tables;
        let dated = |path: &String| {
            let file = tables.iter().find(|file| file.entry.path == *path)?;
            Some(Dated { entry: &file.entry, by: DatedBy::Bytes })
        };
        ages.iter().all(|([a, b], order)| {
            let files = dated(a).zip(dated(b));
            files.is_some_and(|(a, b)| self.job.source.age(a, b).map(|o| o as i8) == *order)
        })
    }

    /// By what a table is judged that is read; none of one whose bytes cannot be had.
    fn origin(&self, file: &TableFile) -> Option<&Origin> {
        self.tables.get(file.entry.path.as_str())?.as_ref()
    }

    /// By what the findings of a table by itself are kept: nothing where they depend on which of its rows
    /// a pull request changes.
    fn findings_origin(&self, file: &TableFile) -> Option<Origin> {
        let of = match PrChange::of_table(self.job.pr, file) {
            RowChange::Unknown => "findings",
            RowChange::Untouched => "findings of what was there",
            RowChange::All | RowChange::Rows(_) | RowChange::Compared(_) => return None,
        };
        Some(self.origin(file)?.with(of))
    }

    /// By what the outline and the detail of a table's sketch are kept, and what stands out.
    fn sketch_origins(&self, file: &TableFile) -> Option<[Origin; 3]> {
        let origin = self.origin(file)?;
        Some(["outline", "detail", "scan"].map(|part| origin.with(part)))
    }

    /// What judging a table leaves, where all that is asked for was kept.
    pub fn judged(&self, file: &TableFile, parts: Parts) -> Option<JudgedTable> {
        let mut judged = JudgedTable { is_reproducible: true, ..JudgedTable::default() };
        if parts.findings {
            judged.findings.own = self.cache.get(&self.findings_origin(file)?)?;
        }
        if parts.sketch != SketchPart::None {
            let [outline, detail, scan] = self.sketch_origins(file)?;
            let (mut sketch, slices): (Sketch, Option<StoredKeys>) = self.cache.get(&outline)?;
            if parts.sketch >= SketchPart::Reference {
                sketch.restore(self.cache.get(&detail)?);
            }
            if parts.sketch == SketchPart::Scanned {
                sketch.restore_scan(self.cache.get(&scan)?);
            }
            let slices = slices.zip(self.terms.names);
            let number = |(keys, names): (StoredKeys, &NameCodes)| {
                self.terms.slices.share(keys.numbered(names))
            };
            judged.slices = slices.map(number);
            judged.sketch = Some(sketch);
        }
        Some(judged)
    }

    /// Keeps what judging a table left, where another run would find the same; of its sketch the parts taken.
    pub fn keep_judged(&self, file: &TableFile, taken: Parts, judged: &mut JudgedTable) {
        let Some(sketch) = judged.sketch.as_mut().filter(|_| judged.is_reproducible) else {
            return;
        };
        if let Some(origin) = self.findings_origin(file).filter(|_| taken.findings) {
            self.cache.put(&origin, &judged.findings.own);
        }
        if let Some([outline, detail, scan]) = self.sketch_origins(file) {
            let (rest, standing_out) = (sketch.take_detail(), sketch.take_scan());
            let slices = judged.slices.as_ref().zip(self.terms.names);
            let slices = slices.map(|(slices, names)| StoredKeys::of(slices, names));
            self.cache.put(&outline, &(&*sketch, slices));
            self.cache.put(&detail, &rest);
            if taken.sketch == SketchPart::Scanned {
                self.cache.put(&scan, &standing_out);
            }
            sketch.restore(rest);
            sketch.restore_scan(standing_out);
        }
    }
}
