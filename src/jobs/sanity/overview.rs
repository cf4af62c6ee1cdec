//! Draws charts of a database without a base to compare with.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::base::error::Result;
use crate::database::catalog::TableFile;
use crate::database::selection::Selection;
use crate::database::served::Shelf;
use crate::jobs::site::Site;
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
    let OverviewOptions { root, reference, selection, rules, charts } = options;
    let site = Site::open(root, reference.as_deref(), rules.as_deref(), selection)?;
    let reuse = BTreeMap::new();
    let shelf = Shelf::new(&site.catalog, &reuse, site.specs());
    let is_newest = |file: &&TableFile| {
        let editions = shelf.editions(file);
        let current = editions.and_then(|e| shelf.current(&file.place.system, e));
        current.is_some_and(|e| e.version == file.place.version)
    };
    let tables: Vec<&TableFile> = site.tables().filter(is_newest).collect();
    chart::overview(site.state(), &tables, site.specs(), *charts)
}
