//! What is looked for, as data: `rules/*.yaml`, `rules/tables/*.yaml`, `rules/traces/*.yaml` and `systems/*.yaml`.
//!
//! The files are embedded in the binary. A folder of the same layout overlays them by id: a rule,
//! table or system of the same name is replaced, a new one is added.

mod limit;
mod plan;
mod recipe;
mod rule;
mod table;
mod table_file;
mod workflow;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use include_dir::{Dir, include_dir};
use serde::de::DeserializeOwned;

pub use limit::{Limit, Limits, NEAREST};
pub use plan::{Cell, Draw, Plan};
pub use recipe::{Dtype, Fill, Inputs, Margins, Operation, Recipe, Recipes, Spread};
pub use rule::{Example, Rule};
pub use table::{
    Bound, Bucket, ColumnKind, ColumnSpec, Guard, IDENTITY, KeyPart, Serves, TableSpec, Unit,
    measured_unit,
};
pub use workflow::{Alternative, Machine, Model, Need, Shape, Workflows};

use crate::catalog::TableFile;
use crate::chart::ChartSpec;
use crate::error::{Error, Result};
use crate::expr::Lookup;
use crate::noise::Noise;
use crate::selftest::Faults;
use crate::system::System;
use crate::table::{Column, Fault, Table};
use crate::trace::TraceSpecs;

static RULES: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/rules");
static SYSTEMS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/systems");
static CHARTS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/charts");

/// Everything that is data rather than code.
#[derive(Debug, Default)]
pub struct Specs {
    /// Rules by id.
    pub rules: BTreeMap<String, Arc<Rule>>,
    /// Table specs by file stem.
    pub tables: BTreeMap<String, Arc<TableSpec>>,
    /// Facts about known systems by name.
    pub systems: BTreeMap<String, System>,
    /// What names in the tables stand for: for each name of a kind of fact, a value by text.
    pub lookups: Lookups,
    /// How far honest reruns differ.
    pub noise: Noise,
    /// Names of the key parts of this program's own tables: an overlay may lack what a limit reads.
    known_parts: BTreeSet<String>,
    /// What the charts of tables show, by file stem.
    pub charts: BTreeMap<String, ChartSpec>,
    /// Default models and the rows that planning one asks for.
    pub workflows: Workflows,
    /// What keeps a machine from running a case, by id.
    pub limits: Limits,
    /// How rows were measured.
    pub recipes: Recipes,
    /// Grids to measure, by name.
    pub plans: BTreeMap<String, Plan>,
    /// What traces hold.
    pub traces: TraceSpecs,
    /// Faults that a selftest plants.
    pub faults: Faults,
    /// Operation lists of models by file stem, not parsed: few commands read them.
    pub models: BTreeMap<String, ModelText>,
}

/// A file of `rules/models/`.
#[derive(Debug, Clone)]
pub struct ModelText {
    /// Its name in errors.
    pub shown: String,
    /// Its content.
    pub text: String,
}

/// Facts that formulas look up by a text: `bytes(gemm_dtype)`.
#[derive(Debug, Default, Clone)]
pub struct Lookups {
    /// Bytes of an element, by dtype.
    bytes: BTreeMap<String, f64>,
    /// The system's figure of the rate at which it is multiplied, by dtype.
    flops: BTreeMap<String, String>,
}

impl Lookups {
    /// The value of `function` for `text` on a machine; `None` where nothing is known.
    pub fn get(&self, function: Lookup, text: &str, system: Option<&System>) -> Option<f64> {
        match function {
            Lookup::Bytes => self.bytes.get(text).copied(),
            Lookup::Flops => system?.figure(self.flops.get(text)?).filter(|f| *f > 0.0),
        }
    }
}

/// A dtype's facts, in `rules/dtypes.yaml`.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct DtypeFacts {
    bytes: f64,
    #[serde(default)]
    flops: Option<String>,
}

impl Specs {
    /// The specs that are part of the binary.
    pub fn embedded() -> Result<Self> {
        let mut specs = Self::default();
        for (folder, dir) in [("rules", &RULES), ("systems", &SYSTEMS), ("charts", &CHARTS)] {
            for (path, text) in files(dir) {
                specs.add(&format!("{folder}/{path}"), &text)?;
            }
        }
        let parts = specs.tables.values().flat_map(|t| t.key.iter().map(|p| p.name.clone()));
        specs.known_parts = parts.collect();
        specs.limits.values_mut().for_each(|limit| limit.shipped = true);
        Ok(specs)
    }

    /// Overlays a folder laid out as `rules/` is; its `systems/` and `charts/` subfolders add facts of
    /// systems and what charts show.
    pub fn overlay(&mut self, folder: &Path) -> Result<()> {
        if !folder.is_dir() {
            return Err(Error::new(
                format!("{} is not a folder", folder.display()),
                "--rules takes a folder laid out as perfdb-gate's rules/",
            ));
        }
        for item in walkdir::WalkDir::new(folder).sort_by_file_name() {
            let item = item.map_err(|e| Error::new(format!("cannot list rules: {e}"), ""))?;
            if !item.file_type().is_file() || item.path().extension().is_none_or(|e| e != "yaml") {
                continue;
            }
            let shown = item.path().display().to_string();
            let text = std::fs::read_to_string(item.path())
                .map_err(|e| Error::new(format!("cannot read {shown}: {e}"), ""))?;
            let relative = item.path().strip_prefix(folder).unwrap_or(item.path());
            self.add_overlay(&relative.to_string_lossy().replace('\\', "/"), &shown, &text)?;
        }
        Ok(())
    }

    /// Overlays one file by its path inside a folder laid out as `rules/`; `shown` names it in errors.
    pub fn add_overlay(&mut self, inside: &str, shown: &str, text: &str) -> Result<()> {
        if inside.starts_with("systems/") || inside.starts_with("charts/") {
            self.add_as(inside, shown, text)
        } else {
            self.add_as(&format!("rules/{inside}"), shown, text)
        }
    }

    fn add(&mut self, path: &str, text: &str) -> Result<()> {
        self.add_as(path, path, text)
    }

    /// Adds one file; `role` says by its place what it is, `shown` is its name in errors.
    fn add_as(&mut self, role: &str, shown: &str, text: &str) -> Result<()> {
        let stem = role.rsplit('/').next().unwrap_or(role).trim_end_matches(".yaml");
        if role.starts_with("systems/") {
            let system = System::parse(stem, text).map_err(|e| malformed(shown, &e.to_string()))?;
            if let Some(unknown) = system.unknown_field() {
                return Err(malformed(shown, &format!("a system has no field {unknown}")));
            }
            self.systems.insert(stem.to_owned(), system);
        } else if role.starts_with("rules/tables/") {
            let family: table_file::Family = parse(shown, text)?;
            for spec in family.into_specs().map_err(|e| malformed(shown, &e))? {
                self.tables.insert(spec.name.clone(), Arc::new(spec));
            }
        } else if role.starts_with("rules/models/") {
            let file = ModelText { shown: shown.to_owned(), text: text.to_owned() };
            self.models.insert(stem.to_owned(), file);
        } else if role.starts_with("rules/traces/") {
            self.traces.add(stem, text).map_err(|e| malformed(shown, &e))?;
        } else if role == "rules/dtypes.yaml" {
            for (name, dtype) in parse::<BTreeMap<String, DtypeFacts>>(shown, text)? {
                self.lookups.bytes.insert(name.clone(), dtype.bytes);
                self.lookups.flops.extend(dtype.flops.map(|f| (name, f)));
            }
        } else if role.starts_with("charts/") {
            self.charts.extend(parse::<BTreeMap<String, ChartSpec>>(shown, text)?);
        } else if role == "rules/noise.yaml" {
            self.noise = parse(shown, text)?;
        } else if role == "rules/workflows.yaml" {
            self.workflows.add(text, &self.tables).map_err(|e| malformed(shown, &e))?;
        } else if role == "rules/limits.yaml" {
            self.limits.extend(limit::parse(shown, text).map_err(|e| malformed(shown, &e))?);
        } else if role == "rules/faults.yaml" {
            self.faults = parse(shown, text)?;
        } else if role == "rules/recipes.yaml" {
            let recipes: Recipes = parse(shown, text)?;
            if let Some(why) = recipes.fault() {
                return Err(malformed(shown, &why));
            }
            self.recipes = recipes;
        } else if role.starts_with("rules/plans/") {
            let plan: Plan = parse(shown, text)?;
            if let Some(why) = plan.fault() {
                return Err(malformed(shown, &why));
            }
            self.plans.insert(stem.to_owned(), plan);
        } else {
            let rule: Rule = parse(shown, text)?;
            if rule.id != stem {
                return Err(malformed(
                    shown,
                    &format!("its id is {}, its file is {stem}", rule.id),
                ));
            }
            self.rules.insert(rule.id.clone(), Arc::new(rule));
        }
        Ok(())
    }

    /// What is known of a file's table; from its own columns where no spec is written for it.
    pub fn table(&self, file: &TableFile, table: Option<&Table>) -> Arc<TableSpec> {
        if let Some(spec) = self.tables.get(&file.table) {
            return spec.clone();
        }
        let family = file.place.family.as_deref().unwrap_or_default();
        let kind = |c: &Column| c.kind().unwrap_or(ColumnKind::Text);
        let columns: Vec<_> =
            table.iter().flat_map(|t| t.columns()).map(|(n, c)| (n.to_owned(), kind(c))).collect();
        Arc::new(TableSpec::inferred(&file.table, family, &columns))
    }

    /// Decodes a table file; in text, what is known of it tells names that look like numbers.
    pub fn decode(&self, file: &TableFile, bytes: &[u8]) -> Result<Table, Fault> {
        let known = self.tables.get(&file.table);
        let is_text = |name: &str| {
            let column = known.and_then(|s| s.column(name));
            IDENTITY.contains(&name) || column.is_some_and(|c| c.kind == ColumnKind::Text)
        };
        Table::decode(bytes, file.format, &is_text)
    }

    /// Checks what one file says of others: that limits read what their tables have.
    ///
    /// # Errors
    ///
    /// At the first limit that does not; it names file and line.
    pub fn check(&self) -> Result<()> {
        for limit in self.limits.values() {
            limit
                .check(self)
                .map_err(|why| Error::new(why, "CONTRIBUTING.md says what a limit can read"))?;
        }
        Ok(())
    }

    /// Adds a plan from its file, and tells its name.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or is no plan.
    pub fn add_plan(&mut self, path: &Path) -> Result<String> {
        let shown = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|e| {
            Error::new(format!("cannot read {shown}: {e}"), "--plan takes a name or a file")
        })?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        self.add_overlay(&format!("plans/{name}.yaml"), &shown, &text)?;
        Ok(name)
    }

    /// The plan of that name.
    pub fn plan(&self, name: &str) -> Result<&Plan> {
        let known = self.plans.keys().map(String::as_str);
        self.plans.get(name).ok_or_else(|| crate::error::unknown("plan", name, known))
    }

    /// The rule of that id.
    pub fn rule(&self, id: &str) -> Result<&Arc<Rule>> {
        self.rules
            .get(id)
            .ok_or_else(|| crate::error::unknown("rule", id, self.rules.keys().map(String::as_str)))
    }
}

/// The schema of `rules/tables/<family>.yaml`.
pub(crate) fn tables_schema(generator: schemars::SchemaGenerator) -> schemars::Schema {
    generator.into_root_schema_for::<table_file::Family>()
}

fn files(dir: &'static Dir<'static>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![dir];
    while let Some(folder) = folders.pop() {
        folders.extend(folder.dirs());
        for file in folder.files() {
            let path = file.path().to_string_lossy().replace('\\', "/");
            if path.ends_with(".yaml") {
                found.push((path, String::from_utf8_lossy(file.contents()).into_owned()));
            }
        }
    }
    found.sort();
    found
}

pub(crate) fn malformed(shown: &str, why: &str) -> Error {
    Error::new(
        format!("{shown}: {why}"),
        "see CONTRIBUTING.md for the form of rules, tables and systems",
    )
}

/// Parses YAML; the error is one line with the place and what is wrong there.
pub(crate) fn yaml<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let options = serde_yaml::options! { strict_booleans: true, with_snippet: false };
    serde_yaml::from_str_with_options(text, options).map_err(|e| {
        // One line, without the library's advice to its programmers: `…, set X in Options …`.
        let message = e.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        let place = message.rfind(" at line ").map_or("", |at| &message[at..]);
        let advice = [", set ", "; use ", ", use "].iter().filter_map(|a| message.find(a)).min();
        match advice {
            Some(at) => format!("{}{place}", &message[..at]),
            None => message,
        }
    })
}

fn parse<T: DeserializeOwned>(shown: &str, text: &str) -> Result<T> {
    yaml(text).map_err(|e| malformed(shown, &e))
}
