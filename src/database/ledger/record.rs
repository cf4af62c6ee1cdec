//! Failures as a collector writes them, and as they are counted: by operation, class and error.

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

impl Record {
    /// Whether the GPU's memory ran out.
    pub fn out_of_memory(&self) -> bool {
        let said = |text: &Option<String>, what: &str| {
            text.as_ref().is_some_and(|t| t.to_lowercase().contains(what))
        };
        said(&self.error_type, "outofmemory")
            || said(&self.error_message, "out of memory")
            || said(&self.error_message, "alloc_failed")
    }
}

/// A failure as it is counted.
#[derive(Debug)]
pub(super) struct Recorded {
    pub backend: String,
    pub operation: BTreeSet<String>,
    pub class: String,
    pub error: String,
}

impl Recorded {
    pub fn new(record: &Record) -> Option<Self> {
        let (backend, operation) = record.module.as_deref()?.split_once('.')?;
        let said = |text: &Option<String>| {
            let text = text.as_deref().unwrap_or_default().trim();
            if text.is_empty() { "-".to_owned() } else { text.to_owned() }
        };
        Some(Self {
            backend: backend.to_owned(),
            operation: words(operation),
            class: said(&record.classification),
            error: said(&record.error_type),
        })
    }
}

/// The words of a name: `mla_context_module` has three.
pub(super) fn words(name: &str) -> BTreeSet<String> {
    name.split(['_', '.', '-']).filter(|w| !w.is_empty()).map(str::to_owned).collect()
}

/// The table that an operation writes: the one with most words of the operation's name.
pub(super) fn table_of<'t>(operation: &BTreeSet<String>, tables: &[&'t str]) -> Option<&'t str> {
    let words_shared = |table: &&'t str| {
        let words = words(table.trim_end_matches("_perf"));
        words.is_subset(operation).then_some((words.len(), *table))
    };
    tables.iter().filter_map(words_shared).max().map(|(_, table)| table)
}
