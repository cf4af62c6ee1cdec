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
    /// The formula that computes the key part's value.
    pub value: Expr,
}

/// The row that the loader serves if several rows have the same key.
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
    /// Other files fill every key that the version's own table lacks.
    #[default]
    Always,
    /// Only earlier versions of the backend fill every key that the version's own table lacks.
    Earlier,
    /// Rows of other files never fill gaps.
    Never,
}

/// A map of the loader, and the rows that the loader puts into this map. A row may go into several maps.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bucket {
    /// The map's name in the loader.
    pub name: String,
    /// The formula that selects the rows that go into the map.
    pub rows: Expr,
    /// The text column by which the loader divides the map into one map per text; `None` for a single map. The loader
    /// reads these maps only after all others.
    pub apart: Option<String>,
}

/// Columns that the loader expects to vary together. The rows with equal values in the columns `by` form a group. If
/// `varies` has several values in a group, `with` must have several too. Otherwise, the loader refuses the table.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Guard {
    /// The columns that form a group of rows.
    pub by: Vec<String>,
    /// The column that may vary.
    pub varies: String,
    /// The column that must have several values in a group if `varies` has several.
    pub with: String,
}

/// A lower bound of the time that a measurement can take.
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
    /// The number of bytes that one call reads once; `None` if caches cannot make a measurement faster than the bound.
    #[serde(default)]
    pub working_set: Option<Expr>,
}

/// A relation between the values of each row, such as between a rate and its time, or a minimum and a median.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// The column that follows from the other columns; `None` if `holds` states the relation.
    #[serde(default)]
    pub column: Option<Expr>,
    /// The formula that computes the column's value from the other columns; `None` if `holds` states the relation.
    #[serde(default)]
    pub is: Option<Expr>,
    /// Factors by which the column's values may be multiplied, because the column may be in another unit.
    #[serde(default)]
    pub units: Vec<f64>,
    /// The fraction by which the column may differ from the computed value, in addition to rounding.
    #[serde(default)]
    pub within: f64,
    /// The condition that is true in every row; `None` if the relation is the value of a column.
    #[serde(default)]
    pub holds: Option<Expr>,
    /// The formula that selects the rows in which the relation is certain; `None` for all rows.
    #[serde(default, rename = "where")]
    pub filter: Option<Expr>,
}

impl Identity {
    /// Returns the formulas of the identity, including the filter.
    pub(crate) fn formulas(&self) -> impl Iterator<Item = &Expr> {
        self.column.iter().chain(&self.is).chain(&self.holds).chain(&self.filter)
    }

    /// Returns the name of the column that follows from the other columns. `None` if the relation has no such column,
    /// or has a formula in its place.
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
    /// The name of the seal's field that contains the table's number of rows.
    pub rows: String,
    /// The name of the seal's field that contains the SHA-256 of the table's bytes.
    pub sha256: String,
    /// The names of the seal's fields that contain the table's system, backend and version.
    pub place: SealPlace,
    /// The allowed values of further fields of the seal, by field name.
    #[serde(default)]
    pub one_of: BTreeMap<String, Vec<serde_json::Value>>,
}

/// The names of a seal's fields that contain the table's system, backend and version.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SealPlace {
    /// The name of the field that contains the system.
    pub system: String,
    /// The name of the field that contains the backend.
    pub backend: String,
    /// The name of the field that contains the version.
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
    /// The formula that selects the rows that the loader reads; `None` for all rows.
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
    /// True if the loader refuses a table with a column that the spec does not list.
    pub exact: bool,
    /// True if the loader refuses a table with a null in any cell.
    pub no_nulls: bool,
    /// The row that the loader serves if several rows have the same key.
    pub serves: Serves,
    /// Columns that distinguish intended copies of a key, such as copies from different sweeps.
    pub coexist: Vec<String>,
    /// The latencies in ms that a lookup returns, by name, as formulas over the measured columns.
    pub latency: Vec<KeyPart>,
    /// Dtypes that a column may contain in addition to those of `rules/dtypes.yaml`, by column.
    pub dtypes: BTreeMap<String, Vec<String>>,
    /// The formula that selects the rows in which a measured column may be zero, by column.
    pub zero: BTreeMap<String, Expr>,
    /// The columns that span the collector's sweep. A larger value in such a column means a longer latency.
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
    /// The attention lanes: the kernels whose rows the loader stores separately. `None` if the table has no lanes or
    /// the judged tree does not state which lane the loader tries first.
    pub lanes: Option<Arc<Lanes>>,
    /// The backends that frameworks can choose for the table; `None` if the judged tree does not list them.
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

    /// Returns the key that distinguishes the rows that the loader can serve. It is the loader's key, extended by the
    /// kernel if the loader stores the rows of each kernel separately.
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

    /// Returns the formulas of the key, of the latency, and of the filters that the loader applies.
    pub(crate) fn loaded(&self) -> impl Iterator<Item = &Expr> {
        let parts = self.key.iter().chain(&self.latency).map(|p| &p.value);
        let filters = self.filter.iter().chain(&self.require);
        parts.chain(filters).chain(self.buckets.iter().map(|b| &b.rows))
    }

    /// Returns the columns that the loader reads for the key, for the latency or in its filters.
    pub(crate) fn loaded_columns(&self) -> BTreeSet<&str> {
        let apart = self.buckets.iter().filter_map(|bucket| bucket.apart.as_deref());
        self.loaded().flat_map(Expr::columns).chain(apart).collect()
    }

    /// Returns true if the loader reads the column for the key, for the latency or in its filters.
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
    /// Creates a key part from a column; `None` if a formula cannot contain the column's name.
    pub fn column(name: &str) -> Option<Self> {
        let value: Expr = name.parse().ok()?;
        value.as_column()?;
        Some(Self { name: name.to_owned(), value })
    }
}
