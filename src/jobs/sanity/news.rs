//! The findings of a pull request: which of them are new, and which were there before.
//!
//! 1. The head is judged: the tables that changed by themselves, and against others the tables that
//!    changed or of which the loader now serves less. What rows say splits each finding into its new and
//!    its inherited half while it is made.
//! 2. Findings that no row splits are compared with the base: findings on a file as a whole, and
//!    findings against other tables. The base is judged by their rules alone, on the tables that they
//!    are about.
//! 3. What is inherited is kept for the files that changed only.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::base::error::Result;
use crate::base::progress::Progress;
use crate::checks::PrChange;
use crate::checks::compare::sketch::Sketches;
use crate::checks::rule::{Rule, Rules};
use crate::database::catalog::{Catalog, Place, Role, TableFile};
use crate::database::diff::{Diff, State, Status, TableDiff};
use crate::database::selection::Selection;
use crate::findings::{BaseFindings, Finding, Novelty, RowChange};
use crate::jobs::validate::Job;

/// Two states of a database and what changed between them.
pub struct News<'a> {
    /// Before.
    pub base: State<'a>,
    /// After.
    pub head: State<'a>,
    /// What changed.
    pub diff: &'a Diff,
    /// What both are judged by.
    pub rules: &'a [Arc<Rule>],
    /// All rules, those of this run or not.
    pub all_rules: &'a Rules,
    /// Threads.
    pub threads: usize,
}

/// What a table is, in whatever layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TableIdentity<'a> {
    system: &'a str,
    backend: &'a str,
    version: &'a str,
    table: &'a str,
}

impl<'a> TableIdentity<'a> {
    fn new(place: &'a Place, table: &'a str) -> Self {
        let Place { system, backend, version, .. } = place;
        Self { system, backend, version, table }
    }

    fn of(file: &'a TableFile) -> Self {
        Self::new(&file.place, &file.table)
    }

    /// The table in any version: what is served of one version comes from others, too.
    fn in_any_version(self) -> (&'a str, &'a str, &'a str) {
        (self.system, self.backend, self.table)
    }
}

/// The base's table that each table of the head was, by the head's path.
type Predecessors<'a> = BTreeMap<&'a str, &'a TableFile>;

impl News<'_> {
    /// Findings on what changed and on what that is served with, each new or not.
    ///
    /// # Errors
    ///
    /// When a rule fails. Whatever is wrong with the data is a finding.
    pub fn findings(&self, progress: &dyn Progress) -> Result<Vec<Finding>> {
        let predecessors = self.predecessors();
        let mut head = self.job(self.head)?;
        let alone = head.judged_tables();
        let against = self.against(&alone);
        let change = self.change(&alone, &predecessors);
        head.pr = Some(&change);
        let judged = head.run(&alone, &against, Sketches::default(), progress)?;

        let (mut unsplit, mut findings): (Vec<_>, Vec<_>) =
            judged.findings.into_iter().partition(|f| f.novelty == Novelty::Unjudged);
        if !unsplit.is_empty() {
            let sketches = self.kept(judged.sketches, &predecessors);
            let base = self.base_findings(&unsplit, &against, &predecessors, sketches, progress)?;
            for finding in &mut unsplit {
                finding.novelty = base.novelty(finding);
            }
        }
        findings.append(&mut unsplit);
        let changed: BTreeSet<&str> = self.diff.tables.iter().map(|t| t.path.as_str()).collect();
        findings.retain(|f| f.is_new() || f.table.is_none() || changed.contains(f.path.as_str()));
        Ok(findings)
    }

    /// A job that judges what changed of a state.
    fn job<'a>(&'a self, state: State<'a>) -> Result<Job<'a>> {
        let tables = self.diff.tables.iter().flat_map(|t| [Some(&t.path), t.old_path.as_ref()]);
        let files = self.diff.files.iter().map(|f| Some(&f.path));
        let mut changed: Vec<String> = tables.chain(files).flatten().cloned().collect();
        let differ = state.catalog.tables.iter().filter(|t| self.known_otherwise(t));
        changed.extend(differ.map(|t| t.entry.path.clone()));
        Ok(Job {
            source: state.source,
            catalog: state.catalog,
            selected: Selection::default().resolve(state.catalog, Some(changed))?,
            rules: self.rules.to_vec(),
            all_rules: self.all_rules,
            specs: state.specs,
            facts: state.facts,
            threads: self.threads,
            ledger: None,
            pr: None,
            decoded: Some(state.decoded),
        })
    }

    /// A table of the head is what lay at its path, or at the path that it moved from.
    fn predecessors(&self) -> Predecessors<'_> {
        let base = by_path(self.base.catalog);
        let mut predecessors = base.clone();
        for table in &self.diff.tables {
            let before = table.old_path.as_deref().and_then(|old| base.get(old));
            if let Some(before) = before {
                predecessors.insert(&table.path, before);
            } else if table.status == Status::Deleted {
                predecessors.remove(table.path.as_str());
            }
        }
        let head = by_path(self.head.catalog);
        predecessors.retain(|path, _| head.contains_key(path));
        predecessors
    }

    /// Indices of the tables that are judged against others: those that changed, and those of which the
    /// loader serves less since rows of another version are gone.
    fn against(&self, changed: &[usize]) -> Vec<usize> {
        let base = by_path(self.base.catalog);
        let mut poorer = BTreeSet::new();
        for table in &self.diff.tables {
            let path = table.old_path.as_ref().unwrap_or(&table.path);
            let Some(before) = base.get(path.as_str()).map(|file| TableIdentity::of(file)) else {
                continue;
            };
            let moved = before != TableIdentity::new(&table.place, &table.table);
            let lost = table.rows.as_ref().is_none_or(|rows| !rows.removed.is_empty());
            if moved || lost {
                poorer.insert(before.in_any_version());
            }
        }
        let tables = self.head.catalog.tables.iter().enumerate();
        let served_less =
            tables.filter(|(_, t)| poorer.contains(&TableIdentity::of(t).in_any_version()));
        let against: BTreeSet<usize> =
            changed.iter().copied().chain(served_less.map(|(index, _)| index)).collect();
        against.into_iter().collect()
    }

    /// Systems and their backends of which tables changed.
    fn backends(&self) -> BTreeSet<(String, String)> {
        let places = self.diff.tables.iter().map(|t| &t.place);
        places.map(|place| (place.system.clone(), place.backend.clone())).collect()
    }

    /// What the pull request changes of the tables that are judged by themselves.
    fn change(&self, judged: &[usize], predecessors: &Predecessors<'_>) -> PrChange {
        let mut change = PrChange { backends: self.backends(), ..PrChange::default() };
        let diffs: BTreeMap<&str, &TableDiff> =
            self.diff.tables.iter().map(|t| (t.path.as_str(), t)).collect();
        for file in judged.iter().map(|i| &self.head.catalog.tables[*i]) {
            let path = file.entry.path.as_str();
            let diff = diffs.get(path).copied();
            let rows = self.row_change(file, diff, predecessors.get(path).copied());
            if diff.is_some() && rows.any() {
                change.tables.insert(path.to_owned());
            }
            change.rows.insert(path.to_owned(), rows);
        }
        change
    }

    /// Which rows of a table are new.
    fn row_change(
        &self,
        file: &TableFile,
        diff: Option<&TableDiff>,
        before: Option<&TableFile>,
    ) -> RowChange {
        // Of another machine or version, rows are other rows.
        let is_same = before.is_some_and(|b| TableIdentity::of(b) == TableIdentity::of(file));
        match diff {
            Some(_) if !is_same => RowChange::All,
            _ if self.system_changed(file) || self.known_otherwise(file) => RowChange::Unknown,
            Some(diff) => added_or_changed(diff),
            None => RowChange::Untouched,
        }
    }

    /// Whether the system of a table is another than it was, so that all of it is judged anew.
    fn system_changed(&self, file: &TableFile) -> bool {
        let Some(system) = self.head.catalog.systems.get(&file.place.system) else { return false };
        self.diff.files.iter().any(|f| f.role == Role::System && f.path == system.yaml)
    }

    /// Whether the states say different things of a table, its family for one, so that all of it is
    /// judged anew.
    fn known_otherwise(&self, file: &TableFile) -> bool {
        !self.base.specs.know_alike(self.head.specs, &file.table)
    }

    /// What the base has of the subjects of some findings of the head, for which tables were judged
    /// `against` others.
    fn base_findings(
        &self,
        findings: &[Finding],
        against: &[usize],
        predecessors: &Predecessors<'_>,
        sketches: Sketches,
        progress: &dyn Progress,
    ) -> Result<BaseFindings> {
        let path_before = |path: &str| Some(predecessors.get(path)?.entry.path.as_str());
        let about = findings.iter().filter(|f| f.table.is_some());
        let about: BTreeSet<&str> = about.filter_map(|f| path_before(&f.path)).collect();
        // Findings on several tables together need all of those tables as they were.
        let all = findings.iter().any(|f| f.table.is_none());
        let against: BTreeSet<&str> = against
            .iter()
            .filter_map(|i| path_before(&self.head.catalog.tables[*i].entry.path))
            .filter(|path| all || about.contains(path))
            .collect();
        let changed = self.diff.tables.iter().filter_map(|t| path_before(&t.path));
        // Rows of the base are all alike: none is new.
        let change = PrChange {
            rows: about.iter().map(|path| ((*path).to_owned(), RowChange::Unknown)).collect(),
            tables: changed.map(str::to_owned).collect(),
            backends: self.backends(),
        };
        let rules: BTreeSet<&str> = findings.iter().map(|f| f.rule.as_str()).collect();
        let mut base = self.job(self.base)?;
        base.pr = Some(&change);
        base.rules.retain(|r| rules.contains(r.id.as_str()));
        let about = indices(self.base.catalog, &about);
        let against = indices(self.base.catalog, &against);
        Ok(base.run(&about, &against, sketches, progress)?.findings.into_iter().collect())
    }

    /// The sketches of the head that are the base's, too, by the base's paths: those of tables of which
    /// nothing changed but the path.
    fn kept(&self, sketches: Sketches, predecessors: &Predecessors<'_>) -> Sketches {
        let read = self.diff.tables.iter().filter(|t| t.base_rows.is_some() || t.fault.is_some());
        let read: BTreeSet<&str> = read.map(|t| t.path.as_str()).collect();
        let mut kept: BTreeMap<&str, &str> = BTreeMap::new();
        for file in &self.head.catalog.tables {
            let path = file.entry.path.as_str();
            let Some(before) = predecessors.get(path) else { continue };
            let is_same = TableIdentity::of(before) == TableIdentity::of(file);
            let judged_alike = !self.system_changed(file) && !self.known_otherwise(file);
            if is_same && !read.contains(path) && judged_alike {
                kept.insert(path, &before.entry.path);
            }
        }
        sketches.of_state(|path| kept.get(path).map(|before| (*before).to_owned()))
    }
}

/// The tables of a state by path.
fn by_path(catalog: &Catalog) -> BTreeMap<&str, &TableFile> {
    catalog.tables.iter().map(|t| (t.entry.path.as_str(), t)).collect()
}

/// Indices of the tables at some paths.
fn indices(catalog: &Catalog, paths: &BTreeSet<&str>) -> Vec<usize> {
    let tables = catalog.tables.iter().enumerate();
    tables.filter(|(_, t)| paths.contains(t.entry.path.as_str())).map(|(index, _)| index).collect()
}

/// The rows of the head that are not the base's; unknown where rows could not be compared.
fn added_or_changed(diff: &TableDiff) -> RowChange {
    let Some(rows) = &diff.rows else { return RowChange::Unknown };
    let new = || rows.added.iter().chain(rows.changed.iter().map(|(_, head)| head));
    let mut marked = vec![false; new().max().map_or(0, |last| *last as usize + 1)];
    new().for_each(|row| marked[*row as usize] = true);
    RowChange::Rows(marked)
}
