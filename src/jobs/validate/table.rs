//! One table under judgement: it is read once, judged by itself, and sketched to compare others with.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::job::Job;
use super::surroundings::Sidecars;
use crate::base::digest::sha256;
use crate::base::error::{Error, Result};
use crate::base::expr::{ExprError, Scope};
use crate::checks::compare::sketch::{Sketch, SketchTerms, Slice};
use crate::checks::compare::unit_shift::least_over_bound;
use crate::checks::rule::Rule;
use crate::checks::{PrChange, TableContext};
use crate::database::catalog::TableFile;
use crate::database::seal::SealFile;
use crate::database::table::{Keys, Table, TableFault, TableScope, Wanted};
use crate::findings::{Finding, Severity};
use crate::planner::{FileKeys, FileOfTable, NameCodes, PlannerFiles, SharedFileKeys, TableName};
use crate::specs::TableSpec;

/// What judging a table leaves; one that cannot be read has no sketch.
#[derive(Default)]
pub(super) struct JudgedTable {
    pub sketch: Option<Sketch>,
    /// Its slices, where operations look it up.
    pub slices: Option<Arc<FileKeys>>,
    pub findings: Vec<Finding>,
    /// Whether it was to be judged and is in git-LFS, whose object was not fetched.
    pub is_in_lfs: bool,
}

/// How much of a table's sketch is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SketchPart {
    /// Nothing: the table is not compared with others.
    None,
    /// The parts that other tables are compared with.
    Reference,
    /// Those parts, and the outliers and curves of the table.
    Scanned,
}

/// What tables are judged and sketched by, beside the rules.
#[derive(Clone, Copy)]
pub(super) struct TableTerms<'a> {
    pub sidecars: &'a Sidecars,
    /// Paths of the tables whose keys others lack by name.
    pub named: &'a BTreeSet<&'a str>,
    /// The numbers of texts, where slices are taken.
    pub names: Option<&'a NameCodes>,
    /// The systems of whose tables they are; of all without this.
    pub planned: &'a BTreeSet<&'a str>,
    /// The slices of all tables.
    pub slices: &'a SharedFileKeys,
}

impl<'a> TableTerms<'a> {
    /// Whether others lack the keys of a table by name.
    pub fn names_keys(&self, file: &TableFile) -> bool {
        self.named.contains(file.entry.path.as_str())
    }

    /// The numbers of texts, where the slices of a table are taken.
    fn names(&self, file: &TableFile) -> Option<&'a NameCodes> {
        self.names.filter(|_| self.planned.contains(file.place.system.as_str()))
    }
}

/// A table that was read, or why it cannot be.
struct ReadTable {
    table: Result<Arc<Table>, TableFault>,
    /// In hex.
    digest: Option<String>,
}

/// The columns that are read of a table which is only there to compare with: those that its sketch and its slices
/// are taken of.
fn columns_beside<'s>(
    file: &TableFile,
    spec: &'s TableSpec,
    names: Option<&NameCodes>,
    awaited: Option<&FileOfTable>,
) -> BTreeSet<&'s str> {
    let looked_up = names.and_then(|_| TableName::of(&file.table)).map(|_| FileKeys::columns(spec));
    let planned = awaited.map(|_| PlannerFiles::columns(spec));
    let more = looked_up.into_iter().chain(planned).flatten();
    Sketch::columns(spec).into_iter().chain(more).collect()
}

/// The loader's keys of a table's rows, where there are rows and it has a key.
fn keys_of<'k>(
    spec: &'k TableSpec,
    scope: Option<&'k TableScope<'_>>,
) -> Result<Option<Keys<'k>>, ExprError> {
    let scope = scope.filter(|_| !spec.key.is_empty());
    scope.map(|scope| Keys::new(&spec.key, scope)).transpose()
}

impl Job<'_> {
    /// Judges a table by some rules, and takes its sketch where that is asked for.
    pub(super) fn table(
        &self,
        file: &TableFile,
        rules: &[Arc<Rule>],
        sketch: SketchPart,
        terms: TableTerms<'_>,
    ) -> Result<JudgedTable> {
        let work = || self.judge_table(file, rules, sketch, terms);
        // A fault of ours must not pass for a verdict on the data.
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(Ok(judged)) => Ok(judged),
            Ok(Err(e)) => Err(Error::caused(
                format!("cannot check {}", file.entry.path),
                "the formula is in rules/tables; `perfdb-gate rules` lists the rules",
                e,
            )),
            Err(_) => Err(Error::new(
                format!("perfdb-gate failed while checking {}", file.entry.path),
                "please report this bug and attach the file",
            )),
        }
    }

    fn judge_table(
        &self,
        file: &TableFile,
        rules: &[Arc<Rule>],
        part: SketchPart,
        terms: TableTerms<'_>,
    ) -> Result<JudgedTable, ExprError> {
        let (sidecars, names) = (terms.sidecars, terms.names(file));
        let meta = self
            .catalog
            .dir_of(file)
            .and_then(|d| sidecars.meta.get(&d.path))
            .and_then(|m| m.as_ref().ok());
        let stated = meta.and_then(|m| m.tables.get(&file.table)).and_then(|t| t.sha256.as_ref());
        let known = self.specs.tables.get(&file.table);
        let seal = known.and_then(|spec| spec.seal.as_ref());
        let is_judged = !rules.is_empty();
        let is_beside = !is_judged && part != SketchPart::Scanned;
        let awaited = self.files.and_then(|files| files.awaits(self.source, self.specs, file));
        let columns = known
            .filter(|_| is_beside)
            .map(|spec| columns_beside(file, spec, names, awaited.as_ref()));
        let wanted = columns.as_ref().map_or(Wanted::All, Wanted::Named);
        let ReadTable { table, digest } =
            self.read(file, is_judged && (stated.is_some() || seal.is_some()), wanted);
        let seal = seal.map(|seal| SealFile::read(self.source, self.catalog, file, seal));
        let spec = file.spec(self.specs, table.as_deref().ok());
        let place = &file.place;
        let system = self.catalog.system(&place.system, self.specs);
        let lookups = &self.specs.lookups;
        let scope = table
            .as_deref()
            .ok()
            .map(|table| TableScope::new(table, &spec, place, system, lookups));
        let keys = keys_of(&spec, scope.as_ref())?;
        if let ((Some(scope), Some(keys)), Some(losing)) = ((&scope, &keys), self.losing) {
            losing.see(self.source, file, self.specs, scope, keys)?;
        }
        let (named, scanned) = (terms.names_keys(file), part == SketchPart::Scanned);
        let sketch_terms = SketchTerms { needs: self.needs(), named, scanned };
        let sketch = match (&scope, &keys) {
            _ if part == SketchPart::None => None,
            (Some(scope), Some(keys)) if self.compares() => {
                Some(Sketch::of(keys, scope, sketch_terms)?)
            }
            (Some(scope), _) => Some(Sketch { rows: scope.rows(), ..Sketch::default() }),
            (None, _) => None,
        };
        let latencies = sketch.as_ref().and_then(|sketch| sketch.latencies.as_ref());
        let has_distinct_keys = is_judged
            && latencies
                .zip(scope.as_ref())
                .is_some_and(|(own, scope)| own.are_of_each(scope.rows()));
        let ahead = self.files.zip(awaited).zip(scope.as_ref());
        let ahead = ahead.and_then(|((files, file), scope)| files.take(&file, scope));
        let names = names.filter(|_| part != SketchPart::None);
        let looked_up = TableName::of(&file.table).and(scope.as_ref()).zip(names);
        let slices =
            looked_up.and_then(|(scope, names)| ahead.or_else(|| FileKeys::of(scope, names)));
        let slices = slices.map(|keys| terms.slices.share(keys));
        let context = TableContext {
            file,
            spec: &spec,
            table: table.as_deref(),
            system,
            keys: keys.as_ref(),
            has_distinct_keys,
            specs: self.specs,
            digest: digest.as_deref(),
            meta,
            seal: seal.as_ref(),
            change: PrChange::of_table(self.pr, file),
            series: OnceCell::new(),
        };
        let findings = self.findings(&context, rules)?;
        let is_in_lfs = is_judged && matches!(table, Err(TableFault::InLfs));
        Ok(JudgedTable { sketch, slices, findings, is_in_lfs })
    }

    /// Applies the rules to a table. Without a spec only those apply that are right for any table.
    fn findings(
        &self,
        context: &TableContext<'_>,
        rules: &[Arc<Rule>],
    ) -> Result<Vec<Finding>, ExprError> {
        let mut findings = Vec::new();
        for rule in rules {
            let judge = rule.check.judge();
            if !context.spec.inferred || judge.judges_unknown_tables() {
                let mut found = rule.check.table(rule, context)?;
                if context.table.is_err() {
                    self.name_bytes(&context.file.entry, &mut found);
                }
                findings.extend(found);
                findings.extend(judge.placement(rule, context.file, self.specs));
            }
        }
        Ok(findings)
    }

    /// Reads some columns of a table, which another stage may have decoded already, with the digest of its bytes
    /// where that is asked for.
    fn read(&self, file: &TableFile, digest: bool, wanted: Wanted<'_>) -> ReadTable {
        let kept = self.decoded.and_then(|decoded| {
            if self.keeps_decoded { decoded.get(file) } else { decoded.take(file) }
        });
        if let (Some(table), false) = (&kept, digest) {
            return ReadTable { table: Ok(table.clone()), digest: None };
        }
        match self.source.read(&file.entry) {
            Err(why) => ReadTable { table: Err(why.into()), digest: None },
            Ok(bytes) => {
                let digest = digest.then(|| sha256(&bytes));
                let decode = || file.decode_of(self.specs, &bytes, wanted).map(Arc::new);
                let table = kept.map_or_else(decode, Ok);
                let is_pointer = matches!(table, Err(TableFault::LfsPointer(_)));
                let table = if is_pointer && self.source.is_in_lfs(&file.entry.path) {
                    Err(TableFault::InLfs)
                } else {
                    table
                };
                ReadTable { table, digest }
            }
        }
    }

    /// In how many ways a table's rows name another origin than its place.
    pub(super) fn foreign(&self, file: &TableFile, sidecars: &Sidecars) -> usize {
        let rules: Vec<_> =
            self.all_rules.all().filter(|r| r.check.needs().origin).cloned().collect();
        // Of a table of which some rows changed, a rule has two findings.
        let ways = |judged: JudgedTable| {
            let findings = judged.findings.into_iter().filter(|f| f.severity != Severity::Info);
            findings.map(|f| f.rule).collect::<BTreeSet<_>>().len()
        };
        let slices = &SharedFileKeys::default();
        let none = &BTreeSet::new();
        let terms = TableTerms { sidecars, named: none, names: None, planned: none, slices };
        self.table(file, &rules, SketchPart::None, terms).map_or(0, ways)
    }

    /// The smallest latency of each slice of a table over its bound; none where it cannot be read.
    pub(super) fn over_bound(&self, file: &TableFile) -> BTreeMap<Slice, f64> {
        let Ok(bytes) = self.source.read(&file.entry) else { return BTreeMap::new() };
        let Ok(table) = file.decode(self.specs, &bytes) else { return BTreeMap::new() };
        let spec = file.spec(self.specs, Some(&table));
        let system = self.catalog.system(&file.place.system, self.specs);
        let scope = TableScope::new(&table, &spec, &file.place, system, &self.specs.lookups);
        // A formula that fails was reported when the table was judged by itself.
        let keys = keys_of(&spec, Some(&scope)).ok().flatten();
        keys.and_then(|keys| least_over_bound(&keys, &scope).ok()).unwrap_or_default()
    }

    /// Rows of a table that was not sketched; none where it cannot be read.
    pub fn rows(&self, file: &TableFile) -> Option<usize> {
        let bytes = self.source.read(&file.entry).ok()?;
        Some(file.decode(self.specs, &bytes).ok()?.rows)
    }
}
