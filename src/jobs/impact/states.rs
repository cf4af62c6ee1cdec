//! The states that are predicted, and what they are predicted by.

use super::choose::{self, Choice};
use super::{Options, PlannedVersion};
use crate::base::error::Result;
use crate::checks::settings::Settings;
use crate::database::catalog::{Catalog, no_database};
use crate::database::served::ServedFormats;
use crate::database::source::{self, Commit, Source};
use crate::planner::{Models, Snapshot, Store};
use crate::specs::Specs;

/// What a command's options name: one state or two, rules and models.
pub(crate) struct Opened {
    head: Box<dyn Source>,
    base: Option<Commit>,
    after: Catalog,
    before: Option<Catalog>,
    pub settings: Settings,
    pub models: Models,
}

impl Opened {
    /// Opens the sources, lists their files, and reads the models that are wanted.
    ///
    /// # Errors
    ///
    /// Where there is no database or commit, or a list of operations is not written right.
    pub fn read(options: &Options) -> Result<Self> {
        let head = source::open(&options.root, options.head.as_deref())?;
        let base = options.base.as_deref().map(|base| head.base(base)).transpose()?;
        let judged = base.as_ref().map_or(head.as_ref(), |base| base as &dyn Source);
        // A change must not alter how it is judged.
        let settings = Settings::read(judged, options.rules.as_deref(), None)?;
        let specs = &settings.specs;
        let wanted = choose::names(&options.models, "model", Models::names(&specs.library))?;
        let models = Models::read(&specs.library, |name| wanted.has(name))?;
        let after = Catalog::walk(head.as_ref(), specs)?;
        let before = base.as_ref().map(|base| Catalog::walk(base, specs)).transpose()?;
        if after.systems.is_empty() && before.as_ref().is_none_or(|b| b.systems.is_empty()) {
            return Err(no_database());
        }
        Ok(Self { head, base, after, before, settings, models })
    }

    /// The catalogs of the states, the later one last.
    pub fn catalogs(&self) -> impl Iterator<Item = &Catalog> {
        self.before.iter().chain([&self.after])
    }

    /// What the later state holds.
    pub fn after(&self) -> &Catalog {
        &self.after
    }

    /// The states as a planner sees them; what they read is kept in `store`.
    ///
    /// # Errors
    ///
    /// Where a reuse manifest cannot be read.
    pub fn states<'a>(&'a self, store: &'a Store) -> Result<States<'a>> {
        let before = self.base.as_ref().zip(self.before.as_ref());
        let before = before.map(|(base, catalog)| (base as &dyn Source, catalog));
        let after = (self.head.as_ref(), &self.after);
        States::new(before, after, &self.settings.specs, ServedFormats::Parquet, store)
    }

    /// The versions to predict, sorted.
    ///
    /// # Errors
    ///
    /// Where a name is not known.
    pub fn versions(&self, options: &Options) -> Result<Vec<PlannedVersion>> {
        let store = Store::default();
        let states = self.states(&store)?;
        let choice = Choice { options, models: &self.models, states: &states };
        Ok(choice.versions()?.into_iter().map(|(version, _)| version).collect())
    }
}

/// The states of a comparison, or one.
pub(crate) struct States<'a> {
    pub before: Option<Snapshot<'a>>,
    pub after: Snapshot<'a>,
}

impl<'a> States<'a> {
    /// States of sources with their catalogs.
    ///
    /// # Errors
    ///
    /// Where a reuse manifest cannot be read.
    pub fn new(
        before: Option<(&'a dyn Source, &'a Catalog)>,
        after: (&'a dyn Source, &'a Catalog),
        specs: &'a Specs,
        formats: ServedFormats,
        store: &'a Store,
    ) -> Result<Self> {
        let snapshot = |(source, catalog): (&'a dyn Source, &'a Catalog)| {
            Snapshot::new(source, catalog, specs, formats, store)
        };
        Ok(Self { before: before.map(snapshot).transpose()?, after: snapshot(after)? })
    }

    /// Both, or the only one.
    pub fn all(&self) -> impl Iterator<Item = &Snapshot<'a>> {
        self.before.iter().chain([&self.after])
    }
}
