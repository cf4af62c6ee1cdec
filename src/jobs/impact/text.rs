//! Renders an impact as a document for people.

use std::collections::BTreeMap;

use super::case::{Fate, Impact, ImpactCase, LEFT_OUT, PointImpact};
use super::summary::{
    Worst, headline, layout, lost, most_moved, predicted_move, quant, range, title, worst,
};
use super::{OpMove, PlannedVersion, PowerCoverage};
use crate::base::words::{Figure, count, plural};
use crate::planner::POINTS;
use crate::planner::TableLookup;
use crate::report::document::{Document, DocumentTable, ListItem};

/// The maximum number of changed steps shown.
const WORST: usize = 10;
/// The maximum number of operations shown per step.
const OPS: usize = 3;
/// The maximum number of rows shown per operation.
const ROWS: usize = 4;

/// Builds the document of an impact.
pub(super) fn document(impact: &Impact) -> Document {
    let mut versions: BTreeMap<&PlannedVersion, Vec<&ImpactCase>> = BTreeMap::new();
    for case in &impact.cases {
        versions.entry(&case.version).or_default().push(case);
    }
    let mut document = Document::new("Predictions");
    document.paragraph(headline(impact));
    document.list("Worst movers", worst(impact).into_iter().take(WORST).map(mover));
    document.list("Answers that became errors", lost(impact));
    for (version, cases) in &versions {
        if impact.compared {
            let news = cases.iter().filter(|case| is_news(case)).map(|case| changes(case));
            let heads = ["model", "layout", "quantisation", "moved", "change"];
            let table = DocumentTable::new(&heads, [3], news);
            document.folded(&version_heading(version, cases), table);
        } else {
            let heading = format!("{version} (ms by phase, batch × tokens)");
            document.table(&heading, times(cases));
        }
    }
    document.paragraph(format!(
        "Predictions are estimates of static steps from the tables alone. They leave out {}.",
        LEFT_OUT.join(", ")
    ));
    document
}

/// Renders a heading with a version, the number of steps that move, and the number of steps with
/// power.
fn version_heading(version: &PlannedVersion, cases: &[&ImpactCase]) -> String {
    let points: Vec<&PointImpact> = cases.iter().flat_map(|case| &case.points).collect();
    let moved = points.iter().filter(|p| p.fate() == Fate::Moved).count();
    let (moved, all) = (count(moved), count(points.len()));
    let power = match PowerCoverage::both(points.iter().copied()) {
        [Some(before), Some(after)] if before != after => {
            format!("; {} before, {} after", before.words(), after.words())
        }
        [_, Some(after)] => format!("; {}", after.words()),
        [_, None] => String::new(),
    };
    format!("{version}: {moved} of {all} step times move{power}")
}

fn is_news(case: &ImpactCase) -> bool {
    let changed = |p: &PointImpact| matches!(p.fate(), Fate::Moved | Fate::Lost | Fate::Gained);
    case.points.iter().any(changed) || case.power_changes() || case.quant_before.is_some()
}

/// Returns the cells of a case in a comparison: model, layout, quantisation, number of moved steps,
/// and notes.
fn changes(case: &ImpactCase) -> Vec<String> {
    let of = |fate| case.points.iter().filter(move |p| p.fate() == fate);
    let changes: Vec<f64> = of(Fate::Moved).filter_map(PointImpact::change).collect();
    let mut notes: Vec<String> = range(&changes).into_iter().collect();
    for (fate, words) in [(Fate::Lost, "became errors"), (Fate::Gained, "were errors before")] {
        let n = of(fate).count();
        if n > 0 {
            notes.push(format!("{n} {words}"));
        }
    }
    if let ([Some(before), Some(after)], true) = (case.power(), case.power_changes()) {
        let share = |power: PowerCoverage| format!("{:.0} %", 100.0 * power.mean);
        notes.push(format!("measured power {} → {} of the time", share(before), share(after)));
    }
    let moved = format!("{}/{}", changes.len(), case.points.len());
    vec![case.model.clone(), layout(case), quant(case), moved, notes.join("; ")]
}

/// Builds the table of times of one state: one row per case, one column per step.
fn times(cases: &[&ImpactCase]) -> DocumentTable {
    let steps = POINTS.map(|p| format!("{} {}×{}", p.phase.word(), p.batch, p.isl));
    let error = |case: &&ImpactCase| case.points.iter().find_map(|p| p.after.clone().err());
    let note = cases.iter().any(|case| error(case).is_some()).then_some("note");
    let mut heads = vec!["model", "layout", "quantisation"];
    heads.extend(steps.iter().map(String::as_str).chain(note));
    let rows = cases.iter().map(|case| {
        let mut row = vec![case.model.clone(), layout(case), quant(case)];
        let time = |p: &PointImpact| match &p.after {
            Ok(time) => format!("{:.2}", Figure(time.ms)),
            Err(_) => "-".to_owned(),
        };
        row.extend(case.points.iter().map(time));
        row.extend(note.map(|_| error(case).map(|why| why.to_string()).unwrap_or_default()));
        row
    });
    DocumentTable::new(&heads, (3..3 + steps.len()).collect::<Vec<_>>(), rows)
}

/// Renders a changed step with the operations that changed it.
fn mover(worst: Worst<'_>) -> ListItem {
    let (case, point, _, others) = &worst;
    let mut reasons: Vec<String> = point.ops.iter().take(OPS).flat_map(reasons).collect();
    if point.ops.len() > OPS {
        reasons.push(format!("and {} more", plural(point.ops.len() - OPS, "operation")));
    }
    if !others.is_empty() {
        reasons.push(format!("the same on {}", others.join(", ")));
    }
    let title = title(case, point.point);
    let text = format!("{title}: {}", predicted_move(worst).times());
    ListItem { text, below: reasons }
}

/// Renders the change of an operation and the lookup that changed most.
fn reasons(op: &OpMove) -> Vec<String> {
    let sign = if op.delta() < 0.0 { "−" } else { "+" };
    let moved = format!("{} {sign}{:.3} ms", op.name, Figure(op.delta().abs()));
    let Some((before, shown)) = most_moved(op) else { return vec![moved] };
    let part = if *shown.op == *op.name { String::new() } else { format!("{}, ", shown.op) };
    let how = shown.how.word();
    let mut lines = vec![format!("{moved}: {part}{}, {}, {how}", shown.table, shown.key)];
    let places = |l: &TableLookup| -> Vec<(String, u32)> {
        l.rows.iter().map(|r| (r.origin.path.clone(), r.row)).collect()
    };
    // If only the latency changed, the rows before are the same and need no line.
    if let Some(before) = before.filter(|b| b.how != shown.how || places(b) != places(shown)) {
        lines.push(format!("before: {}, {}", before.how.word(), rows(before)));
    }
    lines.push(rows(shown));
    lines
}

/// Names the rows with the largest weights of a lookup, grouped by file.
fn rows(lookup: &TableLookup) -> String {
    let mut heaviest: Vec<_> = lookup.rows.iter().collect();
    heaviest.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    let mut files: Vec<(&str, Vec<String>)> = Vec::new();
    for row in heaviest.iter().take(ROWS) {
        let path = row.origin.path.as_str();
        let text = format!("{} ({:.0} %)", row.row, row.weight * 100.0);
        match files.iter_mut().find(|(p, _)| *p == path) {
            Some((_, rows)) => rows.push(text),
            None => files.push((path, vec![text])),
        }
    }
    let file = |(path, rows): &(&str, Vec<String>)| format!("row {} of {path}", rows.join(", "));
    let mut text = files.iter().map(file).collect::<Vec<_>>().join("; ");
    if lookup.rows.len() > ROWS {
        text += &format!("; {} more", lookup.rows.len() - ROWS);
    }
    text
}
