//! Opens a state of a database with its settings, for jobs that read tables.

use std::path::Path;

use crate::base::error::Result;
use crate::checks::settings::Settings;
use crate::database::catalog::{Catalog, TableFile};
use crate::database::facts::TreeFacts;
use crate::database::selection::{Selected, Selection};
use crate::database::source::{self, Source};
use crate::database::state::State;
use crate::specs::Specs;

/// A database that was opened for a command: its files on disk or of a commit, its settings, and the part that the
/// command selects.
pub struct Site {
    pub source: Box<dyn Source>,
    /// The settings of the run, such as rules and specs. Facts that the database states about its tables and systems
    /// override the specs.
    pub settings: Settings,
    pub catalog: Catalog,
    facts: TreeFacts,
    pub selected: Selected,
}

impl Site {
    /// Opens the files on disk at `root`, or the commit `reference` of its repository. If there are several databases,
    /// the one with the most tables is opened.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no database, if a file of `rules` is malformed, or if the
    /// selection names something unknown.
    pub fn open(
        root: &Path,
        reference: Option<&str>,
        rules: Option<&Path>,
        selection: &Selection,
    ) -> Result<Self> {
        let source = source::open(root, reference)?;
        let mut settings = Settings::read(source.as_ref(), rules, None)?;
        let files = source.files()?;
        settings.choose_layout(selection.layout.as_deref(), &files)?;
        let catalog = Catalog::some_roots(source.as_ref(), files, &settings.specs)?;
        let catalog = catalog.into_iter().next().unwrap_or_default();
        let facts = settings.take_facts(source.as_ref(), &catalog);
        let selected = selection.resolve(&catalog, None)?;
        Ok(Self { source, settings, catalog, facts, selected })
    }

    /// Returns the specs of tables and systems. The facts that the database states about them are already applied.
    pub(crate) fn specs(&self) -> &Specs {
        &self.settings.specs
    }

    /// Returns the database's source, catalog, facts and specs as one value.
    pub fn state(&self) -> State<'_> {
        let Self { source, catalog, facts, .. } = self;
        State { source: source.as_ref(), catalog, facts, specs: self.specs() }
    }

    /// Iterates over the selected tables in the catalog's order.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &TableFile> {
        self.catalog.tables.iter().filter(|t| self.selected.table(&t.place, &t.table))
    }
}
