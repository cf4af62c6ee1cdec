//! Which tables of a pull request are drawn, and how: those that tell most.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::{ChartSpec, Figure, Subject, choose, draw, raster};
use crate::catalog::TableFile;
use crate::diff::{Diff, State, TableDiff};
use crate::error::{Error, Result};
use crate::finding::{Finding, Severity};
use crate::parallel;
use crate::spec::Specs;
use crate::table::Table;

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

/// A chart as files.
#[derive(Debug)]
pub struct Drawing {
    /// A file's name without its ending.
    pub name: String,
    /// The table.
    pub title: String,
    /// For pages.
    pub svg: String,
    /// For what shows no SVG.
    pub png: Vec<u8>,
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
        // Some have no sweep to draw.
        tables.truncate(2 * most);
        let order: Vec<usize> = (0..tables.len()).collect();
        let drawn = parallel::map(&tables, &order, self.threads, |table| self.figure(table));
        let drawn: Vec<Option<Figure>> = drawn.into_iter().collect::<Result<_>>()?;
        Ok(drawn.into_iter().flatten().take(most).collect())
    }

    fn interest(&self, table: &TableDiff) -> Reverse<(usize, usize, usize, usize)> {
        let new = |severity| {
            let here = |f: &&Finding| f.path == table.path && f.severity == severity;
            self.findings.iter().filter(|f| f.new == Some(true)).filter(here).count()
        };
        let rows = table.rows.as_ref();
        Reverse((
            new(Severity::Error),
            new(Severity::Warning),
            rows.map_or(0, |r| r.changed.len()),
            rows.map_or(0, |r| r.added.len()),
        ))
    }

    fn figure(&self, change: &TableDiff) -> Result<Option<Figure>> {
        let Some((file, head)) = self.read(self.head, &change.path) else { return Ok(None) };
        let before = change.old_path.as_ref().unwrap_or(&change.path);
        let base = change.base_rows.and_then(|_| self.read(self.base, before));
        let systems = &self.head.catalog.systems;
        let system = systems.get(&file.place.system).and_then(|s| s.system.as_ref().ok());
        let spec = self.specs.table(file, Some(&head));
        let of = Subject {
            table: &head,
            spec: &spec,
            place: &file.place,
            system,
            lookups: &self.specs.lookups,
        };
        let base = base.as_ref().map(|(_, table)| table).zip(change.rows.as_ref());
        let change = base.map(|(base, rows)| choose::Change { base, rows });
        let chart = self.specs.charts.get(&file.table);
        let marked = self.marked(&file.entry.path);
        choose::figure(chart.unwrap_or(&ChartSpec::default()), of, change, &marked).map_err(|e| {
            Error::new(format!("cannot draw {}: {e}", file.table), "the formula is in charts/")
        })
    }

    /// Rows that new findings show.
    fn marked(&self, path: &str) -> BTreeSet<usize> {
        let new = self.findings.iter().filter(|f| f.new == Some(true) && f.path == path);
        new.flat_map(|f| &f.examples).map(|e| e.row as usize).collect()
    }

    fn read<'s>(&'s self, state: State<'s>, path: &str) -> Option<(&'s TableFile, Table)> {
        let file = state.catalog.tables.iter().find(|t| t.entry.path == path)?;
        let bytes = state.source.read(&file.entry).ok()?;
        Some((file, self.specs.decode(file, &bytes).ok()?))
    }
}

fn gained(table: &TableDiff) -> bool {
    table.rows.as_ref().is_some_and(|rows| !rows.added.is_empty() || !rows.changed.is_empty())
}

/// Draws figures. Those of one name, a table in two layouts, are numbered.
///
/// # Errors
///
/// When drawing fails, which is a fault of this program.
pub fn drawings(figures: &[Figure], threads: usize) -> Result<Vec<Drawing>> {
    let order: Vec<usize> = (0..figures.len()).collect();
    let drawn = parallel::map(figures, &order, parallel::threads(threads), |figure| {
        let svg = draw::svg(figure)?;
        let png = raster::png(&svg)?;
        Ok(Drawing { name: figure.name.clone(), title: figure.title.clone(), svg, png })
    });
    let mut drawn: Vec<Drawing> = drawn.into_iter().collect::<Result<_>>()?;
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for drawing in &mut drawn {
        let times = seen.entry(drawing.name.clone()).or_default();
        *times += 1;
        if *times > 1 {
            drawing.name = format!("{}-{times}", drawing.name);
        }
    }
    Ok(drawn)
}
