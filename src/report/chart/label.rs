//! Names series and slices by the fewest columns and values that distinguish them.

use std::collections::BTreeSet;

use crate::database::table::{Column, Table};
use crate::specs::KeyPart;

/// The most characters of a name at the end of a line.
const ROOM: usize = 58;

/// Names each series, given by its rows, by the columns in which the series differ: `num_heads 8,
/// head_dim 128`. A single series is named by its numeric columns. A name that is too long keeps
/// only the columns needed to distinguish the series.
pub(super) fn series_names(table: &Table, fixed: &[KeyPart], series: &[Vec<usize>]) -> Vec<String> {
    let columns = columns(table, fixed);
    let Some((first, rest)) = series.split_first() else { return Vec::new() };
    let differs =
        |column: &Column| rest.iter().any(|rows| value(column, rows[0]) != value(column, first[0]));
    let is_steady = |column: &Column| {
        series.iter().all(|rows| rows.iter().all(|row| column.equal(*row, rows[0])))
    };
    let is_number = |column: &Column| matches!(column, Column::Int { .. } | Column::Float { .. });
    let of_series = |column: &Column| match rest {
        [] => is_number(column) && !is_constant(column),
        _ => differs(column),
    };
    let wanted: Vec<(&str, &Column)> =
        columns.into_iter().filter(|(_, column)| of_series(column)).collect();
    let mut chosen: Vec<(&str, &Column)> =
        wanted.iter().copied().filter(|(_, column)| is_steady(column)).collect();
    if told_apart(&chosen, series) < series.len() {
        chosen = wanted;
    }
    let names = |columns: &[(&str, &Column)]| -> Vec<String> {
        series.iter().map(|rows| words(columns, rows[0])).collect()
    };
    let full = names(&chosen);
    if series.len() == 1 || full.iter().all(|name| name.chars().count() <= ROOM) {
        return full;
    }
    names(&fewest(&chosen, series))
}

/// Names the common slice of series by the columns in which all of them agree, without columns that
/// have one value in the whole table.
pub(super) fn slice_words(table: &Table, panel: &[KeyPart], series: &[Vec<usize>]) -> String {
    let Some((first, rest)) = series.split_first() else { return String::new() };
    let alike =
        |column: &Column| rest.iter().all(|rows| value(column, rows[0]) == value(column, first[0]));
    let columns = columns(table, panel).into_iter();
    let columns: Vec<(&str, &Column)> =
        columns.filter(|(_, column)| alike(column) && !is_constant(column)).collect();
    words(&columns, first[0])
}

/// Returns the distinct columns that parts of a key read.
fn columns<'t>(table: &'t Table, parts: &'t [KeyPart]) -> Vec<(&'t str, &'t Column)> {
    let mut seen = BTreeSet::new();
    let names = parts.iter().flat_map(|part| part.value.columns());
    let names = names.filter(|name| seen.insert(*name));
    names.filter_map(|name| Some((name, table.column(name)?))).collect()
}

/// Counts the series that some columns distinguish.
fn told_apart(columns: &[(&str, &Column)], series: &[Vec<usize>]) -> usize {
    let names = series.iter().map(|rows| words(columns, rows[0]));
    names.collect::<BTreeSet<String>>().len()
}

/// Returns the first columns that distinguish as many series as all columns do.
fn fewest<'t>(
    columns: &[(&'t str, &'t Column)],
    series: &[Vec<usize>],
) -> Vec<(&'t str, &'t Column)> {
    let most = told_apart(columns, series);
    let mut left = columns.to_vec();
    let mut chosen: Vec<(&str, &Column)> = Vec::new();
    while told_apart(&chosen, series) < most && !left.is_empty() {
        let with = |column: (&'t str, &'t Column)| {
            let mut columns = chosen.clone();
            columns.push(column);
            told_apart(&columns, series)
        };
        // Among equally good columns, the first of the key is taken.
        let best = (0..left.len()).rev().max_by_key(|i| with(left[*i])).unwrap_or(0);
        chosen.push(left.remove(best));
    }
    chosen
}

fn is_constant(column: &Column) -> bool {
    match column {
        Column::Text { dict, nulls, .. } => dict.len() == 1 && *nulls == 0,
        _ => (1..column.len()).all(|row| column.equal(row, 0)),
    }
}

fn words(columns: &[(&str, &Column)], row: usize) -> String {
    let pairs = columns.iter().map(|(name, column)| format!("{name} {}", value(column, row)));
    pairs.collect::<Vec<_>>().join(", ")
}

fn value(column: &Column, row: usize) -> String {
    match column.json(row) {
        serde_json::Value::Null => "none".to_owned(),
        serde_json::Value::String(text) => text,
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::catalog::Format;

    fn table(text: &str) -> Table {
        Table::decode(text.as_bytes(), Format::Csv, &|_| false).unwrap()
    }

    fn parts(names: &[&str]) -> Vec<KeyPart> {
        names.iter().filter_map(|name| KeyPart::column(name)).collect()
    }

    #[test]
    fn series_carry_the_names_of_their_columns() {
        let table = table("dtype,num_heads,head_dim,m\nfp8,8,128,1\nfp8,16,128,2\nfp8,8,64,3\n");
        let fixed = parts(&["dtype", "num_heads", "head_dim"]);
        let names = series_names(&table, &fixed, &[vec![0], vec![1], vec![2]]);
        assert_eq!(
            names,
            ["num_heads 8, head_dim 128", "num_heads 16, head_dim 128", "num_heads 8, head_dim 64"]
        );
        assert_eq!(series_names(&table, &fixed, &[vec![1]]), ["num_heads 16, head_dim 128"]);
        assert_eq!(slice_words(&table, &parts(&["num_heads", "dtype"]), &[vec![0]]), "num_heads 8");
    }

    #[test]
    fn long_names_keep_the_columns_that_tell_them_apart() {
        let head = "a_column_with_a_long_name,another_column_with_a_long_name,num_experts\n";
        let table = table(&format!("{head}1,10,8\n2,20,8\n2,30,16\n"));
        let fixed = parts(&head.trim().split(',').collect::<Vec<_>>());
        let names = series_names(&table, &fixed, &[vec![0], vec![1], vec![2]]);
        assert_eq!(names[0], "another_column_with_a_long_name 10");
    }
}
