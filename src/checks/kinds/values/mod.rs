//! Cells by themselves: measurements that are not numbers, zero or negative, keys out of range.

mod key_range;
mod not_finite;
mod not_positive;

use std::collections::{BTreeMap, BTreeSet};

pub use self::key_range::KeyRange;
pub use self::not_finite::NotFinite;
pub use self::not_positive::NotPositive;
use crate::base::words::plural;
use crate::checks::RowContext;
use crate::findings::{EXAMPLES, Finding, Half, Severity};

/// Rows that are wrong, by what is wrong with them.
#[derive(Default)]
struct Wrong {
    kinds: BTreeMap<String, Vec<usize>>,
    columns: Vec<String>,
}

impl Wrong {
    /// Adds a row where something is wrong with it in that column.
    fn add(&mut self, column: &str, row: usize, why: Option<&str>) {
        let Some(why) = why else { return };
        self.kinds.entry(format!("{column} {why}")).or_default().push(row);
        if self.columns.last().is_none_or(|c| c != column) {
            self.columns.push(column.to_owned());
        }
    }

    fn findings(self, rows: &RowContext<'_>, severity: Severity) -> Vec<Finding> {
        let all: BTreeSet<usize> = self.kinds.values().flatten().copied().collect();
        let all: Vec<usize> = all.into_iter().collect();
        rows.halves().filter_map(|half| self.half(rows, severity, &half, &all)).collect()
    }

    fn half(
        &self,
        rows: &RowContext<'_>,
        severity: Severity,
        half: &Half<'_>,
        all: &[usize],
    ) -> Option<Finding> {
        let bad = half.of(all);
        let kinds: BTreeMap<&str, usize> = self
            .kinds
            .iter()
            .map(|(kind, rows)| (kind.as_str(), rows.iter().filter(|r| half.has(**r)).count()))
            .filter(|(_, rows)| *rows > 0)
            .collect();
        if bad.is_empty() {
            return None;
        }
        let verb = if bad.len() == 1 { "has" } else { "have" };
        let named: Vec<&str> = kinds.keys().copied().collect();
        let message = format!("{} {verb} {}", plural(bad.len(), "row"), named.join(", "));
        let columns: Vec<&str> = self.columns.iter().map(String::as_str).collect();
        let evidence = serde_json::to_value(&kinds).unwrap_or_default();
        let finding = rows
            .finding_as(severity, message)
            .rows(bad.len())
            .half(half, all.len())
            .examples(rows.examples(&bad[..bad.len().min(EXAMPLES)], &columns));
        Some(finding.evidence("rows_by_kind", evidence).naming(bad))
    }
}
