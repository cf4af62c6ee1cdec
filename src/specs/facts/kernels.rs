//! KernelChoices: the backend that runs for each name in the column `kernel_source`, and the backends that a framework can choose.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::base::error::Reason;

/// The column that names the kernel of a row.
pub(crate) const KERNEL_COLUMN: &str = "kernel_source";

/// The name that stands for the table instead of a column in the conditions of a mapping.
const TABLE: &str = "op_file";

/// The name that stands for the backend of a kernel that nobody has traced yet.
const UNVERIFIED: &str = "unverified";

/// The contents of `kernel_source_backends.yaml`; unknown fields are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct KernelSources {
    mappings: Vec<Mapping>,
}

/// One entry of `kernel_source_backends.yaml`: the backend that runs for a framework's kernel name if all conditions
/// hold.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Mapping {
    framework: String,
    kernel_source: String,
    /// The required cell by column. The name `op_file` stands for the table instead of a column.
    #[serde(default, rename = "match")]
    conditions: BTreeMap<String, String>,
    backend: String,
}

/// The backends that frameworks can choose for a table, and the backend that runs for each kernel name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelChoices {
    /// The backends that a framework can choose, by framework. A framework without an entry can choose any backend.
    pub choices: BTreeMap<String, BTreeSet<String>>,
    /// The backend that runs for each kernel name.
    pub sources: KernelSources,
}

/// The backends that can run for one kernel name in a table. The backend can depend on the row.
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
    /// Returns the backends that can run for a kernel name in a table. `None` if the framework can choose all of these
    /// backends, or if it is unknown which backends the framework can choose.
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
    /// Returns the backend that runs for a row if the framework cannot choose this backend. `None` if the framework can
    /// choose it, or if no mapping matches the row. `value` returns the row's cell in a column.
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
