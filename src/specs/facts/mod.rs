//! Facts that a database states in documents beside its tables. `rules/facts.yaml` lists these documents and
//! the values that apply without them.

mod kernels;
mod lanes;
mod operations;
mod versions;

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

pub(crate) use self::kernels::{KERNEL_COLUMN, KernelChoices, KernelSources};
pub(crate) use self::lanes::{AttentionLanes, Lanes};
pub use self::operations::Operations;
pub(crate) use self::versions::{QueryVersions, Slots};
use super::SpecFile;
use crate::base::error::Result;

/// The contents of `rules/facts.yaml`: the files in which a database states facts, and the values to use without them.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FactFiles {
    /// The location of the operation catalog, which lists table families and their tables.
    pub operation_catalog: FactFile,
    /// The location of the reuse manifest, which lists the rows that backends share.
    pub reuse_manifest: FactFile,
    /// The location of the file with the versions that a query can reach.
    pub query_versions: FactFile,
    /// The location of the attention lanes' file, which states the kernels whose rows the loader tries first.
    pub attention_lanes: LanesFile,
    /// The location of the file that states the backend for each kernel name.
    pub kernel_sources: FactFile,
    /// The locations of the lists of numbers that exist only in the loader's code, by the list's name.
    pub pins: BTreeMap<String, PinFile>,
}

/// The location of a file that states facts.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FactFile {
    /// The end of the file's path in the database.
    pub file: String,
    /// True if the file must be in the same folder as the systems' YAML.
    #[serde(default)]
    pub beside: bool,
    /// The end of the path in earlier versions of the database; used if `file` does not exist.
    #[serde(default)]
    pub formerly: Option<String>,
}

/// The location of the attention lanes' file, and the tables whose rows have lanes.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LanesFile {
    file: String,
    #[serde(default)]
    beside: bool,
    /// The tables whose loader stores the rows of each lane separately.
    pub tables: Vec<String>,
    /// The column that names the lane.
    pub column: String,
}

/// The location of a list of pinned numbers in the loader's code, and the values to use without the code.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinFile {
    /// A description for people; not used.
    #[serde(rename = "about")]
    _about: String,
    file: String,
    /// The piece of code after which the list starts.
    pub after: String,
    /// The pinned numbers to use if the judged commit lacks the source file.
    pub values: Pins,
}

impl LanesFile {
    /// Returns the location of the lanes' file.
    pub(crate) fn place(&self) -> FactFile {
        FactFile { file: self.file.clone(), beside: self.beside, formerly: None }
    }
}

impl PinFile {
    /// Returns the location of the source file that contains the list.
    pub(crate) fn place(&self) -> FactFile {
        FactFile { file: self.file.clone(), beside: false, formerly: None }
    }
}

impl FactFiles {
    /// Reads the last of the given versions of `rules/facts.yaml`; without a version, all facts are empty.
    pub(super) fn read<'a>(files: impl Iterator<Item = &'a SpecFile>) -> Result<Self> {
        files.last().map_or_else(|| Ok(Self::default()), SpecFile::parse)
    }
}

/// The facts that a work tree or commit states itself. A field is `None` if the tree does not state the fact.
#[derive(Debug, Clone, Default)]
pub struct StatedFacts {
    /// The operation catalog: table families and their tables.
    pub operations: Option<Operations>,
    /// The versions that a query can reach.
    pub query_versions: Option<QueryVersions>,
    /// The attention lanes: the kernels whose rows the loader tries first.
    pub lanes: Option<AttentionLanes>,
    /// The backend that runs for each kernel name.
    pub kernel_sources: Option<KernelSources>,
    /// The pinned numbers in the loader's code, by the list's name.
    pub pins: BTreeMap<String, Pins>,
    /// The names of the lists whose source file a pull request changes. Such a list may gain a text in that change.
    pub unsettled: BTreeSet<String>,
}

/// The pinned numbers of a list: the number for each text, such as a model's name.
pub(crate) type Pins = BTreeMap<String, f64>;

/// Reads the match arms `"text" => Some(number)` of the Rust function whose code starts with `after`. The function ends
/// at the next line that is only a closing brace. `None` if `after` is missing or the function has no such arms: the
/// loader may have been rewritten and still have pinned numbers.
pub(crate) fn pins_of(code: &str, after: &str) -> Option<Pins> {
    let body = &code[code.find(after)? + after.len()..];
    let body = body.lines().take_while(|line| *line != "}");
    let pins: Pins = body.filter_map(arm).flatten().collect();
    (!pins.is_empty()).then_some(pins)
}

/// Parses a match arm `"a" | "b" => Some(3),` into pairs of text and number; `None` for any other line.
fn arm(line: &str) -> Option<Vec<(String, f64)>> {
    let (patterns, value) = line.trim().split_once("=>")?;
    let value = value.trim().strip_prefix("Some(")?.split(')').next()?;
    let value: f64 = value.replace('_', "").parse().ok()?;
    let text =
        |pattern: &str| pattern.trim().strip_prefix('"')?.strip_suffix('"').map(str::to_owned);
    let texts = patterns.split('|').map(text).collect::<Option<Vec<_>>>()?;
    Some(texts.into_iter().map(|text| (text, value)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "
fn other(model: &str) -> Option<u32> {
    match model {
        \"x\" => Some(7),
    }
}
fn heads(model: &str) -> Option<u32> {
    match model {
        // \"no\" => Some(1),
        \"a/b\" => Some(128),
        \"c\" | \"d-e\" => Some(96), // 96
        _ => None,
    }
}
fn last() { \"z\" => Some(3) }
";

    #[test]
    fn the_constants_of_a_loader_function_are_read() {
        let pins = pins_of(CODE, "fn heads(").unwrap();
        let pins: Vec<(&str, f64)> = pins.iter().map(|(t, v)| (t.as_str(), *v)).collect();
        assert_eq!(pins, [("a/b", 128.0), ("c", 96.0), ("d-e", 96.0)]);
    }

    #[test]
    fn a_rewritten_loader_function_gives_no_constants() {
        assert_eq!(pins_of(CODE, "fn gone("), None);
        assert_eq!(pins_of("fn heads(m: &str) {\n    TABLE.get(m)\n}\n", "fn heads("), None);
    }
}
