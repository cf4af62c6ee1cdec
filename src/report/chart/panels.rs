//! Builds the panels of a table's scene: latency or power, the change or the rate, and the ratio to a peer.

use super::change::ChangedQuantity;
use super::rings::Rings;
use super::scene::{ChartPoint, LineKind, Panel, Scale};
use super::series::SeriesSet;
use super::short;
use super::table::{ChartContext, Sides};
use crate::base::expr::ExprError;
use crate::base::stats::upper_median;
use crate::database::diff::FAR;
use crate::database::table::TableScope;

impl Sides<'_> {
    /// Creates a panel of power in W. If the power is all that changed, the chart has no other panel. A horizontal line
    /// marks the power limit, which is read from the first row of the first series.
    pub(crate) fn power(&self, chosen: &[Vec<usize>]) -> Panel {
        let Self { scope, head, base, beside, .. } = self;
        let limit = scope.table.column("power_limit").map(|column| column.number(chosen[0][0]));
        let mark = limit.filter(|limit| *limit > 0.0);
        let name = if mark.is_some() { "power, W (line: limit)" } else { "power, W" };
        let mut panel = Panel { scale: Scale::Linear, mark, ..Panel::named(name) };
        for (series, rows) in chosen.iter().enumerate() {
            if let Some((base, before)) = matching_series(base.as_ref(), head, rows) {
                let points = base.points(before, &base.power, &Rings::default());
                panel.add(series, LineKind::Base, points);
            }
            panel.add(series, LineKind::Head, head.points(rows, &head.power, beside.rings));
        }
        panel
    }

    /// Returns the chart's panels, except those without lines. The first panel shows the latency. The second shows the
    /// latency after the change divided by the latency before; without a change, it shows the rate. The third shows the
    /// table's latency divided by the latency of a peer.
    pub(crate) fn panels(&self, chosen: &[Vec<usize>]) -> Result<Vec<Panel>, ExprError> {
        let Self { axis, scope, head, beside: ChartContext { rings, peer, .. }, .. } = self;
        let none = Rings::default();
        let base = self.base.as_ref().filter(|_| self.changed.kind == ChangedQuantity::Latency);
        let peer_scope = peer.map(|peer| peer.scope(scope));
        let peer_set = peer_scope.as_ref().map(|scope| axis.series(scope)).transpose()?;
        let (mut latency, mut change) = (Panel::named(&latency_name(scope)), self.change(chosen));
        let peer_name = peer.map_or("", |peer| &peer.name);
        let over_peer = Panel::named(&format!("latency over that of {peer_name}"));
        let mut over_peer = Panel { mark: Some(1.0), ..over_peer };
        let mut rate = Panel::named("part of the bound reached");
        for (series, rows) in chosen.iter().enumerate() {
            latency.add(series, LineKind::Bound, head.points(rows, &head.bound, &none));
            let own = head.points(rows, &head.latency, rings);
            if let Some((other, rows)) = matching_series(peer_set.as_ref(), head, rows) {
                let theirs = other.points(rows, &other.latency, &none);
                over_peer.add(series, LineKind::Head, ratios(&own, &theirs));
                latency.add(series, LineKind::Peer, theirs);
                rate.add(series, LineKind::Peer, other.points(rows, &other.rate, &none));
            }
            if let Some((base, rows)) = matching_series(base, head, rows) {
                let before = base.points(rows, &base.latency, &none);
                change.add(series, LineKind::Head, ratios(&own, &before));
                latency.add(series, LineKind::Base, before);
            }
            latency.add(series, LineKind::Head, own);
            rate.add(series, LineKind::Head, head.points(rows, &head.rate, rings));
            latency.add(series, LineKind::Copies, head.copies(rows, &head.latency, rings));
        }
        self.limit(&mut rate, chosen[0][0])?;
        let second = if change.lines.is_empty() { rate } else { change };
        let mut panels = vec![latency, second, over_peer];
        panels.retain(|panel| !panel.lines.is_empty());
        rings.thin(&mut panels);
        Ok(panels)
    }

    /// Creates an empty panel for ratios: the latency after the change divided by the latency before it. The shaded
    /// range shows the noise: it contains 99 % of the ratios between repeated measurements of a row. The noise at the
    /// chart's median latency is used.
    fn change(&self, chosen: &[Vec<usize>]) -> Panel {
        let mut drawn: Vec<f64> =
            chosen.iter().flatten().map(|row| self.head.latency[*row]).collect();
        let middle = upper_median(&mut drawn);
        let noise = self.beside.change.and_then(|change| Some(change.noise?.at(middle)?.p99));
        // The label without its unit.
        let name = latency_name(self.scope);
        let name = name.split(',').next().unwrap_or_default();
        let noise = noise.unwrap_or(1.0 + FAR);
        let (scale, band) = (Scale::Change(noise), Some((1.0 / noise, noise)));
        Panel { mark: Some(1.0), scale, band, ..Panel::named(&format!("{name}, after / before")) }
    }

    /// Completes the panel of rates: sets its label to the name of the rate in the chart's spec, and marks the largest
    /// rate that the machine allows by a horizontal line. This limit is computed for the row with the number `first`. A
    /// limit of more than ten times the largest drawn rate is not marked.
    fn limit(&self, panel: &mut Panel, first: usize) -> Result<(), ExprError> {
        let Some(rate) = &self.axis.chart.rate else { return Ok(()) };
        let limit = rate.limit.as_ref().map(|limit| limit.numbers(self.scope)).transpose()?;
        let limit = limit.map(|values| values.get(first)).filter(|limit| *limit > 0.0);
        let rates = panel.lines.iter().flat_map(|line| &line.points).map(|point| point.y);
        let highest = rates.fold(0.0, f64::max);
        panel.mark = limit.filter(|limit| *limit <= 10.0 * highest);
        let said = limit.map(|limit| format!(" (limit {})", short(limit))).unwrap_or_default();
        panel.y = format!("{}{said}", rate.name);
        Ok(())
    }
}

/// Finds the series of `set` that corresponds to a series of the head, whose row numbers are `rows`. Returns `set` and
/// the row numbers of the found series; `None` if `set` has no such series.
fn matching_series<'s>(
    set: Option<&'s SeriesSet<'s>>,
    head: &SeriesSet<'_>,
    rows: &[usize],
) -> Option<(&'s SeriesSet<'s>, &'s [usize])> {
    let set = set?;
    Some((set, set.series.get(&head.keys.hashes()[rows[0]])?))
}

/// Divides the values of a line by the values of the line `over`, at the x positions that both lines have.
fn ratios(line: &[ChartPoint], over: &[ChartPoint]) -> Vec<ChartPoint> {
    let ratio = |point: &ChartPoint| {
        let other = over.iter().find(|other| other.x == point.x)?;
        Some(ChartPoint { y: point.y / other.y, ..point.clone() })
    };
    line.iter().filter_map(ratio).collect()
}

/// Returns the label of the y axis for latencies. If the table's spec has several latencies, the first one is drawn.
fn latency_name(scope: &TableScope<'_>) -> String {
    match &scope.spec.latency[..] {
        [first, _, ..] => format!("latency of {}, ms", first.name),
        _ => "latency, ms".to_owned(),
    }
}
