//! The JSON document of a reach, schema `perfdb-gate/reach/v1`.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;

use super::files::{FileReach, Reach, StateCounts};
use super::{LookupCounts, ModelLookups};
use crate::jobs::ToolName;

/// The document of `reach --format json`.
#[derive(Serialize, JsonSchema)]
struct ReachDocument<'a> {
    /// Always `perfdb-gate/reach/v1`.
    schema: &'static str,
    /// The program that wrote the document.
    tool: ToolName,
    /// Always `reach`.
    command: &'static str,
    /// Counts over all files and lookups.
    summary: ReachCounts,
    /// Table files of either state, sorted by path.
    tables: &'a [FileReach],
    /// The lookups of each default model on each version.
    models: &'a [ModelLookups],
}

#[derive(Serialize, JsonSchema)]
struct ReachCounts {
    /// Number of table files in the later state.
    tables: usize,
    /// Number of table files of the later state that cannot be read; their rows are not counted.
    unread: usize,
    /// Number of files at places that no loader reads; their rows are not counted.
    strays: usize,
    /// Row counts before the change; absent if there is only one state.
    #[serde(skip_serializing_if = "Option::is_none")]
    rows_before: Option<StateCounts>,
    /// Row counts after the change.
    rows: StateCounts,
    /// Lookup counts before the change; absent if there is only one state.
    #[serde(skip_serializing_if = "Option::is_none")]
    lookups_before: Option<LookupCounts>,
    /// Lookup counts after the change.
    lookups: LookupCounts,
    /// Duration of the run in ms.
    elapsed_ms: u64,
}

/// Returns the JSON schema of the document.
pub fn schema(generator: SchemaGenerator) -> Schema {
    generator.into_root_schema_for::<ReachDocument<'_>>()
}

/// Renders a reach as JSON.
pub(super) fn json(reach: &Reach) -> String {
    let [rows_before, rows] = reach.counts();
    let [lookups_before, lookups] = reach.lookups();
    let document = ReachDocument {
        schema: "perfdb-gate/reach/v1",
        tool: ToolName::own(),
        command: "reach",
        summary: ReachCounts {
            tables: reach.files.iter().filter(|file| file.after.is_some()).count(),
            unread: reach.unread().count(),
            strays: reach.strays,
            rows_before,
            rows: rows.unwrap_or_default(),
            lookups_before,
            lookups: lookups.unwrap_or_default(),
            elapsed_ms: reach.elapsed.as_millis() as u64,
        },
        tables: &reach.files,
        models: &reach.models,
    };
    serde_json::to_string(&document).unwrap_or_default()
}
