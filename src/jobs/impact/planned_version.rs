//! A version of a backend on a system, which predictions are made for.

use std::fmt;

use schemars::JsonSchema;

use crate::planner::{PlannerSession, Refusal, Snapshot};

/// A version of a backend on a system.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, JsonSchema)]
pub struct PlannedVersion {
    /// System.
    pub system: String,
    /// Backend.
    pub backend: String,
    /// Version.
    pub version: String,
}

impl fmt::Display for PlannedVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.system, self.backend, self.version)
    }
}

impl PlannedVersion {
    /// It in a state, or why a planner cannot load it.
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
