//! The options of `plan`, and the opened database.

use std::path::PathBuf;

use crate::base::error::Result;
use crate::checks::settings::Settings;
use crate::database::catalog::{Catalog, TableFile};
use crate::database::facts::TreeFacts;
use crate::database::selection::Selection;
use crate::database::source::{self, Source};
use crate::database::state::{ReadState, State};
use crate::specs::Specs;

/// The source of the points to plan.
#[derive(Debug, Clone)]
pub enum Occasion {
    /// A JSON report, and the ids of the rules to use; without ids, all findings except infos are
    /// used.
    Report(PathBuf, Vec<String>),
    /// Keys that similar systems have and a table does not serve.
    Holes,
    /// Rows that default models read and a version lacks.
    Predictions {
        /// True to include rows of the version's own tables.
        own: bool,
    },
    /// Rows that raise the share of keys with a measured column.
    Coverage {
        /// The name of the column.
        column: String,
        /// The wanted share of each slice's keys, from 0 to 1.
        share: f64,
    },
}

/// The options of `plan`.
#[derive(Debug, Clone)]
pub struct PlanOptions {
    /// The repository or folder that contains the database.
    pub root: PathBuf,
    /// A commit to read; `None` reads the files on disk.
    pub reference: Option<String>,
    /// The systems, backends, versions and tables to plan for.
    pub selection: Selection,
    /// The source of the points.
    pub occasion: Occasion,
    /// A collector's log directory; missing keys that its recorded failures explain are left out.
    pub ledger: Option<PathBuf>,
    /// A folder whose files are added to the built-in rules or replace them.
    pub rules: Option<PathBuf>,
}

/// An opened state of a database with its settings.
pub(super) struct PlanSite {
    pub source: Box<dyn Source>,
    pub settings: Settings,
    pub read: ReadState,
    /// Indices of the selected tables in the catalog.
    tables: Vec<usize>,
}

impl PlanSite {
    pub fn open(options: &PlanOptions) -> Result<Self> {
        let source = source::open(&options.root, options.reference.as_deref())?;
        let settings = Settings::read(source.as_ref(), options.rules.as_deref(), None)?;
        let catalog = Catalog::read(source.as_ref(), &settings.specs)?;
        let selected = options.selection.resolve(&catalog, None)?;
        let chosen = |t: &TableFile| selected.table(&t.place, &t.table);
        let tables = (0..catalog.tables.len()).filter(|i| chosen(&catalog.tables[*i])).collect();
        let facts = TreeFacts::read(source.as_ref(), &catalog, &settings.specs);
        let read = ReadState::new(catalog, facts, &settings.specs);
        Ok(Self { source, settings, read, tables })
    }

    pub fn state(&self) -> State<'_> {
        self.read.of(self.source.as_ref())
    }

    pub fn specs(&self) -> &Specs {
        &self.read.specs
    }

    pub fn tables(&self) -> &[TableFile] {
        &self.read.catalog.tables
    }

    pub fn selected(&self) -> impl Iterator<Item = &TableFile> {
        self.tables.iter().map(|i| &self.tables()[*i])
    }
}
