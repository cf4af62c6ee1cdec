//! Adds the lines of a series to the panels of a chart.

use super::moves::TableChange;
use super::peer::Peer;
use super::rings::Rings;
use super::series::SeriesSet;
use super::spec::ChartSpec;
use super::{ChartLine, ChartPoint, LineKind, Panel};
use crate::base::expr::ExprError;
use crate::base::stats::upper_median;
use crate::database::diff::FAR;
use crate::database::table::TableScope;

/// The panels of a figure.
pub(super) struct FigurePanels {
    pub latency: Panel,
    /// The latency after over the latency before a change.
    pub change: Panel,
    pub rate: Panel,
    /// The latency over that of a peer.
    pub over_peer: Panel,
}

impl FigurePanels {
    /// Returns the panels that have lines. The rate is left out where the change itself is shown.
    pub fn shown(self) -> Vec<Panel> {
        let Self { latency, change, rate, over_peer } = self;
        let rate = if change.lines.is_empty() { rate } else { change };
        [latency, rate, over_peer].into_iter().filter(|p| !p.lines.is_empty()).collect()
    }
}

/// A series to draw, in all states.
pub(super) struct SeriesLines<'a> {
    pub name: &'a str,
    pub colour: usize,
    pub head: &'a SeriesSet<'a>,
    pub base: Option<&'a SeriesSet<'a>>,
    pub peer: Option<(&'a SeriesSet<'a>, &'a Peer<'a>)>,
    pub rings: &'a Rings,
    /// The row numbers of the series in the head.
    pub rows: &'a [usize],
}

impl SeriesLines<'_> {
    /// Adds the lines of the series: bound, peer, before, after, rows that are not served, and the
    /// ratios to what was before and to the peer.
    pub fn add_to(&self, panels: &mut FigurePanels) {
        let FigurePanels { latency, change, rate, over_peer } = panels;
        let Self { head, rows, rings, colour, .. } = *self;
        let none = Rings::default();
        self.add(latency, LineKind::Bound, head.points(rows, &head.bound, &none));
        let own = head.points(rows, &head.latency, rings);
        let hash = head.keys.hashes()[rows[0]];
        if let Some((other, peer)) = self.peer
            && let Some(rows) = other.series.get(&hash)
        {
            let parts = [peer.name.as_str(), self.name].into_iter().filter(|part| !part.is_empty());
            let name = parts.collect::<Vec<_>>().join(", ");
            let theirs = other.points(rows, &other.latency, &none);
            self.add(over_peer, LineKind::Head, ratios(&own, &theirs));
            let rates = other.points(rows, &other.rate, &none);
            for (panel, points) in [(&mut *latency, theirs), (&mut *rate, rates)] {
                panel.add(ChartLine { series: name.clone(), colour, kind: LineKind::Peer, points });
            }
        }
        if let Some(base) = self.base
            && let Some(rows) = base.series.get(&hash)
        {
            let before = base.points(rows, &base.latency, &none);
            self.add(change, LineKind::Head, ratios(&own, &before));
            self.add(latency, LineKind::Base, before);
            self.add(rate, LineKind::Base, base.points(rows, &base.rate, &none));
        }
        self.add(latency, LineKind::Head, own);
        self.add(rate, LineKind::Head, head.points(rows, &head.rate, rings));
        self.add(latency, LineKind::Copies, head.copies(rows, &head.latency, rings));
    }

    fn add(&self, panel: &mut Panel, kind: LineKind, points: Vec<ChartPoint>) {
        panel.add(ChartLine { series: self.name.to_owned(), colour: self.colour, kind, points });
    }
}

/// Divides the points of a line by those of another, at the positions that both have.
fn ratios(line: &[ChartPoint], over: &[ChartPoint]) -> Vec<ChartPoint> {
    let ratio = |point: &ChartPoint| {
        let other = over.iter().find(|other| other.x == point.x)?;
        Some(ChartPoint { y: point.y / other.y, ..point.clone() })
    };
    line.iter().filter_map(ratio).collect()
}

impl Panel {
    /// Adds a line, unless it has no points.
    fn add(&mut self, line: ChartLine) {
        if !line.points.is_empty() {
            self.lines.push(line);
        }
    }

    /// Creates a panel without lines.
    pub fn named(y: &str) -> Self {
        Self { y: y.to_owned(), mark: None, noise: None, lines: Vec::new() }
    }
}

/// Names the latency drawn: the first part of a lookup that returns several.
pub(super) fn latency_name(scope: &TableScope<'_>) -> String {
    match &scope.spec.latency[..] {
        [first, _, ..] => format!("latency of {}, ms", first.name),
        _ => "latency, ms".to_owned(),
    }
}

/// Returns the panel of latencies after a change over before. Its band is the noise of reruns at the median latency.
pub(super) fn change_panel(
    latency: &str,
    change: Option<TableChange<'_>>,
    head: &SeriesSet<'_>,
    rows: &[Vec<usize>],
) -> Panel {
    let mut drawn: Vec<f64> = rows.iter().flatten().map(|row| head.latency[*row]).collect();
    let middle = (!drawn.is_empty()).then(|| upper_median(&mut drawn));
    let noise = change.zip(middle).and_then(|(change, ms)| Some(change.noise?.at(ms)?.p99));
    // The label without its unit.
    let name = latency.split(',').next().unwrap_or_default();
    let noise = Some(noise.unwrap_or(1.0 + FAR));
    Panel { mark: Some(1.0), noise, ..Panel::named(&format!("{name}, after / before")) }
}

/// Returns the panel of rates, with the machine's limit in the row `first`.
pub(super) fn rate_panel(
    chart: &ChartSpec,
    scope: &TableScope<'_>,
    first: usize,
) -> Result<Panel, ExprError> {
    let Some(rate) = &chart.rate else {
        return Ok(Panel::named("part of the speed-of-light bound reached"));
    };
    let limit = rate.limit.as_ref().map(|limit| limit.numbers(scope)).transpose()?;
    let limit = limit.map(|values| values.get(first)).filter(|limit| *limit > 0.0);
    Ok(Panel { mark: limit, ..Panel::named(&rate.name) })
}

/// Returns the panel of the latency relative to a peer's.
pub(super) fn peer_panel(peer: Option<&Peer<'_>>) -> Panel {
    let name = peer.map_or("", |peer| &peer.name);
    Panel { mark: Some(1.0), ..Panel::named(&format!("latency over that of {name}")) }
}
