//! Which tables of a pull request are drawn: those with new findings, then those that changed most.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{ChartSpec, Figure, TableChange, choose, draw};
use crate::base::error::{Error, Result};
use crate::base::escape::clean;
use crate::base::threads;
use crate::database::catalog::TableFile;
use crate::database::diff::{Diff, State, TableDiff};
use crate::database::table::{Table, TableScope};
use crate::findings::{Finding, Severity};
use crate::specs::Specs;

/// Two states of a database, what changed between them and what was found.
pub struct Gallery<'a> {
    /// Before.
    pub base: State<'a>,
    /// After.
    pub head: State<'a>,
    /// What changed.
    pub diff: &'a Diff,
    /// What is wrong with it.
    pub findings: &'a [Finding],
    /// What is known of tables and charts.
    pub specs: &'a Specs,
    /// Threads.
    pub threads: usize,
}

/// A chart as a file.
#[derive(Debug)]
pub struct Drawing {
    /// A file's name without its ending.
    pub name: String,
    /// The table, escaped.
    pub title: String,
    /// The picture.
    pub svg: String,
}

impl Gallery<'_> {
    /// Charts of the tables that changed, at most `most`: first those with new findings, then those
    /// of which most rows changed, then those that gained most.
    ///
    /// # Errors
    ///
    /// When a formula of `charts/` does not fit a table.
    pub fn figures(&self, most: usize) -> Result<Vec<Figure>> {
        let mut tables: Vec<&TableDiff> = self.diff.tables.iter().filter(|t| gained(t)).collect();
        tables.sort_by_key(|t| (self.interest(t), t.path.as_str()));
        let mut figures = Vec::new();
        // Some have no sweep to draw, and leave their place to the next.
        let mut rest = &tables[..];
        while figures.len() < most && !rest.is_empty() {
            let (next, later) = rest.split_at(rest.len().min(most - figures.len()));
            let order: Vec<usize> = (0..next.len()).collect();
            let drawn = threads::map(next, &order, self.threads, |table| self.figure(table));
            let drawn: Vec<Option<Figure>> = drawn.into_iter().collect::<Result<_>>()?;
            figures.extend(drawn.into_iter().flatten());
            rest = later;
        }
        number(&mut figures);
        Ok(figures)
    }

    fn interest(&self, table: &TableDiff) -> Reverse<(usize, usize, usize, usize)> {
        let rows = table.rows.as_ref();
        Reverse((
            self.new_findings(table, Severity::Error),
            self.new_findings(table, Severity::Warning),
            rows.map_or(0, |r| r.changed.len()),
            rows.map_or(0, |r| r.added.len()),
        ))
    }

    fn new_findings(&self, table: &TableDiff, severity: Severity) -> usize {
        let new = self.findings.iter().filter(|f| f.is_new());
        new.filter(|f| f.path == table.path && f.severity == severity).count()
    }

    fn figure(&self, change: &TableDiff) -> Result<Option<Figure>> {
        let Some(file) = find(self.head, &change.path) else { return Ok(None) };
        let Some(head) = read(self.head, file, self.specs) else { return Ok(None) };
        let before = change.old_path.as_ref().unwrap_or(&change.path);
        let base = change.base_rows.and_then(|_| find(self.base, before));
        let base = base.and_then(|file| read(self.base, file, self.specs));
        let change = base.as_ref().zip(change.rows.as_ref());
        let change = change.map(|(base, rows)| TableChange { base, rows });
        draw_table(self.head, self.specs, file, &head, change, &self.marked(&file.entry.path))
    }

    /// Rows that new findings show.
    fn marked(&self, path: &str) -> BTreeSet<usize> {
        let new = self.findings.iter().filter(|f| f.is_new() && f.path == path);
        new.flat_map(|f| &f.examples).map(|e| e.row as usize).collect()
    }
}

/// Charts of tables as they are, those of most rows first, at most `most`.
///
/// # Errors
///
/// When a formula of `charts/` does not fit a table.
pub fn overview(
    state: State<'_>,
    files: &[&TableFile],
    specs: &Specs,
    threads: usize,
    most: usize,
) -> Result<Vec<Figure>> {
    let order: Vec<usize> = (0..files.len()).collect();
    let drawn = threads::map(files, &order, threads, |file| {
        let Some(table) = read(state, file, specs) else { return Ok(None) };
        let figure = draw_table(state, specs, file, &table, None, &BTreeSet::new())?;
        Ok(figure.map(|f| (Reverse(table.rows), f)))
    });
    let drawn: Vec<Option<(Reverse<usize>, Figure)>> = drawn.into_iter().collect::<Result<_>>()?;
    let mut drawn: Vec<(Reverse<usize>, Figure)> = drawn.into_iter().flatten().collect();
    drawn.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.name.cmp(&b.1.name)));
    let mut figures: Vec<Figure> = drawn.into_iter().map(|(_, f)| f).take(most).collect();
    number(&mut figures);
    Ok(figures)
}

fn find<'a>(state: State<'a>, path: &str) -> Option<&'a TableFile> {
    state.catalog.tables.iter().find(|t| t.entry.path == path)
}

/// A table; one that cannot be read is not drawn, and a finding elsewhere.
fn read(state: State<'_>, file: &TableFile, specs: &Specs) -> Option<Arc<Table>> {
    state.table(file, specs).ok()
}

fn draw_table(
    state: State<'_>,
    specs: &Specs,
    file: &TableFile,
    table: &Table,
    change: Option<TableChange<'_>>,
    marked: &BTreeSet<usize>,
) -> Result<Option<Figure>> {
    let system = state.catalog.systems.get(&file.place.system);
    let spec = file.spec(specs, Some(table));
    let system = system.and_then(|s| s.system.as_ref().ok());
    let scope = TableScope::new(table, &spec, &file.place, system, &specs.lookups);
    let plain = ChartSpec::default();
    let charts = super::spec::read(&specs.library)?;
    let chart = charts.get(&file.table).unwrap_or(&plain);
    choose::figure(chart, &scope, change, marked).map_err(|e| {
        Error::new(format!("cannot draw {}: {e}", file.table), "the formula is in charts/")
    })
}

fn gained(table: &TableDiff) -> bool {
    table.rows.as_ref().is_some_and(|rows| !rows.added.is_empty() || !rows.changed.is_empty())
}

/// Numbers figures of one name, of a table in two layouts for one.
fn number(figures: &mut [Figure]) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for figure in figures {
        let times = seen.entry(figure.name.clone()).or_default();
        *times += 1;
        if *times > 1 {
            figure.name = format!("{}-{times}", figure.name);
        }
    }
}

/// Draws figures.
///
/// # Errors
///
/// When drawing fails, which is a fault of this program.
pub fn drawings(figures: &[Figure], threads: usize) -> Result<Vec<Drawing>> {
    let order: Vec<usize> = (0..figures.len()).collect();
    let drawn = threads::map(figures, &order, threads::threads(threads), |figure| {
        let svg = draw::svg(figure)?;
        Ok(Drawing { name: figure.name.clone(), title: clean(&figure.title), svg })
    });
    drawn.into_iter().collect()
}
