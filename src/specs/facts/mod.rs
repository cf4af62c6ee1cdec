//! Facts that a database states in documents beside its tables. `rules/facts.yaml` lists these documents and
//! the values that apply without them.

mod lanes;
mod operations;
mod pins;
mod versions;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Deserialize;

pub use self::lanes::{AttentionLanes, Lanes};
pub use self::operations::Operations;
pub use self::pins::{Pins, pins_of};
pub use self::versions::{QueryVersions, Slots};
use super::{SpecFile, Specs};
use crate::base::error::Result;

/// The contents of `rules/facts.yaml`: the files that state facts, and the values that apply without them.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FactFiles {
    /// The operation catalog: table families and their tables.
    pub operation_catalog: FactFile,
    /// The reuse manifest: the rows that backends share.
    pub reuse_manifest: FactFile,
    /// The versions that a query can reach.
    pub query_versions: FactFile,
    /// The attention lanes: the kernels whose rows are served.
    pub attention_lanes: LanesFile,
    /// The figures that exist only in the loader's code, by list name.
    pub pins: BTreeMap<String, PinFile>,
}

/// The location of a file that states facts.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FactFile {
    /// The end of the file's path.
    pub file: String,
    /// True if the file must be in the folder of the systems' YAML.
    #[serde(default)]
    pub beside: bool,
}

/// The location of the attention lanes' file, and the tables that have lanes.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LanesFile {
    file: String,
    #[serde(default)]
    beside: bool,
    /// The tables whose loader keeps the rows of each lane apart.
    pub tables: Vec<String>,
    /// The column that names the lane.
    pub column: String,
}

/// The location of a list of figures in the loader's code.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinFile {
    /// A description for people; not used.
    #[serde(rename = "about")]
    _about: String,
    file: String,
    /// The words in the code after which the list starts.
    pub after: String,
    /// The figures that apply if the judged commit lacks the file.
    pub values: Pins,
}

impl LanesFile {
    /// Returns the location of the lanes' file.
    pub fn place(&self) -> FactFile {
        FactFile { file: self.file.clone(), beside: self.beside }
    }
}

impl PinFile {
    /// Returns the location of the source file.
    pub fn place(&self) -> FactFile {
        FactFile { file: self.file.clone(), beside: false }
    }
}

impl FactFiles {
    /// Reads the given versions of `rules/facts.yaml`; the last one wins.
    pub(super) fn read<'a>(files: impl Iterator<Item = &'a SpecFile>) -> Result<Self> {
        files.last().map_or_else(|| Ok(Self::default()), SpecFile::parse)
    }
}

/// The facts that a work tree or commit states itself. `None` means that it does not state the fact.
#[derive(Debug, Clone, Default)]
pub struct StatedFacts {
    /// The operation catalog: table families and their tables.
    pub operations: Option<Operations>,
    /// The versions that a query can reach.
    pub query_versions: Option<QueryVersions>,
    /// The attention lanes: the kernels whose rows are served.
    pub lanes: Option<AttentionLanes>,
    /// The figures in the loader's code, by list name.
    pub pins: BTreeMap<String, Pins>,
    /// The lists of figures whose source file a pull request changes. A text that such a list lacks may be
    /// new in that change.
    pub unsettled: BTreeSet<String>,
}

impl Specs {
    /// Returns these specs, overridden by the facts that a tree states.
    pub fn with_facts(&self, facts: &StatedFacts) -> Self {
        let mut specs = self.clone();
        for (table, families) in facts.operations.iter().flat_map(Operations::tables) {
            let Some(family) = families.first().copied() else { continue };
            specs.families.insert(table.to_owned(), family.to_owned());
            if specs.tables.family(table).is_some_and(|own| own != family)
                && let Some(spec) = specs.tables.get_mut(table)
            {
                spec.family = family.to_owned();
            }
        }
        if let Some(defaults) = &facts.lanes {
            let column = &self.facts.attention_lanes.column;
            let lanes = Arc::new(Lanes { column: column.clone(), defaults: defaults.clone() });
            for table in &self.facts.attention_lanes.tables {
                if let Some(spec) = specs.tables.get_mut(table) {
                    spec.lanes = Some(lanes.clone());
                }
            }
        }
        specs.query_versions = facts.query_versions.clone();
        let pins = facts.pins.iter();
        specs.lookups.pins.extend(pins.map(|(list, pins)| (list.clone(), pins.clone())));
        specs.lookups.unsettled = facts.unsettled.clone();
        specs
    }

    /// Returns true if two specs agree on everything that affects a table's rows, so that results computed
    /// with one are valid for the other.
    pub fn know_alike(&self, other: &Self, table: &str) -> bool {
        let spec = |specs: &Self| specs.tables.get(table).cloned();
        let alike = match (spec(self), spec(other)) {
            (Some(own), Some(others)) => {
                let lookups = own.formulas().flat_map(|f| f.lookups());
                own.family == others.family
                    && own.lanes == others.lanes
                    && lookups.into_iter().all(|(l, _)| self.lookups.alike(&other.lookups, l))
            }
            (own, others) => own.is_none() && others.is_none(),
        };
        alike && self.families.get(table) == other.families.get(table)
    }
}
