//! Charts of `remeasure`: measured over recorded latency, one chart per table.

use super::{Remeasured, Sample};
use crate::findings::Severity;
use crate::gpu::judge::{Measured, Standing};
use crate::report::chart::{ChartFigure, ChartPoint, LineKind, Panel, Ring};

/// Draws one chart per table with measured points.
pub fn figures(remeasured: &Remeasured) -> Vec<ChartFigure> {
    let drawn = |(i, sample): (usize, &Sample)| figure(sample, i + 1);
    remeasured.samples.iter().enumerate().filter_map(drawn).collect()
}

fn figure(sample: &Sample, number: usize) -> Option<ChartFigure> {
    let judged = |p: &Measured| matches!(p.standing(), Standing::Within | Standing::Beyond);
    let proxy = |p: &Measured| p.standing() == Standing::Proxy;
    let mut panel = Panel { mark: Some(1.0), ..Panel::named("measured / recorded") };
    panel.add(0, LineKind::Points, points(sample, &judged));
    panel.add(1, LineKind::Points, points(sample, &proxy));
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
            sample.seed
        ),
        x: "recorded, ms".into(),
        rings: if beyond == 0 { Vec::new() } else { vec![ring] },
        series: vec!["judged".into(), "proxies".into()],
        panels: vec![panel],
    })
}

fn points(sample: &Sample, is: &dyn Fn(&Measured) -> bool) -> Vec<ChartPoint> {
    let mut points: Vec<ChartPoint> = sample
        .points
        .iter()
        .filter(|p| is(p))
        .filter_map(|p| {
            let beyond = p.standing() == Standing::Beyond;
            let point = ChartPoint::plain(p.point.recorded_ms, p.ratio()?);
            Some(ChartPoint { rings: beyond.then_some(0).into_iter().collect(), ..point })
        })
        .collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    points
}
