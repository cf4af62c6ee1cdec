//! A table, or what changed in it → the few series that tell.

use std::collections::BTreeSet;

use super::side::{POINTS, Side};
use super::spec::ChartSpec;
use super::{Figure, Kind, Line, Panel, Point};
use crate::base::escape::file_stem;
use crate::base::expr::ExprError;
use crate::database::diff::RowDiff;
use crate::database::table::{Column, Table, TableScope};
use crate::specs::{ColumnKind, KeyPart, measured_unit};

/// What changed in a table.
#[derive(Clone, Copy)]
pub struct Change<'a> {
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
    of: &TableScope<'_>,
    change: Option<Change<'_>>,
    marked: &BTreeSet<usize>,
) -> Result<Option<Figure>, ExprError> {
    let Some(x) = axis(chart, of) else { return Ok(None) };
    // Columns that both sides have: a series before and after is found by them.
    let shared = |name: &str| change.is_none_or(|c| c.base.column(name).is_some());
    let fixed: Vec<KeyPart> = of
        .table
        .columns()
        .map(|(name, _)| name)
        .filter(|name| *name != x && measured_unit(name).is_none() && shared(name))
        .filter(|name| !["framework", "version", "device"].contains(name))
        .filter_map(KeyPart::column)
        .collect();
    let panel: Vec<KeyPart> = match &chart.panel {
        Some(columns) => columns.iter().filter_map(|c| KeyPart::column(c)).collect(),
        None => fixed.iter().filter(|p| is_text(of.table, &p.name)).cloned().collect(),
    };
    let head = Side::new(of, &x, &fixed, &panel, chart)?;
    let moved: Vec<usize> = match change {
        Some(c) if c.rows.changed.is_empty() => c.rows.added.iter().map(|r| *r as usize).collect(),
        Some(c) => c.rows.changed.iter().map(|(_, r)| *r as usize).collect(),
        None => Vec::new(),
    };
    let chosen = head.choose(&moved, marked);
    let Some(first) = chosen.first().and_then(|rows| rows.first()) else { return Ok(None) };

    let was = change.filter(|c| !c.rows.changed.is_empty());
    let scope_before =
        was.map(|c| TableScope::new(c.base, of.spec, of.place, of.system, of.lookups));
    let base =
        scope_before.as_ref().map(|s| Side::new(s, &x, &fixed, &panel, chart)).transpose()?;
    let (names, columns) = names(&head, &chosen);
    let none = BTreeSet::new();
    let mut panels =
        [Panel::of("latency, ms"), Panel::of("part of the speed-of-light bound reached")];
    if let Some(rate) = &chart.rate {
        let limit = rate.limit.as_ref().map(|l| l.numbers(of)).transpose()?;
        let limit = limit.map(|l| l.get(*first)).filter(|l| *l > 0.0);
        panels[1] = Panel { limit, ..Panel::of(&rate.name) };
    }
    let [latency, rate] = &mut panels;
    for (colour, (rows, series)) in chosen.iter().zip(&names).enumerate() {
        let add = |panel: &mut Panel, kind, points: Vec<Point>| {
            if !points.is_empty() {
                panel.lines.push(Line { series: series.clone(), colour, kind, points });
            }
        };
        add(latency, Kind::Bound, head.points(rows, &head.bound, &none));
        if let Some(base) = &base
            && let Some(before) = base.series.get(&head.keys.hashes()[rows[0]])
        {
            add(latency, Kind::Base, base.points(before, &base.latency, &none));
            add(rate, Kind::Base, base.points(before, &base.rate, &none));
        }
        add(latency, Kind::Head, head.points(rows, &head.latency, marked));
        add(rate, Kind::Head, head.points(rows, &head.rate, marked));
    }
    let place = of.place;
    let slice = head.panels.show(*first);
    let varies = |name: &str| !matches!(of.table.column(name), Some(Column::Text { dict, .. }) if dict.len() == 1);
    let slice = slice.into_iter().filter(|(k, _)| varies(k));
    let slice: Vec<String> = slice.map(|(k, v)| format!("{k}={}", text(&v))).collect();
    let told = if base.is_some() { ", dashed: before" } else { "" };
    let bound = if latency.lines.iter().any(|l| l.kind == Kind::Bound) {
        ", thin: the speed-of-light bound"
    } else {
        ""
    };
    Ok(Some(Figure {
        name: file_stem(&[&place.system, &place.backend, &place.version, &of.spec.name], "-"),
        title: format!("{} on {}, {} {}", of.spec.name, place.system, place.backend, place.version),
        subtitle: format!(
            "{} of {} series{}{told}{bound}{}",
            chosen.len(),
            head.lines(*first),
            columns.map(|c| format!(" by {c}")).unwrap_or_default(),
            if slice.is_empty() { String::new() } else { format!("; {}", slice.join(" ")) }
        ),
        x,
        panels: panels.into_iter().filter(|p| !p.lines.is_empty()).collect(),
    }))
}

impl Panel {
    fn of(y: &str) -> Self {
        Self { y: y.to_owned(), limit: None, lines: Vec::new() }
    }
}

/// The column along the axis.
fn axis(chart: &ChartSpec, of: &TableScope<'_>) -> Option<String> {
    let values = |name: &str| distinct(of.table.column(name)?);
    if let Some(x) = &chart.x {
        return (values(x)? >= POINTS).then(|| x.clone());
    }
    let sweep = of.spec.sweep.iter().map(String::as_str);
    let varies = |name: &&str| values(name).is_some_and(|n| n >= POINTS);
    let first = sweep.clone().find(varies);
    // Of a table that none wrote a spec for: what takes the most values.
    let most = || {
        let numbers = of.spec.columns.iter().filter(|c| c.kind == ColumnKind::Int);
        numbers.map(|c| c.name.as_str()).filter(varies).max_by_key(|name| values(name))
    };
    first.or_else(most).map(str::to_owned)
}

/// How many values a numeric column takes, so far as it matters.
fn distinct(column: &Column) -> Option<usize> {
    const ENOUGH: usize = 1000;
    let Column::Int { values, .. } = column else { return None };
    let mut seen = BTreeSet::new();
    for value in values {
        seen.insert(value);
        if seen.len() == ENOUGH {
            break;
        }
    }
    Some(seen.len())
}

fn is_text(table: &Table, column: &str) -> bool {
    matches!(table.column(column), Some(Column::Text { .. }))
}

/// What each series differs in from the others (of one alone, its numbers), and the names of that
/// where there is room for the values only.
fn names(side: &Side<'_>, chosen: &[Vec<usize>]) -> (Vec<String>, Option<String>) {
    /// Characters beside a line.
    const ROOM: usize = 22;
    let told: Vec<_> = chosen.iter().map(|rows| side.keys.show(rows[0])).collect();
    let alone = told.len() == 1;
    let varies = |i: &usize| {
        told.iter().any(|t| t[*i].1 != told[0][*i].1) || alone && told[0][*i].1.is_number()
    };
    let parts: Vec<usize> = (0..told[0].len()).filter(varies).collect();
    let full = |t: &Vec<(String, serde_json::Value)>| {
        let part = |i: &usize| format!("{}={}", t[*i].0, text(&t[*i].1));
        parts.iter().map(part).collect::<Vec<_>>().join(" ")
    };
    let all: Vec<String> = told.iter().map(full).collect();
    if all.iter().all(|name| name.chars().count() <= ROOM) {
        return (all, None);
    }
    let values = |t: &Vec<(String, serde_json::Value)>| {
        parts.iter().map(|i| text(&t[*i].1)).collect::<Vec<_>>().join(", ")
    };
    let columns = parts.iter().map(|i| told[0][*i].0.as_str()).collect::<Vec<_>>().join(", ");
    (told.iter().map(values).collect(), Some(columns))
}

fn text(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::catalog::{Format, Place};
    use crate::report::chart::side::SERIES;
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
        let (spec, system) = (&specs.tables["gemm_perf"], specs.systems.get("h200_sxm"));
        let of = TableScope::new(head, spec, &place, system, &specs.lookups);
        let rows = base.map(|base| RowDiff::between(base, head));
        let change = base.zip(rows.as_ref()).map(|(base, rows)| Change { base, rows });
        let marked = marked.iter().copied().collect();
        figure(&ChartSpec::default(), &of, change, &marked).unwrap().expect("a chart")
    }

    #[test]
    fn a_new_table_shows_a_slice_from_fast_to_slow_with_its_bound() {
        let figure = drawn(None, &gemm(|_, _, _| 1.0), &[]);
        assert_eq!(figure.x, "m");
        assert!(figure.subtitle.contains("6 of 10 series"), "{}", figure.subtitle);
        let latency = &figure.panels[0];
        let heads: Vec<&Line> = latency.lines.iter().filter(|l| l.kind == Kind::Head).collect();
        assert_eq!(heads.len(), SERIES);
        assert_eq!((heads[0].series.as_str(), heads[5].series.as_str()), ("n=512", "n=5120"));
        assert!(latency.lines.iter().any(|l| l.kind == Kind::Bound));
        assert!(latency.lines.iter().all(|l| l.kind != Kind::Base));
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
        let of = |kind| figure.panels[0].lines.iter().find(|l| l.kind == kind).unwrap();
        let (base, head) = (of(Kind::Base), of(Kind::Head));
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
        let spec = &specs.tables["gemm_perf"];
        let of = TableScope::new(&table, spec, &place, None, &specs.lookups);
        assert!(figure(&ChartSpec::default(), &of, None, &BTreeSet::new()).unwrap().is_none());
    }
}
