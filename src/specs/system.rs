//! Systems: the YAML file that describes a GPU machine.
//!
//! The loader reads the YAML in a database, so its values win. Facts that it does not contain (generation,
//! device names) come from the facts embedded in the binary.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use globset::GlobMatcher;

use crate::base::error::Reason;
use crate::base::glob::{self, GlobScope};

/// A GPU system: peak rates, power, links, and device names.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct System {
    /// The system's name. Its YAML file has the same name, with the extension `.yaml`.
    pub name: String,
    /// The numbers in the system's YAML by dotted path, in SI units: `gpu.mem_bw` in B/s, `gpu.bfloat16_tc_flops` in
    /// FLOP/s.
    pub figures: BTreeMap<String, f64>,
    /// The texts in the system's YAML by dotted path, such as `data_dir` or `misc.nccl_version`.
    pub texts: BTreeMap<String, String>,
    /// Glob patterns for the device names in rows that were measured on the system.
    pub devices: Vec<String>,
    /// Other correct values of figures, by the figure's path. A figure has several correct values if, for example,
    /// newer machines of the same name have a faster network.
    pub also: BTreeMap<String, Vec<f64>>,
    /// The paths of figures that are only estimates. Figures of other systems are not compared with them.
    pub unconfirmed: BTreeSet<String>,
}

/// The path of the figure for the last-level cache's size in bytes.
pub(crate) const L2_CACHE: &str = "gpu.l2_cache";

/// The path of the figure for the memory bandwidth in B/s.
pub(crate) const MEMORY_BANDWIDTH: &str = "gpu.mem_bw";

/// The path of the figure for the GPU's power limit in W.
pub(crate) const POWER: &str = "gpu.power";

/// The prefix of the fields in a system's YAML that contain additional correct values of figures.
const ALSO: &str = "also.";

impl System {
    /// Parses a system's YAML. An error is one line that names the place in the file.
    pub fn parse(name: &str, text: &str) -> Result<Self, Reason> {
        let value: serde_json::Value = crate::base::yaml::parse(text)?;
        let mut system = Self { name: name.to_owned(), ..Self::default() };
        if !value.is_object() {
            return Err("it is not a map of fields".into());
        }
        system.flatten("", &value)?;
        for name in &system.devices {
            glob::parse(name, GlobScope::Names).map_err(|e| format!("devices: {e}"))?;
        }
        Ok(system)
    }

    /// Describes the fields that differ between this system and `after`, such as `node.num_gpus_per_node: 2 → 8`.
    pub(crate) fn changes(&self, after: &Self) -> Vec<String> {
        let fields = |system: &Self| -> BTreeMap<String, String> {
            let figures = system.figures.iter().map(|(path, value)| (path, value.to_string()));
            let texts = system.texts.iter().map(|(path, text)| (path, text.clone()));
            let named = figures.chain(texts).map(|(path, value)| (path.clone(), value));
            named.chain([("devices".to_owned(), system.devices.join(", "))]).collect()
        };
        let (before, after) = (fields(self), fields(after));
        let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let differ = paths.into_iter().filter(|path| before.get(*path) != after.get(*path));
        let value = |fields: &BTreeMap<String, String>, path: &str| {
            fields.get(path).map_or("none", String::as_str).to_owned()
        };
        differ
            .map(|path| format!("{path}: {} → {}", value(&before, path), value(&after, path)))
            .collect()
    }

    /// Returns true if `name` is a device name of the system's GPU.
    pub(crate) fn is_device(&self, name: &str) -> bool {
        self.device_matcher()(name)
    }

    /// Returns a function that tests whether a text is a device name of the system's GPU. The function compares texts
    /// first and compiles globs only if necessary, because compiling is slow.
    pub(crate) fn device_matcher(&self) -> impl Fn(&str) -> bool {
        let globs: OnceCell<Vec<GlobMatcher>> = OnceCell::new();
        // The patterns were checked when the YAML was parsed.
        let compiled = |glob: &String| glob::matcher(glob, GlobScope::Names).ok();
        move |name| {
            let globs = || globs.get_or_init(|| self.devices.iter().filter_map(compiled).collect());
            self.devices.iter().any(|device| device == name)
                || globs().iter().any(|glob| glob.is_match(name))
        }
    }

    fn flatten(&mut self, path: &str, value: &serde_json::Value) -> Result<(), Reason> {
        use serde_json::Value;
        // A long name would be copied into the path of every field below it.
        const LONGEST: usize = 256;
        if path.len() > LONGEST {
            return Err(format!("a field's name is longer than {LONGEST} bytes").into());
        }
        match value {
            Value::Object(map) => {
                for (key, value) in map {
                    let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                    self.flatten(&path, value)?;
                }
            }
            Value::Number(n) => {
                self.figures.insert(path.to_owned(), n.as_f64().unwrap_or(f64::NAN));
            }
            Value::String(s) if path == "devices" => self.devices = vec![s.clone()],
            Value::String(s) => {
                self.texts.insert(path.to_owned(), s.clone());
            }
            Value::Array(items) if path == "devices" => {
                self.devices = items.iter().filter_map(|i| i.as_str().map(str::to_owned)).collect();
            }
            Value::Array(items) if path == "unconfirmed" => {
                let paths = items.iter().filter_map(|path| path.as_str().map(str::to_owned));
                self.unconfirmed = paths.collect();
            }
            Value::Array(items) if path.starts_with(ALSO) => {
                let values = items.iter().filter_map(Value::as_f64).collect();
                self.also.insert(path[ALSO.len()..].to_owned(), values);
            }
            Value::Null => {}
            // Lists and flags elsewhere are kept by name, so that a misspelt field is reported.
            other => {
                self.texts.insert(path.to_owned(), other.to_string());
            }
        }
        Ok(())
    }

    /// Returns the path of a field that no system has, for example because its name is misspelt; `None` if all fields
    /// are known. Only the part of the path before the first dot is checked.
    pub(crate) fn unknown_field(&self) -> Option<&str> {
        const KNOWN: [&str; 7] =
            ["data_dir", "generation", "devices", "gpu", "layout", "node", "misc"];
        let top = |path: &'_ str| !KNOWN.contains(&path.split('.').next().unwrap_or(path));
        self.figures.keys().chain(self.texts.keys()).map(String::as_str).find(|path| top(path))
    }

    /// Returns a figure by its dotted path, such as `gpu.mem_bw`; `None` if the system's YAML lacks it.
    pub fn figure(&self, path: &str) -> Option<f64> {
        self.figures.get(path).copied()
    }

    /// Returns the correct values of a figure on this system, with the usual value first. Empty if the figure is
    /// unknown or only an estimate.
    pub(crate) fn correct_values(&self, path: &str) -> Vec<f64> {
        if self.unconfirmed.contains(path) {
            return Vec::new();
        }
        let further = self.also.get(path).into_iter().flatten().copied();
        self.figure(path).into_iter().chain(further).collect()
    }

    /// Returns the name of the GPU's generation; `None` if it is unknown. Tables of systems with the same generation
    /// are peers.
    pub fn generation(&self) -> Option<&str> {
        self.texts.get("generation").map(String::as_str)
    }

    /// Returns true if the YAML describes a system. The folder of systems can also contain other YAML files, such as a
    /// manifest.
    pub(crate) fn is_system(&self) -> bool {
        self.texts.contains_key("data_dir") || self.figures.keys().any(|k| k.starts_with("gpu."))
    }

    /// Adds the generation, device names and cache size from `facts` if the loader's YAML lacks them.
    pub fn with_facts(mut self, facts: Option<&System>) -> Self {
        let Some(facts) = facts else { return self };
        if self.devices.is_empty() {
            self.devices.clone_from(&facts.devices);
        }
        if let Some(cache) = facts.figure(L2_CACHE) {
            self.figures.entry(L2_CACHE.into()).or_insert(cache);
        }
        if self.generation().is_none()
            && let Some(generation) = facts.generation()
        {
            self.texts.insert("generation".into(), generation.into());
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_figures_of_a_system_are_read_by_dotted_names() {
        let text = "data_dir: data/x\ngpu:\n  mem_bw: 4.8e12\nmisc:\n  nccl_mem:\n    1: 0\n  nccl_version: '2.27'\ndevices: [NVIDIA X]\n";
        let system = System::parse("x", text).unwrap();
        assert_eq!(system.figure("gpu.mem_bw"), Some(4.8e12));
        assert_eq!(system.figure("misc.nccl_mem.1"), Some(0.0));
        assert_eq!(system.texts["misc.nccl_version"], "2.27");
        assert_eq!(system.devices, ["NVIDIA X"]);
    }

    #[test]
    fn a_repeated_yaml_key_is_refused_with_its_line() {
        let error = System::parse("x", "gpu:\n  power: 1\n  power: 2\n").unwrap_err().to_string();
        assert!(error.contains("line 3"), "{error}");
    }
}
