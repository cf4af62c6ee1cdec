//! Seals: files beside tables with the row count, digest and place that the loader verifies.

use serde_json::{Map, Value};

use crate::base::error::Reason;
use crate::database::catalog::{Catalog, TableFile};
use crate::database::source::Source;
use crate::specs::Seal;

/// The seal of a table: a file beside the table with its row count and digest. The loader refuses a table without a
/// seal.
#[derive(Debug)]
pub struct SealFile {
    /// The path where the seal is or should be.
    pub path: String,
    /// The seal's fields, or the reason why they cannot be read; `None` if the file does not exist.
    pub fields: Option<Result<Map<String, Value>, Reason>>,
}

impl SealFile {
    /// Reads the seal of a table.
    pub fn read(source: &dyn Source, catalog: &Catalog, file: &TableFile, seal: &Seal) -> Self {
        let path = Self::path(file, seal);
        let entry = catalog.other_files.iter().map(|(entry, _)| entry).find(|e| e.path == path);
        let fields = entry.map(|entry| Ok(serde_json::from_str(&source.text(entry)?)?));
        Self { path, fields }
    }

    /// Returns the path where the seal of a table is or should be.
    pub(crate) fn path(file: &TableFile, seal: &Seal) -> String {
        let path = &file.entry.path;
        let stem = path.rsplit_once('.').map_or(path.as_str(), |(stem, _)| stem);
        format!("{stem}{}", seal.ending)
    }

    /// Returns the seal's fields; `None` if the file does not exist or cannot be read.
    pub(crate) fn known(&self) -> Option<&Map<String, Value>> {
        self.fields.as_ref()?.as_ref().ok()
    }
}
