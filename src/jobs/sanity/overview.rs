//! Draws charts of a database without a base to compare with.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::base::error::Result;
use crate::checks::settings::Settings;
use crate::database::catalog::{Catalog, TableFile};
use crate::database::selection::Selection;
use crate::database::served::Shelf;
use crate::database::source;
use crate::database::state::State;
use crate::report::chart::{self, ChartFigure};

/// The options of `sanity` without a base.
#[derive(Debug, Default, Clone)]
pub struct OverviewOptions {
    /// The repository, or a folder in it.
    pub root: PathBuf,
    /// A commit to read; `None` reads the files on disk.
    pub reference: Option<String>,
    /// The tables to draw, each in its newest version.
    pub selection: Selection,
    /// A folder whose files are added to the built-in rules and charts or replace them.
    pub rules: Option<PathBuf>,
    /// The maximum number of charts.
    pub charts: usize,
}

/// Draws the newest version of every selected table.
///
/// # Errors
///
/// Returns an error if there is no database, or if the selection names something unknown.
pub fn run(options: &OverviewOptions) -> Result<Vec<ChartFigure>> {
    let source = source::open(&options.root, options.reference.as_deref())?;
    let mut settings = Settings::read(source.as_ref(), options.rules.as_deref(), None)?;
    let catalog = Catalog::read(source.as_ref(), &settings.specs)?;
    let facts = &settings.take_facts(source.as_ref(), &catalog);
    let selected = options.selection.resolve(&catalog, None)?;
    let reuse = BTreeMap::new();
    let shelf = Shelf::new(&catalog, &reuse, &settings.specs);
    let is_newest = |file: &TableFile| {
        let editions = shelf.editions(file);
        let current = editions.and_then(|e| shelf.current(&file.place.system, e));
        current.is_some_and(|e| e.version == file.place.version)
    };
    let mut tables: Vec<&TableFile> = catalog.tables.iter().collect();
    tables.retain(|t| selected.table(&t.place, &t.table) && is_newest(t));
    let specs = &settings.specs;
    let state = State { source: source.as_ref(), catalog: &catalog, facts, specs };
    chart::overview(state, &tables, &settings.specs, options.charts)
}
