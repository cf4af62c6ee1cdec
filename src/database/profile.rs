//! Profiles: JSON documents that fix operations measured as a whole. A profile names the files that it was measured with
//! by their SHA-256, and the rows of its tables name the profile by its own.

use serde_json::Value;

use crate::base::digest::sha256;
use crate::base::reason::Reason;
use crate::database::catalog::Catalog;
use crate::database::source::{Entry, Source};

/// The end of a profile's file name.
const ENDING: &str = ".profile.json";

/// The file that says on which machine the profiles of a database were measured.
const EVIDENCE: &str = "profile-evidence.json";

/// A profile, or the evidence of profiles.
#[derive(Debug)]
pub struct Profile {
    /// The SHA-256 of the document's own bytes, in hex.
    pub sha256: String,
    /// The files that the document pins, with the SHA-256 of each.
    pub pins: Vec<(Pinned, String)>,
    /// The paths of the profile's tables, relative to the folder of the systems.
    pub tables: Vec<String>,
}

/// What a profile pins.
#[derive(Debug, PartialEq, Eq)]
pub enum Pinned {
    /// A file, by its path relative to the folder of the systems.
    File(String),
    /// The YAML of some system.
    SystemYaml,
}

impl Profile {
    /// Returns the profiles of a catalog and the evidence of them.
    pub fn files(catalog: &Catalog) -> impl Iterator<Item = &Entry> {
        let files = catalog.beside.iter().map(|(entry, _)| entry).chain(catalog.others.iter());
        files.filter(|e| e.path.ends_with(ENDING) || e.name() == EVIDENCE)
    }

    /// Reads a profile or the evidence of profiles.
    pub fn read(source: &dyn Source, entry: &Entry) -> Result<Self, Reason> {
        let text = source.text(entry)?;
        let document: Value = serde_json::from_str(&text)?;
        let text_of = |value: &Value, field: &str| value.get(field)?.as_str().map(str::to_owned);
        let retained = document.get("retained_files").and_then(Value::as_array);
        let retained = retained.into_iter().flatten().filter_map(|file| {
            Some((Pinned::File(text_of(file, "path")?), text_of(file, "sha256")?))
        });
        let yaml = values_of(&document, "hardware_yaml_sha256").into_iter();
        let yaml = yaml.map(|digest| (Pinned::SystemYaml, digest));
        let tables = document.get("tables").and_then(Value::as_object);
        let tables = tables.into_iter().flat_map(|tables| tables.values());
        Ok(Self {
            sha256: sha256(text.as_bytes()),
            pins: retained.chain(yaml).collect(),
            tables: tables.filter_map(|table| text_of(table, "relative_path")).collect(),
        })
    }
}

/// Returns the texts of a field wherever a document contains it.
fn values_of(document: &Value, field: &str) -> Vec<String> {
    match document {
        Value::Object(fields) => {
            let own = fields.get(field).and_then(Value::as_str).map(str::to_owned);
            own.into_iter().chain(fields.values().flat_map(|v| values_of(v, field))).collect()
        }
        Value::Array(items) => items.iter().flat_map(|item| values_of(item, field)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}
