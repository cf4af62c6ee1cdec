//! Builds the figure of a table or of its change from the few series that show it best.

use super::axis::{axes, fixed_parts, slice_parts};
use super::label::{series_names, slice_words};
use super::line::{FigurePanels, SeriesLines, change_panel, latency_name, peer_panel, rate_panel};
use super::moves::{RatioMoves, TableChange};
use super::peer::Peer;
use super::rings::Rings;
use super::series::SeriesSet;
use super::spec::ChartSpec;
use super::{ChartFigure, LineKind, Panel};
use crate::base::escape::file_stem;
use crate::base::expr::ExprError;
use crate::database::table::TableScope;
use crate::specs::KeyPart;

/// The context in which a table is drawn.
#[derive(Clone, Copy)]
pub struct Beside<'a> {
    /// The change of the table; `None` if only one state was judged.
    pub change: Option<TableChange<'a>>,
    /// The rows that findings name.
    pub rings: &'a Rings,
    /// The table with which a finding compares it.
    pub peer: Option<&'a Peer<'a>>,
}

/// Builds the chart of a table: a few series of one slice, from fast to slow. The series of each
/// finding's worst row are always included.
///
/// `None` if no sweep has enough points for a line.
///
/// # Errors
///
/// If a formula of `charts/` or of the table's spec does not fit the table.
pub fn figure(
    chart: &ChartSpec,
    scope: &TableScope<'_>,
    beside: Beside<'_>,
) -> Result<Option<ChartFigure>, ExprError> {
    let changed = beside.change.filter(|change| !change.pairs().is_empty());
    let base = changed
        .map(|c| TableScope::new(c.base, scope.spec, scope.place, scope.system, scope.lookups));
    let mut second_best = None;
    for x in axes(chart, scope) {
        let parts = DrawnParts::new(chart, scope, x, beside.change);
        let sides = parts.sides(scope, base.as_ref(), beside.change)?;
        if !sides.head.has_lines() {
            continue;
        }
        if sides.head.shows_worst(beside.rings) && sides.head.shows_moves(&sides.moves) {
            return parts.figure(scope, sides, beside);
        }
        drop(sides);
        second_best = second_best.or(Some(parts));
    }
    let Some(parts) = second_best else { return Ok(None) };
    parts.figure(scope, parts.sides(scope, base.as_ref(), beside.change)?, beside)
}

/// Both states of a table along an axis, and the rows that moved between them.
struct FigureSides<'a> {
    head: SeriesSet<'a>,
    base: Option<SeriesSet<'a>>,
    moves: RatioMoves,
}

/// The columns by which a table is drawn along an axis.
struct DrawnParts<'a> {
    chart: &'a ChartSpec,
    x: String,
    /// The parts that are constant along a series.
    fixed: Vec<KeyPart>,
    /// The parts that define a slice; the chart shows one slice.
    panel: Vec<KeyPart>,
}

impl<'a> DrawnParts<'a> {
    fn new(
        chart: &'a ChartSpec,
        scope: &TableScope<'_>,
        x: String,
        change: Option<TableChange<'_>>,
    ) -> Self {
        let fixed = fixed_parts(scope, &x, change.map(|change| change.base));
        let panel = slice_parts(chart, scope, &fixed);
        Self { chart, x, fixed, panel }
    }

    fn series<'s>(&'s self, scope: &'s TableScope<'s>) -> Result<SeriesSet<'s>, ExprError> {
        SeriesSet::new(scope, &self.x, &self.fixed, &self.panel, self.chart)
    }

    fn sides<'s>(
        &'s self,
        scope: &'s TableScope<'s>,
        base: Option<&'s TableScope<'s>>,
        change: Option<TableChange<'_>>,
    ) -> Result<FigureSides<'s>, ExprError> {
        let head = self.series(scope)?;
        let base = base.map(|scope| self.series(scope)).transpose()?;
        let moves = change.map(|change| RatioMoves::new(change, base.as_ref(), &head));
        Ok(FigureSides { moves: moves.unwrap_or_default(), head, base })
    }

    fn figure(
        &self,
        scope: &TableScope<'_>,
        sides: FigureSides<'_>,
        beside: Beside<'_>,
    ) -> Result<Option<ChartFigure>, ExprError> {
        let FigureSides { head, base, moves } = sides;
        let Beside { rings, peer, .. } = beside;
        let chosen = head.choose(&moves, rings);
        let Some(first) = chosen.first().and_then(|rows| rows.first().copied()) else {
            return Ok(None);
        };
        let base = base.filter(|_| moves.shows_base());
        let peer_scope = peer.map(|peer| peer.scope(scope));
        let peer_set = peer_scope.as_ref().map(|scope| self.series(scope)).transpose()?;

        let name = latency_name(scope);
        let mut panels = FigurePanels {
            latency: Panel::named(&name),
            change: change_panel(&name, beside.change, &head, &chosen),
            rate: rate_panel(self.chart, scope, first)?,
            over_peer: peer_panel(peer),
        };
        let names = series_names(scope.table, &self.fixed, &chosen);
        for (colour, (rows, name)) in chosen.iter().zip(&names).enumerate() {
            let (base, peer) = (base.as_ref(), peer_set.as_ref().zip(peer));
            let series = SeriesLines { name, colour, head: &head, base, peer, rings, rows };
            series.add_to(&mut panels);
        }
        let place = scope.place;
        let lines = &panels.latency.lines;
        let has = |kind| lines.iter().any(|line| line.kind == kind);
        let peer = peer.filter(|_| has(LineKind::Peer));
        let mut said = vec![head.shown(&chosen)];
        said.extend(has(LineKind::Base).then(|| "dashed: before".to_owned()));
        let reruns = "shaded: 99 % of reruns";
        said.extend((!panels.change.lines.is_empty()).then(|| reruns.to_owned()));
        said.extend(has(LineKind::Bound).then(|| "thin: the speed-of-light bound".to_owned()));
        said.extend(peer.map(|peer| format!("wide and pale: {}", peer.name)));
        said.extend(has(LineKind::Copies).then(|| "hollow: rows that are not served".to_owned()));
        let slice = slice_words(scope.table, &self.panel, &chosen);
        let slice = if slice.is_empty() { slice } else { format!("; {slice}") };
        Ok(Some(ChartFigure {
            name: file_stem(
                &[&place.system, &place.backend, &place.version, &scope.spec.name],
                "-",
            ),
            path: String::new(),
            title: format!(
                "{} on {}, {} {}",
                scope.spec.name, place.system, place.backend, place.version
            ),
            subtitle: format!("{}{slice}", said.join(", ")),
            x: self.x.clone(),
            rings: rings.rules.clone(),
            panels: panels.shown(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::pick::SERIES;
    use super::super::{ChartLine, ChartPoint};
    use super::*;
    use crate::database::catalog::{Format, Place};
    use crate::database::diff::{RowDiff, ServedDiff};
    use crate::database::table::Table;
    use crate::findings::{Finding, Severity};
    use crate::specs::Specs;

    /// Synthetic rows: three dtypes, ten shapes, ten sizes.
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
        // Synthetic rows are in one order, so that each serves the key that stood at its place.
        let pairs = 0..base.as_ref().map_or(0, |base| base.rows.min(head.rows)) as u32;
        let mut served = ServedDiff::default();
        served.rows.common = pairs.map(|row| (row, row)).collect();
        let change = base.as_ref().zip(rows.as_ref());
        let change = change.map(|(base, rows)| TableChange {
            base,
            rows,
            served: Some(&served),
            noise: None,
        });
        let rings = Rings::new(findings, head.rows);
        let beside = Beside { change, rings: &rings, peer: None };
        figure(&ChartSpec::default(), &scope, beside).unwrap()
    }

    fn points(figure: &ChartFigure, kind: LineKind) -> Vec<(&str, &ChartPoint)> {
        let lines = figure.panels[0].lines.iter().filter(|line| line.kind == kind);
        lines.flat_map(|line| line.points.iter().map(|p| (line.series.as_str(), p))).collect()
    }

    /// The rows that are ringed, with their series.
    fn ringed(figure: &ChartFigure) -> Vec<(&str, usize)> {
        let all = [LineKind::Head, LineKind::Copies].into_iter();
        let all = all.flat_map(|kind| points(figure, kind));
        all.filter_map(|(series, point)| Some((series, point.row?))).collect()
    }

    #[test]
    fn a_new_table_shows_a_slice_from_fast_to_slow_with_its_bound() {
        let figure = drawn(None, &gemm(|_, _, _| 1.0), &[]).unwrap();
        assert_eq!(figure.x, "m");
        assert!(figure.subtitle.contains("6 of 10 series"), "{}", figure.subtitle);
        let latency = &figure.panels[0];
        let heads: Vec<&ChartLine> =
            latency.lines.iter().filter(|l| l.kind == LineKind::Head).collect();
        assert_eq!(heads.len(), SERIES);
        assert_eq!((heads[0].series.as_str(), heads[5].series.as_str()), ("n 512", "n 5120"));
        assert!(latency.lines.iter().any(|l| l.kind == LineKind::Bound));
        assert!(latency.lines.iter().all(|l| l.kind != LineKind::Base));
    }

    #[test]
    fn what_changed_is_shown_before_and_after() {
        let slower =
            |dtype: &str, n: u64, _: u64| if dtype == "fp8" && n == 1024 { 2.0 } else { 1.0 };
        let figure = drawn(Some(&gemm(|_, _, _| 1.0)), &gemm(slower), &[]).unwrap();
        assert!(
            figure.subtitle.starts_with("1 of 10 series, dashed")
                && figure.subtitle.ends_with("gemm_dtype fp8"),
            "{}",
            figure.subtitle
        );
        let (base, head) = (points(&figure, LineKind::Base), points(&figure, LineKind::Head));
        assert_eq!(base.len(), 10);
        assert_eq!(head[3].1.y / base[3].1.y, 2.0);
        let change = &figure.panels[1];
        assert_eq!((change.y.as_str(), change.mark), ("latency, after / before", Some(1.0)));
        assert!(change.noise.is_some_and(|factor| factor > 1.0));
        assert!(change.lines[0].points.iter().all(|point| point.y == 2.0));
        let unchanged = drawn(None, &gemm(|_, _, _| 1.0), &[]).unwrap();
        assert!(unchanged.panels.iter().all(|panel| panel.noise.is_none()));
    }

    #[test]
    fn what_another_device_measured_is_before_and_after_by_the_key_that_it_serves() {
        let on = |device: &str, factor: f64| {
            let rows = gemm(|_, _, _| factor).replace('\n', &format!(",{device}\n"));
            rows.replacen(&format!("latency,{device}"), "latency,device", 1)
        };
        let figure = drawn(Some(&on("GB300", 1.0)), &on("B300", 3.0), &[]).unwrap();
        let (base, head) = (points(&figure, LineKind::Base), points(&figure, LineKind::Head));
        assert_eq!(base.len(), head.len());
        assert!(base.iter().zip(&head).all(|(b, h)| (h.1.y / b.1.y - 3.0).abs() < 1e-9));
    }

    #[test]
    fn a_line_before_that_says_nothing_is_left_out() {
        let rows = gemm(|_, _, _| 1.0);
        let powered = rows.replace('\n', ",9\n").replacen("latency,9", "latency,power", 1);
        let figure = drawn(Some(&rows), &powered, &[]).unwrap();
        assert!(points(&figure, LineKind::Base).is_empty(), "{}", figure.subtitle);
    }

    #[test]
    fn the_series_of_a_finding_is_shown_and_its_point_ringed() {
        // nvfp4, n = 1536, m = 8.
        let row = 200 + 20 + 3;
        let spike = named("latency-spike", Severity::Warning, &[row]);
        let figure = drawn(None, &gemm(|_, _, _| 1.0), &[spike]).unwrap();
        assert!(figure.subtitle.ends_with("gemm_dtype nvfp4"), "{}", figure.subtitle);
        assert_eq!(ringed(&figure), [("n 1536", row)]);
        assert_eq!(figure.rings[0].name, "latency-spike");
    }

    #[test]
    fn the_worst_row_of_each_finding_is_ringed_whatever_slice_it_is_in() {
        // Every row of bfloat16 is a copy; the spike is one row of nvfp4.
        let copies: Vec<usize> = (0..100).collect();
        let findings = [
            named("duplicate-key", Severity::Error, &copies),
            named("latency-spike", Severity::Warning, &[299]),
        ];
        let figure = drawn(None, &gemm(|_, _, _| 1.0), &findings).unwrap();
        let ringed = ringed(&figure);
        assert!(ringed.contains(&("gemm_dtype nvfp4, n 5120", 299)), "{ringed:?}");
        assert!(figure.subtitle.starts_with("6 series of 2 slices"), "{}", figure.subtitle);
        assert!(ringed.iter().all(|(_, row)| *row < 100 || *row == 299));
    }

    #[test]
    fn the_axis_is_one_along_which_the_worst_row_is_on_a_line() {
        let mut rows = gemm(|_, _, _| 1.0);
        // Two sizes of a shape that has seven k: no line along m, and one along k.
        for k in 1..8 {
            rows += &format!("fp8,1,64,{k},0.01\nfp8,2,64,{k},0.02\n");
        }
        let spike = named("latency-spike", Severity::Warning, &[300]);
        let figure = drawn(None, &rows, &[spike]).unwrap();
        assert_eq!((figure.x.as_str(), ringed(&figure).len()), ("k", 1));
    }

    #[test]
    fn both_copies_of_a_duplicate_are_drawn() {
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
    fn a_table_without_a_sweep_has_no_chart() {
        assert!(drawn(None, "gemm_dtype,m,n,k,latency\nfp8,1,128,128,0.1\n", &[]).is_none());
    }
}
