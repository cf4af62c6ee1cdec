//! Charts of a database by itself, where there is nothing to compare it with.

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

/// Which tables to draw.
#[derive(Debug, Default, Clone)]
pub struct OverviewOptions {
    /// The repository, or a folder in it.
    pub root: PathBuf,
    /// A commit to read instead of the files on disk.
    pub reference: Option<String>,
    /// Which tables; of each the newest version is drawn.
    pub selection: Selection,
    /// A folder that overlays the embedded rules, and so which charts a table has.
    pub rules: Option<PathBuf>,
    /// Charts wanted, at most.
    pub charts: usize,
}

/// Charts of the newest version of every table that is selected.
///
/// # Errors
///
/// When there is nothing to draw from: no database, an unknown system.
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
