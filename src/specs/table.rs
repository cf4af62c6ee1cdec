//! Table specs: the meaning of a table's columns, and how its loader treats its rows.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::column::{
    ColumnKind, ColumnSpec, NO_FLAGS, NO_NUMBERS, NO_TEXTS, NoRows, Unit, measured_unit,
};
use super::facts::{KernelChoices, Lanes};
use crate::base::expr::{Expr, Scope, Value};

/// The columns that identify the origin of a row; every table has them.
pub const IDENTITY: [&str; 5] = ["framework", "version", "device", "op_name", "kernel_source"];

/// The names by which formulas read a table's system, backend and version.
pub const PLACE: [&str; 3] = ["place_system", "place_backend", "place_version"];

/// A part of the loader's key: a column, or a formula over columns.
#[derive(Debug, Clone)]
pub struct KeyPart {
    /// The key part's name in findings.
    pub name: String,
    /// The key part's value as a formula.
    pub value: Expr,
}

/// The row that the loader serves if several rows have one key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Serves {
    /// The loader serves the first row in the file.
    #[default]
    First,
    /// The loader serves the last row in the file.
    Last,
    /// The loader refuses the table.
    Error,
}

/// The cases in which rows of other files (declared donors, earlier versions, other backends) fill gaps in a
/// version's own table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Filling {
    /// Other files fill each key that the version lacks.
    #[default]
    Always,
    /// Earlier versions of the backend fill each missing key, and no other file does.
    Earlier,
    /// Other files are never used.
    Never,
}

/// Rows that the loader puts into one map; a row may go into several.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bucket {
    /// The map's name in the loader.
    pub name: String,
    /// The rows that go into the map.
    pub rows: Expr,
    /// A text column, if the loader has a map for each of its texts, which it asks only after all others.
    pub apart: Option<String>,
}

/// Columns that the loader expects to vary together. In a group of rows with equal `by`, if `varies` takes
/// several values, `with` must do so too. Otherwise, the loader refuses the table.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Guard {
    /// The columns that form a group of rows.
    pub by: Vec<String>,
    /// The column that may vary.
    pub varies: String,
    /// The column that must then vary too.
    pub with: String,
}

/// A time that no measurement can be shorter than.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bound {
    /// The resource that limits the time: math, memory or link.
    pub name: String,
    /// The lower bound of the time in seconds.
    pub seconds: Expr,
    /// True if the bound is certain, so that a shorter time is an error.
    #[serde(default)]
    pub strict: bool,
    /// Bytes read once per call; given if caches can make a measurement faster than the bound.
    #[serde(default)]
    pub working_set: Option<Expr>,
}

/// A relation between the values of each row: a rate and its time, a minimum and a median.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// The column that follows from the others; given with `is`.
    #[serde(default)]
    pub column: Option<Expr>,
    /// The value of the column, from the other columns.
    #[serde(default)]
    pub is: Option<Expr>,
    /// Other units in which the column may be given: factors by which its values may be multiplied.
    #[serde(default)]
    pub units: Vec<f64>,
    /// The fraction by which the column may differ from its value, apart from rounding.
    #[serde(default)]
    pub within: f64,
    /// A condition that is true in every row, if the identity is not the value of a column.
    #[serde(default)]
    pub holds: Option<Expr>,
    /// The rows for which the identity is certain; by default all.
    #[serde(default, rename = "where")]
    pub filter: Option<Expr>,
}

impl Identity {
    /// Returns the formulas of the identity, including the filter.
    pub(crate) fn formulas(&self) -> impl Iterator<Item = &Expr> {
        self.column.iter().chain(&self.is).chain(&self.holds).chain(&self.filter)
    }

    /// Returns the name of the column that follows from the others; `None` if the identity has no column, or a
    /// formula in its place.
    pub(crate) fn derived(&self) -> Option<&str> {
        self.column.as_ref()?.as_column()
    }
}

/// A seal: a file beside a table. The loader refuses the table without its seal, and the seal without its table.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Seal {
    /// The ending of the seal's file name, in place of the table's ending.
    pub ending: String,
    /// The seal's field with the number of rows in the table.
    pub rows: String,
    /// The seal's field with the SHA-256 of the table's bytes.
    pub sha256: String,
    /// The seal's fields that name the table's place.
    pub place: SealPlace,
    /// Further fields of the seal, each with its allowed values.
    #[serde(default)]
    pub one_of: BTreeMap<String, Vec<serde_json::Value>>,
}

/// The fields of a seal that name the table's place.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SealPlace {
    /// The field with the system.
    pub system: String,
    /// The field with the backend.
    pub backend: String,
    /// The field with the version.
    pub version: String,
}

/// The spec of a table.
#[derive(Debug, Default, Clone)]
pub struct TableSpec {
    /// The table's name, which is the file stem.
    pub name: String,
    /// The family directory that contains the table.
    pub family: String,
    /// The columns in addition to [`IDENTITY`], in file order.
    pub columns: Vec<ColumnSpec>,
    /// The columns of [`IDENTITY`] that the table has; usually all.
    pub identity: Vec<String>,
    /// The parts of the loader's key, in the loader's order.
    pub key: Vec<KeyPart>,
    /// Numeric key parts along which the planner interpolates, outermost first.
    pub axes: Vec<String>,
    /// The rows that the loader reads; `None` for all rows.
    pub filter: Option<Expr>,
    /// The loader's maps that rows go into; empty for a single map of all rows.
    pub buckets: Vec<Bucket>,
    /// The condition that every row must fulfil, since the loader otherwise refuses the table; `None` for no condition.
    pub require: Option<Expr>,
    /// The columns that must vary together, since the loader otherwise refuses the table; `None` if the loader does
    /// not check this.
    pub guard: Option<Guard>,
    /// The columns that must hold one value in the whole table for the loader to accept it.
    pub uniform: Vec<String>,
    /// True if the loader refuses a table with any further column.
    pub exact: bool,
    /// True if the loader refuses a table with a null in any cell.
    pub no_nulls: bool,
    /// The row that the loader serves if several rows have one key.
    pub serves: Serves,
    /// Columns that distinguish intended copies of a key, such as copies from different sweeps.
    pub coexist: Vec<String>,
    /// The latencies in ms that a lookup returns, by name: formulas over the measured columns.
    pub latency: Vec<KeyPart>,
    /// Additional dtypes that are not in `rules/dtypes.yaml`, by column.
    pub dtypes: BTreeMap<String, Vec<String>>,
    /// The rows in which a measured column may be zero, by column.
    pub zero: BTreeMap<String, Expr>,
    /// Columns along which the latency grows.
    pub sweep: Vec<String>,
    /// Lower bounds of the measured time; empty if no sound bound is known.
    pub bounds: Vec<Bound>,
    /// Relations between the values of each row.
    pub identities: Vec<Identity>,
    /// The cases in which rows of reuse donors and earlier versions fill gaps in this table.
    pub filling: Filling,
    /// True if a table may contain any points instead of a full grid, so that no point counts as missing.
    pub is_sparse: bool,
    /// True if the planner reads the table to predict a model's step times.
    pub is_read_by_models: bool,
    /// The file beside the table that seals it; `None` if the loader does not need a seal.
    pub seal: Option<Seal>,
    /// The kernels whose rows the loader stores separately; `None` unless the judged tree states the kernel that the
    /// loader tries first.
    pub lanes: Option<Arc<Lanes>>,
    /// The backends that frameworks can choose; `None` if the judged tree does not list them.
    pub kernels: Option<Arc<KernelChoices>>,
    /// True if the spec was inferred from a table's own columns.
    pub inferred: bool,
}

impl TableSpec {
    /// Returns the column with a name.
    pub fn column(&self, name: &str) -> Option<&ColumnSpec> {
        self.columns.iter().find(|c| c.name == name)
    }

    /// Returns true if formulas may read a column of this name. The name `system` stands for the system of the
    /// table's place, so that a formula can distinguish systems.
    pub(crate) fn knows(&self, column: &str) -> bool {
        column == "system" || PLACE.contains(&column) || self.kind(column).is_some()
    }

    /// Returns the expected kind of a column; `None` if the spec does not mention the column.
    pub(crate) fn kind(&self, name: &str) -> Option<ColumnKind> {
        match self.column(name) {
            Some(column) => Some(column.kind),
            None => IDENTITY.contains(&name).then_some(ColumnKind::Text),
        }
    }

    /// Returns the key that distinguishes the rows that the loader can serve: the loader's key and, if the loader
    /// stores the rows of each kernel separately, the kernel.
    pub(crate) fn row_key(&self) -> Cow<'_, [KeyPart]> {
        let lane = self.lanes.as_ref().and_then(|lanes| KeyPart::column(&lanes.column));
        match lane.filter(|lane| !self.key.iter().any(|part| part.name == lane.name)) {
            None => Cow::Borrowed(&self.key),
            Some(lane) => Cow::Owned(self.key.iter().cloned().chain([lane]).collect()),
        }
    }

    /// Returns true if a part of the key is a name or a flag, not a number.
    pub(crate) fn is_name(&self, part: &KeyPart) -> bool {
        !matches!(part.value.eval(&self.types()), Ok(Value::Number(_)))
    }

    /// Returns a scope without rows that has the spec's column types.
    pub(crate) fn types(&self) -> impl Scope {
        NoRows(|name: &str| {
            let kind = self.column(name).map_or(ColumnKind::Text, |c| c.kind);
            // A field of the sidecar has any type.
            (!name.contains('.')).then_some(match kind {
                ColumnKind::Text => NO_TEXTS,
                ColumnKind::Bool => NO_FLAGS,
                ColumnKind::Int | ColumnKind::Number | ColumnKind::Measure(_) => NO_NUMBERS,
            })
        })
    }

    /// Returns every formula of the spec.
    pub(super) fn formulas(&self) -> impl Iterator<Item = &Expr> {
        let parts = self.key.iter().chain(&self.latency).map(|p| &p.value);
        let rest = self.filter.iter().chain(&self.require).chain(self.zero.values());
        let buckets = self.buckets.iter().map(|b| &b.rows);
        let bounds = self.bounds.iter().flat_map(|b| b.working_set.iter().chain([&b.seconds]));
        let identities = self.identities.iter().flat_map(Identity::formulas);
        parts.chain(rest).chain(buckets).chain(bounds).chain(identities)
    }

    /// Returns the measured columns except power, with their units.
    pub fn measures(&self) -> impl Iterator<Item = (&str, Unit)> {
        self.columns.iter().filter_map(|c| match c.kind {
            ColumnKind::Measure(unit) if unit != Unit::W => Some((c.name.as_str(), unit)),
            _ => None,
        })
    }

    /// Returns the formulas of the key, the loader's filters and the latency.
    pub(crate) fn loaded(&self) -> impl Iterator<Item = &Expr> {
        let parts = self.key.iter().chain(&self.latency).map(|p| &p.value);
        let filters = self.filter.iter().chain(&self.require);
        parts.chain(filters).chain(self.buckets.iter().map(|b| &b.rows))
    }

    /// Returns the columns that the key, the loader's filters or the latency read.
    pub(crate) fn loaded_columns(&self) -> BTreeSet<&str> {
        let apart = self.buckets.iter().filter_map(|bucket| bucket.apart.as_deref());
        self.loaded().flat_map(Expr::columns).chain(apart).collect()
    }

    /// Returns true if the key, the loader's filters or the latency read the column.
    pub fn reads(&self, column: &str) -> bool {
        self.loaded_columns().contains(column)
    }

    /// Infers a spec for a table without one. Measured columns are recognised by their names. The meaning of
    /// the other columns is unknown, so the spec has no key.
    pub(crate) fn inferred(name: &str, family: &str, columns: &[(String, ColumnKind)]) -> Self {
        let others = columns.iter().filter(|(name, _)| !IDENTITY.contains(&name.as_str()));
        let specs = others.map(|(name, found)| {
            let kind = measured_unit(name).map_or(*found, ColumnKind::Measure);
            ColumnSpec { name: name.clone(), kind, optional: false }
        });
        Self {
            name: name.to_owned(),
            family: family.to_owned(),
            columns: specs.collect(),
            identity: IDENTITY.map(str::to_owned).to_vec(),
            inferred: true,
            ..Self::default()
        }
    }
}

impl KeyPart {
    /// Creates a key part from a column; `None` if an expression cannot contain its name.
    pub fn column(name: &str) -> Option<Self> {
        let value: Expr = name.parse().ok()?;
        value.as_column()?;
        Some(Self { name: name.to_owned(), value })
    }
}
