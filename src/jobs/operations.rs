//! A database's own operation catalog, held against the table specs: which of the two knows tables
//! that the other does not.
//!
//! The collectors keep the catalog in `collector/op_backend_catalog.yaml`: families, and the tables
//! (`op_files`) that each of them writes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;

use crate::base::error::{Error, Result};
use crate::base::exit::Exit;
use crate::base::reason::Reason;
use crate::base::words::plural;
use crate::checks::settings::Settings;
use crate::database::catalog::Catalog;
use crate::database::source::{self, Source};
use crate::specs::Specs;

/// The catalog's file name.
const FILE: &str = "op_backend_catalog.yaml";

/// What the two know of each other.
#[derive(Debug)]
pub struct CatalogComparison {
    /// Path of the operation catalog; none where the root has none.
    catalog: Option<String>,
    /// Tables in the catalog.
    listed: usize,
    /// Tables of which the database has data.
    there: usize,
    /// Table specs.
    specs: usize,
    /// Where they differ, a line each, by what is wrong.
    differences: BTreeMap<&'static str, Vec<String>>,
}

/// An operation catalog.
#[derive(Debug, Deserialize)]
pub struct Operations {
    families: Vec<ListedFamily>,
}

#[derive(Debug, Deserialize)]
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
}

/// Compares the operation catalog of a root with the table specs, those of its own `.perfdb-gate/rules`
/// and of the folder `rules` included.
///
/// # Errors
///
/// When there is no database, or the catalog cannot be read.
pub fn compare(root: &Path, rules: Option<&Path>) -> Result<CatalogComparison> {
    let source = source::open(root, None)?;
    let specs = Settings::read(source.as_ref(), rules, None)?.specs;
    let database = Catalog::read(source.as_ref(), &specs)?;
    Ok(CatalogComparison::new(find(source.as_ref())?, &specs, &database))
}

impl CatalogComparison {
    /// Compares an operation catalog, with its path, with the specs and with what a database has.
    pub fn new(found: Option<(String, Operations)>, specs: &Specs, database: &Catalog) -> Self {
        let mut differences: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
        let mut differ = |what, line| differences.entry(what).or_default().push(line);

        let there: BTreeSet<&str> = database.tables.iter().map(|t| t.table.as_str()).collect();
        let mut listed: BTreeMap<&str, &str> = BTreeMap::new();
        for family in found.iter().flat_map(|(_, operations)| &operations.families) {
            for table in &family.op_files {
                if let Some(first) = listed.insert(table, &family.family) {
                    let line = format!("{table}: {first} and {}", family.family);
                    differ("in the catalog under two families", line);
                }
            }
        }
        let has =
            |table: &str| if there.contains(table) { "it has data" } else { "it has no data" };
        for (table, family) in &listed {
            match specs.tables.get(*table) {
                None => differ(
                    "in the catalog, without a spec",
                    format!("{table} ({family}): {}", has(table)),
                ),
                Some(spec) if spec.family != *family => differ(
                    "of another family",
                    format!("{table}: {family}, its spec says {}", spec.family),
                ),
                Some(_) => {}
            }
        }
        let unknown = there.iter().filter(|t| !specs.tables.contains_key(**t));
        for table in unknown.filter(|t| !listed.contains_key(**t)) {
            differ("in the database, without a spec", (*table).to_owned());
        }
        for (table, spec) in specs.tables.iter().filter(|_| found.is_some()) {
            if !listed.contains_key(table.as_str()) {
                let line = format!("{table} ({}): {}", spec.family, has(table));
                differ("with a spec, not in the catalog", line);
            }
        }
        Self {
            catalog: found.as_ref().map(|(path, _)| path.clone()),
            listed: listed.len(),
            there: there.len(),
            specs: specs.tables.len(),
            differences,
        }
    }
}

/// The root's operation catalog, and its path.
fn find(source: &dyn Source) -> Result<Option<(String, Operations)>> {
    let is_it =
        |path: &str| path.strip_suffix(FILE).is_some_and(|p| p.is_empty() || p.ends_with('/'));
    let Some(entry) = source.files()?.into_iter().find(|e| is_it(&e.path)) else {
        return Ok(None);
    };
    let bytes = source.read(&entry).map_err(Reason::from);
    let operations = bytes.and_then(|bytes| Operations::parse(&bytes)).map_err(|why| {
        let hint = "it lists families, and the op_files of each";
        Error::caused(entry.path.as_str(), hint, why)
    })?;
    Ok(Some((entry.path, operations)))
}

impl CatalogComparison {
    /// How the run ends: with findings where the two differ, inconclusive without a catalog to
    /// compare with.
    pub fn exit(&self) -> Exit {
        if !self.differences.is_empty() {
            Exit::Findings
        } else if self.catalog.is_none() {
            Exit::Inconclusive
        } else {
            Exit::Clean
        }
    }

    /// What a person reads.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for (what, lines) in &self.differences {
            out += &format!("{what}:\n");
            lines.iter().for_each(|line| out += &format!("  {line}\n"));
        }
        let specs = plural(self.specs, "spec");
        out += &match &self.catalog {
            Some(path) => format!(
                "{path}: {}; the database has data of {}; {specs}\n",
                plural(self.listed, "table"),
                self.there
            ),
            None => format!(
                "no {FILE} below the root, so nothing says which tables there should be; \
                 the database has data of {}; {specs}\n",
                plural(self.there, "table")
            ),
        };
        out
    }
}
