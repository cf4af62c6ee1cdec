//! A merge judged and made: which keys it replaces and adds, and the proof that it does nothing else.

use std::collections::{BTreeMap, BTreeSet};

use super::Options;
use super::choose::{MeasurementGroup, MergeEffect, groups};
use super::losses::{conflicts, differing, loses, untimed};
use super::made::{Merged, MergedRow, ShownKey, key_text};
use super::objection::Objection;
use super::shards::RunFile;
use super::stack::Stack;
use crate::base::expr::{ExprError, Vals};
use crate::database::catalog::TableFile;
use crate::database::diff::{RowDiff, rows_by_key};
use crate::database::table::{Keys, Table, TableScope, encode};
use crate::gpu::rerun::RerunList;
use crate::specs::{Serves, Specs, TableSpec};

/// What a merge would do, and what speaks against it.
pub struct JudgedMerge {
    groups: Vec<(MeasurementGroup, MergeEffect)>,
    /// What a lookup returns, in ms, a row each; NaN where the table has no latency.
    latency: Vec<f64>,
    /// The loader's key of each row that it reads.
    keys: BTreeMap<u32, u64>,
    /// The keys of the run's rows, for people.
    shown: Vec<ShownKey>,
    /// Rows of the run whose key the table has under another identity, with a row of the table.
    conflicts: Vec<(usize, usize)>,
    /// Columns in which those differ.
    differs: Vec<String>,
    /// Rows of the run that the list does not name.
    unlisted: Vec<usize>,
    /// Rows of the run that are left out, since the list does not name them.
    left_out: usize,
    /// Keys of the list that the run does not have.
    absent: usize,
    /// Measured columns that rows would lose: the column, a row of the run, and how many.
    loses: Vec<(String, usize, usize)>,
    /// Rows of the run without a time, the first of each file and how many.
    untimed: Vec<(usize, usize, usize)>,
    own: usize,
    serves: Serves,
}

impl JudgedMerge {
    /// Judges a run.
    ///
    /// # Errors
    ///
    /// When a formula of the spec does not fit the table's columns.
    pub fn of(
        stack: &Stack,
        file: &TableFile,
        spec: &TableSpec,
        specs: &Specs,
        options: &Options,
        list: Option<&RerunList>,
    ) -> Result<Self, ExprError> {
        let system = specs.systems.get(&file.place.system);
        let scope = TableScope::new(&stack.table, spec, &file.place, system, &specs.lookups);
        let parts = spec.latency.iter().map(|part| part.value.numbers(&scope));
        let parts: Vec<Vals<'_, f64>> = parts.collect::<Result<_, _>>()?;
        let keys = Keys::new(&spec.key, &scope)?;
        let operation = list.and_then(|list| list.of(&file.place, &file.table));
        let listed = operation.map(|o| o.keys(spec, specs)).transpose()?;
        let listed = listed.or(list.map(|_| BTreeSet::new()));
        let unlisted: Vec<usize> = match &listed {
            None => Vec::new(),
            Some(listed) => (stack.own..stack.table.rows)
                .filter(|row| !listed.contains(&keys.hashes()[*row]))
                .collect(),
        };
        let left_out: BTreeSet<usize> = unlisted.iter().copied().filter(|_| options.pick).collect();
        let all = groups(stack, &options.ignore, options.policy, &parts, &left_out);
        let effects = all.into_iter().map(|g| (g.effect(&stack.table), g));
        let all: Vec<(MeasurementGroup, MergeEffect)> =
            effects.map(|(effect, group)| (group, effect)).collect();
        let sum = |row: usize| parts.iter().map(|p| p.get(row)).sum();
        let latency: Vec<f64> = match parts[..] {
            [] => vec![f64::NAN; stack.table.rows],
            _ => (0..stack.table.rows).map(sum).collect(),
        };
        let by_key = rows_by_key(&scope)?.unwrap_or_default();
        let conflicts = conflicts(&all, &by_key, stack.own);
        let of_run = || (stack.own..stack.table.rows).filter(|row| !left_out.contains(row));
        let there: BTreeSet<u64> = of_run().map(|row| keys.hashes()[row]).collect();
        Ok(Self {
            loses: loses(&stack.table, &all, spec.serves),
            untimed: untimed(stack, spec, &latency, &left_out),
            shown: (stack.own..stack.table.rows).map(|row| keys.show(row)).collect(),
            differs: differing(&stack.table, &conflicts, &options.ignore),
            keys: by_key.iter().rev().map(|(hash, row)| (*row, *hash)).collect(),
            own: stack.own,
            serves: spec.serves,
            groups: all,
            latency,
            conflicts,
            unlisted: if options.pick { Vec::new() } else { unlisted },
            left_out: left_out.len(),
            absent: listed.map_or(0, |listed| listed.difference(&there).count()),
        })
    }

    /// What speaks against the merge.
    pub fn objections(&self, run: &[RunFile], options: &Options) -> Vec<Objection> {
        let mut all = Vec::new();
        for (number, first, rows) in &self.untimed {
            let file = run[*number].shown();
            all.push(Objection::Untimed { file, rows: *rows, first: *first });
        }
        for (column, row, keys) in &self.loses {
            let (column, example) = (column.clone(), self.example(*row));
            all.push(Objection::Loses { column, keys: *keys, example });
        }
        if let Some(row) = self.unlisted.first() {
            let list = options.only.as_ref().map_or_else(String::new, |p| p.display().to_string());
            let (keys, example) = (self.unlisted.len(), self.example(*row));
            all.push(Objection::Unlisted { keys, list, example });
        }
        let old: Vec<usize> =
            self.groups.iter().filter(|(g, _)| !g.is_new()).map(|(g, _)| g.run[0]).collect();
        if let Some(row) = old.first().filter(|_| options.append) {
            all.push(Objection::NotNew { keys: old.len(), example: self.example(*row) });
        }
        if let Some((row, _)) = self.conflicts.first() {
            let (keys, columns) = (self.conflicts.len(), self.differs.clone());
            all.push(Objection::Conflict { keys, columns, example: self.example(*row) });
        }
        all
    }

    fn example(&self, row: usize) -> String {
        key_text(&self.shown[row - self.own])
    }

    /// Makes the table.
    pub fn merged(
        self,
        file: &TableFile,
        stack: &Stack,
        run: &[RunFile],
    ) -> Result<Merged, Objection> {
        let order = self.order();
        let columns = stack.table.take(&order);
        let bytes = encode(&columns).map_err(|e| Objection::Table(e.into()))?;
        let new = Table::of(order.len(), columns);
        let mut merged = Merged {
            table: file.table.clone(),
            bytes,
            rows: order.len(),
            own: stack.own,
            before: self.groups.iter().map(|(g, _)| g.own.len()).sum(),
            replaced: Vec::new(),
            added: Vec::new(),
            kept: 0,
            absent: self.absent,
            left_out: self.left_out,
            unserved: self.unserved(&order),
            overlaps: self.overlaps(stack, run),
            origins: Vec::new(),
        };
        let at: BTreeMap<usize, usize> =
            order.iter().enumerate().map(|(at, row)| (*row, at)).collect();
        for (group, effect) in &self.groups {
            let change = |at: usize| self.change(stack, run, group, at);
            match (effect, at.get(&group.winner)) {
                (MergeEffect::Replaced, Some(at)) => merged.replaced.push(change(*at)),
                (MergeEffect::Added, Some(at)) => merged.added.push(change(*at)),
                _ => merged.kept += 1,
            }
        }
        merged.origins = merged.origins_changed();
        match self.touched(stack, &order, &new) {
            0 => Ok(merged),
            rows => Err(Objection::Touched { rows }),
        }
    }

    /// Rows of the stack in the order of the new table: what is replaced stays in its place, what is
    /// added comes last.
    fn order(&self) -> Vec<usize> {
        let mut instead: BTreeMap<usize, Option<usize>> = BTreeMap::new();
        let mut added = Vec::new();
        for (group, effect) in &self.groups {
            match effect {
                MergeEffect::Kept => {}
                MergeEffect::Added => added.push(group.winner),
                MergeEffect::Replaced => {
                    instead.extend(group.own.iter().map(|row| (*row, None)));
                    instead.extend(group.place(self.serves).map(|row| (row, Some(group.winner))));
                }
            }
        }
        let stays = |row: usize| instead.get(&row).copied().unwrap_or(Some(row));
        (0..self.own).filter_map(stays).chain(added).collect()
    }

    /// Files of the run that measured the same, by pair with how many measurements.
    fn overlaps(&self, stack: &Stack, run: &[RunFile]) -> Vec<(String, String, usize)> {
        let mut shared: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        for (group, _) in self.groups.iter().filter(|(g, _)| g.run.len() > 1) {
            let files: BTreeSet<usize> =
                group.run.iter().filter_map(|row| Some(stack.origin(*row)?.0)).collect();
            for first in &files {
                let later = files.iter().filter(|second| *second > first);
                later.for_each(|second| *shared.entry((*first, *second)).or_default() += 1);
            }
        }
        let named =
            |((a, b), keys): ((usize, usize), usize)| (run[a].shown(), run[b].shown(), keys);
        let mut all: Vec<(String, String, usize)> = shared.into_iter().map(named).collect();
        all.sort_by_key(|(_, _, keys)| std::cmp::Reverse(*keys));
        all
    }

    /// Keys that are merged, and of which the loader serves another row all the same.
    fn unserved(&self, order: &[usize]) -> usize {
        let winners: BTreeSet<usize> = self
            .groups
            .iter()
            .filter(|(_, effect)| *effect != MergeEffect::Kept)
            .map(|(group, _)| group.winner)
            .collect();
        let mut served: BTreeMap<u64, usize> = BTreeMap::new();
        let mut merged: BTreeSet<u64> = BTreeSet::new();
        for row in order {
            let Some(key) = self.keys.get(&(*row as u32)) else { continue };
            if winners.contains(row) {
                merged.insert(*key);
            }
            match self.serves {
                Serves::Last => drop(served.insert(*key, *row)),
                Serves::First | Serves::Error => drop(served.entry(*key).or_insert(*row)),
            }
        }
        merged.iter().filter(|key| served.get(key).is_none_or(|row| !winners.contains(row))).count()
    }

    /// Rows of which the new table holds something else though no key of theirs is merged: the rows are
    /// compared as in `sanity`.
    fn touched(&self, stack: &Stack, order: &[usize], new: &Table) -> usize {
        if stack.own == 0 {
            return 0;
        }
        let own: Vec<usize> = (0..stack.own).collect();
        let base = Table::of(stack.own, stack.table.take(&own));
        let diff = RowDiff::between(&base, new);
        let replaced: BTreeSet<usize> = self
            .groups
            .iter()
            .filter(|(_, effect)| *effect == MergeEffect::Replaced)
            .flat_map(|(group, _)| group.own.iter().copied())
            .collect();
        let is_own = |row: &&u32| !replaced.contains(&(**row as usize));
        let of_table = |row: &&u32| order[**row as usize] < stack.own;
        let before = diff.removed.iter().chain(diff.changed.iter().map(|(row, _)| row));
        let after = diff.added.iter().chain(diff.changed.iter().map(|(_, row)| row));
        before.filter(is_own).count().max(after.filter(of_table).count())
    }

    fn change(
        &self,
        stack: &Stack,
        run: &[RunFile],
        group: &MeasurementGroup,
        at: usize,
    ) -> MergedRow {
        let table = &stack.table;
        let cells = |row: usize| {
            table.columns().map(|(name, column)| (name.to_owned(), column.json(row))).collect()
        };
        let (number, row) = stack.origin(group.winner).unwrap_or((0, 0));
        let before = group.place(self.serves).map(|row| self.latency[row]);
        MergedRow {
            key: self.shown[group.winner - self.own].clone(),
            id: self.keys.get(&(group.winner as u32)).copied(),
            file: run.get(number).map_or_else(String::new, RunFile::shown),
            row,
            at,
            before,
            after: self.latency[group.winner],
            own: group.own.iter().map(|row| (*row, cells(*row))).collect(),
            cells: cells(group.winner),
        }
    }
}
