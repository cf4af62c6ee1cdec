//! Failures as a collector writes them.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value as Json;

/// A failure as the collector writes it.
#[derive(Debug, Deserialize)]
pub(super) struct Record {
    #[serde(default)]
    pub module: Option<String>,
    #[serde(default)]
    pub task_id: Json,
    #[serde(default)]
    pub task_params: Json,
    #[serde(default)]
    pub error_type: Option<String>,
    #[serde(default)]
    pub error_message: Option<String>,
    #[serde(default)]
    pub classification: Option<String>,
    #[serde(default)]
    pub group: Option<String>,
    #[serde(default)]
    pub device_id: Json,
    #[serde(default)]
    pub timestamp: Json,
}

/// The fields that identify a failed measurement.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct CaseIdentity<'a> {
    module: Option<&'a str>,
    task_id: &'a Json,
    task_params: &'a Json,
}

/// The fields that identify one failure: those of the failed measurement, the device and the time.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct FailureIdentity<'a> {
    case: CaseIdentity<'a>,
    device_id: &'a Json,
    timestamp: &'a Json,
}

impl Record {
    /// Returns the fields that identify the failed measurement.
    pub(crate) fn case(&self) -> CaseIdentity<'_> {
        CaseIdentity {
            module: self.module.as_deref(),
            task_id: &self.task_id,
            task_params: &self.task_params,
        }
    }

    /// Returns the fields that identify the failure. Two records with the same values in these fields describe the same
    /// failure.
    pub(crate) fn identity(&self) -> FailureIdentity<'_> {
        let Self { device_id, timestamp, .. } = self;
        FailureIdentity { case: self.case(), device_id, timestamp }
    }

    /// Returns true if the collector stated why the measurement failed or was skipped, for example by `unexpected` or
    /// `breaker_skipped`.
    pub(crate) fn is_classified(&self) -> bool {
        let class = self.classification.as_deref().unwrap_or_default().trim();
        !matches!(class, "" | "unclassified" | "unresolved_from_checkpoint")
    }

    /// Returns true if the GPU ran out of memory.
    pub(crate) fn out_of_memory(&self) -> bool {
        let contains = |text: &Option<String>, what: &str| {
            text.as_ref().is_some_and(|t| t.to_lowercase().contains(what))
        };
        contains(&self.error_type, "outofmemory")
            || contains(&self.error_message, "out of memory")
            || contains(&self.error_message, "alloc_failed")
    }
}

/// Splits a name into words at `_`, `.` and `-`. For example, `mla_context_module` has three words.
pub(super) fn words(name: &str) -> BTreeSet<String> {
    name.split(['_', '.', '-']).filter(|w| !w.is_empty()).map(str::to_owned).collect()
}

/// Finds the table that an operation writes. All words of the table's name must occur in the operation's name. If
/// several tables qualify, returns the one whose name has the most words; `None` if no table qualifies.
pub(super) fn table_of<'t>(operation: &BTreeSet<String>, tables: &[&'t str]) -> Option<&'t str> {
    let words_shared = |table: &&'t str| {
        let words = words(table.trim_end_matches("_perf"));
        words.is_subset(operation).then_some((words.len(), *table))
    };
    tables.iter().filter_map(words_shared).max().map(|(_, table)| table)
}
