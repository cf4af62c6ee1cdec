//! The effect of changed rows on latency: ratios of head over base.

use crate::base::expr::{ExprError, Vals};
use crate::base::stats::quantile;
use crate::database::catalog::TableFile;
use crate::database::table::{EXAMPLES, Example, Keys, Table, TableScope, number_json};
use crate::specs::{Lookups, TableSpec};

/// A latency ratio counts as far from 1 if it is below 0.95 or above 1.05. For comparison: if a point is measured
/// again, its latency changes by at least 2 % in half of all cases.
pub(crate) const FAR: f64 = 0.05;

/// Statistics of the latency ratios (head over base) of changed rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Ratios {
    /// The number of changed rows with a ratio, that is with positive latencies before and after.
    pub rows: usize,
    /// The median of the latency ratios.
    pub median: f64,
    /// The 5th percentile of the latency ratios.
    pub low: f64,
    /// The 95th percentile of the latency ratios.
    pub high: f64,
    /// The share of the latency ratios that differ from 1 by more than [`FAR`]. It is between 0 and 1.
    pub far: f64,
    /// The rows whose latency changed by the largest factors, each with its row number in the head and its key.
    pub worst: Vec<Example>,
}

/// A table in base and head, with one spec for the base and one for the head.
pub(crate) struct PairedTables<'a> {
    pub files: (&'a TableFile, &'a TableFile),
    pub tables: (Option<&'a Table>, Option<&'a Table>),
    /// The spec of the table, with the facts that the head states.
    pub spec: &'a TableSpec,
    pub lookups: &'a Lookups,
    /// The spec of the table, with the facts that the base states. It decides which rows the base serves, so that a
    /// pull request cannot change this by its own facts.
    pub base_spec: &'a TableSpec,
    pub base_lookups: &'a Lookups,
}

impl<'a> PairedTables<'a> {
    /// Returns the values that formulas of the spec can read from the base's table.
    pub(crate) fn base_scope(&self, table: &'a Table) -> TableScope<'a> {
        TableScope::new(table, self.base_spec, &self.files.0.place, None, self.base_lookups)
    }

    /// Returns the values that formulas of the spec can read from the head's table.
    pub(crate) fn head_scope(&self, table: &'a Table) -> TableScope<'a> {
        TableScope::new(table, self.spec, &self.files.1.place, None, self.lookups)
    }

    /// Returns the latencies before and after for each pair of a base row and a head row, in ms. If a table has several
    /// latency columns, they are added up.
    pub(crate) fn latencies(
        &self,
        changed: &[(u32, u32)],
    ) -> Result<Vec<LatencyChange>, ExprError> {
        let (Some(base), Some(head)) = self.tables else { return Ok(Vec::new()) };
        if changed.is_empty() || self.spec.latency.is_empty() {
            return Ok(Vec::new());
        }
        let (base, head) = (self.base_scope(base), self.head_scope(head));
        let (before, after) = (self.parts(&base)?, self.parts(&head)?);
        let sum = |parts: &[Vals<f64>], row: u32| parts.iter().map(|p| p.get(row as usize)).sum();
        let change = |(b, h): &(u32, u32)| LatencyChange {
            before: sum(&before, *b),
            after: sum(&after, *h),
        };
        Ok(changed.iter().map(change).collect())
    }

    fn parts<'s>(&self, scope: &'s TableScope<'a>) -> Result<Vec<Vals<'s, f64>>, ExprError> {
        self.spec.latency.iter().map(|part| part.value.numbers(scope)).collect()
    }

    /// Returns statistics of the latency ratios of changed rows; `None` if no row has positive latencies before and
    /// after.
    pub(crate) fn sum_up(
        &self,
        changed: &[(u32, u32)],
        latencies: &[LatencyChange],
    ) -> Result<Option<Ratios>, ExprError> {
        let rows: Vec<(usize, f64)> =
            latencies.iter().enumerate().filter_map(|(i, c)| Some((i, c.ratio()?))).collect();
        if rows.is_empty() {
            return Ok(None);
        }
        let mut sorted: Vec<f64> = rows.iter().map(|(_, ratio)| *ratio).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let far = sorted.iter().filter(|r| (*r - 1.0).abs() > FAR).count();
        Ok(Some(Ratios {
            rows: sorted.len(),
            median: quantile(&sorted, 0.5),
            low: quantile(&sorted, 0.05),
            high: quantile(&sorted, 0.95),
            far: far as f64 / sorted.len() as f64,
            worst: self.worst(changed, latencies, &rows)?,
        }))
    }

    /// Returns the rows whose latency changed by the largest factors, the largest first.
    fn worst(
        &self,
        changed: &[(u32, u32)],
        latencies: &[LatencyChange],
        rows: &[(usize, f64)],
    ) -> Result<Vec<Example>, ExprError> {
        let Some(head) = self.tables.1 else { return Ok(Vec::new()) };
        let is_changed = |(_, ratio): &&(usize, f64)| *ratio != 1.0;
        let with_distance = |(i, ratio): &(usize, f64)| (ratio.ln().abs(), *i, *ratio);
        let mut rows: Vec<_> = rows.iter().filter(is_changed).map(with_distance).collect();
        rows.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        rows.truncate(EXAMPLES);
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let scope = self.head_scope(head);
        let keys = Keys::new(&self.spec.key, &scope)?;
        let example = |(_, i, ratio): (f64, usize, f64)| {
            let (row, change) = (changed[i].1, &latencies[i]);
            let values = [("base_ms", change.before), ("head_ms", change.after), ("ratio", ratio)];
            Example {
                row: u64::from(row),
                line: None,
                key: keys.show(row as usize),
                values: values.map(|(name, v)| (name.to_owned(), number_json(v))).into(),
            }
        };
        Ok(rows.into_iter().map(example).collect())
    }
}

/// The latency of a changed row before and after, in ms.
pub(crate) struct LatencyChange {
    pub before: f64,
    pub after: f64,
}

/// Returns the latency `after` divided by the latency `before`; `None` unless both are positive.
pub(super) fn ratio(before: f64, after: f64) -> Option<f64> {
    let ratio = after / before;
    (before > 0.0 && after > 0.0 && ratio.is_finite()).then_some(ratio)
}

impl LatencyChange {
    /// Returns the latency after the change divided by the latency before; `None` unless both are positive.
    pub(crate) fn ratio(&self) -> Option<f64> {
        ratio(self.before, self.after)
    }

    /// Returns true if the latency changed but has no ratio, because the latency before or after is not positive.
    pub(crate) fn is_without_ratio(&self) -> bool {
        self.ratio().is_none() && self.before.to_bits() != self.after.to_bits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_of_zero_has_no_ratio() {
        assert_eq!(LatencyChange { before: 0.0, after: 1.0 }.ratio(), None);
        assert_eq!(LatencyChange { before: 1.0, after: 0.0 }.ratio(), None);
        assert_eq!(LatencyChange { before: f64::NAN, after: 1.0 }.ratio(), None);
        assert_eq!(LatencyChange { before: 2.0, after: 1.0 }.ratio(), Some(0.5));
    }
}
