//! JSON Schemas of file formats, generated from the types that read and write the files. They
//! follow draft 7, which editors support best.

use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::Value;

use crate::base::yaml;
use crate::checks::rule::Rule;
use crate::database::sidecar::{Meta, by_hand};
use crate::findings::waiver;
use crate::gpu::protocol::RunnerLine;
use crate::gpu::rerun::RerunList;
use crate::jobs::impact;
use crate::specs::layout::LayoutFile;
use crate::{report, specs};

/// Returns the schema of a report, `--format json`. Later versions may add fields.
pub fn report() -> String {
    text("a report of perfdb-gate", report::schema(written()))
}

/// Returns the schema of the stages of a change, `sanity --format stages`.
pub fn stages() -> String {
    text("stages of perfdb-gate", report::stages::schema(written()))
}

/// Returns the schema of the audit of a change, `sanity --report audit=FILE`.
pub fn audit() -> String {
    text("an audit of perfdb-gate", report::audit::schema(written()))
}

/// Returns the schema of a rule, `rules/<rule>.yaml`.
pub fn rule() -> String {
    text("a rule of perfdb-gate", read().into_root_schema_for::<Rule>())
}

/// Returns the schema of a family's tables, `rules/tables/<family>.yaml`.
pub fn tables() -> String {
    text("tables of perfdb-gate", specs::tables_schema(read()))
}

/// Returns the schema of a layout, `rules/layouts/<name>.yaml`.
pub fn layout() -> String {
    text("a layout of perfdb-gate", read().into_root_schema_for::<LayoutFile>())
}

/// Returns the schema of waivers, `.perfdb-gate/waivers.yaml`.
pub fn waivers() -> String {
    text("waivers of perfdb-gate", waiver::schema(read()))
}

/// Returns the schema of a sidecar, `collection_meta.yaml`, with the shortest valid one as its example.
pub fn sidecar() -> String {
    let mut schema = read().into_root_schema_for::<Meta>();
    let shortest = yaml::parse(&by_hand("vllm", "0.24.0", "gemm_perf")).unwrap_or(Value::Null);
    schema.insert("examples".to_owned(), vec![shortest].into());
    text("a sidecar of perfdb-gate", schema)
}

/// Returns the schema of a rerun list, `plan --output`.
pub fn rerun() -> String {
    text("a rerun list of perfdb-gate", read().into_root_schema_for::<RerunList>())
}

/// Returns the schema of the lines that this program and a runner exchange, `remeasure --device
/// process`.
pub fn runner() -> String {
    let generator = SchemaSettings::draft07().into_generator();
    let schema = generator.into_root_schema_for::<RunnerLine<'_>>();
    text("a line of perfdb-gate's runner protocol", schema)
}

/// Returns the schema of `impact --format json`.
pub fn impact() -> String {
    text("an impact of perfdb-gate", impact::schema(written()))
}

/// Returns a generator of schemas of files that this program writes.
fn written() -> SchemaGenerator {
    SchemaSettings::draft07().for_serialize().into_generator()
}

/// Returns a generator of schemas of files that people write: fields with a default are optional.
fn read() -> SchemaGenerator {
    SchemaSettings::draft07().for_deserialize().into_generator()
}

/// Renders a schema as JSON.
fn text(title: &str, mut schema: Schema) -> String {
    schema.insert("title".to_owned(), title.into());
    // A schema is a JSON value, which always serialises.
    serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"
}
