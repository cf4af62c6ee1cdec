//! A table as formulas see it.

use std::borrow::Cow;
use std::ops::Range;

use super::{Column, Table};
use crate::base::expr::{Lookup, Scope, Vals, Value, WholeNumbers};
use crate::database::catalog::Place;
use crate::specs::system::System;
use crate::specs::{Lookups, TableSpec};

/// A table with its system, as formulas see it: the columns, `system`, the names of the table's place
/// (`place_system` …), and the system's figures by dotted name.
pub struct TableScope<'a> {
    /// The table.
    pub table: &'a Table,
    /// What is known of such tables; a column of another type than it says is null in every row.
    pub spec: &'a TableSpec,
    /// Its place.
    pub place: &'a Place,
    /// Its machine, where one is described.
    pub system: Option<&'a System>,
    /// What its texts stand for.
    pub lookups: &'a Lookups,
    /// The rows in view.
    range: Range<usize>,
    /// Every how many of them is.
    step: usize,
}

impl<'a> TableScope<'a> {
    /// All rows of a table.
    pub fn new(
        table: &'a Table,
        spec: &'a TableSpec,
        place: &'a Place,
        system: Option<&'a System>,
        lookups: &'a Lookups,
    ) -> Self {
        Self { table, spec, place, system, lookups, range: 0..table.rows, step: 1 }
    }

    /// The same table, some `count` evenly spaced rows of it.
    pub fn spaced(&self, count: usize) -> Self {
        Self { range: self.range.clone(), step: (self.range.len() / count).max(1), ..*self }
    }

    /// The same table, a part of its rows at a time: columns of a part stay within the cache.
    pub fn parts(&self) -> impl Iterator<Item = (usize, Self)> {
        const ROWS: usize = 8192;
        (0..self.table.rows).step_by(ROWS).map(|start| {
            let range = start..(start + ROWS).min(self.table.rows);
            (start, Self { range, ..*self })
        })
    }
}

impl Scope for TableScope<'_> {
    fn rows(&self) -> usize {
        self.range.len().div_ceil(self.step)
    }

    fn column(&self, name: &str) -> Option<Value<'_>> {
        let constant = |text: &str| Value::Text(Vals::One(0), Cow::Owned(vec![text.into()]));
        match self.table.column(name) {
            Some(column) if super::known::fits(self.spec, name, column) => {
                Some(column.value(self.range.clone(), self.step))
            }
            Some(_) => None,
            None if name == "system" || name == "place_system" => {
                Some(constant(&self.place.system))
            }
            None if name == "place_backend" => Some(constant(&self.place.backend)),
            None if name == "place_version" => Some(constant(&self.place.version)),
            None => None,
        }
    }

    fn whole(&self, name: &str) -> Option<WholeNumbers<'_>> {
        match self.table.column(name)? {
            column @ Column::Int { values, nulls: None }
                if self.step == 1 && super::known::fits(self.spec, name, column) =>
            {
                Some(values.whole(self.range.clone()))
            }
            _ => None,
        }
    }

    fn field(&self, path: &str) -> Option<f64> {
        self.system?.figure(path)
    }

    fn lookup(&self, function: &Lookup, text: &str) -> Option<f64> {
        self.lookups.get(function, text, self.system)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::expr::NULL_CODE;
    use crate::specs::Specs;

    /// A name costs the same however many others there are.
    #[test]
    fn a_part_s_formulas_see_the_names_of_its_rows_alone() {
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
