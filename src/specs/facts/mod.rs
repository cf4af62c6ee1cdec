//! What a database says of itself beside its tables, as documents; `rules/facts.yaml` says where each is
//! and what stands where it is not.

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

/// `rules/facts.yaml`: which files state facts, and what stands without them.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FactFiles {
    /// Families and their tables.
    pub operation_catalog: FactFile,
    /// What backends read of each other.
    pub reuse_manifest: FactFile,
    /// What versions a query can reach.
    pub query_versions: FactFile,
    /// Which kernel's rows are served.
    pub attention_lanes: LanesFile,
    /// Figures that only the loader's code holds, by name.
    pub pins: BTreeMap<String, PinFile>,
}

/// A file that states facts.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FactFile {
    /// The end of its path.
    pub file: String,
    /// Whether it lies in the folder of the systems' YAML, and nowhere else.
    #[serde(default)]
    pub beside: bool,
}

/// The file of attention lanes, and the tables that have them.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LanesFile {
    file: String,
    #[serde(default)]
    beside: bool,
    /// Tables whose loader keeps lanes apart.
    pub tables: Vec<String>,
    /// The column that names the lane.
    pub column: String,
}

/// A list of figures in the loader's code.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinFile {
    /// What they are; read by people only.
    #[serde(rename = "about")]
    _about: String,
    file: String,
    /// Words that the lines of the list follow.
    pub after: String,
    /// The figures that stand where the judged commit has no such file.
    pub values: Pins,
}

impl LanesFile {
    /// Where it lies.
    pub fn place(&self) -> FactFile {
        FactFile { file: self.file.clone(), beside: self.beside }
    }
}

impl PinFile {
    /// Where it lies.
    pub fn place(&self) -> FactFile {
        FactFile { file: self.file.clone(), beside: false }
    }
}

impl FactFiles {
    /// Reads the files of that role; the last one counts.
    pub(super) fn read<'a>(files: impl Iterator<Item = &'a SpecFile>) -> Result<Self> {
        files.last().map_or_else(|| Ok(Self::default()), SpecFile::parse)
    }
}

/// What a tree says of itself, as far as it does.
#[derive(Debug, Clone, Default)]
pub struct StatedFacts {
    /// Families and their tables.
    pub operations: Option<Operations>,
    /// What versions a query can reach.
    pub query_versions: Option<QueryVersions>,
    /// Which kernel's rows are served.
    pub lanes: Option<AttentionLanes>,
    /// Figures that the loader's code holds, by the list's name.
    pub pins: BTreeMap<String, Pins>,
    /// Lists whose file a pull request changes, so that a text they lack may have come with it.
    pub unsettled: BTreeSet<String>,
}

impl Specs {
    /// These specs with what a tree says of itself over them.
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

    /// Whether others know the same of a table, so that what was made of its rows serves both.
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
