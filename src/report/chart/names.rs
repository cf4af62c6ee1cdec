//! Names the series of a chart by the columns in which they differ.

use std::collections::BTreeSet;
use std::fmt::Display;

use super::legend::fits;
use super::scene::SeriesName;
use crate::database::table::{Column, Table};
use crate::specs::KeyPart;

/// The limits that are tried for labels, one pair after the other, until all labels fit. A pair contains the maximum
/// number of characters of a column's name, then of a column's value.
const ROOM: [(usize, usize); 5] = [(32, 32), (32, 24), (32, 16), (32, 10), (12, 10)];

/// Returns a pair: a text with the columns that have the same value in all series, and a name for each series. Only the
/// columns of the key parts `fixed` are used. `series` contains the row numbers of each series.
pub(super) fn names(
    table: &Table,
    fixed: &[KeyPart],
    series: &[Vec<usize>],
) -> (String, Vec<SeriesName>) {
    let mut seen = BTreeSet::new();
    let read = fixed.iter().flat_map(|part| part.value.columns());
    let read = read.filter(|name| seen.insert(*name));
    let is_steady = |column: &Column| {
        series.iter().all(|rows| rows.iter().all(|row| column.equal(*row, rows[0])))
    };
    let columns = read.filter_map(|name| Some((name, table.column(name)?)));
    let columns: Vec<(&str, Vec<String>)> = columns
        .filter(|(_, column)| is_steady(column))
        .map(|(name, column)| (name, series.iter().map(|rows| value(column, rows[0])).collect()))
        .collect();
    let whole = (0..series.len()).map(|number| words(&columns, number));
    let whole: Vec<String> = whole.collect();
    let (shared, apart): (Vec<_>, Vec<_>) =
        columns.into_iter().partition(|(_, values)| values.iter().all(|v| *v == values[0]));
    let labels = labels(&apart, series.len());
    let names = labels.into_iter().zip(whole).map(|(label, whole)| SeriesName { label, whole });
    (words(&shared, 0), names.collect())
}

/// Returns one label per series, with the columns in which the series differ. Values are shortened until the labels
/// fit. Labels that are equal after this are numbered.
fn labels(apart: &[(&str, Vec<String>)], series: usize) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for (of_name, of_value) in ROOM {
        let cut = |(name, values): &(&str, Vec<String>)| {
            let values = unlike(values).iter().map(|value| cut(value, of_value)).collect();
            (cut(name, of_name), values)
        };
        let short: Vec<(String, Vec<String>)> = apart.iter().map(cut).collect();
        labels = (0..series).map(|number| words(&short, number)).collect();
        let distinct = labels.iter().collect::<BTreeSet<_>>().len();
        if distinct == series && labels.iter().all(|label| fits(label)) {
            return labels;
        }
    }
    let mut seen = BTreeSet::new();
    for (number, label) in labels.iter_mut().enumerate() {
        if !seen.insert(label.clone()) {
            *label = format!("{label} ({})", number + 1);
        }
    }
    labels
}

/// Replaces the common start and the common end of all values by `…`. If one of the values has at most `LONG`
/// characters, all values are returned unchanged.
fn unlike(values: &[String]) -> Vec<String> {
    const LONG: usize = 24;
    if values.iter().any(|value| value.chars().count() <= LONG) {
        return values.to_vec();
    }
    let chars: Vec<Vec<char>> = values.iter().map(|value| value.chars().collect()).collect();
    let shortest = chars.iter().map(Vec::len).min().unwrap_or(0);
    let alike = |at: &dyn Fn(&[char]) -> char| chars.iter().all(|c| at(c) == at(&chars[0]));
    let head = (0..shortest).take_while(|i| alike(&|c| c[*i])).count();
    let tail = (0..shortest - head).take_while(|i| alike(&|c| c[c.len() - 1 - *i])).count();
    let dots = |cut: usize| if cut > 0 { "…" } else { "" };
    let middle = |c: &Vec<char>| c[head..c.len() - tail].iter().collect::<String>();
    chars.iter().map(|c| format!("{}{}{}", dots(head), middle(c), dots(tail))).collect()
}

/// Shortens a text to at most `most` characters by cutting its middle.
fn cut(text: &str, most: usize) -> String {
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= most {
        return text.to_owned();
    }
    let (head, tail) = (most / 2, (most - 1) / 2);
    let ends = [&chars[..head], &['…'], &chars[chars.len() - tail..]];
    ends.concat().into_iter().collect()
}

/// Formats the columns of one series as text, such as `n 4096, k 8192`. `series` is the index of the series.
fn words(columns: &[(impl Display, Vec<String>)], series: usize) -> String {
    let pairs =
        columns.iter().filter_map(|(name, values)| Some(format!("{name} {}", values.get(series)?)));
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

    fn named(text: &str, columns: &[&str], series: &[usize]) -> (String, Vec<SeriesName>) {
        let table = Table::decode(text.as_bytes(), Format::Csv, &|_| false).unwrap();
        let fixed: Vec<KeyPart> = columns.iter().filter_map(|c| KeyPart::column(c)).collect();
        names(&table, &fixed, &series.iter().map(|row| vec![*row]).collect::<Vec<_>>())
    }

    #[test]
    fn the_full_name_of_a_series_has_shared_and_differing_columns() {
        let text = "dtype,num_heads,head_dim,m\nfp8,8,128,1\nfp8,16,128,2\nfp8,8,64,3\n";
        let columns = ["dtype", "num_heads", "head_dim"];
        let (shared, names) = named(text, &columns, &[0, 1]);
        assert_eq!(shared, "dtype fp8, head_dim 128");
        let label = |name: &SeriesName| name.label.clone();
        let labels: Vec<String> = names.iter().map(label).collect();
        assert_eq!(labels, ["num_heads 8", "num_heads 16"]);
        assert_eq!(names[1].whole, "dtype fp8, num_heads 16, head_dim 128");
        let (shared, names) = named(text, &columns, &[0, 1, 2]);
        assert_eq!(
            (shared.as_str(), names[2].label.as_str()),
            ("dtype fp8", "num_heads 8, head_dim 64")
        );
        let (shared, names) = named(text, &columns, &[1]);
        assert_eq!(
            (shared.as_str(), names[0].label.as_str()),
            ("dtype fp8, num_heads 16, head_dim 128", "")
        );
    }

    #[test]
    fn differing_shape_columns_are_always_in_the_legend() {
        let long = "a_kernel_with_a_name_that_is_so_long_that_it_would_fill_the_legend_alone";
        let text =
            format!("kernel,num_experts,tp\n{long}_a,128,1\n{long}_b,384,2\n{long}_b,128,2\n");
        let (_, names) = named(&text, &["kernel", "num_experts", "tp"], &[0, 1, 2]);
        let labels: Vec<&str> = names.iter().map(|name| name.label.as_str()).collect();
        assert_eq!(
            labels,
            [
                "kernel …a, num_experts 128, tp 1",
                "kernel …b, num_experts 384, tp 2",
                "kernel …b, num_experts 128, tp 2"
            ]
        );
        assert_eq!(names[0].whole, format!("kernel {long}_a, num_experts 128, tp 1"));
    }

    #[test]
    fn long_labels_are_shortened_in_the_middle_and_distinct() {
        let value = |c: char| format!("{0}{c}{0}", "x".repeat(50));
        let columns = ["a", "b", "c"];
        let row = |a: char, b: char| format!("{},{},{}\n", value(a), value(b), "y".repeat(9));
        let text = format!("a,b,c\n{}{}short,short,short\n", row('1', '2'), row('3', '4'));
        let (_, names) = named(&text, &columns, &[0, 1, 2]);
        let labels: BTreeSet<&str> = names.iter().map(|name| name.label.as_str()).collect();
        assert_eq!(labels.len(), 3, "{labels:?}");
        assert!(names[0].label.contains("xx…xx"), "{labels:?}");
        assert!(labels.iter().all(|label| fits(label)), "{labels:?}");
    }
}
