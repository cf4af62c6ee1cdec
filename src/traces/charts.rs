//! Charts of metric files: one point per row, before and after a change.

use std::collections::{BTreeMap, BTreeSet};

use super::find::{self, Asked, TraceKind, split};
use super::frame::Frame;
use super::metric_rows::frame;
use super::reader::read;
use super::spec::TraceSpecs;
use super::spec::{MetricSpec, TraceChart};
use crate::base::error::{Error, Result};
use crate::database::source::{Entry, Source};
use crate::report::chart::{ChartLine, ChartPoint, Figure, LineKind, Panel};

/// Returns charts of the metric files that changed, at most `most`.
pub(super) fn figures(
    base: &dyn Source,
    before: &[Entry],
    head: &dyn Source,
    after: &[Entry],
    specs: &TraceSpecs,
    changed: &BTreeSet<&str>,
    most: usize,
) -> Result<Vec<Figure>> {
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

/// Reads the rows of a metric file for its charts; `None` if the file is not a metric file, its
/// spec has no charts or it cannot be read, which is a finding elsewhere.
fn rows<'s>(
    source: &dyn Source,
    entry: &Entry,
    specs: &'s TraceSpecs,
) -> Result<Option<(&'s MetricSpec, Frame<'s>)>> {
    let Some(file) = find::classify(source, entry, specs, Asked(None)) else {
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
) -> Option<Figure> {
    let mut colours: BTreeMap<String, usize> = BTreeMap::new();
    let mut panels = Vec::new();
    for panel in &chart.panels {
        let mut lines = Vec::new();
        for (frame, kind) in
            was.map(|w| (w, LineKind::Base)).into_iter().chain([(now, LineKind::Head)])
        {
            for (series, points) in points(chart, &panel.lines, frame) {
                let next = colours.len();
                let colour = *colours.entry(series.clone()).or_insert(next);
                lines.push(ChartLine { series, colour, kind, points });
            }
        }
        if lines.iter().any(|l| l.kind == LineKind::Head) {
            panels.push(Panel { y: panel.y.clone(), mark: None, lines });
        }
    }
    let name = split(path).2.replace('.', "_");
    let (title, x) = (chart.title.clone(), chart.x.clone());
    (!panels.is_empty()).then(|| Figure {
        name,
        path: path.to_owned(),
        title,
        subtitle: path.to_owned(),
        x,
        rings: Vec::new(),
        panels,
    })
}

/// The points of each series in ascending order of x. Rows in which x or y is missing, zero or
/// negative have no point.
fn points(
    chart: &TraceChart,
    lines: &BTreeMap<String, String>,
    frame: &Frame<'_>,
) -> BTreeMap<String, Vec<ChartPoint>> {
    let mut all: BTreeMap<String, Vec<ChartPoint>> = BTreeMap::new();
    for row in 0..frame.rows {
        let shown = |c: &String| format!("{c} {}", frame.cell(c, row));
        let series: Vec<String> = chart.series.iter().map(shown).collect();
        for (name, column) in lines {
            let values = (frame.cell(&chart.x, row).number(), frame.cell(column, row).number());
            let (Some(x), Some(y)) = values else { continue };
            if x > 0.0 && y > 0.0 {
                let parts = [name.clone(), series.join(", ")];
                let parts: Vec<&str> =
                    parts.iter().map(String::as_str).filter(|p| !p.is_empty()).collect();
                all.entry(parts.join(", ")).or_default().push(ChartPoint::plain(x, y));
            }
        }
    }
    for points in all.values_mut() {
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    all
}
