//! Charts of metric files: one point per row, before and after a change.

use std::collections::{BTreeMap, BTreeSet};

use super::find::{self, TraceKind, TraceRequest, split};
use super::frame::Frame;
use super::metric_rows::frame;
use super::reader::read;
use super::spec::{IdealSlope, MetricSpec, TraceChart, TraceSpecs};
use crate::base::error::{Error, Result};
use crate::database::source::{Entry, Source};
use crate::report::chart::{ChartFigure, ChartPoint, LineKind, Panel};

/// Draws charts of the changed metric files, with lines for the base and the head. Draws at most `most` charts.
pub(crate) fn figures(
    base: &dyn Source,
    before: &[Entry],
    head: &dyn Source,
    after: &[Entry],
    specs: &TraceSpecs,
    changed: &BTreeSet<&str>,
    most: usize,
) -> Result<Vec<ChartFigure>> {
    let mut figures = Vec::new();
    for entry in after.iter().filter(|e| changed.contains(e.path.as_str())) {
        let Some((spec, now)) = rows(head, entry, specs)? else { continue };
        let was = before.iter().find(|e| e.path == entry.path);
        let was = was.map(|e| rows(base, e, specs)).transpose()?.flatten();
        let was = was.as_ref().map(|(_, frame)| frame);
        figures.extend(spec.charts.iter().filter_map(|chart| draw(chart, &entry.path, &now, was)));
    }
    figures.truncate(most);
    for (i, figure) in figures.iter_mut().enumerate() {
        figure.name = format!("{}-{}", figure.name, i + 1);
    }
    Ok(figures)
}

/// Reads the rows of a metric file for its charts. `None` if the file is not a metric file, if its spec has no charts,
/// or if the file cannot be read, which another check reports.
fn rows<'s>(
    source: &dyn Source,
    entry: &Entry,
    specs: &'s TraceSpecs,
) -> Result<Option<(&'s MetricSpec, Frame<'s>)>> {
    let Some(file) = find::classify(source, entry, specs, TraceRequest(None)) else {
        return Ok(None);
    };
    let TraceKind::Metrics(stem) = file.kind else { return Ok(None) };
    let spec = &specs.metrics[stem];
    let text = file.text.as_ref().ok().filter(|_| !spec.charts.is_empty());
    let Some(rows) = text.and_then(|t| read(split(&entry.path).2, t, spec).ok()) else {
        return Ok(None);
    };
    let frame = frame(&rows, spec, &file, &[], specs).map_err(|e| {
        Error::new(format!("cannot draw {}: {e}", entry.path), "the formula is in rules/traces")
    })?;
    Ok(Some((spec, frame)))
}

fn draw(
    chart: &TraceChart,
    path: &str,
    now: &Frame<'_>,
    was: Option<&Frame<'_>>,
) -> Option<ChartFigure> {
    let mut series: Vec<String> = Vec::new();
    let mut panels = Vec::new();
    let before = was.map(|was| (was, LineKind::Base));
    for spec in &chart.panels {
        let mut panel = Panel::named(&spec.y);
        for (frame, kind) in before.into_iter().chain([(now, LineKind::Head)]) {
            for (name, points) in points(chart, &spec.lines, frame) {
                let number = series.iter().position(|known| *known == name);
                let number = number.unwrap_or(series.len());
                if number == series.len() {
                    series.push(name);
                }
                let ideal = spec.ideal.filter(|_| kind == LineKind::Head);
                panel.add(
                    number,
                    LineKind::Ideal,
                    ideal.map_or_else(Vec::new, |i| i.line(&points)),
                );
                panel.add(number, kind, points);
            }
        }
        panels.push(panel);
    }
    let has = |kind| panels.iter().flat_map(|p| &p.lines).any(|line| line.kind == kind);
    let mut subtitle = path.to_owned();
    for (kind, said) in [
        (LineKind::Base, ", dashed: before"),
        (LineKind::Ideal, ", dotted: perfect scaling of the first point"),
    ] {
        subtitle += if has(kind) { said } else { "" };
    }
    panels.retain(|panel| panel.lines.iter().any(|line| line.kind == LineKind::Head));
    (!panels.is_empty()).then(|| ChartFigure {
        name: split(path).2.replace('.', "_"),
        path: path.to_owned(),
        title: chart.title.clone(),
        subtitle,
        x: chart.x.clone(),
        series: series.into_iter().map(Into::into).collect(),
        panels,
        ..ChartFigure::default()
    })
}

impl IdealSlope {
    /// Returns the line of perfect scaling through the first of `points`; empty if there are fewer than two points.
    fn line(self, points: &[ChartPoint]) -> Vec<ChartPoint> {
        let Some((first, [_, ..])) = points.split_first() else { return Vec::new() };
        let times = |x: f64| match self {
            Self::Rises => x / first.x,
            Self::Falls => first.x / x,
        };
        points.iter().map(|p| ChartPoint::plain(p.x, first.y * times(p.x))).collect()
    }
}

/// Returns the lines of a chart's panel: each line's name, and its points sorted by x. Each row is one point of a line,
/// unless its x or y is missing, zero or negative.
fn points(
    chart: &TraceChart,
    lines: &BTreeMap<String, String>,
    frame: &Frame<'_>,
) -> BTreeMap<String, Vec<ChartPoint>> {
    let mut all: BTreeMap<String, Vec<ChartPoint>> = BTreeMap::new();
    for row in 0..frame.rows {
        let Some(x) = frame.cell(&chart.x, row).number().filter(|x| *x > 0.0) else { continue };
        let series = chart.series.iter().map(|c| format!("{c} {}", frame.cell(c, row)));
        let series: Vec<String> = series.collect();
        for (name, column) in lines {
            let y = frame.cell(column, row).number();
            if let Some(y) = y.filter(|y| *y > 0.0) {
                let parts = std::iter::once(name).chain(&series).filter(|part| !part.is_empty());
                let parts: Vec<&str> = parts.map(String::as_str).collect();
                all.entry(parts.join(", ")).or_default().push(ChartPoint::plain(x, y));
            }
        }
    }
    for points in all.values_mut() {
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    all
}
