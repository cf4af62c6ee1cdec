//! Charts of `remeasure`: the ratio of measured to recorded latency, one chart per table.

use std::collections::BTreeSet;

use super::{Remeasured, Sample};
use crate::findings::Severity;
use crate::gpu::judge::{Measured, PointVerdict, extremes, percent, size};
use crate::report::chart::{ChartFigure, ChartPoint, LineKind, Panel, RingedRule, SeriesName};

/// The maximum number of slices that a chart shows as separate series. If there are more slices, all judged points are
/// one series.
const SLICES: usize = 6;

/// Draws one chart per table with measured points.
pub fn figures(remeasured: &Remeasured) -> Vec<ChartFigure> {
    let drawn = |(i, sample): (usize, &Sample)| figure(sample, &remeasured.about.name, i + 1);
    remeasured.samples.iter().enumerate().filter_map(drawn).collect()
}

fn figure(sample: &Sample, gpu: &str, number: usize) -> Option<ChartFigure> {
    let (verdict, place) = (&sample.verdict, &sample.file.place);
    let mut panel = Panel { mark: Some(1.0), ..Panel::named("measured / recorded") };
    let parts = parts(sample);
    for (series, (_, points)) in parts.iter().enumerate() {
        panel.add(series, LineKind::Points, chart_points(points));
    }
    if panel.lines.is_empty() {
        return None;
    }
    let mut subtitle = format!(
        "{}: {} of {} points compared, seed {}; {gpu}, {}",
        verdict.outcome.name(),
        verdict.judged,
        sample.points.len(),
        sample.draw.seed,
        place.system
    );
    if verdict.judged > 0 {
        // The ratios of single points include the offset of the card.
        let card = sample.offset.map_or(0.0, |offset| offset.log);
        panel.band = Some(((card - verdict.allowed).exp(), (card + verdict.allowed).exp()));
        let all = panel.lines.iter().flat_map(|line| &line.points).map(|point| point.x);
        let (low, high) = extremes(&all.collect::<Vec<f64>>());
        let median = (card + verdict.bias).exp();
        let ends = [low, high].map(|x| ChartPoint::plain(x, median)).to_vec();
        panel.add(parts.len(), LineKind::Ideal, ends);
        subtitle += &format!(
            "; dotted: the median of the compared points, {}; grey: those of correct tables, at most {} off on this card",
            percent(median.ln()),
            size(verdict.allowed)
        );
    }
    let beyond = sample.points.iter().filter(|p| p.verdict() == PointVerdict::Beyond).count();
    let ring =
        RingedRule { name: "outside rerun noise".into(), severity: Severity::Error, rows: beyond };
    Some(ChartFigure {
        name: format!("{}-{}-{number}", sample.file.table, place.backend),
        path: sample.file.entry.path.clone(),
        title: format!("{} of {} {}", sample.file.table, place.backend, place.version),
        subtitle,
        x: "recorded, ms".into(),
        rings: if beyond == 0 { Vec::new() } else { vec![ring] },
        series: parts.into_iter().map(|(name, _)| name).collect(),
        panels: vec![panel],
        ..ChartFigure::default()
    })
}

/// Returns the series of a chart: the judged points of each slice, then the points that are not judged. The label of a
/// slice's series is the slice's name without the words that occur in the names of all slices.
fn parts(sample: &Sample) -> Vec<(SeriesName, Vec<&Measured>)> {
    let judged: Vec<&Measured> = sample.points.iter().filter(|p| p.is_judged()).collect();
    let slices: BTreeSet<&str> = judged.iter().map(|p| p.point.slice.as_str()).collect();
    let is_own = |word: &&str| !slices.iter().all(|s| s.split(' ').any(|own| own == *word));
    let mut parts: Vec<(SeriesName, Vec<&Measured>)> = if (2..=SLICES).contains(&slices.len()) {
        let own = |slice: &str| judged.iter().copied().filter(|p| p.point.slice == slice).collect();
        let name = |slice: &str| SeriesName {
            label: slice.split(' ').filter(is_own).collect::<Vec<_>>().join(" "),
            whole: slice.to_owned(),
        };
        slices.iter().map(|slice| (name(slice), own(slice))).collect()
    } else {
        vec![("judged".into(), judged)]
    };
    let of = |standing| sample.points.iter().filter(|p| p.verdict() == standing).collect();
    parts.push(("proxies".into(), of(PointVerdict::Proxy)));
    parts.push(("bound by the host".into(), of(PointVerdict::HostBound)));
    parts.retain(|(_, points)| !points.is_empty());
    parts
}

fn chart_points(points: &[&Measured]) -> Vec<ChartPoint> {
    let chart_point = |measured: &&Measured| {
        let is_beyond = measured.verdict() == PointVerdict::Beyond;
        let point = ChartPoint::plain(measured.point.recorded_ms, measured.ratio()?);
        Some(ChartPoint { rings: is_beyond.then_some(0).into_iter().collect(), ..point })
    };
    let mut points: Vec<ChartPoint> = points.iter().filter_map(chart_point).collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    points
}
