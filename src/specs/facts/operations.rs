//! The operation catalog: families, and the tables that each of them writes.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::base::reason::Reason;

/// `op_backend_catalog.yaml`. Fields that are not known are ignored.
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
    /// Parses a catalog.
    ///
    /// # Errors
    ///
    /// When it is not UTF-8, or not such YAML.
    pub fn parse(text: &[u8]) -> Result<Self, Reason> {
        let text = std::str::from_utf8(text).map_err(|_| "it is not UTF-8 text")?;
        crate::base::yaml::parse(text)
    }

    /// Its tables, each with the families that list it, in the catalog's order: more than one is a
    /// mistake, and the first counts.
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
