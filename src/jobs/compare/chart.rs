//! Charts of `compare`: the latency ratio of two tables by latency and by row order.

use super::Tendency;
use super::report::CompareReport;
use super::table::{RatioPoint, TableComparison};
use crate::report::chart::{ChartFigure, ChartLine, ChartPoint, LineKind, Panel};

/// The maximum number of points of a chart; a chart with more points is not legible.
const MOST: usize = 1500;

/// Draws two charts per compared table that has common keys.
pub fn figures(report: &CompareReport) -> Vec<ChartFigure> {
    let tables = report.tables.iter().enumerate().filter(|(_, t)| !t.points.is_empty());
    tables
        .flat_map(|(i, table)| [against_latency(table, i + 1), along_file(table, i + 1)])
        .collect()
}

fn against_latency(table: &TableComparison, number: usize) -> ChartFigure {
    let x = |point: &RatioPoint| point.a_ms;
    figure(table, &format!("{}-{number}", table.table), "latency in A, ms", &x)
}

fn along_file(table: &TableComparison, number: usize) -> ChartFigure {
    let x = |point: &RatioPoint| f64::from(point.row) + 1.0;
    figure(table, &format!("{}-{number}-order", table.table), "row of B", &x)
}

fn figure(
    table: &TableComparison,
    name: &str,
    x: &str,
    at: &dyn Fn(&RatioPoint) -> f64,
) -> ChartFigure {
    let (beyond, within): (Vec<&RatioPoint>, Vec<&RatioPoint>) =
        table.points.iter().partition(|p| p.beyond);
    let lines = [("within rerun noise", within), ("outside rerun noise", beyond)];
    let lines = lines.into_iter().enumerate().map(|(colour, (series, points))| ChartLine {
        series: series.to_owned(),
        colour,
        kind: LineKind::Points,
        points: drawn(&points, at),
    });
    let said = match table.verdict {
        Tendency::Unclear => "too few common keys",
        other => other.name(),
    };
    ChartFigure {
        name: name.to_owned(),
        title: format!("{} of {} {}", table.table, table.backend, table.version),
        subtitle: format!("{said}: {} keys in both", table.common),
        x: x.to_owned(),
        rings: Vec::new(),
        path: table.b.clone(),
        panels: vec![Panel {
            y: "B / A".to_owned(),
            mark: Some(1.0),
            lines: lines.filter(|line| !line.points.is_empty()).collect(),
        }],
    }
}

/// Returns at most [`MOST`] evenly spaced points of a series, sorted by x.
fn drawn(points: &[&RatioPoint], at: &dyn Fn(&RatioPoint) -> f64) -> Vec<ChartPoint> {
    let step = points.len().div_ceil(MOST).max(1);
    let point = |p: &&RatioPoint| ChartPoint::plain(at(p), p.ratio);
    let mut drawn: Vec<ChartPoint> = points.iter().step_by(step).map(point).collect();
    drawn.sort_by(|a, b| a.x.total_cmp(&b.x));
    drawn
}
