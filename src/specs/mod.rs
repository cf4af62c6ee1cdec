//! Known facts about tables, systems, models and layouts as data: `rules/tables/*.yaml`, `systems/*.yaml` and
//! the files beside them.
//!
//! The files are embedded in the binary. A folder of the same layout overlays them by id: tables and systems
//! of the same name are replaced, new ones are added. Facts that only one room uses are parsed by this room
//! from the same [`Library`]: rules by `checks`, recipes and plans by `gpu`, charts by `report`, traces by
//! `traces`.
//!
//! In reading order:
//!
//! - `table`: Table specs: the meaning of a table's columns, and how its loader treats its rows.
//! - `column`: Columns of a table spec with their kinds, and a scope without rows, on which formulas are checked for
//!   type errors.
//! - `table_file`: Converts `rules/tables/<family>.yaml` into table specs, and checks what the YAML's types cannot.
//! - `known`: Specs of tables and facts of systems.
//! - `library`: The YAML files of rules, tables and systems: first those embedded in the binary, then those of
//!   overlays.
//! - `shipped`: The age of the lists that this program ships.
//! - `overrides`: Specs that are overridden by the facts of a work tree or commit.
//! - `limit`: Limits (`rules/limits.yaml`): reasons why a system cannot run a case, so that a missing key is not
//!   reported.
//! - `noise`: The usual differences between correct measurements of the same point.
//! - `loader`: Capabilities of the planner's loader.
//! - `layout`: Layouts of databases: which files are tables, and where a table's system, backend and version are stated
//!   (`rules/layouts/*.yaml`).
//! - `system`: Systems: the YAML file that describes a GPU machine.
//! - `facts`: Facts that a database states in documents beside its tables.

mod column;
pub mod facts;
mod known;
pub(crate) mod layout;
mod library;
mod limit;
mod loader;
mod noise;
mod overrides;
mod shipped;
pub mod system;
mod table;
mod table_file;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

pub use column::{ColumnKind, ColumnSpec, Unit, measured_unit};
pub use facts::{FactFiles, StatedFacts};
pub use known::{KnownSystems, TableSpecs};
pub use layout::Layouts;
pub use library::{KINDS, Library, SpecFile, is_honoured, read_all};
pub use limit::{Limit, Limits, NEAREST};
pub use loader::{Codec, LoaderFacts, LoaderFiles, StoredType};
pub use noise::{Noise, NoiseBand, NoiseBands};
pub use shipped::{ShippedFacts, ShippedList};
pub use table::{
    Bound, Bucket, Filling, Guard, IDENTITY, Identity, KeyPart, PLACE, Seal, SealPlace, Serves,
    TableSpec,
};

use crate::base::error::{Error, Result};
use crate::base::expr::Lookup;
use facts::{Pins, QueryVersions};
use system::System;

/// All facts that the program knows about tables, systems and models.
#[derive(Debug, Default, Clone)]
pub struct Specs {
    /// The YAML files from which the specs are read. They include files that other modules parse, such as rules.
    pub library: Arc<Library>,
    /// Table specs by table name.
    pub tables: TableSpecs,
    /// Facts about known systems, by system name.
    pub systems: KnownSystems,
    /// The numbers that formulas look up by a name, such as the bytes per element of a dtype.
    pub lookups: Lookups,
    /// The known layouts of databases, and the one that a run uses.
    pub layouts: Layouts,
    /// The usual spread between correct measurements of the same point.
    pub noise: Noise,
    /// The reasons why a system cannot measure some keys, by the reason's id.
    pub limits: Arc<Limits>,
    /// The capabilities of the planner's loader.
    pub loader: Arc<LoaderFacts>,
    /// The sources and dates of the facts that are embedded in the program.
    pub shipped: Arc<ShippedFacts>,
    /// The paths of the files in which a database states facts, and the facts that apply if a database has no such
    /// files.
    pub facts: FactFiles,
    /// The family of each table, by table name, as stated in the judged tree's catalog of operations. Tables without a
    /// spec are included.
    pub families: BTreeMap<String, String>,
    /// The versions of each backend that a query to the planner can select; `None` if the judged tree does not list
    /// them.
    pub query_versions: Option<QueryVersions>,
}

/// Numbers that formulas look up by a name. For example, `bytes(gemm_dtype)` is the number of bytes per element of the
/// dtype in the column `gemm_dtype`.
#[derive(Debug, Default, Clone)]
pub struct Lookups {
    /// The number of bytes per element of each dtype, by the dtype's name.
    bytes: BTreeMap<String, f64>,
    /// The name of the figure in a system's YAML that states the peak FLOP/s for a dtype, such as
    /// `gpu.bfloat16_tc_flops`. The map's key is the dtype's name.
    flops: BTreeMap<String, String>,
    /// Lists copied from the loader's source code, by the list's name. Each list assigns numbers to texts, such as to
    /// model names.
    pub(crate) pins: BTreeMap<String, Pins>,
    /// The names of lists in the loader's source code whose file the pull request changes. The program's copies of
    /// these lists may then be outdated.
    pub(crate) changed_facts: BTreeSet<String>,
}

impl Lookups {
    /// Returns the number that a lookup `function` gives for `text` on a system; `None` if this number is unknown.
    pub(crate) fn get(
        &self,
        function: &Lookup,
        text: &str,
        system: Option<&System>,
    ) -> Option<f64> {
        match function {
            Lookup::Bytes => self.bytes.get(text).copied(),
            Lookup::Flops => system?.figure(self.flops.get(text)?).filter(|f| *f > 0.0),
            Lookup::Pin(list) => self.pins.get(&**list)?.get(text).copied(),
        }
    }

    /// Returns the name of the figure in a system's YAML that states the peak FLOP/s for a dtype. `None` if the dtype
    /// is unknown or is not used for arithmetic.
    pub(crate) fn rate(&self, dtype: &str) -> Option<&str> {
        self.flops.get(dtype).map(String::as_str)
    }

    /// Returns the names of all dtypes.
    pub(crate) fn dtypes(&self) -> impl Iterator<Item = &str> {
        self.bytes.keys().map(String::as_str)
    }

    /// Returns true if a lookup function gives the same results with these lookups as with `other`.
    fn gives_same(&self, other: &Self, function: &Lookup) -> bool {
        match function {
            Lookup::Bytes => self.bytes == other.bytes,
            Lookup::Flops => self.flops == other.flops,
            Lookup::Pin(list) => self.pins.get(&**list) == other.pins.get(&**list),
        }
    }

    /// Returns true if the function looks up numbers in a list of the loader's source code and the pull request changes
    /// this code. The list may then contain texts that the program does not know.
    pub(crate) fn may_have_changed(&self, function: &Lookup) -> bool {
        matches!(function, Lookup::Pin(list) if self.changed_facts.contains(&**list))
    }
}

/// The facts about one dtype in `rules/dtypes.yaml`.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct DtypeFacts {
    bytes: f64,
    #[serde(default)]
    flops: Option<String>,
}

impl Specs {
    /// Returns which other files supply rows for keys that a table lacks; [`Filling::Always`] for a table without a
    /// spec.
    pub(crate) fn filling(&self, table: &str) -> Filling {
        self.tables.get(table).map_or(Filling::Always, |spec| spec.filling)
    }

    /// Reads the specs embedded in the binary.
    ///
    /// # Errors
    ///
    /// If an embedded file is malformed, which a test excludes.
    pub fn embedded() -> Result<Self> {
        Self::read(Library::embedded())
    }

    /// Reads the embedded specs. If a folder is given, its files overlay the embedded ones.
    ///
    /// # Errors
    ///
    /// If the folder or one of its files cannot be read or is malformed.
    pub fn overlaid(folder: Option<&Path>) -> Result<Self> {
        let mut library = Library::embedded();
        folder.map_or(Ok(()), |folder| library.overlay(folder))?;
        Self::read(library)
    }

    /// Chooses the layout of a database: by `name` if it is given, otherwise by the `paths` of the database's files. If
    /// a layout other than the public one is chosen, the loader is assumed to read text tables.
    ///
    /// # Errors
    ///
    /// If the name is unknown.
    pub(crate) fn choose_layout<'p>(
        &mut self,
        name: Option<&str>,
        paths: impl Iterator<Item = &'p str> + Clone,
    ) -> Result<()> {
        self.layouts.choose(name, paths)?;
        if self.layouts.declared().is_some() {
            Arc::make_mut(&mut self.loader).text_tables = true;
        }
        Ok(())
    }

    /// Reads all specs from the YAML files of a library. If some of the files are from an overlay folder, also checks
    /// the types in all formulas.
    ///
    /// # Errors
    ///
    /// If a file is malformed. The error names the first such file and the line.
    pub fn read(library: Library) -> Result<Self> {
        let tried = !library.is_embedded();
        Self::read_and_try(library, tried)
    }

    /// Reads all specs from the YAML files of a library. If `tried` is true, also checks the types in all formulas.
    fn read_and_try(library: Library, tried: bool) -> Result<Self> {
        let mut specs = Self {
            systems: KnownSystems::read(library.folder("systems"), tried)?,
            tables: TableSpecs::read(library.folder("rules/tables"), tried)?,
            ..Self::default()
        };
        specs.layouts = Layouts::read(library.folder("rules/layouts"))?;
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
        specs.shipped = Arc::new(ShippedFacts::read(&library)?);
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
                .check(&specs.tables, &specs.systems)
                .map_err(|why| Error::new(why, "CONTRIBUTING.md lists what a limit can read"))?;
        }
        specs.limits = Arc::new(limits);
        specs.library = Arc::new(library);
        Ok(specs)
    }

    /// Returns an error if a formula looks up a number in a list that `rules/facts.yaml` does not contain.
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
/// If the text is malformed; the error names the line.
pub(crate) fn check_tables(text: &str) -> Result<()> {
    let (role, shown) = ("rules/tables/suggested.yaml".to_owned(), "the suggested spec".to_owned());
    let file = SpecFile { role, shown, text: text.to_owned().into(), shipped: false };
    known::tables(&file, true).map(drop)
}

/// Returns the JSON schema of `rules/tables/<family>.yaml`.
pub(crate) fn tables_schema(generator: schemars::SchemaGenerator) -> schemars::Schema {
    generator.into_root_schema_for::<table_file::Family>()
}
