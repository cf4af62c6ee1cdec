//! The versions that a query can reach.

use std::collections::BTreeMap;
use std::str::FromStr;

use pep440_rs::Version;
use serde::Deserialize;

use crate::base::error::Reason;

/// The contents of `query_versions.yaml`: the versions of each backend that a query to the planner can select. Rows of
/// other versions are used only for keys that these versions lack.
#[derive(Debug, Clone, Deserialize)]
pub struct QueryVersions {
    /// The versions that apply to every system without an entry in `overrides`, by backend; `None` if the file lists
    /// none.
    #[serde(default)]
    defaults: Option<BTreeMap<String, StatedVersions>>,
    /// The versions that apply to a single system, by system, then by backend; `None` if the file lists none. On such a
    /// system, a query cannot select newer versions than these.
    #[serde(default)]
    overrides: Option<BTreeMap<String, BTreeMap<String, StatedVersions>>>,
}

/// A backend's versions as `query_versions.yaml` writes them: either a map such as `{current: 1.3.0, previous: 1.2.0}`,
/// or a list whose first version is the current one.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum StatedVersions {
    Slots(BTreeMap<String, Option<Names>>),
    OneOrMore(Names),
}

/// The names of one or several versions of a backend.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Names {
    One(String),
    Several(Vec<String>),
}

/// The versions of a backend that a query can select on one system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slots<'a> {
    /// The current version: the newest version that was collected completely.
    pub current: &'a str,
    /// The versions other than the current one that the file lists, such as the previous version.
    pub others: Vec<&'a str>,
    /// The newest version with data on any system, if it is newer than `current`.
    pub next: Option<&'a str>,
}

impl Names {
    fn list(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Several(names) => names,
        }
    }
}

impl StatedVersions {
    /// Returns all versions, with the current one first; empty if no version is current.
    fn versions(&self) -> Vec<&str> {
        let slots = match self {
            Self::OneOrMore(names) => return names.list().iter().map(String::as_str).collect(),
            Self::Slots(slots) => slots,
        };
        let named = |slot: &str| slots.get(slot).into_iter().flatten().flat_map(Names::list);
        if named("current").next().is_none() {
            return Vec::new();
        }
        let others = slots.keys().filter(|slot| *slot != "current");
        named("current").chain(others.flat_map(|slot| named(slot))).map(String::as_str).collect()
    }
}

impl QueryVersions {
    /// Parses `query_versions.yaml`.
    ///
    /// # Errors
    ///
    /// If the text is not YAML of this form; the error is one line.
    pub fn parse(text: &str) -> Result<Self, Reason> {
        let versions: Option<Self> = crate::base::yaml::parse(text)?;
        versions.ok_or_else(|| "the file is empty".into())
    }

    /// Returns the versions of a backend that a query can select on a system; `None` if the file states no current
    /// version of the backend. `fleet` contains the backend's versions that have tables on at least one system.
    pub fn slots<'a>(
        &'a self,
        system: &str,
        backend: &str,
        fleet: impl Iterator<Item = &'a str>,
    ) -> Option<Slots<'a>> {
        let own = self.overrides.as_ref().and_then(|all| all.get(system)?.get(backend));
        let authored = own.or_else(|| self.defaults.as_ref()?.get(backend))?.versions();
        let (stated, others) = authored.split_first()?;
        let current = Version::from_str(stated).ok();
        let parsed = fleet.filter_map(|v| Some((Version::from_str(v).ok()?, v)));
        let newer = parsed.filter(|(v, _)| current.as_ref().is_some_and(|current| v > current));
        let next = if own.is_some() { None } else { newer.max().map(|(_, version)| version) };
        Some(Slots { current: stated, others: others.to_vec(), next })
    }

    /// Returns true if the file lists versions of the backend for this system alone. A query then cannot select newer
    /// versions than these.
    pub(crate) fn is_frozen(&self, system: &str, backend: &str) -> bool {
        let own = self.overrides.as_ref().and_then(|all| all.get(system));
        own.is_some_and(|own| own.contains_key(backend))
    }
}

impl<'a> Slots<'a> {
    /// Returns the versions that a query can select, with the current version first.
    pub(crate) fn versions(&self) -> impl Iterator<Item = &'a str> {
        std::iter::once(self.current).chain(self.others.iter().copied()).chain(self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "schema_version: 1\n\
        defaults:\n  trtllm: {current: '1.3.0rc20', previous: '1.2.0rc5'}\n  sglang: {current: '0.5.14'}\n\
        overrides:\n  a100_sxm:\n    trtllm: {current: '1.0.0', previous: null}\n";

    #[test]
    fn the_next_version_is_the_newest_version_with_data() {
        let versions = QueryVersions::parse(TEXT).unwrap();
        let fleet = ["1.3.0rc20", "1.3.0rc9", "1.3.0rc23", "odd"];
        let slots = versions.slots("h200_sxm", "trtllm", fleet.into_iter()).unwrap();
        let reached: Vec<&str> = slots.versions().collect();
        assert_eq!(reached, ["1.3.0rc20", "1.2.0rc5", "1.3.0rc23"]);
        let frozen = versions.slots("a100_sxm", "trtllm", fleet.into_iter()).unwrap();
        assert_eq!(frozen, Slots { current: "1.0.0", others: Vec::new(), next: None });
        assert!(versions.is_frozen("a100_sxm", "trtllm") && !versions.is_frozen("x", "trtllm"));
        let none = versions.slots("h200_sxm", "sglang", [].into_iter()).unwrap();
        assert_eq!(none.next, None);
        assert_eq!(versions.slots("h200_sxm", "vllm", [].into_iter()), None);
    }

    #[test]
    fn lists_and_unknown_slots_of_query_versions_are_read() {
        let reached = |entry: &str| {
            let text = format!("schema_version: 2\ndefaults: {{vllm: {entry}}}\nfurther: []\n");
            let versions = QueryVersions::parse(&text).unwrap();
            let slots = versions.slots("h200_sxm", "vllm", ["0.24.0", "0.25.0"].into_iter());
            slots.map(|slots| slots.versions().collect::<Vec<_>>().join(" "))
        };
        let all = Some("0.24.0 0.22.0 0.23.0 0.25.0".to_owned());
        assert_eq!(reached("{current: 0.24.0, previous: [0.22.0, 0.23.0]}"), all);
        assert_eq!(reached("{current: [0.24.0, 0.22.0], stable: 0.23.0, previous: null}"), all);
        assert_eq!(reached("[0.24.0, 0.22.0, 0.23.0]"), all);
        assert_eq!(reached("{current: null, previous: 0.22.0}"), None, "no version is current");
    }

    #[test]
    fn malformed_query_versions_are_refused() {
        assert!(QueryVersions::parse("defaults: {a: {current: {b: '1'}}}\n").is_err());
        assert!(QueryVersions::parse("defaults: 7\n").is_err());
    }
}
