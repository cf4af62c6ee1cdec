//! The distinct values of a key part of points of several tables.

use std::collections::BTreeSet;

use super::{Cell, Coverage};

/// The distinct values of a part, ascending, and each point's index into them.
pub(super) fn distinct(part: usize, points: &[(&Coverage, u32)]) -> (Vec<Cell>, Vec<u32>) {
    let ranks = Ranks::new(part, points);
    let codes = points.iter().map(|(coverage, point)| ranks.of(coverage, *point)).collect();
    without_unmet(ranks.values, codes)
}

/// All values that points of some tables may have of a part, ascending, and how a point finds its own.
///
/// Numbers are many and cheap to compare, so each is looked up; names are few and dear, so each is ranked
/// once per table.
struct Ranks<'a> {
    part: usize,
    values: Vec<Cell>,
    /// The numbers among the values, ascending.
    numbers: Vec<f64>,
    /// The rank of the first number: null comes before all numbers.
    first_number: usize,
    /// Each table, and the ranks of its names in the order of [`Column::names`].
    names: Vec<(&'a Coverage, Vec<u32>)>,
}

impl<'a> Ranks<'a> {
    fn new(part: usize, points: &[(&'a Coverage, u32)]) -> Self {
        let mut numbers: Vec<f64> =
            points.iter().filter_map(|(coverage, point)| coverage.number(part, *point)).collect();
        numbers.sort_unstable_by(f64::total_cmp);
        numbers.dedup();
        let mut tables: Vec<&Coverage> = Vec::new();
        for (coverage, _) in points {
            if !tables.iter().any(|table| std::ptr::eq(*table, *coverage)) {
                tables.push(coverage);
            }
        }
        let mut values: BTreeSet<Cell> = numbers.iter().map(|n| Cell::Number(*n)).collect();
        values.extend(tables.iter().flat_map(|table| table.parts[part].names()));
        let values: Vec<Cell> = values.into_iter().collect();
        let rank = |name: &Cell| values.binary_search(name).unwrap_or(0) as u32;
        let names = tables
            .into_iter()
            .map(|table| (table, table.parts[part].names().iter().map(rank).collect()))
            .collect();
        let first_number = values.iter().position(|v| matches!(v, Cell::Number(_))).unwrap_or(0);
        Self { part, values, numbers, first_number, names }
    }

    /// The rank of a point's value.
    fn of(&self, coverage: &Coverage, point: u32) -> u32 {
        if let Some(number) = coverage.number(self.part, point) {
            let smaller = self.numbers.partition_point(|n| n.total_cmp(&number).is_lt());
            return (self.first_number + smaller) as u32;
        }
        let name = coverage.parts[self.part].name(point as usize);
        let table = self.names.iter().find(|(table, _)| std::ptr::eq(*table, coverage));
        table.map_or(0, |(_, ranks)| ranks[name])
    }
}

/// Leaves out the values that no point has: a table may name some. The codes follow.
fn without_unmet(values: Vec<Cell>, codes: Vec<u32>) -> (Vec<Cell>, Vec<u32>) {
    let mut is_met = vec![false; values.len()];
    for code in &codes {
        is_met[*code as usize] = true;
    }
    let mut met = Vec::new();
    let mut new_codes = Vec::with_capacity(values.len());
    for (value, is_met) in values.into_iter().zip(is_met) {
        // The code of a value that is left out is never asked for.
        new_codes.push(met.len() as u32);
        if is_met {
            met.push(value);
        }
    }
    (met, codes.into_iter().map(|code| new_codes[code as usize]).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::base::expr::NULL_CODE;
    use crate::database::coverage::Column;

    #[test]
    fn values_of_several_tables_are_ranked_together() {
        let of = |parts: Vec<Column>| Coverage { rows: vec![0, 1, 2], parts };
        let dict = |names: &[&str]| names.iter().map(|n| Arc::from(*n)).collect::<Vec<_>>();
        let a = of(vec![
            Column::Text { codes: vec![1, NULL_CODE, 0], dict: dict(&["fp8", "bf16", "unmet"]) },
            Column::Narrow(vec![8.0, f32::NAN, 0.0]),
        ]);
        let b = of(vec![Column::One(Cell::Text("fp4".into())), Column::Wide(vec![-0.0, 0.1, 8.0])]);
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
