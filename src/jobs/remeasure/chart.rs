//! Charts of `remeasure`: measured over recorded latency, one chart per table.

use std::collections::BTreeSet;

use super::{Remeasured, Sample};
use crate::findings::Severity;
use crate::gpu::judge::{Measured, Standing};
use crate::report::chart::{ChartFigure, ChartPoint, LineKind, Panel, Ring};

/// Most slices with a line of their own.
const SLICES: usize = 6;

/// Draws one chart per table with measured points.
pub fn figures(remeasured: &Remeasured) -> Vec<ChartFigure> {
    let drawn = |(i, sample): (usize, &Sample)| figure(sample, i + 1);
    remeasured.samples.iter().enumerate().filter_map(drawn).collect()
}

fn figure(sample: &Sample, number: usize) -> Option<ChartFigure> {
    let mut panel = Panel { mark: Some(1.0), ..Panel::named("measured / recorded") };
    let parts = parts(sample);
    for (series, (_, points)) in parts.iter().enumerate() {
        panel.add(series, LineKind::Points, chart_points(points));
    }
    if panel.lines.is_empty() {
        return None;
    }
    let place = &sample.file.place;
    let beyond = sample.points.iter().filter(|p| p.standing() == Standing::Beyond).count();
    let ring = Ring { name: "outside rerun noise".into(), severity: Severity::Error, rows: beyond };
    Some(ChartFigure {
        name: format!("{}-{}-{number}", sample.file.table, place.backend),
        path: sample.file.entry.path.clone(),
        title: format!("{} of {} {}", sample.file.table, place.backend, place.version),
        subtitle: format!(
            "{}: {} points, seed {}",
            sample.verdict.outcome.name(),
            sample.points.len(),
            sample.draw.seed
        ),
        x: "recorded, ms".into(),
        rings: if beyond == 0 { Vec::new() } else { vec![ring] },
        series: parts.into_iter().map(|(name, _)| name.into()).collect(),
        panels: vec![panel],
        ..ChartFigure::default()
    })
}

/// The points by series: the judged points of each slice, then those that are not judged.
fn parts(sample: &Sample) -> Vec<(&str, Vec<&Measured>)> {
    let judged: Vec<&Measured> = sample.points.iter().filter(|p| p.is_judged()).collect();
    let slices: BTreeSet<&str> = judged.iter().map(|p| p.point.slice.as_str()).collect();
    let mut parts: Vec<(&str, Vec<&Measured>)> = if (2..=SLICES).contains(&slices.len()) {
        let own = |slice: &str| judged.iter().copied().filter(|p| p.point.slice == slice).collect();
        slices.into_iter().map(|slice| (slice, own(slice))).collect()
    } else {
        vec![("judged", judged)]
    };
    let of = |standing| sample.points.iter().filter(|p| p.standing() == standing).collect();
    parts.push(("proxies", of(Standing::Proxy)));
    parts.push(("bound by the host", of(Standing::HostBound)));
    parts.retain(|(_, points)| !points.is_empty());
    parts
}

fn chart_points(points: &[&Measured]) -> Vec<ChartPoint> {
    let mut points: Vec<ChartPoint> = points
        .iter()
        .filter_map(|p| {
            let beyond = p.standing() == Standing::Beyond;
            let point = ChartPoint::plain(p.point.recorded_ms, p.ratio()?);
            Some(ChartPoint { rings: beyond.then_some(0).into_iter().collect(), ..point })
        })
        .collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    points
}
