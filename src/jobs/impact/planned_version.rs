//! A version of a backend on a system, for which predictions are made.

use std::fmt;

use schemars::JsonSchema;

use crate::database::catalog::Place;
use crate::planner::{PlannerSession, Refusal, Snapshot};

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
