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

/// The columns that identify the origin of a row. Nearly all tables have all of these columns.
pub const IDENTITY: [&str; 5] = ["framework", "version", "device", "op_name", "kernel_source"];

/// The names that stand for a table's system, backend and version in formulas.
pub const PLACE: [&str; 3] = ["place_system", "place_backend", "place_version"];

/// A part of the loader's key: a column, or a formula over columns.
#[derive(Debug, Clone)]
pub struct KeyPart {
    /// The key part's name in findings.
    pub name: String,
    /// The formula that computes the key part's value.
    pub value: Expr,
}

/// What the loader does if several rows have the same key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Serves {
    /// The loader serves the first row in the file.
    #[default]
    First,
    /// The loader serves the last row in the file.
    Last,
    /// The loader refuses a table in which several rows have the same key.
    Error,
}

/// States which other files supply rows for keys that a table lacks. Such files belong to versions that the database
/// declares as donors, to earlier versions, or to other backends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Filling {
    /// Files of donors, of earlier versions and of other backends supply rows for keys that the table lacks.
    #[default]
    Always,
    /// Only earlier versions of the same backend supply rows for keys that the table lacks.
    Earlier,
    /// No other file supplies rows for keys that the table lacks.
    Never,
}

/// A map in which the loader stores rows by their key. A row may go into several maps.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bucket {
    /// The map's name in the loader.
    pub name: String,
    /// The formula that selects the rows that go into the map.
    pub rows: Expr,
    /// The text column by which the loader divides this map into one map per value, such as one map per kernel; `None`
    /// if the map is not divided. The loader searches divided maps last.
    pub apart: Option<String>,
}

/// A check of the loader on groups of rows. A group consists of all rows with the same values in the columns `by`. If
/// the column `varies` has several values in a group, the column `with` must have several too. Otherwise, the loader
/// refuses the table.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Guard {
    /// The columns whose values are the same in all rows of a group.
    pub by: Vec<String>,
    /// The column that may have several values in a group.
    pub varies: String,
    /// The column that must have several values in a group if the column `varies` has several.
    pub with: String,
}

/// The shortest time that a measurement can take because of one resource of the machine.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bound {
    /// The name of the resource: math, memory or link.
    pub name: String,
    /// The formula for the shortest possible time in seconds.
    pub seconds: Expr,
    /// True if the bound is certain. A measurement below a certain bound is an error.
    #[serde(default)]
    pub strict: bool,
    /// The formula for the bytes that one call reads. If they fit into the cache, the bound does not apply. `None` if
    /// the bound applies regardless of caches.
    #[serde(default)]
    pub working_set: Option<Expr>,
}

/// A relation that the values of every row must satisfy, such as: the minimum is at most the median.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// The column or formula that must equal the formula `is`. `None` if the relation is a condition in `holds`.
    #[serde(default)]
    pub column: Option<Expr>,
    /// The formula for the expected value of `column`. `None` if the relation is a condition in `holds`.
    #[serde(default)]
    pub is: Option<Expr>,
    /// Factors by which the column's value may be multiplied to equal the computed value, such as 1000 if the column
    /// may be in another unit.
    #[serde(default)]
    pub units: Vec<f64>,
    /// The maximum relative difference between the column's value and the computed value, such as 0.01 for 1 %.
    /// Rounding errors may increase the difference further.
    #[serde(default)]
    pub within: f64,
    /// A condition that every row must fulfil. `None` if the relation is given by the fields `column` and `is` instead.
    #[serde(default)]
    pub holds: Option<Expr>,
    /// The condition on rows for which the relation is checked; `None` for all rows.
    #[serde(default, rename = "where")]
    pub filter: Option<Expr>,
}

impl Identity {
    /// Returns the formulas of the identity, including the filter.
    pub(crate) fn formulas(&self) -> impl Iterator<Item = &Expr> {
        self.column.iter().chain(&self.is).chain(&self.holds).chain(&self.filter)
    }

    /// Returns the name of the column that must equal the formula `is`; `None` if `column` is a formula or absent.
    pub(crate) fn derived(&self) -> Option<&str> {
        self.column.as_ref()?.as_column()
    }
}

/// A file beside a table that states the table's number of rows and checksum. The loader refuses a table without its
/// seal, and a seal without its table.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Seal {
    /// The ending of the seal's file name. It replaces the ending of the table's file name.
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
    /// The columns of the table other than those in [`IDENTITY`], in the order of the file.
    pub columns: Vec<ColumnSpec>,
    /// The columns of [`IDENTITY`] that the table has. Nearly all tables have all of them.
    pub identity: Vec<String>,
    /// The parts of the loader's key, in the loader's order.
    pub key: Vec<KeyPart>,
    /// Numeric key parts between whose values the planner interpolates. The outermost axis comes first.
    pub axes: Vec<String>,
    /// The formula that selects the rows that the loader reads; `None` for all rows.
    pub filter: Option<Expr>,
    /// The maps in which the loader stores the table's rows by key. Empty if the loader stores all rows in one map.
    pub buckets: Vec<Bucket>,
    /// A condition that every row must fulfil; otherwise, the loader refuses the table. `None` if there is no such
    /// condition.
    pub require: Option<Expr>,
    /// The loader's check on groups of rows: if one column varies, another must too. `None` without this check.
    pub guard: Option<Guard>,
    /// The columns that must have the same value in all rows. Otherwise, the loader refuses the table.
    pub uniform: Vec<String>,
    /// True if the loader refuses a table with a column that the spec does not list.
    pub exact: bool,
    /// True if the loader refuses a table with a null in any cell.
    pub no_nulls: bool,
    /// The row that the loader serves if several rows have the same key.
    pub serves: Serves,
    /// Columns in which rows with the same key may differ intentionally, for example because they come from different
    /// sweeps.
    pub coexist: Vec<String>,
    /// The latencies in ms that the loader returns for a key, each with its name and its formula.
    pub latency: Vec<KeyPart>,
    /// Additional dtypes that a column may contain, by column. Those in `rules/dtypes.yaml` are always allowed.
    pub dtypes: BTreeMap<String, Vec<String>>,
    /// The condition under which a measured column may be zero in a row, by column.
    pub zero: BTreeMap<String, Expr>,
    /// The columns whose values the collector sweeps. A larger value in such a column means a longer latency.
    pub sweep: Vec<String>,
    /// Formulas for the shortest times that a measurement can take, one per resource of the machine, such as memory.
    /// Empty if no such time is known.
    pub bounds: Vec<Bound>,
    /// Relations that the values of each row must satisfy.
    pub identities: Vec<Identity>,
    /// States which other files supply rows for keys that this table lacks.
    pub filling: Filling,
    /// True if the table need not contain every point of a grid. Then no point is reported as missing.
    pub is_sparse: bool,
    /// True if the planner reads the table to predict a model's step times.
    pub is_read_by_models: bool,
    /// The spec of the file that seals the table; `None` if the loader does not need a seal.
    pub seal: Option<Seal>,
    /// The attention lanes: the kernels whose rows the loader stores separately. `None` if the table has no lanes or if
    /// the judged tree does not state the default lanes.
    pub lanes: Option<Arc<Lanes>>,
    /// The backends that each framework can choose for the table, and the backend that runs each kernel; `None` if the
    /// judged tree does not state them.
    pub kernels: Option<Arc<KernelChoices>>,
    /// True if this spec was guessed from a table's columns, because there is no spec for the table.
    pub inferred: bool,
}

impl TableSpec {
    /// Returns the column with a name.
    pub fn column(&self, name: &str) -> Option<&ColumnSpec> {
        self.columns.iter().find(|c| c.name == name)
    }

    /// Returns true if formulas may read `column`: a column of the table, or another name that the program defines,
    /// such as `system` for the name of the table's system.
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

    /// Returns the key by which rows are distinguished. It consists of the loader's key, followed by the kernel if the
    /// loader stores the rows of each kernel separately.
    pub(crate) fn row_key(&self) -> Cow<'_, [KeyPart]> {
        let lane = self.lanes.as_ref().and_then(|lanes| KeyPart::column(&lanes.column));
        match lane.filter(|lane| !self.key.iter().any(|part| part.name == lane.name)) {
            None => Cow::Borrowed(&self.key),
            Some(lane) => Cow::Owned(self.key.iter().cloned().chain([lane]).collect()),
        }
    }

    /// Returns true if the value of a key part is a name or a flag instead of a number.
    pub(crate) fn is_name(&self, part: &KeyPart) -> bool {
        !matches!(part.value.eval(&self.types()), Ok(Value::Number(_)))
    }

    /// Returns an empty table with the spec's column types, on which formulas are checked for type errors.
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

    /// Returns the names and units of the measured columns, except those in watts.
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
    /// Creates a key part whose value is that of a column; `None` if the column's name is not a valid name in formulas.
    pub fn column(name: &str) -> Option<Self> {
        let value: Expr = name.parse().ok()?;
        value.as_column()?;
        Some(Self { name: name.to_owned(), value })
    }
}
