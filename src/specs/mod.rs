//! What is known of tables, systems and models, as data: `rules/tables/*.yaml`, `systems/*.yaml` and the
//! files beside them.
//!
//! The files are embedded in the binary. A folder of the same layout overlays them by id: a table or
//! system of the same name is replaced, a new one is added. What one room alone knows is parsed by
//! that room from the same [`Library`]: rules by `checks`, recipes and plans by `gpu`, charts by
//! `report`, traces by `traces`, faults by the selftest.

mod column;
pub mod facts;
mod known;
mod library;
mod limit;
mod loader;
mod noise;
pub mod system;
mod table;
mod table_file;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

pub use column::{ColumnKind, ColumnSpec, Unit, measured_unit};
pub use facts::{FactFiles, StatedFacts};
pub use known::{KnownSystems, TableSpecs};
pub use library::{Library, SpecFile, read_all};
pub use limit::{Limit, Limits, NEAREST};
pub use loader::{Codec, LoaderFacts, StoredType};
pub use noise::{Noise, NoiseBand, NoiseBands};
pub use table::{
    Bound, Bucket, Doubt, Filling, Guard, IDENTITY, KeyPart, PLACE, Seal, SealPlace, Serves,
    TableSpec,
};

use crate::base::error::{Error, Result};
use crate::base::expr::Lookup;
use facts::{Pins, QueryVersions};
use system::System;

/// What is known of tables, systems and models.
#[derive(Debug, Default, Clone)]
pub struct Specs {
    /// The files that all of this is read from, and those that other rooms read.
    pub library: Arc<Library>,
    /// Table specs by file stem.
    pub tables: TableSpecs,
    /// Facts about known systems by name.
    pub systems: KnownSystems,
    /// What names in the tables stand for: for each name of a kind of fact, a value by text.
    pub lookups: Lookups,
    /// How far honest reruns differ.
    pub noise: Noise,
    /// What keeps a machine from running a case, by id.
    pub limits: Arc<Limits>,
    /// What the planner's loader can open.
    pub loader: Arc<LoaderFacts>,
    /// Which files of a database state facts, and what stands without them.
    pub facts: FactFiles,
    /// The families of tables by the judged tree's own operation catalog: of those without a spec, too.
    pub families: BTreeMap<String, String>,
    /// What versions a query can reach, where the judged tree says that.
    pub query_versions: Option<QueryVersions>,
}

/// Facts that formulas look up by a text: `bytes(gemm_dtype)`.
#[derive(Debug, Default, Clone)]
pub struct Lookups {
    /// Bytes of an element, by dtype.
    bytes: BTreeMap<String, f64>,
    /// The system's figure of the rate at which it is multiplied, by dtype.
    flops: BTreeMap<String, String>,
    /// Figures that a loader's code holds, by list, then by text.
    pub(crate) pins: BTreeMap<String, Pins>,
    /// Lists of figures that a pull request changes.
    pub(crate) unsettled: BTreeSet<String>,
}

impl Lookups {
    /// The value of `function` for `text` on a machine; `None` where nothing is known.
    pub fn get(&self, function: &Lookup, text: &str, system: Option<&System>) -> Option<f64> {
        match function {
            Lookup::Bytes => self.bytes.get(text).copied(),
            Lookup::Flops => system?.figure(self.flops.get(text)?).filter(|f| *f > 0.0),
            Lookup::Pin(list) => self.pins.get(&**list)?.get(text).copied(),
        }
    }

    /// The names of all dtypes.
    pub fn dtypes(&self) -> impl Iterator<Item = &str> {
        self.bytes.keys().map(String::as_str)
    }

    /// Whether others give the same values.
    fn alike(&self, other: &Self, function: &Lookup) -> bool {
        match function {
            Lookup::Bytes => self.bytes == other.bytes,
            Lookup::Flops => self.flops == other.flops,
            Lookup::Pin(list) => self.pins.get(&**list) == other.pins.get(&**list),
        }
    }

    /// Whether a pull request changes the code that holds what is looked up, so that a text without a
    /// value may have one there.
    pub fn is_unsettled(&self, function: &Lookup) -> bool {
        matches!(function, Lookup::Pin(list) if self.unsettled.contains(&**list))
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
        let mut specs = Self {
            systems: KnownSystems::read(library.folder("systems"), tried)?,
            tables: TableSpecs::read(library.folder("rules/tables"), tried)?,
            ..Self::default()
        };
        for file in library.file("rules/dtypes.yaml") {
            for (name, dtype) in file.parse::<BTreeMap<String, DtypeFacts>>()? {
                specs.lookups.bytes.insert(name.clone(), dtype.bytes);
                specs.lookups.flops.extend(dtype.flops.map(|f| (name, f)));
            }
        }
        for file in library.file("rules/noise.yaml") {
            specs.noise = file.parse()?;
        }
        for file in library.file("rules/loader.yaml") {
            specs.loader = Arc::new(file.parse()?);
        }
        specs.facts = FactFiles::read(library.file("rules/facts.yaml"))?;
        let pins = specs.facts.pins.iter().map(|(list, pin)| (list.clone(), pin.values.clone()));
        specs.lookups.pins = pins.collect();
        if tried {
            specs.check_pins()?;
        }
        let mut limits = Limits::default();
        for file in library.file("rules/limits.yaml") {
            limits.extend(limit::parse(file).map_err(|e| file.malformed(e))?);
        }
        for limit in limits.values().filter(|_| tried) {
            limit
                .check(&specs)
                .map_err(|why| Error::new(why, "CONTRIBUTING.md lists what a limit can read"))?;
        }
        specs.limits = Arc::new(limits);
        specs.library = Arc::new(library);
        Ok(specs)
    }

    /// Refuses formulas that look a text up in a list that is not there.
    fn check_pins(&self) -> Result<()> {
        for spec in self.tables.values() {
            for (lookup, _) in spec.formulas().flat_map(|f| f.lookups()) {
                if let Lookup::Pin(list) = lookup
                    && !self.lookups.pins.contains_key(&**list)
                {
                    let message =
                        format!("table {}: the list of pins {list} does not exist", spec.name);
                    return Err(Error::new(message, "rules/facts.yaml contains the lists"));
                }
            }
        }
        Ok(())
    }
}

/// Checks the text of a `rules/tables/<family>.yaml`.
///
/// # Errors
///
/// When it is malformed; the error names the line.
pub fn check_tables(text: &str) -> Result<()> {
    let (role, shown) = ("rules/tables/suggested.yaml".to_owned(), "the suggested spec".to_owned());
    let file = SpecFile { role, shown, text: text.to_owned().into(), shipped: false };
    known::tables(&file, true).map(drop)
}

/// The schema of `rules/tables/<family>.yaml`.
pub(crate) fn tables_schema(generator: schemars::SchemaGenerator) -> schemars::Schema {
    generator.into_root_schema_for::<table_file::Family>()
}
