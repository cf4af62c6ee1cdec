//! Reach as JSON, schema `perfdb-gate/reach/v1`.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;

use super::files::{FileReach, Reach, StateCounts};
use super::{LookupCounts, ModelLookups};
use crate::jobs::ToolName;

/// What queries reach.
#[derive(Serialize, JsonSchema)]
struct ReachDocument<'a> {
    /// Always `perfdb-gate/reach/v1`.
    schema: &'static str,
    /// What wrote it.
    tool: ToolName,
    /// Always `reach`.
    command: &'static str,
    /// Counts over all files and lookups.
    summary: ReachCounts,
    /// Table files of either state, by path.
    tables: &'a [FileReach],
    /// The lookups of each default model on each version.
    models: &'a [ModelLookups],
}

#[derive(Serialize, JsonSchema)]
struct ReachCounts {
    /// Table files of the later state.
    tables: usize,
    /// Of them, those that cannot be read: their rows are in no state.
    unread: usize,
    /// Files that lie where no loader looks: their rows are in no state.
    strays: usize,
    /// Rows by state before; none where there is one state.
    #[serde(skip_serializing_if = "Option::is_none")]
    rows_before: Option<StateCounts>,
    /// Rows by state.
    rows: StateCounts,
    /// Lookups by source before; none where there is one state.
    #[serde(skip_serializing_if = "Option::is_none")]
    lookups_before: Option<LookupCounts>,
    /// Lookups by source.
    lookups: LookupCounts,
    /// How long it took.
    elapsed_ms: u64,
}

/// The schema of the document.
pub fn schema(generator: SchemaGenerator) -> Schema {
    generator.into_root_schema_for::<ReachDocument<'_>>()
}

/// The document as text.
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
