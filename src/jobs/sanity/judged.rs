//! Which tables of a state are judged: those that a pull request changes, and those whose system it
//! changes, by what it changes of that.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::identity::{TableIdentity, by_path};
use super::limits::ChangedLimits;
use super::news::News;
use super::systems::SystemChange;
use crate::checks::rule::Rule;
use crate::database::catalog::Role;
use crate::findings::ChangedFigures;
use crate::jobs::validate::Job;

/// Tables of a state under judgement, as indices into its catalog.
#[derive(Default)]
pub(super) struct JudgedTables {
    /// Those judged by themselves.
    pub alone: Vec<usize>,
    /// Those judged against others.
    pub compared: Vec<usize>,
    /// Paths of those that did not change, with the figures by which they are judged by themselves.
    pub by_figures: BTreeMap<String, ChangedFigures>,
}

/// The rules that judge a change.
pub(super) struct AskedRules {
    pub rules: Vec<Arc<Rule>>,
    /// Whether those that hold tables against each other do so for what limits say alone.
    pub by_limits: bool,
}

impl News<'_> {
    /// Which tables of a state are judged by themselves, and which of them against others.
    pub(super) fn judged(&self, job: &Job<'_>) -> JudgedTables {
        let mut judged = JudgedTables::default();
        // Tables of one name and system are alike in this.
        let mut reading: BTreeMap<(&str, &str), bool> = BTreeMap::new();
        for index in job.judged_tables() {
            let file = &job.catalog.tables[index];
            let change = self.facts.of_system(&file.place.system);
            let mut reads = |figures: &ChangedFigures| {
                let name = (file.place.system.as_str(), file.table.as_str());
                *reading.entry(name).or_insert_with(|| self.is_read(&file.table, figures))
            };
            if job.touches(file) || *change == SystemChange::All {
                judged.compared.push(index);
                judged.alone.push(index);
            } else if let Some(figures) = change.figures().filter(|figures| reads(figures)) {
                judged.by_figures.insert(file.entry.path.clone(), figures.clone());
                judged.alone.push(index);
            }
        }
        let limits = ChangedLimits::between(self.base, self.head);
        let tables = job.catalog.tables.iter().enumerate();
        judged.compared.extend(tables.filter(|(_, t)| limits.concern(t)).map(|(index, _)| index));
        judged.compared.sort_unstable();
        judged.compared.dedup();
        judged
    }

    /// Whether a rule judges a table by one of some figures.
    fn is_read(&self, table: &str, figures: &ChangedFigures) -> bool {
        let Some(spec) = self.head.specs.tables.get(table) else { return false };
        self.rules.iter().any(|rule| rule.check.judge().reads(spec).reads_any_of(figures))
    }

    /// The rules that judge both states. Where nothing changes but figures of systems, what holds tables against each
    /// other and reads none of them finds what it found before.
    pub(super) fn asked(&self) -> AskedRules {
        let Some(figures) = self.figures_alone() else {
            return AskedRules { rules: self.rules.to_vec(), by_limits: false };
        };
        let specs = &self.head.specs.tables;
        let reads = |rule: &Rule| {
            specs.values().any(|spec| rule.check.judge().reads(spec).reads_any_of(&figures))
        };
        let mut asked = AskedRules { rules: Vec::new(), by_limits: true };
        for rule in self.rules {
            let judge = rule.check.judge();
            let compares_by_figures = judge.compares() && reads(rule);
            asked.by_limits &= !compares_by_figures;
            if !judge.compares() || judge.reads_limits() || compares_by_figures {
                asked.rules.push(rule.clone());
            }
        }
        asked
    }

    /// The figures of systems that change, where nothing else does.
    fn figures_alone(&self) -> Option<ChangedFigures> {
        if !self.diff.tables.is_empty() || self.facts.are_of_tables() {
            return None;
        }
        let mut figures = ChangedFigures::default();
        for file in self.diff.files.iter().filter(|file| file.role != Role::Other) {
            let mut systems = self.head.catalog.systems.iter();
            let (name, _) = systems.find(|(_, system)| system.yaml == file.path)?;
            match self.facts.of_system(name) {
                SystemChange::None => {}
                SystemChange::Figures(own) => figures.extend(own),
                SystemChange::All => return None,
            }
        }
        Some(figures)
    }

    /// Indices of the tables that are judged against others: those that changed, and those of which the
    /// loader serves less since rows of another version are gone.
    pub(super) fn against(&self, changed: &[usize]) -> Vec<usize> {
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
}
