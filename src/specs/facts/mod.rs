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

/// The contents of `rules/facts.yaml`: the paths of files in which a database states facts, and values for databases
/// without such files.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FactFiles {
    /// The location of the operation catalog, which lists table families and their tables.
    pub operation_catalog: FactFile,
    /// The location of the reuse manifest, which lists the rows that backends share.
    pub reuse_manifest: FactFile,
    /// The location of the file that lists the versions that a query can select.
    pub query_versions: FactFile,
    /// The location of the file that lists the default attention lanes (kernels).
    pub attention_lanes: LanesFile,
    /// The location of the file that lists the backend of each kernel.
    pub kernel_sources: FactFile,
    /// The locations of lists in the source code of the planner's loader, by the list's name. For example, one of these
    /// lists states the number of attention heads of each model.
    pub pins: BTreeMap<String, PinFile>,
}

/// The location of a file that states facts.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FactFile {
    /// The end of the file's path in the database.
    pub file: String,
    /// True if the file must be in the same folder as the YAML files of systems.
    #[serde(default)]
    pub beside: bool,
    /// The end of the file's path in older databases, which is used if the path in `file` does not exist; `None` if the
    /// path never changed.
    #[serde(default)]
    pub formerly: Option<String>,
}

/// The location of the file with the default attention lanes (kernels), and the tables that have lanes.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LanesFile {
    file: String,
    #[serde(default)]
    beside: bool,
    /// The tables of which the loader stores the rows of each lane separately.
    pub tables: Vec<String>,
    /// The column that contains the name of a row's lane.
    pub column: String,
}

/// The location of a list of numbers in the source code of the planner's loader, and a copy of the list.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinFile {
    /// A description for people; not used.
    #[serde(rename = "about")]
    _about: String,
    file: String,
    /// The code that precedes the list in the source file.
    pub after: String,
    /// A copy of the list. It is used if the judged commit does not contain the source file.
    pub values: Pins,
}

impl LanesFile {
    /// Returns the location of the file with the default attention lanes.
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
    /// Reads the last one of `files`: the embedded `rules/facts.yaml`, or an overlay's file that replaces it. Returns
    /// empty values if there is no file.
    pub(super) fn read<'a>(files: impl Iterator<Item = &'a SpecFile>) -> Result<Self> {
        files.last().map_or_else(|| Ok(Self::default()), SpecFile::parse)
    }
}

/// The facts that files of the judged work tree or commit state. A field is `None` if no file states the fact.
#[derive(Debug, Clone, Default)]
pub struct StatedFacts {
    /// The operation catalog: table families and their tables.
    pub operations: Option<Operations>,
    /// The versions that a query can select.
    pub query_versions: Option<QueryVersions>,
    /// The default attention lanes (kernels).
    pub lanes: Option<AttentionLanes>,
    /// The backend that runs each kernel.
    pub kernel_sources: Option<KernelSources>,
    /// The lists of numbers in the loader's source code, by the list's name.
    pub pins: BTreeMap<String, Pins>,
    /// The names of facts whose file the pull request changes, such as lists in the loader's source code. A text that
    /// such a list lacks is then not an error, because the pull request may add it.
    pub changed_facts: BTreeSet<String>,
}

/// A list in the loader's source code that maps texts to numbers, such as model names to numbers of attention heads.
pub(crate) type Pins = BTreeMap<String, f64>;

/// Reads the match arms `"text" => Some(number)` of a function in Rust code. `after` is the start of the function, such
/// as `fn heads(`. `None` if there is no such function or match arm.
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
