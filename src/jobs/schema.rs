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

/// The file formats with a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum SchemaFile {
    /// A report: `validate --format json`.
    Report,
    /// Predictions: `impact --format json`.
    Impact,
    /// Stages of a change: `sanity --format stages`.
    Stages,
    /// An audit, `sanity --report audit=FILE`.
    Audit,
    /// `rules/<rule>.yaml`.
    Rule,
    /// `rules/tables/<family>.yaml`.
    Tables,
    /// A layout of a database, `rules/layouts/<name>.yaml`.
    Layout,
    /// `.perfdb-gate/waivers.yaml`.
    Waivers,
    /// A sidecar, `collection_meta.yaml`.
    Sidecar,
    /// A rerun list: `plan --output FILE`.
    Rerun,
    /// A line between `remeasure --device process` and its command.
    Runner,
}

/// Returns the JSON schema of a file format. Later versions of this program may add fields to the format.
pub fn text(file: SchemaFile) -> String {
    let (title, mut schema) = match file {
        SchemaFile::Report => ("a report of perfdb-gate", report::schema(written())),
        SchemaFile::Impact => ("an impact of perfdb-gate", impact::schema(written())),
        SchemaFile::Stages => ("stages of perfdb-gate", report::stages::schema(written())),
        SchemaFile::Audit => ("an audit of perfdb-gate", report::audit::schema(written())),
        SchemaFile::Rule => ("a rule of perfdb-gate", read().into_root_schema_for::<Rule>()),
        SchemaFile::Tables => ("tables of perfdb-gate", specs::tables_schema(read())),
        SchemaFile::Layout => {
            ("a layout of perfdb-gate", read().into_root_schema_for::<LayoutFile>())
        }
        SchemaFile::Waivers => ("waivers of perfdb-gate", waiver::schema(read())),
        SchemaFile::Sidecar => ("a sidecar of perfdb-gate", sidecar()),
        SchemaFile::Rerun => {
            ("a rerun list of perfdb-gate", read().into_root_schema_for::<RerunList>())
        }
        SchemaFile::Runner => {
            let generator = SchemaSettings::draft07().into_generator();
            let schema = generator.into_root_schema_for::<RunnerLine<'_>>();
            ("a line of perfdb-gate's runner protocol", schema)
        }
    };
    schema.insert("title".to_owned(), title.into());
    // A schema is a JSON value, which always serialises.
    serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"
}

/// Returns the schema of a sidecar. The schema contains the shortest valid sidecar as an example.
fn sidecar() -> Schema {
    let mut schema = read().into_root_schema_for::<Meta>();
    let shortest = yaml::parse(&by_hand("vllm", "0.24.0", "gemm_perf")).unwrap_or(Value::Null);
    schema.insert("examples".to_owned(), vec![shortest].into());
    schema
}

/// Returns a generator of schemas of files that this program writes.
fn written() -> SchemaGenerator {
    SchemaSettings::draft07().for_serialize().into_generator()
}

/// Returns a generator of schemas of files that people write: fields with a default are optional.
fn read() -> SchemaGenerator {
    SchemaSettings::draft07().for_deserialize().into_generator()
}
