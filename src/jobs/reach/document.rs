//! Reach as JSON, schema `perfdb-gate/reach/v1`.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;

use super::{FileReach, FileRows, LookupCounts, ModelLookups, Reach, SourceMove, StateCounts};
use crate::base::escape::inert_json;
use crate::database::served::RowRun;
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
    tables: Vec<ReachedFileView<'a>>,
    /// The lookups of each default model on each version.
    models: Vec<ModelView<'a>>,
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

/// A table file.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FileView")]
struct ReachedFileView<'a> {
    /// Its path.
    path: &'a str,
    /// System.
    system: &'a str,
    /// Backend.
    backend: &'a str,
    /// Version.
    version: &'a str,
    /// File stem.
    table: &'a str,
    /// Its rows before; null where there is one state, or it was not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<ReachedRowsView<'a>>,
    /// Its rows; null where it is gone.
    after: Option<ReachedRowsView<'a>>,
}

/// The rows of a file in one state.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "RowsView")]
struct ReachedRowsView<'a> {
    /// By state.
    states: StateCounts,
    /// Every row, in order: consecutive rows of one state.
    runs: &'a [RowRun],
    /// Why the file cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    unread: Option<&'a str>,
    /// Why no row is served.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
    /// The file that shadows it as a whole; without this shadowed rows are shadowed by rows of the file
    /// itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    by_file: Option<&'a str>,
    /// Versions that can be asked for and load it, as `backend version`.
    read_by: &'a [String],
    /// Whether no spec describes the table, so that its key was guessed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    key_guessed: bool,
}

/// The lookups of a model on a version, each once however many steps and layouts ask for it.
#[derive(Serialize, JsonSchema)]
struct ModelView<'a> {
    /// System.
    system: &'a str,
    /// Backend.
    backend: &'a str,
    /// Version.
    version: &'a str,
    /// The model.
    model: &'a str,
    /// Sources by table.
    tables: BTreeMap<&'a str, SourcesView>,
    /// Lookups whose source is another than before.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    moved: &'a [SourceMove],
    /// Lookups that find nothing, as table and reason.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    missing: &'a [(String, String)],
}

#[derive(Serialize, JsonSchema)]
struct SourcesView {
    /// Before; none where there is one state, or nothing was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<LookupCounts>,
    /// After; null where nothing is asked.
    after: Option<LookupCounts>,
}

/// The schema of the document.
pub fn schema(generator: SchemaGenerator) -> Schema {
    generator.into_root_schema_for::<ReachDocument<'_>>()
}

impl<'a> From<&'a FileRows> for ReachedRowsView<'a> {
    fn from(rows: &'a FileRows) -> Self {
        Self {
            states: rows.counts(),
            runs: &rows.runs,
            unread: rows.unread.as_deref(),
            why: rows.why.as_deref(),
            by_file: rows.instead.as_deref(),
            read_by: &rows.read_by,
            key_guessed: rows.guessed,
        }
    }
}

impl<'a> From<&'a FileReach> for ReachedFileView<'a> {
    fn from(file: &'a FileReach) -> Self {
        Self {
            path: &file.path,
            system: &file.version.system,
            backend: &file.version.backend,
            version: &file.version.version,
            table: &file.table,
            before: file.before.as_ref().map(ReachedRowsView::from),
            after: file.after.as_ref().map(ReachedRowsView::from),
        }
    }
}

impl<'a> From<&'a ModelLookups> for ModelView<'a> {
    fn from(model: &'a ModelLookups) -> Self {
        let sources = |(table, [before, after]): (&'a String, &[Option<LookupCounts>; 2])| {
            (table.as_str(), SourcesView { before: *before, after: *after })
        };
        Self {
            system: &model.version.system,
            backend: &model.version.backend,
            version: &model.version.version,
            model: &model.model,
            tables: model.tables.iter().map(sources).collect(),
            moved: &model.moved,
            missing: &model.missing,
        }
    }
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
        tables: reach.files.iter().map(ReachedFileView::from).collect(),
        models: reach.models.iter().map(ModelView::from).collect(),
    };
    inert_json(&serde_json::to_string(&document).unwrap_or_default()) + "\n"
}
