//! KernelChoices: the backend that runs for each name in the column `kernel_source`, and the backends that a framework
//! can choose.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::base::error::Reason;

/// The column that names the kernel of a row.
pub(crate) const KERNEL_COLUMN: &str = "kernel_source";

/// The key in `Mapping::conditions` whose value is the name of a table. All other keys are names of columns.
const TABLE: &str = "op_file";

/// The value that `kernel_source_backends.yaml` states for a kernel whose backend is not yet known.
const UNVERIFIED: &str = "unverified";

/// The contents of `kernel_source_backends.yaml`, which states the backend that runs each kernel. Unknown fields are
/// ignored.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct KernelSources {
    mappings: Vec<Mapping>,
}

/// An entry of `kernel_source_backends.yaml`: the backend that runs one kernel of a framework. The entry applies only
/// to rows that meet all its conditions.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Mapping {
    framework: String,
    kernel_source: String,
    /// The value that each column must have in a row, by column name. For the name `op_file`, the value is the table's
    /// name.
    #[serde(default, rename = "match")]
    conditions: BTreeMap<String, String>,
    backend: String,
}

/// Facts about kernels: the backends that frameworks can choose for a table, and the backend that runs each kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelChoices {
    /// The backends that each framework can choose, by the framework's name. Frameworks that are not in this map can
    /// choose any backend.
    pub choices: BTreeMap<String, BTreeSet<String>>,
    /// The backend that runs each kernel.
    pub sources: KernelSources,
}

/// The backends that run one kernel in the rows of a table, and the backends that the framework can choose for this
/// table.
#[derive(PartialEq)]
pub(crate) struct KernelBackends<'a> {
    /// The backends that the framework can choose for the table.
    pub choices: &'a BTreeSet<String>,
    mappings: Vec<&'a Mapping>,
}

impl KernelSources {
    /// Parses `kernel_source_backends.yaml`.
    ///
    /// # Errors
    ///
    /// If the text is not YAML of this form; the error is one line.
    pub fn parse(text: &str) -> Result<Self, Reason> {
        crate::base::yaml::parse(text)
    }
}

impl KernelChoices {
    /// Searches for a backend that runs the kernel in the table although the framework cannot choose it. If there is
    /// one, returns all backends that run the kernel. `None` if there is none or if the framework's choices are
    /// unknown.
    pub(crate) fn of<'a>(
        &'a self,
        framework: &str,
        table: &str,
        kernel: &str,
    ) -> Option<KernelBackends<'a>> {
        let choices = self.choices.get(framework)?;
        let is_mapping = |mapping: &&Mapping| {
            let on_table = mapping.conditions.get(TABLE);
            mapping.framework == framework
                && mapping.kernel_source == kernel
                && on_table.is_none_or(|of| of == table)
        };
        let mappings = self.sources.mappings.iter().filter(is_mapping).collect();
        let backends = KernelBackends { choices, mappings };
        let mut named = backends.mappings.iter().map(|mapping| mapping.backend.as_str());
        named.any(|backend| backends.is_outside(backend)).then_some(backends)
    }
}

impl<'a> KernelBackends<'a> {
    /// Returns the backend that runs the kernel in a row although the framework cannot choose it. `None` if the
    /// framework can choose it, or if the backend is unknown. `value` takes a column's name and returns the row's cell.
    pub(crate) fn outside<'v>(&self, value: impl Fn(&str) -> Option<&'v str>) -> Option<&'a str> {
        let holds = |(column, wanted): (&String, &String)| {
            column == TABLE || value(column) == Some(wanted.as_str())
        };
        let first = self.mappings.iter().find(|mapping| mapping.conditions.iter().all(holds))?;
        Some(first.backend.as_str()).filter(|backend| self.is_outside(backend))
    }

    fn is_outside(&self, backend: &str) -> bool {
        backend != UNVERIFIED && !self.choices.contains(backend)
    }
}
