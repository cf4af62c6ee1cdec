//! Attention lanes: the kernel whose rows the loader tries first.

use std::collections::BTreeMap;

use crate::base::error::Reason;

/// The contents of `attention_lane_defaults.yaml`: the default attention lane (kernel) of each backend. The map's keys
/// are, from outside to inside, the backend, the first version with this default, and the GPU's compute capability.
/// Entries for single model architectures are ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttentionLanes(BTreeMap<String, BTreeMap<String, BTreeMap<i64, String>>>);

/// The attention lanes (kernels) of a table. The loader stores the rows of each lane separately.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lanes {
    /// The column that contains the name of a row's lane.
    pub column: String,
    /// The default lanes. For each key, the loader first looks for a row of the default lane.
    pub defaults: AttentionLanes,
}

/// The value in `attention_lane_defaults.yaml` which states that there is no default lane.
const DEFAULT: &str = "default";

/// The section of `attention_lane_defaults.yaml` for single model architectures, which is ignored.
const ARCHITECTURES: &str = "architectures";

impl AttentionLanes {
    /// Parses `attention_lane_defaults.yaml`.
    ///
    /// # Errors
    ///
    /// If the text is not YAML of this form; the error is one line.
    pub fn parse(text: &str) -> Result<Self, Reason> {
        let document: BTreeMap<String, serde_json::Value> = crate::base::yaml::parse(text)?;
        if document.is_empty() {
            return Err("it has no entries".into());
        }
        let mut lanes: BTreeMap<String, BTreeMap<String, BTreeMap<i64, String>>> = BTreeMap::new();
        for (backend, versions) in document {
            if backend == ARCHITECTURES {
                continue;
            }
            let versions: BTreeMap<String, BTreeMap<String, String>> =
                serde_json::from_value(versions).map_err(|why| format!("{backend}: {why}"))?;
            for (version, kernels) in versions {
                for (capability, lane) in kernels {
                    let number = capability.parse().map_err(|_| {
                        format!("{backend} {version}: {capability} is not a compute capability")
                    })?;
                    let versions = lanes.entry(backend.clone()).or_default();
                    versions.entry(version.clone()).or_default().insert(number, lane);
                }
            }
        }
        Ok(Self(lanes))
    }

    /// Returns the default lane (kernel) of a backend's version on GPUs with this compute capability; `None`
    /// without a default lane. A version without an entry has the lane of the newest older version with an entry.
    pub(crate) fn pinned(&self, backend: &str, version: &str, capability: i64) -> Option<&str> {
        let wanted = release(version);
        let entries = self.0.get(backend)?.iter().map(|(from, lanes)| (release(from), lanes));
        let (_, lanes) =
            entries.filter(|(from, _)| *from <= wanted).max_by(|a, b| a.0.cmp(&b.0))?;
        lanes.get(&capability).map(String::as_str).filter(|lane| *lane != DEFAULT)
    }
}

/// Returns the numbers at the start of a version, such as 1, 3 and 0 for `1.3.0rc23`. The loader compares versions by
/// these numbers when it looks up a lane.
fn release(version: &str) -> Vec<u64> {
    let mut numbers = Vec::new();
    for part in version.split('.') {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        let Ok(number) = digits.parse() else { break };
        numbers.push(number);
        if digits.len() < part.len() {
            break;
        }
    }
    if numbers.is_empty() { vec![0] } else { numbers }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "sglang:\n  '0.5.14': {90: fa3, 100: triton}\n  '0.5.20': {90: other}\n\
                        vllm:\n  '0.24.0': {90: default}\n\
                        architectures:\n  A:\n    sglang:\n      '0.5.17': {90: fa3}\n";

    #[test]
    fn the_lane_of_a_version_is_its_newest_entry_that_is_not_newer() {
        let lanes = AttentionLanes::parse(TEXT).unwrap();
        assert_eq!(lanes.pinned("sglang", "0.5.14.post1", 100), Some("triton"));
        assert_eq!(lanes.pinned("sglang", "0.5.17", 90), Some("fa3"));
        assert_eq!(lanes.pinned("sglang", "0.5.20rc1", 90), Some("other"));
        assert_eq!(lanes.pinned("sglang", "0.5.20", 100), None, "an entry stands alone");
        assert_eq!(lanes.pinned("sglang", "0.5.10", 90), None);
        assert_eq!(lanes.pinned("vllm", "0.24.0", 90), None, "the default pins nothing");
        assert_eq!(lanes.pinned("trtllm", "1.0", 90), None);
    }

    #[test]
    fn malformed_attention_lanes_are_refused() {
        assert!(AttentionLanes::parse("sglang: [1]\n").is_err());
        let why = AttentionLanes::parse("sglang:\n  '1': {hopper: fa3}\n").unwrap_err();
        assert_eq!(why.to_string(), "sglang 1: hopper is not a compute capability");
    }
}
