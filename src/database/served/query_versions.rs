//! `query_versions.yaml`: the versions that a planner answers for.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::base::error::{Error, Result};
use crate::base::reason::Reason;
use crate::base::yaml;
use crate::database::catalog::Catalog;
use crate::database::source::Source;

/// Versions by slot (`current`, `previous`, `next`) of each backend.
#[derive(Debug, Default, Deserialize)]
pub struct QueryVersions {
    #[serde(default)]
    defaults: BTreeMap<String, VersionSlots>,
    /// By system, then backend.
    #[serde(default)]
    overrides: BTreeMap<String, BTreeMap<String, VersionSlots>>,
}

/// Versions of a backend by slot; what is no text names none.
type VersionSlots = BTreeMap<String, serde_json::Value>;

impl QueryVersions {
    /// Reads it from a state; without the file nothing is said, and every version can be asked for.
    ///
    /// # Errors
    ///
    /// Where it cannot be read: then nothing says what a query reaches.
    pub fn read(source: &dyn Source, catalog: &Catalog) -> Result<Option<Self>> {
        let is_it = |path: &str| path.rsplit('/').next() == Some("query_versions.yaml");
        let Some(entry) = catalog.others.iter().find(|e| is_it(&e.path)) else { return Ok(None) };
        let bad = |why: Reason| {
            Error::new(format!("{}: {why}", entry.path), "it names each backend's current version")
        };
        let bytes = source.read(entry).map_err(|e| bad(e.into()))?;
        yaml::parse(&String::from_utf8_lossy(&bytes)).map(Some).map_err(bad)
    }

    fn slots(&self, system: &str, backend: &str) -> Option<&VersionSlots> {
        let own = self.overrides.get(system).and_then(|s| s.get(backend));
        own.or(self.defaults.get(backend))
    }

    /// The version of a backend that is planned with by default.
    pub fn current(&self, system: &str, backend: &str) -> Option<&str> {
        self.slots(system, backend)?.get("current")?.as_str()
    }

    /// Whether a query can ask for a version: one of its slots names it.
    pub fn reaches(&self, system: &str, backend: &str, version: &str) -> bool {
        let named = |slot: &serde_json::Value| slot.as_str() == Some(version);
        self.slots(system, backend).is_some_and(|slots| slots.values().any(named))
    }
}
