//! A table, or what changed in it → the few series that show it best.

use std::collections::BTreeSet;

use super::label::{SeriesNames, slice_words};
use super::series::{POINTS, SeriesSet};
use super::spec::ChartSpec;
use super::{ChartLine, ChartPoint, Figure, LineKind, Panel};
use crate::base::escape::file_stem;
use crate::base::expr::ExprError;
use crate::database::diff::RowDiff;
use crate::database::table::{Column, Table, TableScope};
use crate::specs::{ColumnKind, KeyPart, measured_unit};

/// What changed in a table.
#[derive(Clone, Copy)]
pub struct TableChange<'a> {
    /// The table before.
    pub base: &'a Table,
    /// Its rows by what happened to them.
    pub rows: &'a RowDiff,
}

/// The chart of a table: the slice that changed most (the largest, where nothing did), and of it a
/// few series from fast to slow. `marked` are rows that findings show.
///
/// `None` where no sweep has points enough to be a line.
///
/// # Errors
///
/// When a formula meets a type it cannot work with.
pub fn figure(
    chart: &ChartSpec,
    scope: &TableScope<'_>,
    change: Option<TableChange<'_>>,
    marked: &BTreeSet<usize>,
) -> Result<Option<Figure>, ExprError> {
    let Some(x) = axis(chart, scope) else { return Ok(None) };
    let fixed = fixed_columns(scope, &x, change);
    let panel = slice_columns(chart, scope, &fixed);
    let head = SeriesSet::new(scope, &x, &fixed, &panel, chart)?;
    let chosen = head.choose(&moved_rows(change), marked);
    let Some(first) = chosen.first().and_then(|rows| rows.first().copied()) else {
        return Ok(None);
    };

    let changed = change.filter(|c| !c.rows.changed.is_empty());
    let base_scope = changed
        .map(|c| TableScope::new(c.base, scope.spec, scope.place, scope.system, scope.lookups));
    let base = base_scope.as_ref().map(|s| SeriesSet::new(s, &x, &fixed, &panel, chart));
    let base = base.transpose()?;

    let names = SeriesNames::new(&head.keys, &chosen);
    let mut latency = Panel::named("latency, ms");
    let mut rate = rate_panel(chart, scope, first)?;
    for (colour, (rows, name)) in chosen.iter().zip(&names.of_each).enumerate() {
        let series = Series { name, colour, head: &head, base: base.as_ref(), rows };
        series.add_to(&mut latency, &mut rate, marked);
    }
    let has_bound = latency.lines.iter().any(|l| l.kind == LineKind::Bound);
    let place = scope.place;
    let spec = &scope.spec.name;
    let slice = slice_words(&head.panels.show(first), scope.table);
    Ok(Some(Figure {
        name: file_stem(&[&place.system, &place.backend, &place.version, spec], "-"),
        title: format!("{spec} on {}, {} {}", place.system, place.backend, place.version),
        subtitle: format!(
            "{} of {} series{}{}{}{}",
            chosen.len(),
            head.count_beside(first),
            names.columns.map(|columns| format!(" by {columns}")).unwrap_or_default(),
            if base.is_some() { ", dashed: before" } else { "" },
            if has_bound { ", thin: the speed-of-light bound" } else { "" },
            if slice.is_empty() { String::new() } else { format!("; {slice}") }
        ),
        x,
        panels: [latency, rate].into_iter().filter(|p| !p.lines.is_empty()).collect(),
    }))
}

/// A series that is drawn.
struct Series<'a> {
    name: &'a str,
    colour: usize,
    head: &'a SeriesSet<'a>,
    base: Option<&'a SeriesSet<'a>>,
    /// Its rows in the head.
    rows: &'a [usize],
}

impl Series<'_> {
    /// Adds its lines: bound, before, after.
    fn add_to(&self, latency: &mut Panel, rate: &mut Panel, marked: &BTreeSet<usize>) {
        let Self { head, rows, .. } = self;
        let unmarked = BTreeSet::new();
        self.add(latency, LineKind::Bound, head.points(rows, &head.bound, &unmarked));
        let hash = head.keys.hashes()[rows[0]];
        if let Some(base) = self.base
            && let Some(before) = base.series.get(&hash)
        {
            self.add(latency, LineKind::Base, base.points(before, &base.latency, &unmarked));
            self.add(rate, LineKind::Base, base.points(before, &base.rate, &unmarked));
        }
        self.add(latency, LineKind::Head, head.points(rows, &head.latency, marked));
        self.add(rate, LineKind::Head, head.points(rows, &head.rate, marked));
    }

    fn add(&self, panel: &mut Panel, kind: LineKind, points: Vec<ChartPoint>) {
        if !points.is_empty() {
            let (series, colour) = (self.name.to_owned(), self.colour);
            panel.lines.push(ChartLine { series, colour, kind, points });
        }
    }
}

impl Panel {
    fn named(y: &str) -> Self {
        Self { y: y.to_owned(), limit: None, lines: Vec::new() }
    }
}

/// The second panel, with the limit that the machine has in the row `first`.
fn rate_panel(chart: &ChartSpec, scope: &TableScope<'_>, first: usize) -> Result<Panel, ExprError> {
    let Some(rate) = &chart.rate else {
        return Ok(Panel::named("part of the speed-of-light bound reached"));
    };
    let limit = rate.limit.as_ref().map(|limit| limit.numbers(scope)).transpose()?;
    let limit = limit.map(|values| values.get(first)).filter(|limit| *limit > 0.0);
    Ok(Panel { limit, ..Panel::named(&rate.name) })
}

/// Columns that are fixed along a series: all but the axis and what is measured. Of a comparison only
/// those that both sides have, since a series before and after is found by them.
fn fixed_columns(scope: &TableScope<'_>, x: &str, change: Option<TableChange<'_>>) -> Vec<KeyPart> {
    const PLACE: [&str; 3] = ["framework", "version", "device"];
    let names = scope.table.columns().map(|(name, _)| name);
    names
        .filter(|name| *name != x && measured_unit(name).is_none() && !PLACE.contains(name))
        .filter(|name| change.is_none_or(|c| c.base.column(name).is_some()))
        .filter_map(KeyPart::column)
        .collect()
}

/// Columns of which a chart shows one value each.
fn slice_columns(chart: &ChartSpec, scope: &TableScope<'_>, fixed: &[KeyPart]) -> Vec<KeyPart> {
    match &chart.panel {
        Some(columns) => columns.iter().filter_map(|c| KeyPart::column(c)).collect(),
        None => fixed.iter().filter(|part| is_text(scope.table, &part.name)).cloned().collect(),
    }
}

fn is_text(table: &Table, column: &str) -> bool {
    matches!(table.column(column), Some(Column::Text { .. }))
}

/// Rows of the head that changed; those added where none did.
fn moved_rows(change: Option<TableChange<'_>>) -> Vec<usize> {
    let Some(TableChange { rows, .. }) = change else { return Vec::new() };
    if rows.changed.is_empty() {
        rows.added.iter().map(|row| *row as usize).collect()
    } else {
        rows.changed.iter().map(|(_, row)| *row as usize).collect()
    }
}

/// The column along the axis: the chart's, else the first of the sweep with points enough, else the
/// integer column with most values, of a table that has no spec.
fn axis(chart: &ChartSpec, scope: &TableScope<'_>) -> Option<String> {
    let table = scope.table;
    if let Some(x) = &chart.x {
        return is_sweep(table, x).then(|| x.clone());
    }
    if let Some(x) = scope.spec.sweep.iter().find(|name| is_sweep(table, name)) {
        return Some(x.clone());
    }
    let numbers = scope.spec.columns.iter().filter(|c| c.kind == ColumnKind::Int);
    let numbers = numbers.map(|c| &c.name).filter(|name| is_sweep(table, name));
    numbers.max_by_key(|name| distinct(table, name)).cloned()
}

/// Whether a column takes values enough for a line.
fn is_sweep(table: &Table, column: &str) -> bool {
    distinct(table, column).is_some_and(|n| n >= POINTS)
}

/// How many values an integer column takes, as far as it matters; `None` of other columns.
fn distinct(table: &Table, column: &str) -> Option<usize> {
    const ENOUGH: usize = 1000;
    let Column::Int { values, .. } = table.column(column)? else { return None };
    let mut seen = BTreeSet::new();
    for value in values {
        seen.insert(value);
        if seen.len() == ENOUGH {
            break;
        }
    }
    Some(seen.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::catalog::{Format, Place};
    use crate::report::chart::series::SERIES;
    use crate::specs::Specs;

    /// Synthetic rows: three dtypes, ten shapes, ten sizes.
    fn gemm(factor: impl Fn(&str, u64, u64) -> f64) -> Table {
        let mut text = "gemm_dtype,m,n,k,latency\n".to_owned();
        for dtype in ["bfloat16", "fp8", "nvfp4"] {
            for n in (1..=10).map(|n| n * 512) {
                for m in (0..10).map(|m| 1 << m) {
                    let latency = (n * 128 + m * n) as f64 * 1e-6 * factor(dtype, n, m);
                    text += &format!("{dtype},{m},{n},128,{latency}\n");
                }
            }
        }
        Table::decode(text.as_bytes(), Format::Csv, &|_| false).unwrap()
    }

    fn place() -> Place {
        Place {
            system: "h200_sxm".into(),
            family: Some("gemm".into()),
            backend: "vllm".into(),
            version: "0.24.0".into(),
        }
    }

    fn drawn(base: Option<&Table>, head: &Table, marked: &[usize]) -> Figure {
        let specs = Specs::embedded().unwrap();
        let place = place();
        let (spec, system) =
            (specs.tables.get("gemm_perf").unwrap(), specs.systems.get("h200_sxm"));
        let scope = TableScope::new(head, spec, &place, system, &specs.lookups);
        let rows = base.map(|base| RowDiff::between(base, head));
        let change = base.zip(rows.as_ref()).map(|(base, rows)| TableChange { base, rows });
        let marked = marked.iter().copied().collect();
        figure(&ChartSpec::default(), &scope, change, &marked).unwrap().expect("a chart")
    }

    #[test]
    fn a_new_table_shows_a_slice_from_fast_to_slow_with_its_bound() {
        let figure = drawn(None, &gemm(|_, _, _| 1.0), &[]);
        assert_eq!(figure.x, "m");
        assert!(figure.subtitle.contains("6 of 10 series"), "{}", figure.subtitle);
        let latency = &figure.panels[0];
        let heads: Vec<&ChartLine> =
            latency.lines.iter().filter(|l| l.kind == LineKind::Head).collect();
        assert_eq!(heads.len(), SERIES);
        assert_eq!((heads[0].series.as_str(), heads[5].series.as_str()), ("n=512", "n=5120"));
        assert!(latency.lines.iter().any(|l| l.kind == LineKind::Bound));
        assert!(latency.lines.iter().all(|l| l.kind != LineKind::Base));
    }

    #[test]
    fn what_changed_is_shown_before_and_after() {
        let slower =
            |dtype: &str, n: u64, _: u64| if dtype == "fp8" && n == 1024 { 2.0 } else { 1.0 };
        let figure = drawn(Some(&gemm(|_, _, _| 1.0)), &gemm(slower), &[]);
        assert!(
            figure.subtitle.starts_with("1 of 10 series, dashed")
                && figure.subtitle.ends_with("gemm_dtype=fp8"),
            "{}",
            figure.subtitle
        );
        let line = |kind| figure.panels[0].lines.iter().find(|l| l.kind == kind).unwrap();
        let (base, head) = (line(LineKind::Base), line(LineKind::Head));
        assert_eq!(base.points.len(), 10);
        assert_eq!(head.points[3].y / base.points[3].y, 2.0);
    }

    #[test]
    fn the_series_of_a_finding_is_shown_and_its_point_marked() {
        // nvfp4, n = 1536, m = 8.
        let row = 200 + 20 + 3;
        let figure = drawn(None, &gemm(|_, _, _| 1.0), &[row]);
        assert!(figure.subtitle.ends_with("gemm_dtype=nvfp4"), "{}", figure.subtitle);
        let latency = figure.panels[0].lines.iter().flat_map(|l| &l.points);
        assert_eq!(latency.filter(|p| p.marked).count(), 1);
    }

    #[test]
    fn a_table_without_a_sweep_has_no_chart() {
        let text = "gemm_dtype,m,n,k,latency\nfp8,1,128,128,0.1\n";
        let table = Table::decode(text.as_bytes(), Format::Csv, &|_| false).unwrap();
        let specs = Specs::embedded().unwrap();
        let place = place();
        let spec = specs.tables.get("gemm_perf").unwrap();
        let scope = TableScope::new(&table, spec, &place, None, &specs.lookups);
        assert!(figure(&ChartSpec::default(), &scope, None, &BTreeSet::new()).unwrap().is_none());
    }
}
