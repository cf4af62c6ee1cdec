//! What is known of tables, systems and models, as data: `rules/tables/*.yaml`, `systems/*.yaml` and the
//! files beside them.
//!
//! The files are embedded in the binary. A folder of the same layout overlays them by id: a table or
//! system of the same name is replaced, a new one is added. What one room alone knows is parsed by
//! that room from the same [`Library`]: rules by `checks`, recipes and plans by `gpu`, charts by
//! `report`, traces by `traces`, faults by the selftest.

mod known;
mod library;
mod limit;
mod noise;
pub mod system;
mod table;
mod table_file;
mod workflow;

use std::collections::BTreeMap;
use std::path::Path;

pub use known::{KnownSystems, TableSpecs};
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
    pub tables: TableSpecs,
    /// Facts about known systems by name.
    pub systems: KnownSystems,
    /// What names in the tables stand for: for each name of a kind of fact, a value by text.
    pub lookups: Lookups,
    /// How far honest reruns differ.
    pub noise: Noise,
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
        specs.systems = KnownSystems::read(library.folder("systems"), tried)?;
        specs.tables = TableSpecs::read(library.folder("rules/tables"), tried)?;
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

/// The schema of `rules/tables/<family>.yaml`.
pub(crate) fn tables_schema(generator: schemars::SchemaGenerator) -> schemars::Schema {
    generator.into_root_schema_for::<table_file::Family>()
}
