//! Builds the scene of a table or of its change from the few series that show it best.

use super::axis::{axes, fixed_parts, slice_parts};
use super::change::{ChangedQuantity, ChangedRows, TableChange};
use super::names::names;
use super::peer::Peer;
use super::rings::Rings;
use super::scene::{ChartFigure, LineKind, Panel, Scale};
use super::series::SeriesSet;
use super::spec::ChartSpec;
use crate::base::escape::file_stem;
use crate::base::expr::ExprError;
use crate::database::table::TableScope;
use crate::specs::KeyPart;

/// The context in which a table is drawn: the table's change, its findings and a peer.
#[derive(Clone, Copy)]
pub(super) struct ChartContext<'a> {
    /// The change of the table between base and head; `None` if there is no base.
    pub change: Option<TableChange<'a>>,
    /// The table's rows that have findings; their points get rings.
    pub rings: &'a Rings,
    /// The peer that is drawn with the table; `None` without one.
    pub peer: Option<&'a Peer<'a>>,
}

/// Builds a table's chart: a few series of one slice, from fast to slow. The series with the worst row of each finding
/// are always included. `None` if no series has enough points for a line.
///
/// # Errors
///
/// If a formula of `charts/` or of the table's spec does not fit the table.
pub(super) fn figure(
    chart: &ChartSpec,
    scope: &TableScope<'_>,
    context: ChartContext<'_>,
) -> Result<Option<ChartFigure>, ExprError> {
    let changed = context.change.filter(|change| !change.pairs().is_empty());
    let base = changed
        .map(|c| TableScope::new(c.base, scope.spec, scope.place, scope.system, scope.lookups));
    let parts = |x: String| {
        let fixed = fixed_parts(scope, &x, context.change.map(|change| change.base));
        let panel = slice_parts(chart, scope, &fixed);
        Axis { chart, x, fixed, panel }
    };
    let all: Vec<Axis<'_>> = axes(chart, scope).into_iter().map(parts).collect();
    let mut second_best = None;
    for axis in &all {
        let head = axis.series(scope)?;
        if head.lines().next().is_none() {
            continue;
        }
        let base = base.as_ref().map(|scope| axis.series(scope)).transpose()?;
        let moves = context.change.map(|change| ChangedRows::new(change, base.as_ref(), &head));
        let moves = moves.unwrap_or_default();
        let is_best = head.shows(&moves, context.rings);
        let sides = Sides { axis, scope, head, base, changed: moves, beside: context };
        if is_best {
            return sides.figure();
        }
        second_best.get_or_insert(sides);
    }
    second_best.map_or(Ok(None), |sides| sides.figure())
}

/// The x axis of a chart, and the key parts that define its series and slices.
pub(super) struct Axis<'a> {
    pub chart: &'a ChartSpec,
    x: String,
    /// The key parts that are constant along a series.
    fixed: Vec<KeyPart>,
    /// The key parts that define a slice. A chart shows one slice.
    panel: Vec<KeyPart>,
}

impl Axis<'_> {
    pub(crate) fn series<'s>(
        &'s self,
        scope: &'s TableScope<'s>,
    ) -> Result<SeriesSet<'s>, ExprError> {
        SeriesSet::new(scope, &self.x, &self.fixed, &self.panel, self.chart)
    }
}

/// The rows of a table before and after a change, grouped into series along an x axis, and the rows that changed.
pub(super) struct Sides<'a> {
    pub axis: &'a Axis<'a>,
    pub scope: &'a TableScope<'a>,
    pub head: SeriesSet<'a>,
    pub base: Option<SeriesSet<'a>>,
    pub changed: ChangedRows,
    pub beside: ChartContext<'a>,
}

impl Sides<'_> {
    fn figure(&self) -> Result<Option<ChartFigure>, ExprError> {
        let Self { axis, scope, head, beside, .. } = self;
        let chosen = head.choose(&self.changed, beside.rings);
        if chosen.is_empty() {
            return Ok(None);
        }
        let panels = match self.changed.kind {
            ChangedQuantity::Power => vec![self.power(&chosen)],
            ChangedQuantity::Latency | ChangedQuantity::Rows => self.panels(&chosen)?,
        };
        let (shared, series) = names(scope.table, &axis.fixed, &chosen);
        let said = self.subtitle(&panels, &chosen);
        let subtitle = if shared.is_empty() { said } else { format!("{said}; {shared}") };
        let (place, table) = (scope.place, &scope.spec.name);
        Ok(Some(ChartFigure {
            name: file_stem(&[&place.system, &place.backend, &place.version, table], "-"),
            path: String::new(),
            title: format!("{table} on {}, {} {}", place.system, place.backend, place.version),
            subtitle,
            x: axis.x.clone(),
            asked: head.in_slice(&chosen, beside.rings),
            series,
            rings: beside.rings.rules.clone(),
            panels,
        }))
    }

    /// Describes how many series are shown, and what each kind of line means.
    fn subtitle(&self, panels: &[Panel], chosen: &[Vec<usize>]) -> String {
        let has = |kind| panels[0].lines.iter().any(|line| line.kind == kind);
        let is_change = |panel: &Panel| matches!(panel.scale, Scale::Change(_));
        let mut said = vec![self.head.shown(chosen)];
        said.extend(has(LineKind::Base).then(|| "dashed: before".to_owned()));
        let reruns = "shaded: 99 % of reruns";
        said.extend(panels.iter().any(is_change).then(|| reruns.to_owned()));
        said.extend(has(LineKind::Bound).then(|| "thin: the speed-of-light bound".to_owned()));
        let peer = self.beside.peer.filter(|_| has(LineKind::Peer));
        said.extend(peer.map(|peer| format!("wide and pale: {}", peer.name)));
        said.extend(has(LineKind::Copies).then(|| "hollow: rows that are not served".to_owned()));
        said.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::super::choose::SERIES;
    use super::super::scene::{ChartLine, ChartPoint};
    use super::*;
    use crate::database::catalog::{Format, Place};
    use crate::database::diff::{RowDiff, ServedDiff};
    use crate::database::table::Table;
    use crate::findings::{Finding, Severity};
    use crate::specs::Specs;

    /// Returns a synthetic table with three dtypes, ten values of n and ten of m.
    fn gemm(factor: impl Fn(&str, u64, u64) -> f64) -> String {
        let mut text = "gemm_dtype,m,n,k,latency\n".to_owned();
        for dtype in ["bfloat16", "fp8", "nvfp4"] {
            for n in (1..=10).map(|n| n * 512) {
                for m in (0..10).map(|m| 1 << m) {
                    let latency = (n * 128 + m * n) as f64 * 1e-6 * factor(dtype, n, m);
                    text += &format!("{dtype},{m},{n},128,{latency}\n");
                }
            }
        }
        text
    }

    fn place() -> Place {
        Place {
            system: "h200_sxm".into(),
            family: Some("gemm".into()),
            backend: "vllm".into(),
            version: "0.24.0".into(),
        }
    }

    fn table(text: &str) -> Table {
        Table::decode(text.as_bytes(), Format::Csv, &|_| false).unwrap()
    }

    fn named(rule: &str, severity: Severity, rows: &[usize]) -> Finding {
        Finding::on_path(rule, severity, "t", "m").naming(rows.iter().copied())
    }

    fn drawn(base: Option<&str>, head: &str, findings: &[Finding]) -> Option<ChartFigure> {
        let specs = Specs::embedded().unwrap();
        let place = place();
        let (head, base) = (table(head), base.map(table));
        let (spec, system) =
            (specs.tables.get("gemm_perf").unwrap(), specs.systems.get("h200_sxm"));
        let scope = TableScope::new(&head, spec, &place, system, &specs.lookups);
        let rows = base.as_ref().map(|base| RowDiff::between(base, &head));
        // Synthetic rows have the same order in both states, so rows at equal positions serve the same key.
        let pairs = 0..base.as_ref().map_or(0, |base| base.rows.min(head.rows)) as u32;
        let mut served = ServedDiff::default();
        served.rows.common = pairs.map(|row| (row, row)).collect();
        let change = base.as_ref().zip(rows.as_ref());
        let served = Some(&served);
        let change = change.map(|(base, rows)| TableChange { base, rows, served, noise: None });
        let rings = Rings::new(findings, head.rows);
        let beside = ChartContext { change, rings: &rings, peer: None };
        figure(&ChartSpec::default(), &scope, beside).unwrap()
    }

    fn points(figure: &ChartFigure, kind: LineKind) -> Vec<(&str, &ChartPoint)> {
        let lines = figure.panels[0].lines.iter().filter(|line| line.kind == kind);
        let whole = |line: &ChartLine| figure.series[line.series].whole.as_str();
        lines.flat_map(|line| line.points.iter().map(move |p| (whole(line), p))).collect()
    }

    /// Returns the ringed rows, with the names of their series.
    fn ringed(figure: &ChartFigure) -> Vec<(&str, usize)> {
        let all = [LineKind::Head, LineKind::Copies].into_iter();
        let all = all.flat_map(|kind| points(figure, kind));
        all.filter_map(|(series, point)| Some((series, point.row?))).collect()
    }

    #[test]
    fn the_chart_of_a_new_table_shows_series_of_a_slice_with_the_bound() {
        let figure = drawn(None, &gemm(|_, _, _| 1.0), &[]).unwrap();
        assert_eq!(figure.x, "m");
        assert!(figure.subtitle.contains("6 of 10 series"), "{}", figure.subtitle);
        let latency = &figure.panels[0];
        let heads: Vec<&ChartLine> =
            latency.lines.iter().filter(|l| l.kind == LineKind::Head).collect();
        assert_eq!(heads.len(), SERIES);
        assert_eq!((&*figure.series[0].label, &*figure.series[5].label), ("n 512", "n 5120"));
        assert!(figure.subtitle.ends_with("k 128"), "{}", figure.subtitle);
        assert!(latency.lines.iter().any(|l| l.kind == LineKind::Bound));
        assert!(latency.lines.iter().all(|l| l.kind != LineKind::Base));
    }

    #[test]
    fn the_chart_of_a_change_shows_changed_series_before_and_after() {
        let slower =
            |dtype: &str, n: u64, _: u64| if dtype == "fp8" && n == 1024 { 2.0 } else { 1.0 };
        let figure = drawn(Some(&gemm(|_, _, _| 1.0)), &gemm(slower), &[]).unwrap();
        assert!(
            figure.subtitle.starts_with("1 of 10 series, dashed")
                && figure.subtitle.ends_with("gemm_dtype fp8, n 1024, k 128"),
            "{}",
            figure.subtitle
        );
        let (base, head) = (points(&figure, LineKind::Base), points(&figure, LineKind::Head));
        assert_eq!(base.len(), 10);
        assert_eq!(head[3].1.y / base[3].1.y, 2.0);
        let change = &figure.panels[1];
        assert_eq!((change.y.as_str(), change.mark), ("latency, after / before", Some(1.0)));
        assert!(matches!(change.scale, Scale::Change(factor) if factor > 1.0));
        assert!(change.lines[0].points.iter().all(|point| point.y == 2.0));
        let unchanged = drawn(None, &gemm(|_, _, _| 1.0), &[]).unwrap();
        assert!(unchanged.panels.iter().all(|panel| panel.scale == Scale::Log));
    }

    #[test]
    fn rows_of_another_device_are_drawn_before_and_after_by_served_key() {
        let on = |device: &str, factor: f64| {
            let rows = gemm(|_, _, _| factor).replace('\n', &format!(",{device}\n"));
            rows.replacen(&format!("latency,{device}"), "latency,device", 1)
        };
        let figure = drawn(Some(&on("GB300", 1.0)), &on("B300", 3.0), &[]).unwrap();
        let (base, head) = (points(&figure, LineKind::Base), points(&figure, LineKind::Head));
        assert_eq!(base.len(), head.len());
        assert!(base.iter().zip(&head).all(|(b, h)| (h.1.y / b.1.y - 3.0).abs() < 1e-9));
    }

    /// Adds a power of half a watt per token, times `factor`, to the rows.
    fn powered(rows: &str, factor: f64) -> String {
        let add = |(number, row): (usize, &str)| match number {
            0 => format!("{row},power,power_limit\n"),
            _ => {
                let tokens: f64 = row.split(',').nth(1).unwrap().parse().unwrap();
                format!("{row},{},700\n", factor * tokens / 2.0)
            }
        };
        rows.lines().enumerate().map(add).collect()
    }

    #[test]
    fn the_chart_of_a_power_overlay_draws_power() {
        let rows = gemm(|_, _, _| 1.0);
        let figure = drawn(Some(&rows), &powered(&rows, 1.0), &[]).unwrap();
        let [panel] = &figure.panels[..] else { panic!("{:?}", figure.panels) };
        assert_eq!((panel.y.as_str(), panel.mark), ("power, W (line: limit)", Some(700.0)));
        assert!(panel.lines.iter().all(|line| line.kind == LineKind::Head));
        assert!(points(&figure, LineKind::Head).iter().all(|(_, p)| p.y == p.x / 2.0));
        let again = drawn(Some(&powered(&rows, 1.0)), &powered(&rows, 1.5), &[]).unwrap();
        assert!(points(&again, LineKind::Base).iter().all(|(_, p)| p.y == p.x / 2.0));
        // If latency also changed, latency is drawn.
        let slower = gemm(|_, _, _| 2.0);
        let both = drawn(Some(&rows), &powered(&slower, 1.0), &[]).unwrap();
        assert_eq!(both.panels[0].y, "latency, ms");
    }

    #[test]
    fn a_chart_rings_only_the_ten_worst_rows() {
        let mut rows = gemm(|_, _, _| 1.0);
        for (number, m) in (0..10).map(|m| 1 << m).enumerate() {
            for copy in 0..3 {
                let latency = (512 * 128 + m * 512) as f64 * 1e-6;
                let off = 2.0 + number as f64 + 0.3 * f64::from(copy);
                rows += &format!("fp8,{m},512,128,{}\n", latency * off);
            }
        }
        let copies: Vec<usize> = (300..330).collect();
        let found = named("duplicate-key", Severity::Error, &copies);
        let figure = drawn(None, &rows, &[found]).unwrap();
        let mut rows: Vec<usize> = ringed(&figure).into_iter().map(|(_, row)| row).collect();
        rows.sort_unstable();
        // Copies of larger sizes, and later copies, differ more.
        assert_eq!(rows, [320, 321, 322, 323, 324, 325, 326, 327, 328, 329]);
        assert_eq!(points(&figure, LineKind::Copies).len(), 30, "all copies are drawn");
        assert_eq!(figure.rings[0].rows, 30);
    }

    #[test]
    fn the_series_of_a_finding_is_drawn_and_its_point_is_ringed() {
        // The row of nvfp4, n = 1536, m = 8.
        let row = 200 + 20 + 3;
        let spike = named("latency-spike", Severity::Warning, &[row]);
        let figure = drawn(None, &gemm(|_, _, _| 1.0), &[spike]).unwrap();
        let whole = "gemm_dtype nvfp4, n 1536, k 128";
        assert!(figure.subtitle.ends_with(whole), "{}", figure.subtitle);
        assert_eq!(ringed(&figure), [(whole, row)]);
        assert_eq!(figure.rings[0].name, "latency-spike");
    }

    #[test]
    fn the_worst_row_of_each_finding_is_ringed_in_any_slice() {
        // Every row of bfloat16 is a copy. The spike is one row of nvfp4.
        let copies: Vec<usize> = (0..100).collect();
        let findings = [
            named("duplicate-key", Severity::Error, &copies),
            named("latency-spike", Severity::Warning, &[299]),
        ];
        let figure = drawn(None, &gemm(|_, _, _| 1.0), &findings).unwrap();
        let ringed = ringed(&figure);
        assert!(ringed.contains(&("gemm_dtype nvfp4, n 5120, k 128", 299)), "{ringed:?}");
        assert!(figure.subtitle.starts_with("6 series of 2 slices"), "{}", figure.subtitle);
        assert!(ringed.iter().all(|(_, row)| *row < 100 || *row == 299));
    }

    #[test]
    fn the_axis_of_a_chart_has_a_series_with_the_worst_row() {
        let mut rows = gemm(|_, _, _| 1.0);
        // The table has two values of m and seven values of k, so it has a line along k only.
        for k in 1..8 {
            rows += &format!("fp8,1,64,{k},0.01\nfp8,2,64,{k},0.02\n");
        }
        let spike = named("latency-spike", Severity::Warning, &[300]);
        let figure = drawn(None, &rows, &[spike]).unwrap();
        assert_eq!((figure.x.as_str(), ringed(&figure).len()), ("k", 1));
    }

    #[test]
    fn both_copies_of_a_duplicate_row_are_drawn() {
        let rows = gemm(|_, _, _| 1.0) + "fp8,4,512,128,0.5\n";
        let found = named("duplicate-key", Severity::Error, &[300]);
        let figure = drawn(None, &rows, &[found]).unwrap();
        let at = |kind| -> Vec<f64> {
            points(&figure, kind).into_iter().filter(|p| p.1.x == 4.0).map(|p| p.1.y).collect()
        };
        assert_eq!(at(LineKind::Head), [(512.0 * 128.0 + 4.0 * 512.0) * 1e-6], "served");
        assert_eq!(at(LineKind::Copies), [0.5], "dropped");
        assert_eq!(ringed(&figure).len(), 1);
        assert!(figure.subtitle.contains("hollow: rows that are not served"));
    }

    #[test]
    fn a_table_without_a_series_has_no_chart() {
        assert!(drawn(None, "gemm_dtype,m,n,k,latency\nfp8,1,128,128,0.1\n", &[]).is_none());
    }
}
