//! Profiles: JSON documents that describe operations that are measured as a whole. A profile states the SHA-256 of
//! the files that it was measured with, and the rows of its tables state the SHA-256 of the profile.

use serde_json::Value;

use crate::base::digest::sha256;
use crate::base::error::Reason;
use crate::database::catalog::Catalog;
use crate::database::source::{Entry, Source};

/// The ending of a profile's file name. A profile is a JSON document that lists the files with which a table was
/// measured.
const ENDING: &str = ".profile.json";

/// The name of the file that states on which machine the profiles of a database were measured.
const EVIDENCE: &str = "profile-evidence.json";

/// Endings of the names of other JSON documents beside the tables, such as lists of the files in a folder.
const DOCUMENTS: [&str; 4] =
    ["hf_dataset.json", "_hf.json", "-provenance.json", "_matrix/index.json"];

/// The contents of a profile, or of another JSON document beside the tables. A profile lists the files with which
/// tables were measured, each with its SHA-256.
#[derive(Debug)]
pub struct Profile {
    /// The SHA-256 of the document's own bytes, in hex.
    pub sha256: String,
    /// The files on which a profile depends, each with its expected SHA-256 in hex.
    pub pins: Vec<(PinnedFile, String)>,
    /// The files that a JSON document other than a profile lists, each with its SHA-256. The paths start with `data/`;
    /// the document does not state in which folder `data/` is.
    pub listed: Vec<(String, String)>,
    /// The paths of the profile's tables, relative to the folder of the systems' YAML.
    pub tables: Vec<String>,
}

/// A file on which a profile depends. The profile states the file's SHA-256.
#[derive(Debug, PartialEq, Eq)]
pub enum PinnedFile {
    /// A file, by its path relative to the folder of the systems' YAML.
    File(String),
    /// The YAML file of a system; the profile does not name the system.
    SystemYaml,
}

impl Profile {
    /// Returns the catalog's files that are profiles, or that state on which machine profiles were measured.
    pub(crate) fn files(catalog: &Catalog) -> impl Iterator<Item = &Entry> {
        let files =
            catalog.other_files.iter().map(|(entry, _)| entry).chain(catalog.outside_files.iter());
        files.filter(|entry| Self::is_profile(entry))
    }

    /// Returns the JSON documents, other than profiles, in the folder of the systems' YAML, below it, or directly in a
    /// folder above it.
    pub(crate) fn documents(catalog: &Catalog) -> impl Iterator<Item = &Entry> {
        let files =
            catalog.other_files.iter().map(|(entry, _)| entry).chain(catalog.outside_files.iter());
        let is_above = |entry: &Entry| is_below(entry.folder(), &catalog.folder);
        let is_document = |path: &str| DOCUMENTS.iter().any(|ending| path.ends_with(ending));
        let documents = files.filter(move |entry| is_document(&entry.path));
        documents.filter(move |e| is_below(&catalog.folder, &e.path) || is_above(e))
    }

    /// Returns true if a file is a profile, or the file that names the machine on which profiles were measured.
    pub(crate) fn is_profile(entry: &Entry) -> bool {
        entry.path.ends_with(ENDING) || entry.name() == EVIDENCE
    }

    /// Reads a profile, or another JSON document beside the tables.
    pub(crate) fn read(source: &dyn Source, entry: &Entry) -> Result<Self, Reason> {
        let text = source.text(entry)?;
        let document: Value = serde_json::from_str(&text)?;
        let text_of = |value: &Value, field: &str| value.get(field)?.as_str().map(str::to_owned);
        let retained = document.get("retained_files").and_then(Value::as_array);
        let retained = retained.into_iter().flatten().filter_map(|file| {
            Some((PinnedFile::File(text_of(file, "path")?), text_of(file, "sha256")?))
        });
        let yaml = values_of(&document, "hardware_yaml_sha256").into_iter();
        let yaml = yaml.map(|digest| (PinnedFile::SystemYaml, digest));
        let tables = document.get("tables").and_then(Value::as_object);
        let tables = tables.into_iter().flat_map(|tables| tables.values());
        Ok(Self {
            sha256: sha256(text.as_bytes()),
            pins: retained.chain(yaml).collect(),
            listed: listed(&document),
            tables: tables.filter_map(|table| text_of(table, "relative_path")).collect(),
        })
    }
}

/// Returns true if `path` is `folder` or is below it.
fn is_below(folder: &str, path: &str) -> bool {
    let rest = path.strip_prefix(folder);
    folder.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the data files that a JSON document lists at any depth, each with its SHA-256. A document lists a file as
/// `{"target": "data/x.parquet", "sha256": "…"}` or `{"data/x.parquet": "…"}`. Files outside of `data/` are left out.
fn listed(document: &Value) -> Vec<(String, String)> {
    let is_digest = |text: &str| text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
    let digest = |value: &Value| value.as_str().filter(|t| is_digest(t)).map(str::to_owned);
    match document {
        Value::Object(fields) => {
            let target = fields.get("target").and_then(Value::as_str);
            let target = target.zip(fields.get("sha256")).into_iter();
            let named = fields.iter().map(|(name, value)| (name.as_str(), value));
            let own = target.chain(named).filter(|(path, _)| path.starts_with("data/"));
            let own = own.filter_map(|(path, value)| Some((path.to_owned(), digest(value)?)));
            own.chain(fields.values().flat_map(listed)).collect()
        }
        Value::Array(items) => items.iter().flat_map(listed).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

/// Returns the texts of all fields with the given name, at any depth of a JSON document.
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
