//! The operation catalog: table families and the tables of each.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::base::error::Reason;

/// The operation catalog as read from `op_backend_catalog.yaml`; unknown fields are ignored.
#[derive(Debug, Clone, Deserialize)]
pub struct Operations {
    families: Vec<ListedFamily>,
}

#[derive(Debug, Clone, Deserialize)]
struct ListedFamily {
    family: String,
    op_files: Vec<String>,
    /// The backends that a user can choose, by framework.
    #[serde(default)]
    frameworks: BTreeMap<String, ListedChoices>,
}

#[derive(Debug, Clone, Deserialize)]
struct ListedChoices {
    #[serde(default)]
    choices: Vec<ListedBackend>,
}

#[derive(Debug, Clone, Deserialize)]
struct ListedBackend {
    backend: String,
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

    /// Returns the families of each table, in the catalog's order. The map's key is the table's name. A table should
    /// have only one family; if it has several, the first is used.
    pub fn tables(&self) -> BTreeMap<&str, Vec<&str>> {
        let mut tables: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for listed in &self.families {
            for table in &listed.op_files {
                tables.entry(table).or_default().push(&listed.family);
            }
        }
        tables
    }

    /// Returns the backends that frameworks can choose for a table, by framework; frameworks without a list are left
    /// out.
    pub fn choices(&self, table: &str) -> BTreeMap<String, BTreeSet<String>> {
        let lists = |family: &&ListedFamily| family.op_files.iter().any(|listed| listed == table);
        let frameworks = self.families.iter().find(lists).into_iter().flat_map(|f| &f.frameworks);
        let named = frameworks.map(|(framework, listed)| {
            let backends = listed.choices.iter().map(|choice| choice.backend.clone());
            (framework.clone(), backends.collect::<BTreeSet<String>>())
        });
        named.filter(|(_, backends)| !backends.is_empty()).collect()
    }
}
