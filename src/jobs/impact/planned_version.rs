//! The states and versions for which predictions are made, as a planner sees them.

use std::fmt;

use schemars::JsonSchema;

use crate::base::error::Result;
use crate::database::catalog::Place;
use crate::database::served::ServedFormats;
use crate::database::state::State;
use crate::planner::{PlannerSession, Refusal, Snapshot, Store};

/// A version of a backend on a system.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, JsonSchema)]
pub struct PlannedVersion {
    /// The system's name.
    pub system: String,
    /// The backend's name.
    pub backend: String,
    /// The version's name.
    pub version: String,
}

impl fmt::Display for PlannedVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.system, self.backend, self.version)
    }
}

impl PlannedVersion {
    /// Returns the version of a place.
    pub fn of(place: &Place) -> Self {
        let Place { system, backend, version, .. } = place.clone();
        Self { system, backend, version }
    }

    /// Opens a planner session for the version in a state, or returns the reason why a planner
    /// cannot load it.
    pub fn session<'s, 'a>(
        &self,
        snapshot: &'s Snapshot<'a>,
    ) -> Result<PlannerSession<'s, 'a>, Refusal> {
        match snapshot.system(&self.system) {
            Some(system) => system.session(&self.backend, &self.version),
            None => Err(Refusal::Missing(format!("the system {} does not exist", self.system))),
        }
    }
}

/// The two states of a comparison, or a single state.
pub(crate) struct States<'a> {
    pub before: Option<Snapshot<'a>>,
    pub after: Snapshot<'a>,
}

impl<'a> States<'a> {
    /// Wraps states for the planner.
    ///
    /// # Errors
    ///
    /// Returns an error if a manifest or `query_versions.yaml` of a state cannot be read.
    pub fn new(
        before: Option<State<'a>>,
        after: State<'a>,
        formats: ServedFormats,
        store: &'a Store,
    ) -> Result<Self> {
        let snapshot = |state: State<'a>| Snapshot::new(state, formats, store);
        Ok(Self { before: before.map(snapshot).transpose()?, after: snapshot(after)? })
    }

    /// Iterates over the states; the later state comes last.
    pub fn all(&self) -> impl Iterator<Item = &Snapshot<'a>> {
        self.before.iter().chain([&self.after])
    }
}
