//! Encodes the cells of two tables as numbers that are equal if and only if the cells are equal.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use bytemuck::cast_slice;

use crate::base::expr::NULL_CODE;
use crate::database::table::{Column, Table, number_bits};
use crate::specs::measured_unit;

/// A column that both tables have, with its cells encoded as 64-bit numbers. Two cells are equal exactly if their
/// numbers are equal.
pub(crate) struct ColumnPair<'a> {
    /// The name of the column.
    pub name: String,
    pub base: Cow<'a, [u64]>,
    pub head: Cow<'a, [u64]>,
}

/// A function that returns the encoded cells of a column in the base or in the head.
pub(crate) type CellsOf = for<'c> fn(&'c ColumnPair<'c>) -> &'c [u64];

impl ColumnPair<'_> {
    /// Returns true if a row of the base and a row of the head differ in this column.
    pub(crate) fn differs(&self, (base, head): (u32, u32)) -> bool {
        self.base[base as usize] != self.head[head as usize]
    }
}

/// The columns that the base's table and the head's table have in common: the columns that identify rows, and the
/// measurements.
#[derive(Default)]
pub(crate) struct SharedColumns<'a> {
    /// The columns of both tables that identify rows: all columns that are not measurements.
    pub keys: Vec<ColumnPair<'a>>,
    /// The columns of both tables that are measurements, such as latency or power.
    pub measures: Vec<ColumnPair<'a>>,
    /// The names of columns that only one of the tables has, or whose types cannot be compared.
    pub one_sided: Vec<String>,
}

impl<'a> SharedColumns<'a> {
    pub(crate) fn of(base: &'a Table, head: &'a Table) -> Self {
        let mut common = Self::default();
        for (name, column) in base.columns() {
            let Some(other) = head.column(name).filter(|h| comparable(column, h)) else {
                common.one_sided.push(name.to_owned());
                continue;
            };
            let cells = match measured_unit(name) {
                Some(_) => &mut common.measures,
                None => &mut common.keys,
            };
            cells.extend(encode(name, (column, base.rows), (other, head.rows)));
        }
        let come = head.columns().map(|(name, _)| name).filter(|name| base.column(name).is_none());
        common.one_sided.extend(come.map(str::to_owned));
        common
    }

    /// Returns all columns that both tables have. Measurements come last.
    pub(crate) fn all(&self) -> impl Iterator<Item = &ColumnPair<'a>> {
        self.keys.iter().chain(&self.measures)
    }
}

/// Returns true if two columns can be compared cell by cell. A text column cannot be compared with a column of numbers.
pub(super) fn comparable(a: &Column, b: &Column) -> bool {
    let text = |c: &Column| matches!(c, Column::Text { .. });
    let unknown = |c: &Column| matches!(c, Column::Other(_));
    text(a) == text(b) || unknown(a) || unknown(b)
}

/// Returns true if the column of the base has a value in row `b`, or the column of the head has one in row `h`. A null
/// is not a value.
pub(crate) fn either_has_value(
    (base, head): (Option<&Column>, Option<&Column>),
    (b, h): (u32, u32),
) -> bool {
    let holds =
        |column: Option<&Column>, row: u32| column.is_some_and(|c| !c.is_null(row as usize));
    holds(base, b) || holds(head, h)
}

/// Encodes a column's cells in base and head as numbers. If a column of numbers contains nulls, a second pair of
/// columns states which cells are null. Returns an empty list if all cells of base and head are the same text.
fn encode<'a>(
    name: &str,
    base: (&'a Column, usize),
    head: (&'a Column, usize),
) -> Vec<ColumnPair<'a>> {
    let pair = |base, head| ColumnPair { name: name.to_owned(), base, head };
    if let (
        Column::Text { codes: a, dict: of_a, nulls: a_nulls },
        Column::Text { codes: b, dict: of_b, nulls: b_nulls },
    ) = (base.0, head.0)
    {
        if a_nulls + b_nulls == 0 && of_a.len() == 1 && of_a == of_b {
            return Vec::new();
        }
        let mut known = HashMap::new();
        return vec![pair(names(a, of_a, &mut known).into(), names(b, of_b, &mut known).into())];
    }
    let exact = whole(base.0) && whole(head.0);
    let mut cells = vec![pair(numbers(base, exact), numbers(head, exact))];
    if base.0.has_nulls() || head.0.has_nulls() {
        cells.push(pair(nulls(base).into(), nulls(head).into()));
    }
    cells
}

/// Returns true for a column of integers or flags. Their values are compared without rounding to floating point.
fn whole(column: &Column) -> bool {
    matches!(column, Column::Int { .. } | Column::Bool { .. })
}

/// Encodes the name in each row as a number. `known` maps names to numbers. It is shared by both tables, so that equal
/// names have equal numbers.
fn names<'a>(codes: &[u32], dict: &'a [Arc<str>], known: &mut HashMap<&'a str, u64>) -> Vec<u64> {
    let number = |name: &'a Arc<str>| {
        let next = known.len() as u64;
        *known.entry(name).or_insert(next)
    };
    let by_code: Vec<u64> = dict.iter().map(number).collect();
    let cell = |code: &u32| if *code == NULL_CODE { u64::MAX } else { by_code[*code as usize] };
    codes.iter().map(cell).collect()
}

/// Encodes a column of numbers by the bits of their floating-point values, and null as 0. If `exact` is true, integers
/// are encoded without rounding.
fn numbers((column, rows): (&Column, usize), exact: bool) -> Cow<'_, [u64]> {
    let bits = |v: f64| number_bits(v);
    match column {
        Column::Float { values, nulls: None } if values.iter().all(|v| bits(*v) == v.to_bits()) => {
            return Cow::Borrowed(cast_slice(values));
        }
        _ => {}
    }
    let mut cells: Vec<u64> = match column {
        Column::Int { values, .. } if exact => values.map(|v| v as u64),
        Column::Int { values, .. } => values.map(|v| bits(v as f64)),
        Column::Bool { values, .. } if exact => values.iter().map(|v| u64::from(*v)).collect(),
        Column::Bool { values, .. } => values.iter().map(|v| bits(f64::from(*v))).collect(),
        Column::Float { values, .. } => values.iter().map(|v| bits(*v)).collect(),
        // The cells of an unsupported column are unknown, so all of them are encoded as equal.
        Column::Text { .. } | Column::Other(_) => vec![0; rows],
    };
    if column.has_nulls() {
        let null = cells.iter_mut().enumerate().filter(|(row, _)| column.is_null(*row));
        null.for_each(|(_, cell)| *cell = 0);
    }
    cells.into()
}

/// Encodes the nulls of a column: 1 for each null, and 0 for any other cell.
fn nulls((column, rows): (&Column, usize)) -> Vec<u64> {
    (0..rows).map(|row| u64::from(column.is_null(row))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::catalog::Format;

    fn table(text: &str) -> Table {
        Table::decode(text.as_bytes(), Format::Csv, &|name| name == "name").unwrap()
    }

    #[test]
    fn cells_are_equal_if_their_values_are() {
        // The tables have integers and fractions, names in another order, and a null on one side.
        let base = table("name,m,latency,note\na,1,1,\nb,2,2,7\n");
        let head = table("name,m,latency,note\nb,2,2.0,7\na,1,0.5,0\n");
        let common = SharedColumns::of(&base, &head);
        let equal = |cells: &[ColumnPair], b: usize, h: usize| {
            cells.iter().map(|c| c.base[b] == c.head[h]).collect::<Vec<_>>()
        };
        assert_eq!(equal(&common.keys, 1, 0), [true; 4]);
        assert_eq!(equal(&common.keys, 0, 1), [true, true, true, false], "a null is not 0");
        assert_eq!(equal(&common.measures, 1, 0), [true]);
        assert_eq!(equal(&common.measures, 0, 1), [false]);
    }

    #[test]
    fn a_column_with_one_value_in_all_rows_is_not_part_of_the_key() {
        let base = table("name,m\na,1\n");
        assert_eq!(SharedColumns::of(&base, &table("name,m\na,2\n")).keys.len(), 1);
        assert_eq!(SharedColumns::of(&base, &table("name,m\nb,1\n")).keys.len(), 2);
    }

    #[test]
    fn a_column_of_one_state_or_of_another_type_is_one_sided() {
        let base = table("name,m\na,1\n");
        assert!(SharedColumns::of(&base, &base).one_sided.is_empty());
        let with_power = table("name,m,power\na,1,9\n");
        assert_eq!(SharedColumns::of(&base, &with_power).one_sided, ["power"]);
        assert_eq!(SharedColumns::of(&with_power, &base).one_sided, ["power"]);
        assert_eq!(SharedColumns::of(&base, &table("name,m\na,x\n")).one_sided, ["m"]);
    }
}
