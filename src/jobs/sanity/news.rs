//! Which findings a pull request brings, and which were there before.
//!
//! The head is judged where it changed and where that is served; the base only for what rows do
//! not tell: findings on a file as a whole, and those against other tables.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::base::error::Result;
use crate::base::progress::Progress;
use crate::checks::Brings;
use crate::checks::compare::sketch::Sketches;
use crate::checks::rule::{Rule, Rules};
use crate::database::catalog::{Place, Role, TableFile};
use crate::database::diff::{Diff, State, Status, TableDiff};
use crate::database::selection::Selection;
use crate::findings::{Brought, Finding, Known, Subject};
use crate::jobs::validate::Job;
use crate::specs::Specs;

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
    /// What is known of tables.
    pub specs: &'a Specs,
    /// Threads.
    pub threads: usize,
}

/// What a table is, wherever it lies: system, backend, version and name.
type Identity<'a> = (&'a str, &'a str, &'a str, &'a str);

/// A table of any version: system, backend and name. What is served of one comes from others.
type Served<'a> = (&'a str, &'a str, &'a str);

fn identity<'a>(place: &'a Place, table: &'a str) -> Identity<'a> {
    (&place.system, &place.backend, &place.version, table)
}

fn served<'a>(place: &'a Place, table: &'a str) -> Served<'a> {
    (&place.system, &place.backend, table)
}

impl News<'_> {
    /// Findings on what changed and on what that is served with, each new or not. What was there
    /// before is told of the files that changed alone.
    ///
    /// # Errors
    ///
    /// When a rule fails. Whatever is wrong with the data is a finding.
    pub fn findings(&self, progress: &dyn Progress) -> Result<Vec<Finding>> {
        let was = self.was();
        let mut head = self.job(self.head)?;
        let alone = head.judged_tables();
        let against = self.against(&alone);
        let brings = self.brings(&alone, &was);
        head.brings = Some(&brings);
        let judged = head.run(&alone, &against, Sketches::default(), progress)?;

        let (mut open, mut findings): (Vec<_>, Vec<_>) =
            judged.findings.into_iter().partition(|f| f.new.is_none());
        if !open.is_empty() {
            let known = self.known(&open, &against, &was, judged.sketches, progress)?;
            for finding in &mut open {
                finding.new =
                    Some(known.get(&Subject::of(finding)).is_none_or(|k| k.grew(finding)));
            }
        }
        findings.append(&mut open);
        let changed: BTreeSet<&str> = self.diff.tables.iter().map(|t| t.path.as_str()).collect();
        findings.retain(|f| {
            f.new == Some(true) || f.table.is_none() || changed.contains(f.path.as_str())
        });
        Ok(findings)
    }

    /// Judges by the rules what changed of a state.
    fn job<'a>(&'a self, state: State<'a>) -> Result<Job<'a>> {
        let tables = self.diff.tables.iter().flat_map(|t| [Some(&t.path), t.old_path.as_ref()]);
        let files = self.diff.files.iter().map(|f| Some(&f.path));
        let changed = tables.chain(files).flatten().cloned().collect();
        Ok(Job {
            source: state.source,
            catalog: state.catalog,
            selected: Selection::default().resolve(state.catalog, Some(changed))?,
            rules: self.rules.to_vec(),
            all_rules: self.all_rules,
            specs: self.specs,
            threads: self.threads,
            ledger: None,
            brings: None,
        })
    }

    /// The table of the base that each table of the head was, by path.
    fn was(&self) -> BTreeMap<&str, &TableFile> {
        let base = &self.base.catalog.tables;
        let base: BTreeMap<&str, _> = base.iter().map(|t| (t.entry.path.as_str(), t)).collect();
        let mut was = base.clone();
        for table in &self.diff.tables {
            match &table.old_path {
                Some(old) => was.insert(&table.path, base[old.as_str()]),
                None if table.status == Status::Deleted => was.remove(table.path.as_str()),
                None => None,
            };
        }
        let head = self.head.catalog.tables.iter().map(|t| t.entry.path.as_str());
        let head: BTreeSet<&str> = head.collect();
        was.retain(|path, _| head.contains(path));
        was
    }

    /// The tables judged against others: those that changed, and those of which the loader serves
    /// less since rows of another version are gone.
    fn against(&self, alone: &[usize]) -> Vec<usize> {
        let base = self.base.catalog.tables.iter().map(|t| (t.entry.path.as_str(), t));
        let base: BTreeMap<&str, &TableFile> = base.collect();
        let lost = |t: &TableDiff| {
            let before = *base.get(t.old_path.as_ref().unwrap_or(&t.path).as_str())?;
            let moved = identity(&before.place, &before.table) != identity(&t.place, &t.table);
            let less = t.rows.as_ref().is_none_or(|rows| !rows.removed.is_empty());
            (moved || less).then_some(served(&before.place, &before.table))
        };
        let lost: BTreeSet<Served<'_>> = self.diff.tables.iter().filter_map(lost).collect();
        let poorer = |i: &usize| {
            let table = &self.head.catalog.tables[*i];
            lost.contains(&served(&table.place, &table.table))
        };
        let mut against: BTreeSet<usize> = alone.iter().copied().collect();
        against.extend((0..self.head.catalog.tables.len()).filter(poorer));
        against.into_iter().collect()
    }

    /// Systems and their backends of which tables changed.
    fn backends(&self) -> BTreeSet<(String, String)> {
        let of = |t: &TableDiff| (t.place.system.clone(), t.place.backend.clone());
        self.diff.tables.iter().map(of).collect()
    }

    /// Tells which rows of the tables judged are new.
    fn brings(&self, alone: &[usize], was: &BTreeMap<&str, &TableFile>) -> Brings {
        let mut brings = Brings { backends: self.backends(), ..Brings::default() };
        let systems = self.diff.files.iter().filter(|f| f.role == Role::System);
        let systems: BTreeSet<&str> = systems.map(|f| f.path.as_str()).collect();
        let diff = self.diff.tables.iter().map(|t| (t.path.as_str(), t));
        let diff: BTreeMap<&str, &TableDiff> = diff.collect();
        for file in alone.iter().map(|i| &self.head.catalog.tables[*i]) {
            let path = file.entry.path.as_str();
            let change = diff.get(path);
            let before = was.get(path);
            let moved =
                |b: &&TableFile| identity(&b.place, &b.table) != identity(&file.place, &file.table);
            // Of another machine or version, rows are other rows.
            let brought = match (change, before) {
                (Some(_), None) => Some(Brought::All),
                (Some(_), Some(before)) if moved(before) => Some(Brought::All),
                _ if self.machine_changed(file, &systems) => None,
                (Some(change), Some(_)) => brought(change),
                (None, _) => continue,
            };
            if change.is_some() && brought.as_ref().is_none_or(Brought::any) {
                brings.later.insert(path.to_owned());
            }
            brings.rows.insert(path.to_owned(), brought);
        }
        brings
    }

    /// Whether the system of a table is another than it was, so that all of it is judged anew.
    fn machine_changed(&self, file: &TableFile, changed: &BTreeSet<&str>) -> bool {
        let system = self.head.catalog.systems.get(&file.place.system);
        system.is_some_and(|s| changed.contains(s.yaml.as_str()))
    }

    /// What the base has of the findings that are `open`, by what they are about, where the head
    /// was judged `against` others.
    fn known(
        &self,
        open: &[Finding],
        against: &[usize],
        was: &BTreeMap<&str, &TableFile>,
        sketches: Sketches,
        progress: &dyn Progress,
    ) -> Result<BTreeMap<Subject, Known>> {
        let on_table = open.iter().filter(|f| f.table.is_some());
        let wanted: BTreeSet<&str> = on_table
            .filter_map(|f| was.get(f.path.as_str()))
            .map(|t| t.entry.path.as_str())
            .collect();
        // Of several tables together only what all of them were tells what there was.
        let together = open.iter().any(|f| f.table.is_none());
        let of_head = |i: &usize| self.head.catalog.tables[*i].entry.path.as_str();
        let judged: BTreeSet<&str> = against
            .iter()
            .filter_map(|i| was.get(of_head(i)))
            .map(|t| t.entry.path.as_str())
            .filter(|path| together || wanted.contains(path))
            .collect();
        let tables = &self.base.catalog.tables;
        let of_base = |paths: &BTreeSet<&str>| -> Vec<usize> {
            let among = |i: &usize| paths.contains(tables[*i].entry.path.as_str());
            (0..tables.len()).filter(among).collect()
        };
        let later = self.diff.tables.iter().filter_map(|t| was.get(t.path.as_str()));
        // No row of the base is told apart from the others.
        let brings = Brings {
            rows: wanted.iter().map(|path| ((*path).to_owned(), None)).collect(),
            backends: self.backends(),
            later: later.map(|t| t.entry.path.clone()).collect(),
        };
        let rules: BTreeSet<&str> = open.iter().map(|f| f.rule.as_str()).collect();
        let mut base = self.job(self.base)?;
        base.brings = Some(&brings);
        base.rules.retain(|r| rules.contains(r.id.as_str()));
        let judged =
            base.run(&of_base(&wanted), &of_base(&judged), self.kept(sketches, was), progress)?;
        let mut known: BTreeMap<Subject, Known> = BTreeMap::new();
        for finding in judged.findings {
            known.entry(Subject::of(&finding)).or_default().add(finding);
        }
        Ok(known)
    }

    /// The sketches of the head that are the base's, too: those of tables that did not change but
    /// for their path.
    fn kept(&self, sketches: Sketches, was: &BTreeMap<&str, &TableFile>) -> Sketches {
        let systems: BTreeSet<&str> = self.diff.files.iter().map(|f| f.path.as_str()).collect();
        let read = self.diff.tables.iter().filter(|t| t.base_rows.is_some() || t.fault.is_some());
        let read: BTreeSet<&str> = read.map(|t| t.path.as_str()).collect();
        let kept = |file: &TableFile| {
            let before = *was.get(file.entry.path.as_str())?;
            let same = identity(&before.place, &before.table) == identity(&file.place, &file.table)
                && !read.contains(file.entry.path.as_str())
                && !self.machine_changed(file, &systems);
            same.then(|| (file.entry.path.clone(), before.entry.path.clone()))
        };
        let kept: BTreeMap<String, String> =
            self.head.catalog.tables.iter().filter_map(kept).collect();
        sketches.of_state(|path| kept.get(path).cloned())
    }
}

/// The rows of the head that are not the base's; none where the head has no rows to tell.
fn brought(change: &TableDiff) -> Option<Brought> {
    let rows = change.rows.as_ref()?;
    let new = || rows.added.iter().chain(rows.changed.iter().map(|(_, head)| head));
    let mut marked = vec![false; new().max().map_or(0, |last| *last as usize + 1)];
    new().for_each(|row| marked[*row as usize] = true);
    Some(Brought::Rows(marked))
}
