//! The versions that a query can reach.

use std::collections::BTreeMap;
use std::str::FromStr;

use pep440_rs::Version;
use serde::Deserialize;

use crate::base::reason::Reason;

/// The contents of `query_versions.yaml`: the versions of each backend that a query can name, with exceptions
/// for single systems. Rows of all other versions only fill gaps of these versions.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueryVersions {
    schema_version: i64,
    /// The versions by backend.
    #[serde(default)]
    defaults: BTreeMap<String, Authored>,
    /// The exceptions by system, then by backend. They have no next version.
    #[serde(default)]
    overrides: BTreeMap<String, BTreeMap<String, Authored>>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Authored {
    current: String,
    #[serde(default)]
    previous: Option<String>,
}

/// The versions of a system's backend that a query can reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slots<'a> {
    /// The newest version that was collected completely.
    pub current: &'a str,
    /// The version before `current`.
    pub previous: Option<&'a str>,
    /// The newest version with data on any system, if it is newer than `current`.
    pub next: Option<&'a str>,
}

impl QueryVersions {
    /// Parses `query_versions.yaml`.
    ///
    /// # Errors
    ///
    /// One line, if the text is not YAML of this form.
    pub fn parse(text: &str) -> Result<Self, Reason> {
        let versions: Self = crate::base::yaml::parse(text)?;
        if versions.schema_version == 1 {
            Ok(versions)
        } else {
            Err(format!("schema_version is {}, not 1", versions.schema_version).into())
        }
    }

    /// Returns the versions of a system's backend that a query can reach; `None` if the file does not mention
    /// the backend. `fleet` are the backend's versions with data on any system.
    pub fn slots<'a>(
        &'a self,
        system: &str,
        backend: &str,
        fleet: impl Iterator<Item = &'a str>,
    ) -> Option<Slots<'a>> {
        let own = self.overrides.get(system).and_then(|o| o.get(backend));
        let authored = own.or_else(|| self.defaults.get(backend))?;
        let current = Version::from_str(&authored.current).ok();
        let parsed = fleet.filter_map(|v| Some((Version::from_str(v).ok()?, v)));
        let newer = parsed.filter(|(v, _)| current.as_ref().is_some_and(|current| v > current));
        let next = if own.is_some() { None } else { newer.max().map(|(_, version)| version) };
        Some(Slots { current: &authored.current, previous: authored.previous.as_deref(), next })
    }

    /// Returns true if the file has its own versions for this system and backend.
    pub fn is_frozen(&self, system: &str, backend: &str) -> bool {
        self.overrides.get(system).is_some_and(|o| o.contains_key(backend))
    }
}

impl<'a> Slots<'a> {
    /// Returns the reachable versions, the current one first.
    pub fn versions(&self) -> impl Iterator<Item = &'a str> {
        [Some(self.current), self.previous, self.next].into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "schema_version: 1\n\
        defaults:\n  trtllm: {current: '1.3.0rc20', previous: '1.2.0rc5'}\n  sglang: {current: '0.5.14'}\n\
        overrides:\n  a100_sxm:\n    trtllm: {current: '1.0.0', previous: null}\n";

    #[test]
    fn the_next_version_is_the_newest_with_data() {
        let versions = QueryVersions::parse(TEXT).unwrap();
        let fleet = ["1.3.0rc20", "1.3.0rc9", "1.3.0rc23", "odd"];
        let slots = versions.slots("h200_sxm", "trtllm", fleet.into_iter()).unwrap();
        let reached: Vec<&str> = slots.versions().collect();
        assert_eq!(reached, ["1.3.0rc20", "1.2.0rc5", "1.3.0rc23"]);
        let frozen = versions.slots("a100_sxm", "trtllm", fleet.into_iter()).unwrap();
        assert_eq!(frozen, Slots { current: "1.0.0", previous: None, next: None });
        assert!(versions.is_frozen("a100_sxm", "trtllm") && !versions.is_frozen("x", "trtllm"));
        let none = versions.slots("h200_sxm", "sglang", [].into_iter()).unwrap();
        assert_eq!(none.next, None);
        assert_eq!(versions.slots("h200_sxm", "vllm", [].into_iter()), None);
    }

    #[test]
    fn what_is_malformed_is_refused() {
        assert!(QueryVersions::parse("schema_version: 2\n").is_err());
        assert!(
            QueryVersions::parse("schema_version: 1\ndefaults: {a: {currant: '1'}}\n").is_err()
        );
    }
}
