//! What is known of tables, systems and models, as data: `rules/tables/*.yaml`, `systems/*.yaml` and the
//! files beside them.
//!
//! The files are embedded in the binary. A folder of the same layout overlays them by id: a table or
//! system of the same name is replaced, a new one is added. What one room alone knows is parsed by
//! that room from the same [`Library`]: rules by `checks`, recipes and plans by `gpu`, charts by
//! `report`, traces by `traces`, faults by the selftest.

mod library;
mod limit;
mod noise;
pub mod system;
mod table;
mod table_file;
mod workflow;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

pub use library::{Library, SpecFile, read_all};
pub use limit::{Limit, Limits, NEAREST};
pub use noise::{Noise, NoiseBand};
pub use table::{
    Bound, Bucket, ColumnKind, ColumnSpec, Filling, Guard, IDENTITY, KeyPart, Serves, TableSpec,
    Unit, measured_unit,
};
pub use workflow::{Alternative, Machine, Model, Need, Shape, Workflows};

use crate::base::error::{Error, Result};
use crate::base::expr::Lookup;
use system::System;

/// What is known of tables, systems and models.
#[derive(Debug, Default)]
pub struct Specs {
    /// The files that all of this is read from, and those that other rooms read.
    pub library: Library,
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
    /// Default models and the rows that planning one asks for.
    pub workflows: Workflows,
    /// What keeps a machine from running a case, by id.
    pub limits: Limits,
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
    /// Whether other files fill in what a version's own table lacks; of a table that no spec is written
    /// for they do.
    pub fn filling(&self, table: &str) -> Filling {
        self.tables.get(table).map_or(Filling::Always, |spec| spec.filling)
    }

    /// What is part of the binary.
    ///
    /// # Errors
    ///
    /// When an embedded file is malformed, which a test excludes.
    pub fn embedded() -> Result<Self> {
        Self::read(Library::embedded())
    }

    /// What is part of the binary, overlaid by a folder laid out as `rules/` where one is named.
    ///
    /// # Errors
    ///
    /// When the folder or a file of it cannot be read, or is malformed.
    pub fn overlaid(folder: Option<&Path>) -> Result<Self> {
        let mut library = Library::embedded();
        folder.map_or(Ok(()), |folder| library.overlay(folder))?;
        Self::read(library)
    }

    /// Reads what this room knows from the files; what formulas of overlays say, and what overlays
    /// make of embedded ones, is tried on the types of the tables.
    ///
    /// # Errors
    ///
    /// At the first file that is malformed; it names file and line.
    pub fn read(library: Library) -> Result<Self> {
        let tried = !library.is_embedded();
        Self::read_and_try(library, tried)
    }

    /// Reads the files, and tries what formulas say where that is asked for.
    fn read_and_try(library: Library, tried: bool) -> Result<Self> {
        let mut specs = Self::default();
        specs.systems.extend(read_all(library.folder("systems"), system)?);
        for (shipped, tables) in read_all(library.folder("rules/tables"), tables)? {
            for spec in tables {
                if shipped {
                    specs.known_parts.extend(spec.key.iter().map(|p| p.name.clone()));
                }
                specs.tables.insert(spec.name.clone(), Arc::new(spec));
            }
        }
        for file in library.file("rules/dtypes.yaml") {
            for (name, dtype) in file.parse::<BTreeMap<String, DtypeFacts>>()? {
                specs.lookups.bytes.insert(name.clone(), dtype.bytes);
                specs.lookups.flops.extend(dtype.flops.map(|f| (name, f)));
            }
        }
        for file in library.file("rules/noise.yaml") {
            specs.noise = file.parse()?;
        }
        for file in library.file("rules/workflows.yaml") {
            specs.workflows.add(&file.text, &specs.tables, tried).map_err(|e| file.malformed(e))?;
        }
        for file in library.file("rules/limits.yaml") {
            let limits = limit::parse(file).map_err(|e| file.malformed(e))?;
            specs.limits.extend(limits);
        }
        for limit in specs.limits.values().filter(|_| tried) {
            limit
                .check(&specs)
                .map_err(|why| Error::new(why, "CONTRIBUTING.md says what a limit can read"))?;
        }
        specs.library = library;
        Ok(specs)
    }
}

/// A system's name and facts.
fn system(file: &SpecFile) -> Result<(String, System)> {
    let system = System::parse(file.stem(), &file.text).map_err(|e| file.malformed(e))?;
    if let Some(unknown) = system.unknown_field() {
        return Err(file.malformed(format!("a system has no field {unknown}")));
    }
    Ok((file.stem().to_owned(), system))
}

/// The tables of a family, and whether this program shipped them.
fn tables(file: &SpecFile) -> Result<(bool, Vec<TableSpec>)> {
    let family: table_file::Family = file.parse()?;
    Ok((file.shipped, family.into_specs().map_err(|e| file.malformed(e))?))
}

/// The schema of `rules/tables/<family>.yaml`.
pub(crate) fn tables_schema(generator: schemars::SchemaGenerator) -> schemars::Schema {
    generator.into_root_schema_for::<table_file::Family>()
}

#[cfg(test)]
mod tests {
    use super::{Library, Specs};

    #[test]
    fn what_a_run_does_not_try_of_the_embedded_files_is_right() {
        Specs::read_and_try(Library::embedded(), true).unwrap();
    }
}
