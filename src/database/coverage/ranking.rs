//! Merges the values of a key part in several tables into one sorted list.

use std::collections::BTreeSet;

use super::{Cell, KeyCoverage};

/// Returns the distinct values of a key part in ascending order, and for each point the index of its value.
pub(super) fn distinct(part: usize, points: &[(&KeyCoverage, u32)]) -> (Vec<Cell>, Vec<u32>) {
    let ranking = Ranking::new(part, points);
    let codes = points.iter().map(|(coverage, point)| ranking.rank(coverage, *point)).collect();
    without_unused(ranking.cells, codes)
}

/// The distinct values that a key part has in several tables, sorted. Finds the index of a point's value among them.
struct Ranking<'a> {
    part: usize,
    /// The distinct values of the key part in ascending order: null, then numbers, then names.
    cells: Vec<Cell>,
    /// The numeric values in `cells`, ascending.
    numbers: Vec<f64>,
    /// The index of the first number in `cells`.
    first_number: usize,
    /// The tables. Each has a list that maps the table's own index of a name to the name's index in `cells`.
    tables: Vec<(&'a KeyCoverage, Vec<u32>)>,
}

impl<'a> Ranking<'a> {
    fn new(part: usize, points: &[(&'a KeyCoverage, u32)]) -> Self {
        let mut numbers: Vec<f64> = points.iter().filter_map(|(c, p)| c.number(part, *p)).collect();
        numbers.sort_unstable_by(f64::total_cmp);
        numbers.dedup();
        let mut tables: Vec<&KeyCoverage> = Vec::new();
        for (coverage, _) in points {
            if !tables.iter().any(|known| std::ptr::eq(*known, *coverage)) {
                tables.push(coverage);
            }
        }
        let mut cells: BTreeSet<Cell> = numbers.iter().map(|n| Cell::Number(*n)).collect();
        cells.extend(tables.iter().flat_map(|table| table.parts[part].names()));
        let cells: Vec<Cell> = cells.into_iter().collect();
        let rank = |name: &Cell| cells.binary_search(name).unwrap_or(0) as u32;
        let tables = tables
            .into_iter()
            .map(|table| (table, table.parts[part].names().iter().map(rank).collect()))
            .collect();
        let first_number = cells.iter().position(|c| matches!(c, Cell::Number(_))).unwrap_or(0);
        Self { part, cells, numbers, first_number, tables }
    }

    /// Returns the index in `cells` of the value that a table has at a point.
    fn rank(&self, coverage: &KeyCoverage, point: u32) -> u32 {
        if let Some(number) = coverage.number(self.part, point) {
            let smaller = self.numbers.partition_point(|n| n.total_cmp(&number).is_lt());
            return (self.first_number + smaller) as u32;
        }
        let table = self.tables.iter().find(|(table, _)| std::ptr::eq(*table, coverage));
        table.map_or(0, |(table, ranks)| ranks[table.parts[self.part].name(point as usize)])
    }
}

/// Removes from `cells` the values that no point has. For each point, `codes` has an index into `cells`. Returns the
/// remaining values, and for each point the index into these values.
fn without_unused(cells: Vec<Cell>, mut codes: Vec<u32>) -> (Vec<Cell>, Vec<u32>) {
    let mut used = vec![false; cells.len()];
    codes.iter().for_each(|code| used[*code as usize] = true);
    let mut new_codes = vec![0; cells.len()];
    let mut kept = Vec::new();
    for (code, cell) in cells.into_iter().enumerate().filter(|(code, _)| used[*code]) {
        new_codes[code] = kept.len() as u32;
        kept.push(cell);
    }
    codes.iter_mut().for_each(|code| *code = new_codes[*code as usize]);
    (kept, codes)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::base::expr::{NULL_CODE, Vals, Value};
    use crate::database::coverage::column::{Codes, PartColumn};
    use crate::database::table::PartValues;

    #[test]
    fn values_of_several_tables_have_common_ranks() {
        let of = |parts: Vec<PartColumn>| KeyCoverage { rows: Codes::of(&[0, 1, 2], 3), parts };
        let texts = |codes: &[u32], names: &[&str]| {
            let names: Vec<Arc<str>> = names.iter().map(|name| Arc::from(*name)).collect();
            let codes = Vals::Rows(codes.to_vec().into());
            PartColumn::of(&PartValues::Formula(Value::Text(codes, names.into())), &[0, 1, 2])
        };
        let numbers = |values: &[f64]| {
            let values = Value::Number(Vals::Rows(values.to_vec().into()));
            PartColumn::of(&PartValues::Formula(values), &[0, 1, 2])
        };
        let a = of(vec![
            texts(&[1, NULL_CODE, 0], &["fp8", "bf16", "unmet"]),
            numbers(&[8.0, f64::NAN, 0.0]),
        ]);
        let b = of(vec![PartColumn::One(Cell::Text("fp4".into())), numbers(&[-0.0, 0.1, 8.0])]);
        let points = [(&a, 0), (&b, 1), (&a, 1), (&a, 2), (&b, 0)];
        for (part, shown) in [(0, "null bf16 fp4 fp8"), (1, "null 0 0.1 8")] {
            let (values, codes) = distinct(part, &points);
            let all: Vec<String> = values.iter().map(Cell::to_string).collect();
            assert_eq!(all.join(" "), shown);
            let of_points = [["bf16", "fp4", "null", "fp8", "fp4"], ["8", "0.1", "null", "0", "0"]];
            let codes: Vec<&str> = codes.iter().map(|c| all[*c as usize].as_str()).collect();
            assert_eq!(codes, of_points[part]);
        }
    }
}
