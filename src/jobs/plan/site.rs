//! Options of `plan`, and the database that a plan is made for.

use std::path::PathBuf;

use crate::base::error::Result;
use crate::checks::settings::Settings;
use crate::database::catalog::{Catalog, TableFile};
use crate::database::facts::TreeFacts;
use crate::database::selection::Selection;
use crate::database::source::{self, Source};
use crate::database::state::{ReadState, State};
use crate::specs::Specs;

/// What asks for points.
#[derive(Debug, Clone)]
pub enum Occasion {
    /// A report in JSON, and the rules of it that count; all but infos where none is named.
    Report(PathBuf, Vec<String>),
    /// What the nearest systems have and a table would not serve.
    Holes,
    /// What default models read and a version lacks; with `own`, what they read of its own tables too.
    Predictions {
        /// Whether rows of the version's own tables count.
        own: bool,
    },
    /// A measured column, and the share of each slice's keys that should have it.
    Coverage {
        /// The column.
        column: String,
        /// The share, 0 to 1.
        share: f64,
    },
}

/// What to plan.
#[derive(Debug, Clone)]
pub struct PlanOptions {
    /// The folder or repository.
    pub root: PathBuf,
    /// A commit to read instead of the files on disk.
    pub reference: Option<String>,
    /// Which part of the database.
    pub selection: Selection,
    /// What asks for points.
    pub occasion: Occasion,
    /// A collector's log directory, whose failures explain what is missing.
    pub ledger: Option<PathBuf>,
    /// A folder that overlays the embedded rules.
    pub rules: Option<PathBuf>,
}

/// A state of a database, and how it is read.
pub(super) struct PlanSite {
    pub source: Box<dyn Source>,
    pub settings: Settings,
    pub read: ReadState,
    /// The tables selected, as indices into the catalog.
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
