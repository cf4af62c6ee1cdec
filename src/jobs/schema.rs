//! JSON Schemas of the files that people and programs write and read, made from the types that read
//! and write them: an editor refuses what the program would. Draft 7, which editors know best.

use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};

use crate::checks::rule::Rule;
use crate::findings::waiver;
use crate::gpu::protocol::RunnerLine;
use crate::gpu::rerun::RerunList;
use crate::jobs::compare::CompareReport;
use crate::jobs::{impact, reach};
use crate::{report, specs};

/// The schema of a report, `--format json`. What is not in it may come with a later version.
pub fn report() -> String {
    let settings = SchemaSettings::draft07().for_serialize();
    text("a report of perfdb-gate", report::schema(settings.into_generator()))
}

/// The schema of an impact, `impact --format json`.
pub fn impact() -> String {
    let settings = SchemaSettings::draft07().for_serialize();
    text("an impact of perfdb-gate", impact::schema(settings.into_generator()))
}

/// The schema of what queries reach, `reach --format json`.
pub fn reach() -> String {
    let settings = SchemaSettings::draft07().for_serialize();
    text("a reach of perfdb-gate", reach::schema(settings.into_generator()))
}

/// The schema of a rule, `rules/<rule>.yaml`.
pub fn rule() -> String {
    text("a rule of perfdb-gate", read().into_root_schema_for::<Rule>())
}

/// The schema of a family's tables, `rules/tables/<family>.yaml`.
pub fn tables() -> String {
    text("tables of perfdb-gate", specs::tables_schema(read()))
}

/// The schema of waivers, `.perfdb-gate/waivers.yaml`.
pub fn waivers() -> String {
    text("waivers of perfdb-gate", waiver::schema(read()))
}

/// The schema of a rerun list, `plan --output`.
pub fn rerun() -> String {
    text("a rerun list of perfdb-gate", read().into_root_schema_for::<RerunList>())
}

/// The schema of the lines between this program and a runner, `remeasure --device process`.
pub fn runner() -> String {
    let settings = SchemaSettings::draft07();
    text(
        "a line of perfdb-gate's runner protocol",
        settings.into_generator().into_root_schema_for::<RunnerLine<'_>>(),
    )
}

/// The schema of a comparison, `compare --format json`.
pub fn compare() -> String {
    let generator = SchemaSettings::draft07().for_serialize().into_generator();
    text("a comparison of perfdb-gate", generator.into_root_schema_for::<CompareReport>())
}

/// Of what is read, not written: what has a default need not be there.
fn read() -> SchemaGenerator {
    SchemaSettings::draft07().for_deserialize().into_generator()
}

fn text(title: &str, mut schema: Schema) -> String {
    schema.insert("title".to_owned(), title.into());
    // A schema is a JSON value, which always serialises.
    serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"
}
