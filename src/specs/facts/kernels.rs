//! KernelChoices: the backend that runs for each name in the column `kernel_source`, and the backends that a framework can choose.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::base::reason::Reason;

/// The column that names the kernel of a row.
pub const KERNEL_COLUMN: &str = "kernel_source";

/// The condition that is on the table and not on a column.
const TABLE: &str = "op_file";

/// The backend of kernels that nobody has traced yet.
const UNVERIFIED: &str = "unverified";

/// The contents of `kernel_source_backends.yaml`; unknown fields are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct KernelSources {
    mappings: Vec<Mapping>,
}

/// The backend that runs for a kernel's name if all conditions hold.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Mapping {
    framework: String,
    kernel_source: String,
    /// The values that columns must have.
    #[serde(default, rename = "match")]
    conditions: BTreeMap<String, String>,
    backend: String,
}

/// The backends that frameworks can choose for a table, and what its kernels' names stand for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelChoices {
    /// The backends by framework; frameworks without a list can choose any.
    pub choices: BTreeMap<String, BTreeSet<String>>,
    /// The backends by kernel.
    pub sources: KernelSources,
}

impl KernelSources {
    /// Parses `kernel_source_backends.yaml`.
    ///
    /// # Errors
    ///
    /// One line, if the text is not YAML of this form.
    pub fn parse(text: &str) -> Result<Self, Reason> {
        crate::base::yaml::parse(text)
    }
}

impl KernelChoices {
    /// Returns the function that finds the backend of a row that a framework cannot choose, from the values of the row's
    /// columns; `None` if the framework can choose every backend of the kernel, or if its backends are not known.
    pub fn outside<'a>(
        &'a self,
        framework: &'a str,
        table: &'a str,
        kernel: &'a str,
    ) -> Option<impl Fn(&dyn Fn(&str) -> Option<&'a str>) -> Option<&'a str>> {
        let choices = self.choices.get(framework)?;
        let is_mapping = |mapping: &&Mapping| {
            let on_table = mapping.conditions.get(TABLE);
            mapping.framework == framework
                && mapping.kernel_source == kernel
                && on_table.is_none_or(|of| of == table)
        };
        let mappings: Vec<&Mapping> = self.sources.mappings.iter().filter(is_mapping).collect();
        let is_outside = move |backend: &str| backend != UNVERIFIED && !choices.contains(backend);
        if !mappings.iter().any(|mapping| is_outside(&mapping.backend)) {
            return None;
        }
        Some(move |value: &dyn Fn(&str) -> Option<&'a str>| {
            let holds = |(column, wanted): (&String, &String)| {
                column == TABLE || value(column) == Some(wanted.as_str())
            };
            let first = mappings.iter().find(|m| m.conditions.iter().all(holds))?;
            Some(first.backend.as_str()).filter(|backend| is_outside(backend))
        })
    }
}
