//! The finding on a table's outliers.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::point::{OutlierComparison, OutlyingPoint, PointStanding};
use crate::base::words::{Figure, count, names, plural_verb};
use crate::checks::compare::sketch::{SketchedTable, Slice};
use crate::checks::{CrossContext, RuleHead};
use crate::database::catalog::TableFile;
use crate::database::table::number_json;
use crate::findings::{EXAMPLES, Finding, Severity, SliceEvidence};

/// The largest number of rows that a finding lists.
const LISTED: usize = 1000;

/// Creates a finding on the outliers `points` of a table. Outliers that other tables have, too, are left out. If other
/// tables have all of them, the finding is an info on all `points`. The finding is also an info if `is_minor` returns
/// true for the outliers that it reports.
pub(super) fn finding(
    rule: RuleHead<'_>,
    at: &CrossContext<'_>,
    (file, sketch): SketchedTable<'_>,
    points: Vec<&OutlyingPoint>,
    is_minor: impl Fn(&[&OutlyingPoint]) -> bool,
) -> Option<Finding> {
    let (alone, recurring): (Vec<&OutlyingPoint>, Vec<&OutlyingPoint>) =
        points.into_iter().partition(|point| point.standing == PointStanding::Alone);
    let (is_alone, recurs) = (!alone.is_empty(), recurring.len());
    let mut order = if is_alone { alone } else { recurring };
    let axes = axes(sweep(at, file), &order);
    let slices = points_by_slice(&sketch.slices, &order);
    order.sort_by(|a, b| b.factor().total_cmp(&a.factor()).then(a.row.cmp(&b.row)));
    let worst = *order.first()?;
    let side = if worst.spike() { "slower" } else { "faster" };
    let (shapes, points): (Vec<&OutlyingPoint>, Vec<&OutlyingPoint>) =
        order.iter().copied().partition(|o| o.by == OutlierComparison::Shape);
    let mut said = Vec::new();
    if let Some(worst) = points.first() {
        said.push(format!(
            "{} {side} than {} neighbours along {} {}, by up to {:.1}×",
            plural_verb(points.len(), "point", ["is", "are"]),
            if points.len() == 1 { "its" } else { "their" },
            if axes.len() == 1 { "column" } else { "columns" },
            names(axes.keys().copied()),
            Figure(worst.factor()),
        ));
    }
    let beside = points.iter().filter(|o| o.by == OutlierComparison::References).count();
    if beside > 0 {
        let which = match beside {
            all if all == points.len() => "the same points are".to_owned(),
            1 => "1 of them is".to_owned(),
            some => format!("{} of them are", count(some)),
        };
        said.push(format!("{which} smooth in other tables"));
    }
    if let Some(worst) = shapes.first() {
        said.push(format!(
            "{} series {are} {side} than the rest of the slice all along column {}, by up to {:.1}× compared with other tables",
            count(shapes.len()),
            sweep(at, file).first().map_or("the sweep", String::as_str),
            Figure(worst.factor()),
            are = if shapes.len() == 1 { "is" } else { "are" },
        ));
    }
    let mut message = said.join("; ");
    let info = rule.severity.at_most(Severity::Info);
    let mut severity = if is_alone { rule.severity } else { info };
    message += &why(is_alone, recurs);
    if is_minor(&order) {
        severity = info;
    }
    let examples = order.iter().take(EXAMPLES).map(|o| o.example()).collect();
    // The rows are ordered from the worst on, since `plan` measures them again in this order.
    let rows: Vec<u32> = order.iter().take(LISTED).map(|o| o.row).collect();
    let mut finding = Finding::on_table(rule.id, severity, file, message)
        .rows(order.len())
        .naming(order.iter().map(|o| o.row as usize))
        .examples(examples)
        .evidence("worst", number_json(worst.factor()))
        .evidence("axes", serde_json::json!(axes))
        .evidence("recurring", recurs)
        .evidence("beside_references", beside)
        .evidence("series", shapes.len())
        .evidence("point_rows", rows)
        .slices(slices);
    finding.evidence.reference = order.iter().find_map(|o| o.reference.clone());
    Some(finding)
}

/// Returns the end of the message, which states whether other tables have the same outliers.
fn why(is_alone: bool, recurring: usize) -> String {
    match (is_alone, recurring) {
        (true, 0) => String::new(),
        (true, more) => format!(
            "; {} in other tables, so the kernel itself has that step",
            if more == 1 {
                "1 more also occurs".to_owned()
            } else {
                format!("{} more also occur", count(more))
            }
        ),
        (false, _) => "; other tables show the same, so the kernel itself has this step".to_owned(),
    }
}

/// Counts the points by axis. A point counts for every axis on which it deviates.
fn axes<'a>(sweep: &'a [String], points: &[&OutlyingPoint]) -> BTreeMap<&'a str, usize> {
    let shown = |number: usize| points.iter().filter(|o| o.axes >> number & 1 == 1).count();
    let counts = sweep.iter().enumerate().map(|(number, axis)| (axis.as_str(), shown(number)));
    counts.filter(|(_, points)| *points > 0).collect()
}

/// Counts the points by slice, as evidence. The slices with the most points are listed, in descending order.
fn points_by_slice(slices: &[Slice], points: &[&OutlyingPoint]) -> Vec<SliceEvidence> {
    const SHOWN: usize = 10;
    let mut counts: BTreeMap<&Slice, usize> = BTreeMap::new();
    for outlier in points {
        *counts.entry(&slices[outlier.slice as usize]).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(slice, points)| (Reverse(*points), *slice));
    let evidence = |(slice, points): (&Slice, usize)| SliceEvidence {
        slice: slice.clone(),
        figure: ("points".into(), points.into()),
    };
    counts.into_iter().take(SHOWN).map(evidence).collect()
}

/// Returns the columns of the table's sweep; empty if the table has no spec. The latency grows with the value in each
/// column.
fn sweep<'a>(at: &CrossContext<'a>, file: &TableFile) -> &'a [String] {
    at.state.specs.tables.get(&file.table).map_or(&[], |spec| &spec.sweep)
}
