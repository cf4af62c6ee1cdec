//! The view of a table that formulas have.

use std::cmp::Reverse;
use std::ops::Range;

use super::{Column, ReadsRecord, Table};
use crate::base::expr::{ExprError, Lookup, NULL_CODE, SIDECAR, Scope, Value, WholeNumbers};
use crate::database::catalog::Place;
use crate::database::sidecar::Meta;
use crate::specs::system::System;
use crate::specs::{Lookups, TableSpec};

/// Provides the values of names in formulas on a table. The names are: the table's columns; `system`, `place_system`,
/// `place_backend` and `place_version`; facts about the system, such as `gpu.sm_version`; fields of the sidecar, as
/// `sidecar.…`.
pub struct TableScope<'a> {
    /// The table that formulas read.
    pub table: &'a Table,
    /// The table's spec. A column whose type does not match the spec is null in every row.
    pub spec: &'a TableSpec,
    /// The table's system, backend and version.
    pub place: &'a Place,
    /// The table's system; `None` if it is not described.
    pub system: Option<&'a System>,
    /// The sidecar of the table's directory; `None` if it is missing or cannot be read.
    pub sidecar: Option<&'a Meta>,
    /// Numbers that formulas look up by a name, such as the bytes per element of a dtype.
    pub lookups: &'a Lookups,
    /// The range of rows that formulas read.
    range: Range<usize>,
    /// The record of the columns and system facts that formulas read; `None` if they are not recorded.
    record: Option<&'a ReadsRecord>,
}

impl<'a> TableScope<'a> {
    /// Creates a view of all rows of a table.
    pub fn new(
        table: &'a Table,
        spec: &'a TableSpec,
        place: &'a Place,
        system: Option<&'a System>,
        lookups: &'a Lookups,
    ) -> Self {
        let range = 0..table.rows;
        Self { table, spec, place, system, sidecar: None, lookups, range, record: None }
    }

    /// Returns a view of the same rows that notes in `record` which columns and system facts formulas read.
    pub(crate) fn recording(&self, record: &'a ReadsRecord) -> Self {
        Self { range: self.range.clone(), record: Some(record), ..*self }
    }

    /// Returns the shortest possible latency of each row in ms: the largest of the lower bounds in the table's spec. 0
    /// if no bound is positive.
    ///
    /// # Errors
    ///
    /// If a formula of a bound does not fit the table's columns.
    pub(crate) fn longest_bounds(&self) -> Result<Vec<f64>, ExprError> {
        let mut longest = vec![0.0_f64; self.rows()];
        for (start, part) in self.parts() {
            for bound in &self.spec.bounds {
                let seconds = bound.seconds.numbers(&part)?;
                for (row, longest) in longest[start..].iter_mut().take(part.rows()).enumerate() {
                    // The maximum of a number and NaN, which stands for an unknown bound, is the number.
                    *longest = longest.max(seconds.get(row) * 1e3);
                }
            }
        }
        Ok(longest)
    }

    /// Divides the rows into blocks that fit in the processor's cache. Returns each block as a view with the index of
    /// its first row.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (usize, Self)> {
        const ROWS: usize = 8192;
        (0..self.table.rows).step_by(ROWS).map(|start| {
            let range = start..(start + ROWS).min(self.table.rows);
            (start, Self { range, ..*self })
        })
    }
}

impl Scope for TableScope<'_> {
    fn rows(&self) -> usize {
        self.range.len()
    }

    fn column(&self, name: &str) -> Option<Value<'_>> {
        self.record.iter().for_each(|record| record.column(name));
        match (self.table.column(name), name) {
            (Some(column), _) => super::known::fits(self.spec, name, column)
                .then(|| column.value(self.range.clone())),
            (None, "system" | "place_system") => Some(Value::text(&self.place.system)),
            (None, "place_backend") => Some(Value::text(&self.place.backend)),
            (None, "place_version") => Some(Value::text(&self.place.version)),
            (None, _) => {
                let (field, meta) = (name.strip_prefix(SIDECAR)?.strip_prefix('.')?, self.sidecar?);
                Some(Value::of_json(meta.field(&self.spec.name, field)))
            }
        }
    }

    fn whole(&self, name: &str) -> Option<WholeNumbers<'_>> {
        self.record.iter().for_each(|record| record.column(name));
        match self.table.column(name)? {
            column @ Column::Int { values, nulls: None }
                if super::known::fits(self.spec, name, column) =>
            {
                Some(values.whole(self.range.clone()))
            }
            _ => None,
        }
    }

    fn field(&self, path: &str) -> Option<f64> {
        self.record.iter().for_each(|record| record.system());
        self.system?.figure(path)
    }

    fn lookup(&self, function: &Lookup, text: &str) -> Option<f64> {
        let record = self.record.filter(|_| *function == Lookup::Flops);
        record.iter().for_each(|record| record.system());
        self.lookups.get(function, text, self.system)
    }
}

/// Dotted name of the system fact that states the GPU's compute capability.
const CAPABILITY: &str = "gpu.sm_version";

/// Returns the rank of each row, from 0: the loader looks for a key first in the rows of rank 0, then in those of rank
/// 1, and so on. `None` if the table has no such order.
///
/// If the loader stores each kernel's rows separately, each kernel has a rank: 0 for the default kernel, then by
/// decreasing number of rows. Otherwise, the rows that the loader searches last have rank 1, and all other rows have
/// rank 0.
pub fn lookup_ranks(scope: &TableScope<'_>) -> Option<Vec<u32>> {
    let Some(lanes) = scope.spec.lanes.as_ref() else {
        let last = scope.spec.buckets.iter().find(|bucket| bucket.apart.is_some())?;
        let is_last = last.rows.mask(scope).ok()?;
        return Some((0..scope.rows()).map(|row| u32::from(is_last.get(row))).collect());
    };
    let Some(Value::Text(codes, names)) = scope.column(&lanes.column) else { return None };
    let mut counts = vec![0usize; names.len()];
    for row in (0..scope.rows()).map(|row| codes.get(row)).filter(|code| *code != NULL_CODE) {
        counts[row as usize] += 1;
    }
    let capability = scope.field(CAPABILITY).map_or(-1, |c| c as i64);
    let pinned = lanes.defaults.pinned(&scope.place.backend, &scope.place.version, capability);
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by_key(|i| (Some(&*names[*i]) != pinned, Reverse(counts[*i]), names[*i].clone()));
    let mut ranks = vec![0u32; names.len()];
    for (rank, code) in order.into_iter().enumerate() {
        ranks[code] = rank as u32;
    }
    let rank = |code: u32| ranks.get(code as usize).copied().unwrap_or(u32::MAX);
    Some((0..scope.rows()).map(|row| rank(codes.get(row))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::expr::NULL_CODE;
    use crate::specs::Specs;

    /// Formulas on a part of the rows see only the names in these rows, so that each name is processed a
    /// limited number of times.
    #[test]
    fn formulas_on_some_rows_process_only_the_names_in_these_rows() {
        let name = |row: usize| (!row.is_multiple_of(3)).then(|| format!("name {}", row / 2));
        let column = Column::texts((0..50_000).map(name));
        let table = Table::of(50_000, vec![("kernel_source".to_owned(), column)]);
        let of = |text: &str| text.to_owned();
        let place = Place { system: of("x"), family: None, backend: of("y"), version: of("1") };
        let specs = Specs::embedded().unwrap();
        let scope = TableScope::new(
            &table,
            specs.tables.get("gemm_perf").unwrap(),
            &place,
            None,
            &specs.lookups,
        );
        let (mut rows, mut names) = (0, 0);
        for (start, part) in scope.parts() {
            let Some(Value::Text(codes, dict)) = part.column("kernel_source") else {
                panic!("a column of text")
            };
            for row in 0..part.rows() {
                let code = codes.get(row);
                let shown = (code != NULL_CODE).then(|| dict[code as usize].to_string());
                assert_eq!(shown, name(start + row));
            }
            (rows, names) = (rows + part.rows(), names + dict.len());
        }
        assert!(rows == 50_000 && names <= 25_010, "{names} names are looked at");
    }
}
