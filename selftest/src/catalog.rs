//! Compares a database's own operation catalog with the table specs: each may name tables that the
//! other lacks.
//!
//! Collectors keep the catalog in `collector/op_backend_catalog.yaml`. It lists families with the
//! tables (`op_files`) that each of them writes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use perfdb_gate::base::error::{Error, Exit, Result};
use perfdb_gate::checks::settings::Settings;
use perfdb_gate::database::catalog::Catalog;
use perfdb_gate::database::facts::{Fact, TreeFacts};
use perfdb_gate::database::source;
use perfdb_gate::jobs::for_selftest::plural;
use perfdb_gate::specs::facts::Operations;
use perfdb_gate::specs::{Specs, TableSpec};

/// The comparison of an operation catalog with the table specs.
#[derive(Debug)]
pub struct CatalogComparison {
    /// Path of the operation catalog; `None` if the root has none.
    catalog: Option<String>,
    /// Number of tables in the operation catalog.
    listed: usize,
    /// Number of distinct tables with data in the database.
    there: usize,
    /// Number of table specs.
    specs: usize,
    /// Differences by kind, one line each.
    differences: BTreeMap<&'static str, Vec<String>>,
    /// Facts that the root states about itself, with their origins.
    facts: Vec<Fact>,
}

/// Compares the operation catalog of a root and the figures in its loader's code with the table
/// specs. The specs include the root's own `.perfdb-gate/rules` and the folder `rules`.
///
/// # Errors
///
/// Returns an error if there is no database, or if the catalog cannot be read.
pub fn compare(root: &Path, rules: Option<&Path>) -> Result<CatalogComparison> {
    let source = source::open(root, None)?;
    let specs = Settings::read(source.as_ref(), rules, None)?.specs;
    let database = Catalog::read(source.as_ref(), &specs)?;
    let facts = TreeFacts::read(source.as_ref(), &database, &specs);
    let found = facts.operation_catalog();
    if let Some((path, why)) = found.and_then(|f| f.path.as_ref().zip(f.problem.as_ref())) {
        let hint = "the file must list families and their op_files";
        return Err(Error::new(format!("{path}: {why}"), hint));
    }
    let path = found.and_then(|f| f.path.clone());
    let mut compared = CatalogComparison::new(path.zip(facts.operations()), &specs, &database);
    compared.add_pins(&facts, &specs);
    compared.facts = facts.origins;
    Ok(compared)
}

impl CatalogComparison {
    /// Compares an operation catalog, given with its path, with the specs and the tables of a
    /// database.
    pub fn new(found: Option<(String, &Operations)>, specs: &Specs, database: &Catalog) -> Self {
        let mut differences: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
        let mut differ = |what, line| differences.entry(what).or_default().push(line);

        let there: BTreeSet<&str> = database.tables.iter().map(|t| t.table.as_str()).collect();
        let mut listed: BTreeMap<&str, &str> = BTreeMap::new();
        for (table, families) in found.iter().flat_map(|(_, operations)| operations.tables()) {
            listed.extend(families.last().map(|family| (table, *family)));
            if families.len() > 1 {
                let line = format!("{table}: {}", families.join(" and "));
                differ("listed under two families in the catalog", line);
            }
        }
        let has =
            |table: &str| if there.contains(table) { "it has data" } else { "it has no data" };
        for (table, family) in &listed {
            match specs.tables.get(table) {
                None => differ(
                    "in the catalog but without a spec",
                    format!("{table} ({family}): {}", has(table)),
                ),
                Some(spec) if spec.family != *family => differ(
                    "in the catalog under another family than in the spec",
                    format!("{table}: {family}, but its spec says {}", spec.family),
                ),
                Some(_) => {}
            }
        }
        let unknown = there.iter().filter(|t| !specs.tables.contains_key(t));
        for table in unknown.filter(|t| !listed.contains_key(**t)) {
            differ("in the database but without a spec", (*table).to_owned());
        }
        // Tables without a family cannot be in a catalog, and tables of other layouts are not in this one.
        let own: Vec<&TableSpec> = specs
            .tables
            .values()
            .map(|spec| &**spec)
            .filter(|spec| !specs.layouts.any_declares(&spec.name))
            .collect();
        let listable = |spec: &&&TableSpec| found.is_some() && !spec.family.is_empty();
        for spec in own.iter().filter(listable) {
            let table = &spec.name;
            if !listed.contains_key(table.as_str()) {
                let line = format!("{table} ({}): {}", spec.family, has(table));
                differ("with a spec but not in the catalog", line);
            }
        }
        Self {
            catalog: found.as_ref().map(|(path, _)| path.clone()),
            listed: listed.len(),
            there: there.len(),
            specs: own.len(),
            differences,
            facts: Vec::new(),
        }
    }

    /// Compares the figures in the loader's code with `rules/facts.yaml`.
    fn add_pins(&mut self, facts: &TreeFacts, specs: &Specs) {
        for (list, pins) in facts.pins() {
            let Some(known) = specs.facts.pins.get(list) else { continue };
            let texts: BTreeSet<&String> = pins.keys().chain(known.values.keys()).collect();
            for text in texts {
                let line = match (pins.get(text), known.values.get(text)) {
                    (Some(own), Some(known)) if own != known => {
                        format!("{own}, but rules/ says {known}")
                    }
                    (Some(own), None) => format!("{own}, but rules/ does not list it"),
                    (None, Some(known)) => format!("missing, but rules/ says {known}"),
                    _ => continue,
                };
                let lines = self.differences.entry("in the loader's code").or_default();
                lines.push(format!("{list} of {text}: {line}"));
            }
        }
    }

    /// Returns the exit code: findings if there are differences, inconclusive if there is no
    /// catalog to compare with.
    pub fn exit(&self) -> Exit {
        if !self.differences.is_empty() {
            Exit::Findings
        } else if self.catalog.is_none() {
            Exit::Inconclusive
        } else {
            Exit::Clean
        }
    }

    /// Renders the comparison for people.
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
                "the root contains no op_backend_catalog.yaml, so the expected tables are not known; \
                 the database has data of {}; {specs}\n",
                plural(self.there, "table")
            ),
        };
        for fact in self.facts.iter().filter(|f| f.path.is_some()) {
            out += &format!("{}: {}\n", fact.name, fact.describe());
        }
        out
    }
}
