//! Impact for people at a terminal.

use super::summary::{self, ImpactSummary, headline};
use super::{Impact, LEFT_OUT, POINTS};
use crate::base::escape::clean;
use crate::base::words::Figure;

pub(super) fn brief(impact: &Impact) -> String {
    headline(impact) + "\n"
}

pub(super) fn text(impact: &Impact) -> String {
    let view = ImpactSummary::of(impact);
    let mut out = format!("{}\n", clean(&view.headline));
    if !view.movers.is_empty() {
        out += "\nworst movers\n";
    }
    for mover in &view.movers {
        out += &format!("  {}: {}\n", clean(&mover.title), mover.change);
        mover.reasons.iter().for_each(|line| out += &format!("    {}\n", clean(line)));
    }
    if !view.lost.is_empty() {
        out += "\nanswers that became errors\n";
        view.lost.iter().for_each(|line| out += &format!("  {}\n", clean(line)));
    }
    if impact.compared {
        for (version, cases) in &view.versions {
            out += &format!("\n{}\n", clean(version));
            let cells = cases.iter().map(|c| {
                [&c.model, &c.layout, &c.quant, &c.moved, &c.note].map(|cell| clean(cell))
            });
            out += &columns(&cells.collect::<Vec<_>>());
        }
    } else {
        out += &times(impact);
    }
    out + &format!("\n{}\n", caveat())
}

/// What the figures are, and what they leave out.
pub(super) fn caveat() -> String {
    format!(
        "Predictions are estimates of static steps from the tables alone. They leave out {}.",
        LEFT_OUT.join(", ")
    )
}

/// The times of one state: a line for each case, a column for each step.
fn times(impact: &Impact) -> String {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut last = None;
    let mut out = String::new();
    for case in &impact.cases {
        if last != Some(&case.version) {
            out += &columns(&rows);
            rows.clear();
            let v = &case.version;
            let title = format!("{} {} {}", v.system, v.backend, v.version);
            out += &format!("\n{} (ms by phase, batch × tokens)\n", clean(&title));
            let heads = ["model", "layout", "quantisation"].map(str::to_owned);
            let steps = POINTS.map(|p| format!("{} {}×{}", p.phase.word(), p.batch, p.isl));
            rows.push(heads.into_iter().chain(steps).collect());
            last = Some(&case.version);
        }
        let mut row: Vec<String> =
            [case.model.clone(), summary::layout(case), summary::quant(case)]
                .map(|cell| clean(&cell))
                .into();
        let time = |p: &super::PointImpact| match &p.after {
            Ok(time) => format!("{:.2}", Figure(time.ms)),
            Err(_) => "-".to_owned(),
        };
        row.extend(case.points.iter().map(time));
        if let Some(Err(why)) = case.points.iter().map(|p| &p.after).find(|step| step.is_err()) {
            row.push(clean(&why.to_string()));
        }
        rows.push(row);
    }
    out + &columns(&rows)
}

/// Cells in columns, indented.
fn columns<R: AsRef<[String]>>(rows: &[R]) -> String {
    let wide = |at: usize| {
        let cells = rows.iter().filter_map(|row| row.as_ref().get(at));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let most = rows.iter().map(|row| row.as_ref().len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..most).map(wide).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::from("  ");
        for (cell, width) in row.as_ref().iter().zip(&widths) {
            let pad = width.saturating_sub(cell.chars().count());
            line += cell;
            line += &" ".repeat(pad + 2);
        }
        out += line.trim_end();
        out.push('\n');
    }
    out
}
