//! The versions about which the planner is asked, with the files that serve them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use schemars::JsonSchema;

use super::session::PlannerError;
use crate::database::catalog::Place;

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

impl PlannedVersion {
    /// Creates a version from the system, backend and version of a table's place.
    pub(super) fn of(place: &Place) -> Self {
        let Place { system, backend, version, .. } = place.clone();
        Self { system, backend, version }
    }
}

impl fmt::Display for PlannedVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.system, self.backend, self.version)
    }
}

/// Whether a version is its backend's current version, the next version, or another version. Queries that name no
/// version use the current version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// The version that the planner uses for a query without a version.
    Current,
    /// The version that the database declares as the next one.
    Next,
    /// Any other version.
    Other,
}

/// A version about which the planner is asked.
#[derive(Debug, Clone)]
pub struct AskedVersion {
    /// The version.
    pub version: PlannedVersion,
    /// The slot of the version in the state after the change: its backend's current version, the next version, or
    /// another one.
    pub slot: Slot,
    /// True if a query can name the version. Steps are predicted only for such versions.
    pub is_queried: bool,
    /// The version's tables whose files change. The map's keys are the tables' file names.
    pub changed: BTreeMap<String, ServingFiles>,
    /// The tables that the engine loads one by one for this version, by file name. A file that serves several versions
    /// is loaded for only one of these versions.
    pub loads: BTreeSet<String>,
    /// Paths of changed files that the planner reads for the version and that are not tables.
    pub facts: Vec<String>,
    /// The reason why the planner cannot be asked about the version; `None` if it can be asked.
    pub absent: Option<String>,
    /// The error with which the planner refuses to open the version after the change; `None` if the planner opens the
    /// version. The flag is true if the planner could open the version before the change.
    pub refused: Option<(PlannerError, bool)>,
}

impl AskedVersion {
    /// Returns true if the change affects a file that the planner reads for the version.
    pub(crate) fn is_changed(&self) -> bool {
        !self.changed.is_empty() || !self.facts.is_empty()
    }
}

/// The files that serve a table before and after a change, in the order in which the planner reads them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServingFiles {
    /// The paths of the files before the change.
    pub before: Vec<String>,
    /// The paths of the files after the change.
    pub after: Vec<String>,
    /// The paths of files whose bytes change, or that serve the table only before or only after the change.
    pub paths: BTreeSet<String>,
}
