//! One table under judgement: it is read once, judged by itself, and sketched to compare others with.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::job::Job;
use super::surroundings::Sidecars;
use crate::base::digest::sha256;
use crate::base::error::{Error, Result};
use crate::base::expr::{ExprError, Scope};
use crate::checks::compare::sketch::Sketch;
use crate::checks::rule::Rule;
use crate::checks::{PrChange, TableContext};
use crate::database::catalog::TableFile;
use crate::database::seal::SealFile;
use crate::database::table::{Keys, Table, TableFault, TableScope};
use crate::findings::{Finding, Severity};
use crate::planner::{FileKeys, NameCodes, TableName};
use crate::specs::system::System;

/// What judging a table leaves; one that cannot be read has no sketch.
pub(super) struct JudgedTable {
    pub sketch: Option<Sketch>,
    /// Its slices, where operations look it up.
    pub slices: Option<FileKeys>,
    pub findings: Vec<Finding>,
}

impl Job<'_> {
    /// Judges a table by some rules, and takes its sketch to compare others with, its keys `named`
    /// where they are compared with others; its slices are
    /// taken where there are `names` to number their texts.
    pub(super) fn table(
        &self,
        file: &TableFile,
        sidecars: &Sidecars,
        rules: &[Arc<Rule>],
        named: bool,
        names: Option<&NameCodes>,
    ) -> Result<JudgedTable> {
        let work = || self.judge_table(file, sidecars, rules, named, names);
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
        sidecars: &Sidecars,
        rules: &[Arc<Rule>],
        named: bool,
        names: Option<&NameCodes>,
    ) -> Result<JudgedTable, ExprError> {
        let meta = self
            .catalog
            .dir_of(file)
            .and_then(|d| sidecars.meta.get(&d.path))
            .and_then(|m| m.as_ref().ok());
        let stated = meta.and_then(|m| m.tables.get(&file.table)).and_then(|t| t.sha256.as_ref());
        let known = self.specs.tables.get(&file.table);
        let seal = known.and_then(|spec| spec.seal.as_ref());
        let (table, digest) = self.read(file, stated.is_some() || seal.is_some());
        let seal = seal.map(|seal| SealFile::read(self.source, self.catalog, file, seal));
        let spec = file.spec(self.specs, table.as_deref().ok());
        let place = &file.place;
        let system = self.system(&place.system);
        let lookups = &self.specs.lookups;
        let scope = table
            .as_deref()
            .ok()
            .map(|table| TableScope::new(table, &spec, place, system, lookups));
        let keys = match &scope {
            Some(scope) if !spec.key.is_empty() => Some(Keys::new(&spec.key, scope)?),
            _ => None,
        };
        let needs = self.needs();
        let sketch = match (&scope, &keys) {
            (Some(scope), Some(keys)) => Some(Sketch::of(keys, scope, needs, named)?),
            (Some(scope), None) => Some(Sketch { rows: scope.rows(), ..Sketch::default() }),
            (None, _) => None,
        };
        let looked_up = TableName::of(&file.table).zip(table.as_deref().ok()).zip(names);
        let slices = looked_up.and_then(|((name, table), names)| FileKeys::of(table, name, names));
        let context = TableContext {
            file,
            spec: &spec,
            table: table.as_deref(),
            system,
            keys: keys.as_ref(),
            specs: self.specs,
            digest: digest.as_deref(),
            meta,
            seal: seal.as_ref(),
            change: PrChange::of_table(self.pr, file),
            series: OnceCell::new(),
        };
        let mut findings = Vec::new();
        let apply =
            |rule: &&Arc<Rule>| !spec.inferred || rule.check.judge().judges_unknown_tables();
        for rule in rules.iter().filter(apply) {
            findings.extend(rule.check.table(rule, &context)?);
            findings.extend(rule.check.judge().placement(rule, file, self.specs));
        }
        Ok(JudgedTable { sketch, slices, findings })
    }

    /// A table, which another stage may have decoded already, and the digest of its bytes where that
    /// is asked for.
    fn read(
        &self,
        file: &TableFile,
        digest: bool,
    ) -> (Result<Arc<Table>, TableFault>, Option<String>) {
        let kept = self.decoded.and_then(|decoded| decoded.get(file));
        if let (Some(table), false) = (&kept, digest) {
            return (Ok(table.clone()), None);
        }
        match self.source.read(&file.entry) {
            Err(why) => (Err(why.into()), None),
            Ok(bytes) => {
                let digest = digest.then(|| sha256(&bytes));
                let table = kept.map_or_else(|| file.decode(self.specs, &bytes).map(Arc::new), Ok);
                (table, digest)
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
        self.table(file, sidecars, &rules, false, None).map_or(0, ways)
    }

    fn system(&self, name: &str) -> Option<&System> {
        let file = self.catalog.systems.get(name)?;
        // Rows of a system whose YAML is broken are still judged by what is known of it.
        file.system.as_ref().ok().or_else(|| self.specs.systems.get(name))
    }

    /// Rows of a table that was not sketched; none where it cannot be read.
    pub fn rows(&self, file: &TableFile) -> Option<usize> {
        let bytes = self.source.read(&file.entry).ok()?;
        Some(file.decode(self.specs, &bytes).ok()?.rows)
    }
}
