//! Plants faults along the series of a sweep, such as points moved onto the line between their
//! neighbours.

use std::collections::BTreeMap;

use crate::faults::draft::Draft;
use crate::faults::fault::DrawnSeries;
use crate::faults::target::Target;
use perfdb_gate::base::expr::{ExprError, Vals, Value};
use perfdb_gate::base::random::Random;
use perfdb_gate::database::table::{Column, Keys};
use perfdb_gate::specs::KeyPart;

/// The minimum number of points of a series.
const LEAST_POINTS: usize = 8;
/// The minimum number of series along an axis.
const LEAST_SERIES: usize = 5;

/// Sizes and rows of the points of a series, by size.
type Series = Vec<(f64, usize)>;

/// Moves every second point of series along one axis onto the line between its neighbours: a power
/// law, or a straight line if the first size is zero. `by` limits the number of series. Returns the
/// moved rows.
pub(super) fn draw(
    target: &Target<'_>,
    drawn: &DrawnSeries,
    by: Option<f64>,
    draft: &mut Draft,
    random: &mut Random,
) -> Result<Vec<usize>, ExprError> {
    let keys = Keys::new(&target.spec.key, target.scope)?;
    let Some((measured, _)) = target.spec.measures().next() else { return Ok(Vec::new()) };
    let Some(Column::Float { values, .. }) = target.table.column(measured) else {
        return Ok(Vec::new());
    };
    let is_sweep = |column: &&str| target.spec.sweep.iter().any(|name| name == column);
    let is_axis = |key: &KeyPart| key.value.columns().iter().any(is_sweep);
    let parts = target.spec.key.iter().enumerate().filter(|(_, key)| is_axis(key));
    let axes = parts.map(|(part, _)| series(&keys, part, values));
    let mut axes: Vec<Vec<Series>> = axes.filter(|all| all.len() >= LEAST_SERIES).collect();
    if axes.is_empty() {
        return Ok(Vec::new());
    }
    let mut chosen = axes.swap_remove(random.below(axes.len()));
    random.shuffle(&mut chosen);
    chosen.truncate(by.map_or(usize::MAX, |series| series as usize));
    let mut new = values.clone();
    let mut rows = Vec::new();
    for series in chosen {
        for three in series.windows(3).step_by(2) {
            let [(x0, a), (x1, b), (x2, c)] = *three else { continue };
            let line = if x0 > 0.0 {
                let share = (x1 / x0).ln() / (x2 / x0).ln();
                values[a] * (values[c] / values[a]).powf(share)
            } else {
                let share = (x1 - x0) / (x2 - x0);
                values[a] + share * (values[c] - values[a])
            };
            new[b] = line * (1.0 + drawn.noise * f64::from(random.normal()));
            rows.push(b);
        }
    }
    if let Some(Column::Float { values, .. }) = draft.column(measured) {
        *values = new;
    }
    rows.sort_unstable();
    Ok(rows)
}

/// Returns the long series along a part of the key, in the order of their first rows.
fn series(keys: &Keys<'_>, part: usize, values: &[f64]) -> Vec<Series> {
    let Some(sizes) = keys.numbers(part) else { return Vec::new() };
    let mut by_hash: BTreeMap<u64, Series> = BTreeMap::new();
    for (row, value) in values.iter().enumerate() {
        if *value > 0.0 && sizes.get(row) >= 0.0 {
            by_hash.entry(keys.without(&[part], row)).or_default().push((sizes.get(row), row));
        }
    }
    let mut all: Vec<Series> = by_hash.into_values().collect();
    for series in &mut all {
        series.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        series.dedup_by(|later, first| later.0 == first.0);
    }
    all.retain(|series| series.len() >= LEAST_POINTS);
    all.sort_by_key(|series| series[0].1);
    all
}

/// Shuffles the cells of a column over the given rows; returns false if there is no such column.
pub(super) fn shuffle(
    target: &Target<'_>,
    name: &str,
    rows: &[usize],
    draft: &mut Draft,
    random: &mut Random,
) -> bool {
    let Some(column) = target.table.column(name) else { return false };
    let mut from = rows.to_vec();
    random.shuffle(&mut from);
    let mut cells: Vec<f64> = (0..target.table.rows).map(|row| column.number(row)).collect();
    rows.iter().zip(from).for_each(|(row, from)| cells[*row] = column.number(from));
    draft.set(name, rows, Some(&Value::Number(Vals::Rows(cells.into()))));
    true
}

/// Swaps two size columns in every row: the first two of the sweep that differ.
pub(super) fn swap_columns(target: &Target<'_>, draft: &mut Draft) -> bool {
    let is_size = |column: &Column| matches!(column, Column::Int { nulls: None, .. });
    let place =
        |name: &String| draft.columns.iter().position(|(n, column)| n == name && is_size(column));
    let places: Vec<usize> = target.spec.sweep.iter().filter_map(place).collect();
    for (i, a) in places.iter().enumerate() {
        for b in &places[i + 1..] {
            let Ok([a, b]) = draft.columns.get_disjoint_mut([*a, *b]) else { continue };
            if (0..draft.rows).any(|row| a.1.number(row) != b.1.number(row)) {
                std::mem::swap(&mut a.1, &mut b.1);
                return true;
            }
        }
    }
    false
}

/// Swaps the two most frequent texts of the first column that has two texts; returns the changed
/// rows.
pub(super) fn swap_texts(target: &Target<'_>, names: &[String], draft: &mut Draft) -> Vec<usize> {
    for name in names {
        let Some(column @ Column::Text { .. }) = target.table.column(name) else { continue };
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for text in (0..target.table.rows).filter_map(|row| column.text(row)) {
            *counts.entry(text).or_default() += 1;
        }
        let mut texts: Vec<(&str, usize)> = counts.into_iter().collect();
        texts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        let [(first, _), (second, _), ..] = texts[..] else { continue };
        let exchanged = |text| match text {
            text if text == first => second,
            text if text == second => first,
            text => text,
        };
        let cells = (0..target.table.rows).map(|row| column.text(row).map(exchanged));
        if let Some(own) = draft.column(name) {
            *own = Column::texts(cells);
        }
        let is_changed = |row: &usize| column.text(*row).is_some_and(|t| t == first || t == second);
        return (0..target.table.rows).filter(is_changed).collect();
    }
    Vec::new()
}
