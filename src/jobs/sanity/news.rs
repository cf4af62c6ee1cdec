//! The findings of a pull request: which of them are new, and which were there before.
//!
//! 1. The base is judged: the tables that the pull request changes or takes away by themselves, and those
//!    of which the loader serves less afterwards against others.
//! 2. The head is judged likewise. Each finding on rows is split while it is made: new are rows that were
//!    added, and rows that changed in a column that the rule reads while the base has no finding of that
//!    rule on their key; the others were there before.
//! 3. Findings that no row splits are compared with those of the base: findings on a file as a whole, and
//!    findings against other tables.
//! 4. Findings of the base that the head no longer has are repaired.
//! 5. What is inherited is kept for the files that changed only.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::facts::ChangedFacts;
use super::identity::{Predecessors, TableIdentity, by_path, indices, successors};
use crate::base::error::Result;
use crate::base::progress::Progress;
use crate::checks::PrChange;
use crate::checks::compare::curves::KeyLatencies;
use crate::checks::compare::losing::LosingTables;
use crate::checks::compare::sketch::Sketches;
use crate::checks::rule::{Rule, Rules};
use crate::database::catalog::TableFile;
use crate::database::diff::{Diff, Side, Status, TableDiff};
use crate::database::selection::Selection;
use crate::database::state::State;
use crate::findings::{
    BaseFindings, Compared, Finding, NewFacts, Novelty, Reads, Repaired, RowChange,
};
use crate::jobs::validate::Job;
use crate::planner::{PlannerFiles, SharedModels};

/// Two states of a database and what changed between them.
pub struct News<'a> {
    /// Before.
    pub base: State<'a>,
    /// After.
    pub head: State<'a>,
    /// What changed.
    pub diff: &'a Diff,
    /// What changed of what is known.
    pub facts: ChangedFacts<'a>,
    /// The tables that lose keys or measurements, where a rule asks for them.
    pub losing: Option<&'a LosingTables<'a>>,
    /// What both are judged by.
    pub rules: &'a [Arc<Rule>],
    /// All rules, those of this run or not.
    pub all_rules: &'a Rules,
    /// The models that are planned.
    pub models: &'a SharedModels<'a>,
    /// The files that predictions will read.
    pub files: Option<&'a PlannerFiles>,
    /// Whether charts are chosen of what is judged.
    pub draws: bool,
}

/// What judging a pull request leaves.
pub struct JudgedChange {
    /// Findings of the head, in no order.
    pub findings: Vec<Finding>,
    /// Findings of the base that the head no longer has.
    pub repaired: Vec<Repaired>,
    /// Paths of the tables that are in git-LFS and were not fetched.
    pub in_lfs: Vec<String>,
}

impl News<'_> {
    /// Findings on what changed and on what that is served with, each new or not, and those of the base
    /// that are gone.
    ///
    /// # Errors
    ///
    /// When a rule fails. Whatever is wrong with the data is a finding.
    pub fn judge(&self, progress: &dyn Progress) -> Result<JudgedChange> {
        let predecessors = self.predecessors();
        let mut head = self.job(self.head)?;
        let changed = self.changed(&head);
        let against = self.against(&changed);
        let (base, sketches) = self.judge_base(&against, &predecessors)?;
        let mut change = self.change(&changed, &predecessors, &base);
        change.latencies = self.latencies(&changed, &predecessors, &sketches);
        let sketches = self.kept(sketches, &predecessors);
        head.pr = Some(&change);
        let judged = head.run(&changed, &against, sketches, progress)?;
        let mut findings = judged.findings;
        let base = BaseFindings::new(base, successors(self.head.catalog, &predecessors));
        for finding in &mut findings {
            finding.novelty = self.novelty(finding, &base, &change);
        }
        base.mark_moved(&mut findings);
        // That neither side is at hand is said once, by the verdict.
        let absent: BTreeSet<&str> = self.lacking(Side::Both).collect();
        findings.retain(|f| f.table.is_none() || !absent.contains(f.path.as_str()));
        let unread: BTreeSet<&str> = self.lacking(Side::Head).chain(absent).collect();
        let untouched = RowChange::Untouched;
        let repaired = base.repaired(&findings, |path| {
            (!unread.contains(path)).then(|| change.rows.get(path).unwrap_or(&untouched))
        });
        let changed: BTreeSet<&str> = self.diff.tables.iter().map(|t| t.path.as_str()).collect();
        findings.retain(|f| f.is_new() || f.table.is_none() || changed.contains(f.path.as_str()));
        Ok(JudgedChange { findings, repaired, in_lfs: judged.in_lfs })
    }

    /// Whether a finding of the head is new.
    fn novelty(&self, finding: &Finding, base: &BaseFindings, change: &PrChange) -> Novelty {
        match finding.novelty {
            Novelty::Unjudged => base.novelty(finding),
            Novelty::New => Novelty::New,
            old => {
                let rows = change.rows.get(&finding.path);
                let touched = rows.is_some_and(|rows| self.touches(finding, rows));
                if touched && base.is_milder_than(finding) { Novelty::New } else { old }
            }
        }
    }

    /// Whether one of the rows of a finding changed in what its rule reads.
    fn touches(&self, finding: &Finding, rows: &RowChange) -> bool {
        let rule = self.rules.iter().find(|rule| rule.id == finding.rule);
        let spec = finding.table.as_ref().and_then(|table| self.head.specs.tables.get(table));
        let reads = rule.zip(spec).map(|(rule, spec)| rule.check.judge().reads(spec));
        rows.touches(&finding.named_rows, &reads.unwrap_or(Reads::all()))
    }

    /// Paths of the tables that were not compared since a side of them cannot be read.
    fn lacking(&self, side: Side) -> impl Iterator<Item = &str> {
        let lacking = self.diff.tables.iter().filter(move |table| table.lacks(side));
        lacking.map(|table| table.path.as_str())
    }

    /// A job that judges what changed of a state.
    fn job<'a>(&'a self, state: State<'a>) -> Result<Job<'a>> {
        let tables = self.diff.tables.iter().flat_map(|t| [Some(&t.path), t.old_path.as_ref()]);
        let files = self.diff.files.iter().map(|f| Some(&f.path));
        let mut changed: Vec<String> = tables.chain(files).flatten().cloned().collect();
        let differ = state.catalog.tables.iter().filter(|t| self.facts.are_of_table(t));
        changed.extend(differ.map(|t| t.entry.path.clone()));
        Ok(Job {
            source: state.source,
            catalog: state.catalog,
            selected: Selection::default().resolve(state.catalog, Some(changed))?,
            rules: self.rules.to_vec(),
            all_rules: self.all_rules,
            specs: state.specs,
            facts: state.facts,
            models: self.models,
            ledger: None,
            pr: None,
            decoded: Some(state.decoded),
            keeps_decoded: self.draws,
            keeps_sketches: false,
            files: self.files,
            losing: self.losing,
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

    /// Systems and their backends of which tables changed.
    fn backends(&self) -> BTreeSet<(String, String)> {
        let places = self.diff.tables.iter().map(|t| &t.place);
        places.map(|place| (place.system.clone(), place.backend.clone())).collect()
    }

    /// What the pull request changes of the tables that are judged by themselves, and what `base` found
    /// in them.
    fn change(
        &self,
        judged: &[usize],
        predecessors: &Predecessors<'_>,
        base: &[Finding],
    ) -> PrChange {
        let mut change = PrChange { backends: self.backends(), ..PrChange::default() };
        let diffs: BTreeMap<&str, &TableDiff> =
            self.diff.tables.iter().map(|t| (t.path.as_str(), t)).collect();
        let mut found: BTreeMap<&str, Vec<&Finding>> = BTreeMap::new();
        for finding in base {
            found.entry(&finding.path).or_default().push(finding);
        }
        for file in judged.iter().map(|i| &self.head.catalog.tables[*i]) {
            let path = file.entry.path.as_str();
            let diff = diffs.get(path).copied();
            let before = predecessors.get(path).copied();
            let mut rows = self.row_change(file, diff, before);
            let known = before.and_then(|b| found.get(b.entry.path.as_str()));
            if let RowChange::Compared(rows) = &mut rows {
                let known = known.into_iter().flatten();
                known.for_each(|finding| rows.knows(finding));
            }
            if diff.is_some() && rows.any() {
                change.tables.insert(path.to_owned());
            }
            change.rows.insert(path.to_owned(), rows);
        }
        change
    }

    /// The latencies that the tables judged by themselves had before.
    fn latencies(
        &self,
        judged: &[usize],
        predecessors: &Predecessors<'_>,
        sketches: &Sketches,
    ) -> BTreeMap<String, Arc<KeyLatencies>> {
        let mut latencies = BTreeMap::new();
        for file in judged.iter().map(|i| &self.head.catalog.tables[*i]) {
            let path = &file.entry.path;
            let before = predecessors.get(path.as_str());
            let sketch = before.and_then(|before| sketches.by_path.get(&before.entry.path));
            let of_table = sketch.and_then(|sketch| sketch.latencies.clone());
            latencies.extend(of_table.map(|of_table| (path.clone(), of_table)));
        }
        latencies
    }

    /// Which rows of a table are new.
    fn row_change(
        &self,
        file: &TableFile,
        diff: Option<&TableDiff>,
        before: Option<&TableFile>,
    ) -> RowChange {
        let moved = before.is_some_and(|b| TableIdentity::of(b) != TableIdentity::of(file));
        let facts = if moved || self.facts.are_of_table(file) {
            NewFacts::All
        } else if self.facts.are_of_system(&file.place.system) {
            NewFacts::System
        } else {
            NewFacts::None
        };
        let Some(diff) = diff else {
            return match facts {
                NewFacts::None => RowChange::Untouched,
                _ => RowChange::Compared(Compared { facts, ..Compared::default() }),
            };
        };
        let same_bytes = diff.only_moved() && diff.base_rows.is_none();
        match before {
            // Of another machine or version, rows are other rows, unless the base has the same finding.
            Some(_) if same_bytes || diff.matched.is_some() => RowChange::Compared(Compared {
                matched: diff.matched.clone(),
                facts,
                moved: diff.old_path.is_some(),
                ..Compared::default()
            }),
            // Of a base that cannot be read nothing is known, so that nothing of the head is inherited.
            _ => RowChange::All,
        }
    }

    /// Judges the base: the tables that the pull request changes or removes, and the predecessors of the tables that
    /// the head judges `against` others.
    fn judge_base(
        &self,
        against: &[usize],
        predecessors: &Predecessors<'_>,
    ) -> Result<(Vec<Finding>, Sketches)> {
        let mut base = self.job(self.base)?;
        let changed = self.changed(&base);
        let path = |index: &usize| self.head.catalog.tables[*index].entry.path.as_str();
        let before: BTreeSet<&str> = against
            .iter()
            .filter_map(|index| Some(predecessors.get(path(index))?.entry.path.as_str()))
            .collect();
        let mut against = indices(self.base.catalog, &before);
        against.extend(&changed);
        against.sort_unstable();
        against.dedup();
        let tables = &self.base.catalog.tables;
        // Rows of the base are all alike: none is new.
        let judged = against.iter();
        let judged = judged.map(|index| (tables[*index].entry.path.clone(), RowChange::Unknown));
        let change = PrChange {
            rows: judged.collect(),
            tables: changed.iter().map(|index| tables[*index].entry.path.clone()).collect(),
            backends: self.backends(),
            ..PrChange::default()
        };
        base.pr = Some(&change);
        base.keeps_sketches = true;
        // Keys of slices that are taken with rows for predictions have their numbers.
        let names = self.files.map(|files| files.names.clone()).unwrap_or_default();
        let known = Sketches { names, ..Sketches::default() };
        let judged = base.run(&changed, &against, known, &())?;
        Ok((judged.findings, judged.sketches))
    }

    /// Whether both states take the same sketch of a table's bytes: no fact that the loader's key or latency reads
    /// changed.
    fn is_sketched_alike(&self, file: &TableFile) -> bool {
        let reads_facts = || {
            let spec = self.head.specs.tables.get(&file.table);
            spec.is_none_or(|spec| Reads::loaded(spec).reads_any())
        };
        let is_alike = !self.facts.are_of_system(&file.place.system) || !reads_facts();
        is_alike && !self.facts.are_of_table(file)
    }

    /// The sketches of the base that are the head's, too, by the head's paths: those of tables of which
    /// nothing changed but the path.
    fn kept(&self, sketches: Sketches, predecessors: &Predecessors<'_>) -> Sketches {
        let read = self.diff.tables.iter().filter(|t| t.base_rows.is_some() || t.fault.is_some());
        let read: BTreeSet<&str> = read.map(|t| t.path.as_str()).collect();
        let mut kept: BTreeMap<&str, &str> = BTreeMap::new();
        // Tables of one name and system are alike in this.
        let mut alike: BTreeMap<(&str, &str), bool> = BTreeMap::new();
        for file in &self.head.catalog.tables {
            let path = file.entry.path.as_str();
            let Some(before) = predecessors.get(path) else { continue };
            let is_same = TableIdentity::of(before) == TableIdentity::of(file);
            let name = (file.place.system.as_str(), file.table.as_str());
            let mut is_alike =
                || *alike.entry(name).or_insert_with(|| self.is_sketched_alike(file));
            if is_same && !read.contains(path) && is_alike() {
                kept.insert(&before.entry.path, path);
            }
        }
        sketches.of_state(|path| kept.get(path).map(|after| (*after).to_owned()))
    }
}
