//! Opens the states and models that the options of `impact` and `reach` name.

use super::choose::{self, Choice};
use super::options::ImpactOptions;
use super::planned_version::{PlannedVersion, States};
use crate::base::error::Result;
use crate::checks::settings::Settings;
use crate::database::catalog::{Catalog, no_database};
use crate::database::facts::TreeFacts;
use crate::database::served::ServedFormats;
use crate::database::source::{self, Source};
use crate::database::state::ReadState;
use crate::planner::{Models, Store};

/// One or two opened states of a database, and the selected models.
pub(crate) struct Opened {
    head: Box<dyn Source>,
    after: ReadState,
    before: Option<(Box<dyn Source>, ReadState)>,
    pub models: Models,
}

impl Opened {
    /// Opens the sources, lists their files and reads the selected models.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no database or commit, or if a list of operations is malformed.
    pub fn read(options: &ImpactOptions) -> Result<Self> {
        let head = source::open(&options.root, options.head.as_deref())?;
        let base = options.base.as_deref().map(|base| head.base(base)).transpose()?;
        let judged = base.as_deref().unwrap_or(head.as_ref());
        // Settings are read from the base, so that a change cannot alter how it is judged.
        let specs = Settings::read(judged, options.rules.as_deref(), None)?.specs;
        let wanted = choose::names(&options.models, "model", Models::names(&specs.library))?;
        let models = Models::read(&specs.library, |name| wanted.has(name))?;
        let read = |source: &dyn Source| -> Result<ReadState> {
            let catalog = Catalog::walk(source, &specs)?;
            let facts = TreeFacts::read(source, &catalog, &specs);
            Ok(ReadState::new(catalog, facts, &specs))
        };
        let after = read(head.as_ref())?;
        let before = base.map(|base| read(base.as_ref()).map(|state| (base, state))).transpose()?;
        let opened = Self { head, after, before, models };
        if opened.catalogs().all(|catalog| catalog.systems.is_empty()) {
            return Err(no_database());
        }
        Ok(opened)
    }

    /// Iterates over the catalogs of the states; the later state comes last.
    pub fn catalogs(&self) -> impl Iterator<Item = &Catalog> {
        self.before.iter().map(|(_, state)| &state.catalog).chain([&self.after.catalog])
    }

    /// Returns the catalog of the later state.
    pub fn after(&self) -> &Catalog {
        &self.after.catalog
    }

    /// Returns the states as a planner sees them; decoded tables are kept in `store`.
    ///
    /// # Errors
    ///
    /// Returns an error if a manifest or `query_versions.yaml` of a state cannot be read.
    pub fn states<'a>(&'a self, store: &'a Store) -> Result<States<'a>> {
        let before = self.before.as_ref().map(|(base, state)| state.of(base.as_ref()));
        let after = self.after.of(self.head.as_ref());
        States::new(before, after, ServedFormats::Parquet, store)
    }

    /// Returns the versions to predict, sorted.
    ///
    /// # Errors
    ///
    /// Returns an error if an option names an unknown system, backend or version.
    pub fn versions(&self, options: &ImpactOptions) -> Result<Vec<PlannedVersion>> {
        let store = Store::default();
        let states = self.states(&store)?;
        let choice = Choice { options, models: &self.models, states: &states };
        Ok(choice.versions()?.into_iter().map(|(version, _)| version).collect())
    }
}
