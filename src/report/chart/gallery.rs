//! Chooses the tables of a pull request to draw: first tables with new findings, then tables that changed most.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use serde::Serialize;

use super::change::TableChange;
use super::peer::Peer;
use super::rings::Rings;
use super::scene::ChartFigure;
use super::spec::{ChartSpec, ChartSpecs};
use super::svg::svg;
use super::table::{self, ChartContext};
use crate::base::error::{Error, Result};
use crate::base::escape::clean;
use crate::database::catalog::TableFile;
use crate::database::diff::{Diff, ServedDiff, SliceName, TableDiff};
use crate::database::state::State;
use crate::database::table::{Table, TableScope};
use crate::findings::{Finding, Severity};

/// The rules whose findings mean that the latencies of a table are implausible.
const IMPLAUSIBLE: [&str; 5] = [
    "below-speed-of-light",
    "far-above-bound",
    "slice-implausible",
    "synthetic-rows",
    "unit-shift",
];

/// Two states of a database, with their differences and the findings on the head.
pub struct Gallery<'a> {
    /// The state before the change.
    pub base: State<'a>,
    /// The state after the change.
    pub head: State<'a>,
    /// The differences between the states.
    pub diff: &'a Diff,
    /// The findings on the head.
    pub findings: &'a [Finding],
    /// The path of the table and the slice to show in the first chart; `None` if the caller has no preference.
    pub first: Option<(&'a str, &'a SliceName)>,
}

/// A chart drawn as SVG.
#[derive(Debug, Serialize)]
pub struct Drawing {
    /// The file name of the chart without its extension.
    #[serde(skip)]
    pub name: String,
    /// The path of the file from which the chart is drawn, escaped for display.
    pub path: String,
    /// The chart's title, escaped for display.
    pub title: String,
    /// The text of the SVG.
    pub svg: String,
}

impl Gallery<'_> {
    /// Returns charts of at most `most` changed tables, in this order: the requested table, tables with new findings,
    /// tables with most changed or lost keys, tables with most new keys or rows. A table that cannot be read, or that
    /// has no sweep to draw along, is replaced by the next one.
    ///
    /// # Errors
    ///
    /// If a formula of `charts/` does not fit a table.
    pub fn charts(&self, most: usize) -> Result<Vec<ChartFigure>> {
        let mut figures = Vec::new();
        let mut tables: Vec<&TableDiff> = self.diff.tables.iter().collect();
        tables.retain(|table| table.rows.as_ref().is_some_and(|rows| !rows.is_empty()));
        let is_first = |t: &TableDiff| self.first.is_some_and(|(path, _)| path == t.path);
        tables.sort_by_key(|t| (!is_first(t), self.interest(t), t.path.as_str()));
        let specs = super::spec::read(&self.head.specs.library)?;
        let mut rest = &tables[..];
        while figures.len() < most && !rest.is_empty() {
            let (next, later) = rest.split_at(rest.len().min(most - figures.len()));
            let asked = |t: &TableDiff| self.first.filter(|_| is_first(t)).map(|(_, slice)| slice);
            let drawn = next.par_iter().map(|table| self.figure(table, &specs, asked(table)));
            let drawn: Vec<Option<ChartFigure>> = drawn.collect::<Result<_>>()?;
            figures.extend(drawn.into_iter().flatten());
            rest = later;
        }
        Ok(figures)
    }

    fn interest(&self, table: &TableDiff) -> Reverse<(usize, usize, u64, u64, usize)> {
        let rows = table.rows.as_ref();
        let changed = || rows.map_or(0, |r| r.changed.len() as u64);
        let moved = |served: &ServedDiff| served.ratios.iter().filter(|r| **r != 1.0).count();
        let served = table.served.as_ref();
        Reverse((
            self.new_findings(table, Severity::Error),
            self.new_findings(table, Severity::Warning),
            served.map_or_else(changed, |served| moved(served) as u64 + served.lost),
            served.map_or(0, |served| served.gained),
            rows.map_or(0, |r| r.added.len()),
        ))
    }

    /// Returns false if a finding states that the latencies of a file are implausible.
    fn is_plausible(&self, path: &str) -> bool {
        let on = |f: &&Finding| f.path == path && f.waived_by.is_none();
        !self.findings.iter().filter(on).any(|f| IMPLAUSIBLE.contains(&f.rule.as_str()))
    }

    fn new_findings(&self, table: &TableDiff, severity: Severity) -> usize {
        self.new_on(&table.path).filter(|f| f.severity == severity).count()
    }

    /// Returns the new findings on a file.
    fn new_on<'p>(&'p self, path: &'p str) -> impl Iterator<Item = &'p Finding> {
        self.findings.iter().filter(move |f| f.is_new() && f.path == path)
    }

    fn figure(
        &self,
        change: &TableDiff,
        charts: &ChartSpecs,
        asked: Option<&SliceName>,
    ) -> Result<Option<ChartFigure>> {
        let Some(file) = self.head.catalog.table(&change.path) else { return Ok(None) };
        let Ok(head) = self.head.table(file) else { return Ok(None) };
        let before = change.old_path.as_ref().unwrap_or(&change.path);
        let base = change.base_rows.and_then(|_| self.base.catalog.table(before));
        let base = base.and_then(|file| self.base.table(file).ok());
        let served = change.served.as_ref();
        let noise = Some(self.head.specs.noise.bands(&file.table, &file.place.backend));
        let change = base.as_ref().zip(change.rows.as_ref());
        let change = change.map(|(base, rows)| TableChange { base, rows, served, noise });
        let findings: Vec<&Finding> = self.new_on(&file.entry.path).collect();
        let mut rings = Rings::new(findings.iter().copied(), head.rows);
        rings.asked = asked.map(|slice| slice.iter().cloned().collect());
        let nearest = self.diff.added.iter().find(|added| added.path == file.entry.path);
        let nearest = nearest.map(|added| added.reference.as_str());
        let is_plausible = |path: &str| self.is_plausible(path);
        let peer = Peer::find(self.head, file, &findings, nearest, is_plausible);
        let beside = ChartContext { change, rings: &rings, peer: peer.as_ref() };
        Drawer { state: self.head, charts }.draw(file, &head, beside)
    }
}

/// Returns charts of at most `most` tables in a state that is not compared with another: the tables with the most
/// severe findings.
///
/// # Errors
///
/// If a formula of `charts/` does not fit a table.
pub fn curves(state: State<'_>, findings: &[Finding], most: usize) -> Result<Vec<ChartFigure>> {
    let mut found: Vec<&Finding> = findings.iter().filter(|f| f.counts()).collect();
    found.sort_by_key(|f| (f.severity, Reverse(f.rows)));
    let charts = super::spec::read(&state.specs.library)?;
    let drawer = Drawer { state, charts: &charts };
    let mut seen = BTreeSet::new();
    let paths = found.iter().map(|f| &f.path).filter(|path| seen.insert(*path));
    let files: Vec<&TableFile> =
        paths.filter_map(|path| state.catalog.table(path)).take(most).collect();
    let drawn = files.par_iter().map(|file| {
        let Ok(table) = state.table(file) else { return Ok(None) };
        let of_file = found.iter().copied().filter(|f| f.path == file.entry.path);
        let of_file: Vec<&Finding> = of_file.collect();
        let rings = Rings::new(of_file.iter().copied(), table.rows);
        let peer = Peer::find(state, file, &of_file, None, |_| true);
        let beside = ChartContext { change: None, rings: &rings, peer: peer.as_ref() };
        drawer.draw(file, &table, beside)
    });
    let drawn: Result<Vec<Option<ChartFigure>>> = drawn.collect();
    let mut figures: Vec<ChartFigure> = drawn?.into_iter().flatten().collect();
    number(&mut figures);
    Ok(figures)
}

/// The data that all charts share: the state whose tables are drawn, and the chart specs.
#[derive(Clone, Copy)]
struct Drawer<'a> {
    state: State<'a>,
    charts: &'a ChartSpecs,
}

impl Drawer<'_> {
    /// Draws the chart of a table; `None` if no line in it would have enough points.
    fn draw(
        self,
        file: &TableFile,
        table: &Table,
        beside: ChartContext<'_>,
    ) -> Result<Option<ChartFigure>> {
        let Self { state: State { catalog, specs, .. }, charts } = self;
        let system = catalog.system(&file.place.system, specs);
        let spec = file.spec(specs, Some(table));
        let scope = TableScope::new(table, &spec, &file.place, system, &specs.lookups);
        let plain = ChartSpec::default();
        let chart = charts.get(&file.table).unwrap_or(&plain);
        let drawn = table::figure(chart, &scope, beside).map_err(|e| {
            Error::new(format!("cannot draw {}: {e}", file.table), "the formula is in charts/")
        })?;
        Ok(drawn.map(|figure| ChartFigure { path: file.entry.path.clone(), ..figure }))
    }
}

/// Appends a number to each repeated chart name. Names repeat for tables in two formats or in two roots.
pub fn number(figures: &mut [ChartFigure]) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for figure in figures {
        let times = seen.entry(figure.name.clone()).or_default();
        *times += 1;
        if *times > 1 {
            figure.name = format!("{}-{times}", figure.name);
        }
    }
}

/// Draws charts as SVG.
///
/// # Errors
///
/// If drawing fails, which is a bug of this program.
pub fn drawings(figures: &[ChartFigure]) -> Result<Vec<Drawing>> {
    let drawn = figures.par_iter().map(|figure| {
        let svg = svg(figure)?;
        let (path, title) = (clean(&figure.path), clean(&figure.title));
        Ok(Drawing { name: figure.name.clone(), path, title, svg })
    });
    drawn.collect()
}
