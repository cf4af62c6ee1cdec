//! Charts of `compare`: the latency ratio of two tables by latency and by row order.

use super::Tendency;
use super::report::CompareReport;
use super::table::{RatioPoint, TableComparison};
use crate::report::chart::{ChartFigure, ChartPoint, LineKind, Panel};

/// The maximum number of points of a chart; a chart with more points is not legible.
const MOST: usize = 1500;

/// Draws two charts per compared table that has common keys.
pub fn figures(report: &CompareReport) -> Vec<ChartFigure> {
    let tables = report.tables.iter().enumerate().filter(|(_, t)| !t.points.is_empty());
    let both = |(i, table): (usize, &TableComparison)| {
        let name = format!("{}-{}", table.table, i + 1);
        let by_latency = figure(table, name.clone(), "latency in A, ms", &|point| point.a_ms);
        let by_row = |point: &RatioPoint| f64::from(point.row) + 1.0;
        [by_latency, figure(table, name + "-order", "row of B", &by_row)]
    };
    tables.flat_map(both).collect()
}

fn figure(
    table: &TableComparison,
    name: String,
    x: &str,
    at: &dyn Fn(&RatioPoint) -> f64,
) -> ChartFigure {
    let (beyond, within): (Vec<&RatioPoint>, Vec<&RatioPoint>) =
        table.points.iter().partition(|p| p.beyond);
    let mut panel = Panel { mark: Some(1.0), ..Panel::named("B / A") };
    panel.add(0, LineKind::Points, drawn(&within, at));
    panel.add(1, LineKind::Points, drawn(&beyond, at));
    let said = match table.verdict {
        Tendency::Unclear => "too few common keys",
        other => other.name(),
    };
    ChartFigure {
        name,
        title: format!("{} of {} {}", table.table, table.backend, table.version),
        subtitle: format!("{said}: {} keys in both", table.common),
        x: x.to_owned(),
        rings: Vec::new(),
        path: table.b.clone(),
        series: vec!["within rerun noise".into(), "outside rerun noise".into()],
        panels: vec![panel],
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
