//! Builds the frame of a metric file: its rows in the units of the spec, each joined with its card.

use std::collections::{BTreeMap, BTreeSet};

use super::document::TraceDocument;
use super::find::{TraceFile, split};
use super::frame::{Frame, TraceCell};
use super::ranks::run_of;
use super::reader::MetricRows;
use super::spec::{MetricSpec, OF_LIST, Relation, TraceFieldType, TraceSpecs};
use crate::base::expr::ExprError;
use crate::base::stats::half_units;

/// Builds the frame of a metric file, which formulas read. Values are converted to the units of the spec. The values of
/// a row's workload card are added to the row.
pub(crate) fn frame<'a>(
    rows: &MetricRows,
    spec: &MetricSpec,
    file: &TraceFile<'_>,
    cards: &[TraceDocument<'_>],
    specs: &'a TraceSpecs,
) -> Result<Frame<'a>, ExprError> {
    let mut frame = Frame::new(rows.rows);
    for (name, cells) in &rows.cells {
        let known = spec.columns.get(name);
        let is_text = known.is_some_and(|c| c.kind == TraceFieldType::Text);
        let own = known.and_then(|c| c.unit.as_deref());
        let scale = match (own, rows.units.get(name)) {
            (Some(own), Some((unit, _))) => scale(unit, own),
            _ => Some(1.0),
        };
        let scaled = |cell: &TraceCell| match (cell, scale) {
            (TraceCell::Number(n), Some(scale)) if n.is_finite() => TraceCell::Number(n * scale),
            (TraceCell::Text(_), _) => cell.clone(),
            _ => TraceCell::Null,
        };
        frame.set(name, cells.iter().map(scaled).collect(), is_text);
        // Whole numbers are not rounded.
        if known.is_none_or(|c| c.kind != TraceFieldType::Int) {
            let numbers: Vec<Option<f64>> = cells.iter().map(TraceCell::number).collect();
            let half = half_units(&numbers).into_iter().map(|h| h * scale.unwrap_or(1.0));
            frame.set_half_units(name, half.collect());
        }
    }
    for (name, lists) in &rows.lists {
        for of in OF_LIST {
            let cells = lists.iter().map(|list| of_list(of, list)).collect();
            frame.set(&format!("{name}_{of}"), cells, false);
            if of != "n" {
                let half = lists.iter().map(|list| coarsest(list)).collect();
                frame.set_half_units(&format!("{name}_{of}"), half);
            }
        }
    }
    // A text column that the file lacks still has the type text in formulas.
    for (name, column) in &spec.columns {
        if column.kind == TraceFieldType::Text && !frame.has(name) {
            frame.set(name, vec![TraceCell::Null; rows.rows], true);
        }
    }
    let cards = cards_of_rows(&frame, spec, file, cards);
    set_card_columns(&mut frame, spec, specs, &cards);
    let accelerator = |row: usize| {
        let stated = spec.accelerator_in.as_ref().and_then(|c| frame.cell(c, row).text());
        stated.or_else(|| cards[row]?.text("accelerator"))
    };
    let (mut systems, mut assumed) = (Vec::new(), BTreeSet::new());
    for row in 0..rows.rows {
        let stated = accelerator(row);
        if stated.is_none() {
            assumed.insert(row);
        }
        let name = stated.or(spec.accelerator.as_deref());
        systems.push(name.and_then(|name| specs.system(name)));
    }
    (frame.systems, frame.assumed) = (systems, assumed);
    frame.derive(&spec.derive, &spec.thresholds)?;
    Ok(frame)
}

/// Returns the workload card of each row. If the spec names a column for cards, each cell of this column is the name of
/// the directory that contains the row's card. Otherwise, all rows have the card of the run to which the file belongs.
fn cards_of_rows<'c, 'a>(
    frame: &Frame<'_>,
    spec: &MetricSpec,
    file: &TraceFile<'_>,
    cards: &'c [TraceDocument<'a>],
) -> Vec<Option<&'c TraceDocument<'a>>> {
    let dir = split(&file.entry.path).0;
    let Some(column) = &spec.card else { return vec![run_of(dir, cards); frame.rows] };
    let mut by_dir: BTreeMap<&str, Vec<&TraceDocument<'_>>> = BTreeMap::new();
    for card in cards.iter().filter(|c| !c.template) {
        by_dir.entry(&card.dir_name).or_default().push(card);
    }
    let card = |row: usize| nearest(dir, by_dir.get(frame.cell(column, row).text()?)?);
    (0..frame.rows).map(card).collect()
}

/// Adds the values of each row's card as columns, which formulas read as `card_NAME`.
fn set_card_columns(
    frame: &mut Frame<'_>,
    spec: &MetricSpec,
    specs: &TraceSpecs,
    cards: &[Option<&TraceDocument<'_>>],
) {
    let formulas = spec.relations.iter().flat_map(Relation::formulas);
    let formulas = formulas.chain(spec.derive.iter().map(|d| &d.is));
    let read: BTreeSet<&str> = formulas.flat_map(|e| e.columns()).collect();
    for name in read.iter().filter_map(|c| c.strip_prefix("card_")) {
        let cells = cards.iter().map(|card| card.map(|c| c.frame.cell(name, 0).clone()));
        let cells = cells.map(Option::unwrap_or_default).collect();
        let field = specs.card.fields.values().find(|f| f.column.as_deref() == Some(name));
        let is_text =
            field.is_some_and(|f| matches!(f.kind, TraceFieldType::Text | TraceFieldType::Texts));
        frame.set(&format!("card_{name}"), cells, is_text);
    }
}

/// Returns the card whose directory is nearest to `dir` in the tree of directories; `None` if several cards are equally
/// near.
fn nearest<'c, 'a>(dir: &str, cards: &[&'c TraceDocument<'a>]) -> Option<&'c TraceDocument<'a>> {
    fn steps(path: &str) -> Vec<&str> {
        path.split('/').filter(|s| !s.is_empty()).collect()
    }
    let apart = |card: &TraceDocument<'_>| {
        let (from, to) = (steps(dir), steps(card.dir()));
        let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
        from.len() + to.len() - 2 * shared
    };
    let least = cards.iter().map(|c| apart(c)).min()?;
    match cards.iter().filter(|c| apart(c) == least).collect::<Vec<_>>()[..] {
        [card] => Some(card),
        _ => None,
    }
}

/// Returns the largest rounding error of a list's values. The rounding error of their mean is at most as large.
fn coarsest(list: &[f64]) -> f64 {
    let numbers: Vec<Option<f64>> = list.iter().copied().map(Some).collect();
    half_units(&numbers).into_iter().fold(0.0, f64::max)
}

fn of_list(of: &str, list: &[f64]) -> TraceCell {
    if of == "n" {
        return TraceCell::Number(list.len() as f64);
    }
    let value = match of {
        "mean" => list.iter().sum::<f64>() / list.len() as f64,
        "min" => list.iter().copied().fold(f64::NAN, f64::min),
        _ => list.iter().copied().fold(f64::NAN, f64::max),
    };
    if value.is_finite() { TraceCell::Number(value) } else { TraceCell::Null }
}

/// Returns the factor that converts values from `unit` into the unit `into`; `None` if the units measure different
/// quantities.
pub(crate) fn scale(unit: &str, into: &str) -> Option<f64> {
    if unit == into {
        return Some(1.0);
    }
    let ((quantity, from), (other, to)) = (measures(unit)?, measures(into)?);
    (quantity == other).then_some(from / to)
}

/// Returns the quantity that a unit measures (such as `time` for `ms`) and the factor from this unit to the quantity's
/// base unit (such as 0.001). `None` for an unknown unit.
fn measures(unit: &str) -> Option<(&'static str, f64)> {
    Some(match unit {
        "s" => ("time", 1.0),
        "ms" => ("time", 1e-3),
        "us" => ("time", 1e-6),
        "%" => ("share", 0.01),
        "ratio" => ("share", 1.0),
        "GB/s" => ("rate", 1.0),
        "MB/s" => ("rate", 1e-3),
        "GB" => ("volume", 1.0),
        "MB" => ("volume", 1e-3),
        _ => return None,
    })
}
