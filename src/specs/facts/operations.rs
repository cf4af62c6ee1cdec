//! The operation catalog: table families and the tables of each.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::base::reason::Reason;

/// The contents of `op_backend_catalog.yaml`; unknown fields are ignored.
#[derive(Debug, Clone, Deserialize)]
pub struct Operations {
    families: Vec<ListedFamily>,
}

#[derive(Debug, Clone, Deserialize)]
struct ListedFamily {
    family: String,
    op_files: Vec<String>,
}

impl Operations {
    /// Parses an operation catalog.
    ///
    /// # Errors
    ///
    /// If the text is not UTF-8 or not YAML of this form.
    pub fn parse(text: &[u8]) -> Result<Self, Reason> {
        let text = std::str::from_utf8(text).map_err(|_| "it is not UTF-8 text")?;
        crate::base::yaml::parse(text)
    }

    /// Returns the listed tables, each with the families that list it, in the catalog's order. More than one
    /// family per table is a mistake, and the first one counts.
    pub fn tables(&self) -> BTreeMap<&str, Vec<&str>> {
        let mut tables: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for listed in &self.families {
            for table in &listed.op_files {
                tables.entry(table).or_default().push(&listed.family);
            }
        }
        tables
    }
}
