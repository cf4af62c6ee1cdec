//! Table specs: what a table's columns mean and what its loader does to its rows.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::column::{ColumnKind, ColumnSpec, Unit, measured_unit};
use super::facts::Lanes;
use super::table_file::Types;
use crate::base::expr::{Expr, Value};

/// Columns that say where a row comes from; every table has them.
pub const IDENTITY: [&str; 5] = ["framework", "version", "device", "op_name", "kernel_source"];

/// Names by which formulas read a table's place.
pub const PLACE: [&str; 3] = ["place_system", "place_backend", "place_version"];

/// A part of the loader's key: a column, or a formula over columns.
#[derive(Debug, Clone)]
pub struct KeyPart {
    /// The name it is shown by.
    pub name: String,
    /// Its value.
    pub value: Expr,
}

/// Which of several rows with one key the loader serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Serves {
    /// The first row in the file.
    First,
    /// The last row in the file.
    Last,
    /// None: the loader refuses the table.
    Error,
}

/// Whether other files fill in what a version's own table lacks: donors that it declares, earlier
/// versions, other backends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Filling {
    /// Key by key.
    #[default]
    Always,
    /// Only where the version has no file of the table at all.
    WhereAbsent,
    /// Never.
    Never,
}

/// Rows that the loader puts into one map; a row may go into several.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bucket {
    /// The loader's name for it.
    pub name: String,
    /// Rows that go there.
    pub rows: Expr,
}

/// Columns that the loader expects to vary together: where `varies` takes several values in a group
/// of equal `by`, so must `with`, or it refuses the table.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Guard {
    /// Columns that make a group.
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
    /// What it is made of: math, memory, link.
    pub name: String,
    /// The bound in seconds.
    pub seconds: Expr,
    /// Whether it holds for certain, so that a shorter time is an error.
    #[serde(default)]
    pub strict: bool,
    /// Bytes that are read once a call, for a bound that caches can beat.
    #[serde(default)]
    pub working_set: Option<Expr>,
}

/// Rows that are not what they seem.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Doubt {
    /// Which rows.
    pub rows: Expr,
    /// What is wrong with them, after `5 rows`.
    pub says: String,
}

/// A file beside a table that seals it: its loader refuses the one without the other.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Seal {
    /// What stands for the table's ending in its name.
    pub ending: String,
    /// The field that holds the table's rows.
    pub rows: String,
    /// The field that holds the SHA-256 of the table's bytes.
    pub sha256: String,
    /// The fields that name the place.
    pub place: SealPlace,
    /// Values of which other fields must hold one.
    #[serde(default)]
    pub one_of: BTreeMap<String, Vec<serde_json::Value>>,
}

/// The fields of a seal that name the table's place.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SealPlace {
    /// The system.
    pub system: String,
    /// The backend.
    pub backend: String,
    /// The version.
    pub version: String,
}

/// What is known of a table.
#[derive(Debug, Clone)]
pub struct TableSpec {
    /// File stem.
    pub name: String,
    /// The family directory it belongs under.
    pub family: String,
    /// Columns beside [`IDENTITY`], in file order.
    pub columns: Vec<ColumnSpec>,
    /// Those of [`IDENTITY`] that it has; all, as a rule.
    pub identity: Vec<String>,
    /// The loader's key.
    pub key: Vec<KeyPart>,
    /// Numbers of the key along which the planner interpolates, outer first.
    pub axes: Vec<String>,
    /// Numbers of the key for which the planner takes the nearest ones where no row has them.
    pub near: Vec<String>,
    /// Rows the loader reads; all when absent.
    pub filter: Option<Expr>,
    /// The maps rows go into; one that takes all rows when empty.
    pub buckets: Vec<Bucket>,
    /// Rows the loader accepts; one that fails it fails the load.
    pub require: Option<Expr>,
    /// What must vary together for the loader to accept the rows.
    pub guard: Option<Guard>,
    /// Which row of a repeated key is served.
    pub serves: Serves,
    /// Columns by whose values copies of a key are measured on purpose: sweeps that meet in a key that
    /// does not hold them.
    pub coexist: Vec<String>,
    /// What a lookup returns, in ms, by name: a formula over the measured columns.
    pub latency: Vec<KeyPart>,
    /// Dtypes of a column that the list of all dtypes lacks, by column.
    pub dtypes: BTreeMap<String, Vec<String>>,
    /// Where a measured column may be zero, by column.
    pub zero: BTreeMap<String, Expr>,
    /// Columns along which time grows.
    pub sweep: Vec<String>,
    /// Times that no measurement can be shorter than; empty where none is known to be sound.
    pub bounds: Vec<Bound>,
    /// Whether rows of reuse donors and earlier versions fill what this table lacks.
    pub filling: Filling,
    /// Rows that are not what they seem.
    pub doubts: Vec<Doubt>,
    /// The file beside it that seals it.
    pub seal: Option<Seal>,
    /// The kernels whose rows the loader keeps apart, where the judged tree says which it asks first.
    pub lanes: Option<Arc<Lanes>>,
    /// Whether the spec was inferred from a table's own columns.
    pub inferred: bool,
}

impl TableSpec {
    /// The column of that name.
    pub fn column(&self, name: &str) -> Option<&ColumnSpec> {
        self.columns.iter().find(|c| c.name == name)
    }

    /// Whether formulas may read the column. `system` is the place's, so that a formula can distinguish a machine
    /// from the others.
    pub fn knows(&self, column: &str) -> bool {
        column == "system"
            || PLACE.contains(&column)
            || IDENTITY.contains(&column)
            || self.column(column).is_some()
    }

    /// What a column should hold; none where the spec says nothing of it.
    pub fn kind(&self, name: &str) -> Option<ColumnKind> {
        match self.column(name) {
            Some(column) => Some(column.kind),
            None => IDENTITY.contains(&name).then_some(ColumnKind::Text),
        }
    }

    /// What distinguishes a row from others that the loader could serve for the same key: the key, and the
    /// kernel where it keeps kernels apart.
    pub fn row_key(&self) -> Cow<'_, [KeyPart]> {
        let lane = self.lanes.as_ref().and_then(|lanes| KeyPart::column(&lanes.column));
        match lane.filter(|lane| !self.key.iter().any(|part| part.name == lane.name)) {
            None => Cow::Borrowed(&self.key),
            Some(lane) => Cow::Owned(self.key.iter().cloned().chain([lane]).collect()),
        }
    }

    /// Whether a part of the key is a name or a flag, not a number.
    pub fn is_name(&self, part: &KeyPart) -> bool {
        !matches!(part.value.eval(&Types(self)), Ok(Value::Number(_)))
    }

    /// Every formula of the spec.
    pub(super) fn formulas(&self) -> impl Iterator<Item = &Expr> {
        let parts = self.key.iter().chain(&self.latency).map(|p| &p.value);
        let rest = self.filter.iter().chain(&self.require).chain(self.zero.values());
        let buckets = self.buckets.iter().map(|b| &b.rows);
        let doubts = self.doubts.iter().map(|d| &d.rows);
        let bounds = self.bounds.iter().flat_map(|b| b.working_set.iter().chain([&b.seconds]));
        parts.chain(rest).chain(buckets).chain(bounds).chain(doubts)
    }

    /// Measured columns with their units, power aside.
    pub fn measures(&self) -> impl Iterator<Item = (&str, Unit)> {
        self.columns.iter().filter_map(|c| match c.kind {
            ColumnKind::Measure(unit) if unit != Unit::W => Some((c.name.as_str(), unit)),
            _ => None,
        })
    }

    /// The formulas of the key, the loader's filters and the latency.
    pub fn loaded(&self) -> impl Iterator<Item = &Expr> {
        let parts = self.key.iter().chain(&self.latency).map(|p| &p.value);
        let filters = self.filter.iter().chain(&self.require);
        parts.chain(filters).chain(self.buckets.iter().map(|b| &b.rows))
    }

    /// Columns that the key, the loader's filters or the latency read.
    pub fn loaded_columns(&self) -> BTreeSet<&str> {
        self.loaded().flat_map(Expr::columns).collect()
    }

    /// Whether the key, the loader's filters or the latency read the column.
    pub fn reads(&self, column: &str) -> bool {
        self.loaded_columns().contains(column)
    }

    /// A spec for a table that none is written for: what is measured, by the columns' names. Nothing
    /// says what the others mean, so it has no key.
    pub fn inferred(name: &str, family: &str, columns: &[(String, ColumnKind)]) -> Self {
        let mut specs = Vec::new();
        for (column, found) in columns {
            let kind = measured_unit(column).map_or(*found, ColumnKind::Measure);
            if !IDENTITY.contains(&column.as_str()) {
                specs.push(ColumnSpec { name: column.clone(), kind, optional: false });
            }
        }
        Self {
            name: name.to_owned(),
            family: family.to_owned(),
            columns: specs,
            identity: IDENTITY.map(str::to_owned).to_vec(),
            key: Vec::new(),
            axes: Vec::new(),
            near: Vec::new(),
            filter: None,
            buckets: Vec::new(),
            require: None,
            guard: None,
            serves: Serves::First,
            coexist: Vec::new(),
            latency: Vec::new(),
            dtypes: BTreeMap::new(),
            zero: BTreeMap::new(),
            sweep: Vec::new(),
            bounds: Vec::new(),
            filling: Filling::Always,
            doubts: Vec::new(),
            seal: None,
            lanes: None,
            inferred: true,
        }
    }
}

impl KeyPart {
    /// A bare column, when its name is one an expression can hold.
    pub fn column(name: &str) -> Option<Self> {
        let value: Expr = name.parse().ok()?;
        value.as_column()?;
        Some(Self { name: name.to_owned(), value })
    }
}
