//! The scope of a pull request: the tables that are judged in each state.

use std::collections::BTreeSet;

use super::identity::{TableIdentity, by_path};
use super::news::News;
use crate::jobs::validate::Job;

impl News<'_> {
    /// The tables of a state that changed, or whose sidecar or system did, as indices into its catalog.
    pub(super) fn changed(&self, job: &Job<'_>) -> Vec<usize> {
        let mut changed = job.judged_tables();
        changed.retain(|index| {
            let file = &job.catalog.tables[*index];
            job.touches(file) || self.facts.are_of_system(&file.place.system)
        });
        changed
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
