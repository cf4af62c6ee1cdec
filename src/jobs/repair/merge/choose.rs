//! Which of several measurements of one thing stays.

use std::collections::{BTreeMap, BTreeSet};

use super::stack::{ORIGIN, Stack};
use crate::base::expr::Vals;
use crate::database::served::rows::repeats;
use crate::database::table::{Column, Table};
use crate::specs::{Serves, measured_unit};

/// Which measurement stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergePolicy {
    /// The run's; of several, the last.
    Last,
    /// The fastest, the table's own included.
    Min,
    /// The one in the middle by latency, the table's own included; of an even number, the faster of the
    /// two.
    Median,
}

impl MergePolicy {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Last => "last",
            Self::Min => "min",
            Self::Median => "median",
        }
    }

    /// The row that stays of some, in the order of the table and then of the run.
    fn choose(self, rows: &[usize], latency: &dyn Fn(usize) -> f64) -> usize {
        let mut order = rows.to_vec();
        order.sort_by(|a, b| latency(*a).total_cmp(&latency(*b)).then(a.cmp(b)));
        match self {
            Self::Last => rows[rows.len() - 1],
            Self::Min => order[0],
            Self::Median => order[(order.len() - 1) / 2],
        }
    }
}

/// Measurements of one thing: rows that agree in every column that is not a measurement and does not say
/// where a row comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeasurementGroup {
    /// Rows of the table.
    pub own: Vec<usize>,
    /// Rows of the run.
    pub run: Vec<usize>,
    /// The row that stays.
    pub winner: usize,
}

/// What a merge does to a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeEffect {
    /// The table does not have it yet.
    Added,
    /// The run's row takes the place of the table's.
    Replaced,
    /// The table's row stays, since the policy says so or the run's is the same.
    Kept,
}

impl MeasurementGroup {
    /// Whether the table has nothing of it.
    pub fn is_new(&self) -> bool {
        self.own.is_empty()
    }

    /// What the merge does; a row that equals the only one of the table changes nothing.
    pub fn effect(&self, table: &Table) -> MergeEffect {
        let equal = |a: usize, b: usize| table.columns().all(|(_, column)| column.equal(a, b));
        match self.own[..] {
            [] => MergeEffect::Added,
            _ if self.own.contains(&self.winner) => MergeEffect::Kept,
            [only] if equal(only, self.winner) => MergeEffect::Kept,
            _ => MergeEffect::Replaced,
        }
    }

    /// The row of the table that the loader serves of the group, if it serves one.
    pub fn place(&self, serves: Serves) -> Option<usize> {
        match serves {
            Serves::First | Serves::Error => self.own.first().copied(),
            Serves::Last => self.own.last().copied(),
        }
    }
}

/// The groups that a run has measurements of, in the order of its rows; some of these are left out.
pub fn groups(
    stack: &Stack,
    ignore: &[String],
    policy: MergePolicy,
    latencies: &[Vals<'_, f64>],
    left_out: &BTreeSet<usize>,
) -> Vec<MeasurementGroup> {
    let table = &stack.table;
    let columns = identity(table, ignore);
    let mut hashes = vec![0; table.rows];
    columns.iter().for_each(|(_, column)| column.hash_into(&mut hashes));
    let alike = |a: usize, b: usize| columns.iter().all(|(_, column)| column.equal(a, b));
    let mut first_of: Vec<usize> = (0..table.rows).collect();
    repeats(&hashes, |_| true, alike).into_iter().for_each(|(row, first)| first_of[row] = first);
    let run = (stack.own..table.rows).filter(|row| !left_out.contains(row));
    let of_run: BTreeSet<usize> = run.map(|row| first_of[row]).collect();
    let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let counts = |(row, first): &(usize, &usize)| of_run.contains(first) && !left_out.contains(row);
    for (row, first) in first_of.iter().enumerate().filter(counts) {
        members.entry(*first).or_default().push(row);
    }
    let latency = |row: usize| latencies.iter().map(|values| values.get(row)).sum();
    let group = |rows: Vec<usize>| {
        let winner = policy.choose(&rows, &latency);
        let (own, run) = rows.into_iter().partition(|row| *row < stack.own);
        MeasurementGroup { own, run, winner }
    };
    let mut groups: Vec<MeasurementGroup> = members.into_values().map(group).collect();
    groups.sort_by_key(|g| g.run.first().copied());
    groups
}

/// Columns that make a row another measurement.
pub fn identity<'a>(table: &'a Table, ignore: &[String]) -> Vec<(&'a str, &'a Column)> {
    let counts = |name: &str| {
        measured_unit(name).is_none()
            && !ORIGIN.contains(&name)
            && !ignore.iter().any(|ignored| ignored == name)
    };
    table.columns().filter(|(name, _)| counts(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_chooses_among_the_table_s_and_the_run_s() {
        let latencies = [3.0, 1.0, 2.0, 1.0];
        let latency = |row: usize| latencies[row];
        let all = [0, 1, 2, 3];
        assert_eq!(MergePolicy::Last.choose(&all, &latency), 3);
        assert_eq!(MergePolicy::Min.choose(&all, &latency), 1, "the first of two as fast");
        assert_eq!(MergePolicy::Median.choose(&all, &latency), 3);
        assert_eq!(MergePolicy::Median.choose(&[0, 1], &latency), 1);
    }
}
