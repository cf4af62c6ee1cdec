//! Table specs: what a table's columns mean and what its loader does to its rows.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;

use crate::expr::{Expr, Lookup, Scope, Vals, Value};
use crate::table::Column;

/// Columns that say where a row comes from; every table has them.
pub const IDENTITY: [&str; 5] = ["framework", "version", "device", "op_name", "kernel_source"];

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// A name: dtype, kernel, model.
    Text,
    /// A count or size, 1 or more unless a rule allows 0.
    Int,
    /// A flag.
    Bool,
    /// Any number.
    Number,
    /// A measurement, in this unit: ms, us, GB/s or W.
    Measure(Unit),
}

/// Unit of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Milliseconds.
    Ms,
    /// Microseconds.
    Us,
    /// 10⁹ bytes a second.
    GBs,
    /// Watts.
    W,
}

/// A column of a table spec.
#[derive(Debug, Clone)]
pub struct ColumnSpec {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub kind: ColumnKind,
    /// Whether a table may lack it.
    pub optional: bool,
}

/// A part of the loader's key: a column, or a formula over columns.
#[derive(Debug, Clone)]
pub struct KeyPart {
    /// The name it is shown by.
    pub name: String,
    /// Its value.
    pub value: Expr,
}

/// Which of several rows with one key the loader serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Serves {
    /// The first row in the file.
    First,
    /// The last row in the file.
    Last,
    /// None: the loader refuses the table.
    Error,
}

/// Rows that the loader puts into one map; a row may go into several.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bucket {
    /// The loader's name for it.
    pub name: String,
    /// Rows that go there.
    pub rows: Expr,
}

/// Columns that the loader expects to vary together: where `varies` takes several values in a group
/// of equal `by`, so must `with`, or it refuses the table.
#[derive(Debug, Clone, Deserialize)]
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
#[derive(Debug, Clone, Deserialize)]
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

/// What is known of a table.
#[derive(Debug, Clone)]
pub struct TableSpec {
    /// File stem.
    pub name: String,
    /// The family directory it belongs under.
    pub family: String,
    /// Columns beside [`IDENTITY`], in file order.
    pub columns: Vec<ColumnSpec>,
    /// The loader's key.
    pub key: Vec<KeyPart>,
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
    /// What a lookup returns, in ms, by name: a formula over the measured columns.
    pub latency: Vec<KeyPart>,
    /// Where a measured column may be zero, by column.
    pub zero: BTreeMap<String, Expr>,
    /// Columns along which time grows.
    pub sweep: Vec<String>,
    /// Times that no measurement can be shorter than; empty where none is known to be sound.
    pub bounds: Vec<Bound>,
    /// Whether rows of reuse donors and earlier versions fill what this table lacks.
    pub shared: bool,
    /// Whether the spec was inferred from a table's own columns.
    pub inferred: bool,
}

impl TableSpec {
    /// The column of that name.
    pub fn column(&self, name: &str) -> Option<&ColumnSpec> {
        self.columns.iter().find(|c| c.name == name)
    }

    /// Whether a column holds what the spec says, or the spec says nothing of it.
    pub fn fits(&self, name: &str, found: &Column) -> bool {
        let kind = match self.column(name) {
            Some(column) => column.kind,
            None if IDENTITY.contains(&name) => ColumnKind::Text,
            None => return true,
        };
        match kind {
            ColumnKind::Text => matches!(found, Column::Text { .. }),
            ColumnKind::Bool => matches!(found, Column::Bool { .. }),
            // A fractional size is key-out-of-range's to tell, and its type header-mismatch's.
            ColumnKind::Int | ColumnKind::Number | ColumnKind::Measure(_) => {
                matches!(found, Column::Int { .. } | Column::Float { .. })
            }
        }
    }

    /// Every formula of the spec.
    fn formulas(&self) -> impl Iterator<Item = &Expr> {
        let parts = self.key.iter().chain(&self.latency).map(|p| &p.value);
        let rest = self.filter.iter().chain(&self.require).chain(self.zero.values());
        let buckets = self.buckets.iter().map(|b| &b.rows);
        let bounds = self.bounds.iter().flat_map(|b| b.working_set.iter().chain([&b.seconds]));
        parts.chain(rest).chain(buckets).chain(bounds)
    }

    /// Measured columns with their units, power aside.
    pub fn measures(&self) -> impl Iterator<Item = (&str, Unit)> {
        self.columns.iter().filter_map(|c| match c.kind {
            ColumnKind::Measure(unit) if unit != Unit::W => Some((c.name.as_str(), unit)),
            _ => None,
        })
    }

    /// Whether the key, the loader's filters or the latency read the column.
    pub fn reads(&self, column: &str) -> bool {
        let parts = self.key.iter().chain(&self.latency).map(|p| &p.value);
        let rest =
            self.filter.iter().chain(&self.require).chain(self.buckets.iter().map(|b| &b.rows));
        parts.chain(rest).any(|e| e.columns().contains(&column))
    }

    /// A spec for a table that none is written for: measurements by their names, every other
    /// column but the identity's (and `kernel_source`, `op_name` where they vary) is the key.
    pub fn inferred(name: &str, family: &str, columns: &[(String, ColumnKind)]) -> Self {
        let mut specs = Vec::new();
        let mut key = Vec::new();
        let mut latency = Vec::new();
        for (column, found) in columns {
            let unit = measured_unit(column);
            let kind = unit.map_or(*found, ColumnKind::Measure);
            let part = || KeyPart::column(column);
            match unit {
                Some(Unit::Ms) => latency.push(part()),
                Some(_) => {}
                None if ["framework", "version", "device"].contains(&column.as_str()) => {}
                None => key.push(part()),
            }
            if !IDENTITY.contains(&column.as_str()) {
                specs.push(ColumnSpec { name: column.clone(), kind, optional: false });
            }
        }
        Self {
            name: name.to_owned(),
            family: family.to_owned(),
            columns: specs,
            key: key.into_iter().flatten().collect(),
            filter: None,
            buckets: Vec::new(),
            require: None,
            guard: None,
            serves: Serves::First,
            latency: latency.into_iter().flatten().collect(),
            zero: BTreeMap::new(),
            sweep: Vec::new(),
            bounds: Vec::new(),
            shared: true,
            inferred: true,
        }
    }
}

impl KeyPart {
    /// A bare column, when its name is one an expression can hold.
    fn column(name: &str) -> Option<Self> {
        let value: Expr = name.parse().ok()?;
        value.as_column()?;
        Some(Self { name: name.to_owned(), value })
    }
}

/// The unit of a measured column by the contract's names, or `None` where it is none.
pub fn measured_unit(name: &str) -> Option<Unit> {
    match name {
        "latency" | "avg_ms" => Some(Unit::Ms),
        "power" | "power_limit" | "energy" => Some(Unit::W),
        _ if name.ends_with("_us") => Some(Unit::Us),
        _ if name.ends_with("_gbps") => Some(Unit::GBs),
        _ => None,
    }
}

/// A file of `rules/tables/`: the tables of one family.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Family {
    family: String,
    tables: BTreeMap<String, Table>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    /// Read by people only.
    #[allow(dead_code)]
    about: String,
    columns: OrderedMap<String>,
    key: Vec<KeyEntry>,
    #[serde(default)]
    filter: Option<Expr>,
    #[serde(default)]
    buckets: Vec<Bucket>,
    #[serde(default)]
    require: Option<Expr>,
    #[serde(default)]
    guard: Option<Guard>,
    serves: Serves,
    #[serde(default)]
    latency: Option<OrderedMap<Expr>>,
    #[serde(default)]
    zero: BTreeMap<String, Expr>,
    #[serde(default)]
    sweep: Vec<String>,
    #[serde(default)]
    bounds: Vec<Bound>,
    #[serde(default = "yes")]
    shared: bool,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum KeyEntry {
    Column(String),
    Formula(BTreeMap<String, String>),
}

/// A YAML map in the order it is written.
#[derive(Debug)]
struct OrderedMap<T>(Vec<(String, T)>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OrderedMap<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> serde::de::Visitor<'de> for Visitor<T> {
            type Value = OrderedMap<T>;
            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("a map")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(OrderedMap(entries))
            }
        }
        deserializer.deserialize_map(Visitor(std::marker::PhantomData))
    }
}

impl Family {
    /// Checks what the YAML's types cannot: names that formulas use exist.
    pub(super) fn into_specs(self) -> Result<Vec<TableSpec>, String> {
        let family = self.family;
        self.tables.into_iter().map(|(name, table)| table.into_spec(name, &family)).collect()
    }
}

impl Table {
    fn into_spec(self, name: String, family: &str) -> Result<TableSpec, String> {
        let bad = |what: String| format!("table {name}: {what}");
        let columns = self
            .columns
            .0
            .into_iter()
            .map(|(column, kind)| ColumnSpec::parse(column, &kind).map_err(bad))
            .collect::<Result<Vec<_>, _>>()?;
        let mut key = Vec::new();
        for entry in self.key {
            let named = match entry {
                KeyEntry::Column(column) => vec![(column.clone(), column)],
                KeyEntry::Formula(map) => map.into_iter().collect(),
            };
            for (name, text) in named {
                let value = text.parse::<Expr>().map_err(|e| bad(e.to_string()))?;
                key.push(KeyPart { name, value });
            }
        }
        let latency = match self.latency {
            Some(map) => map.0.into_iter().map(|(name, value)| KeyPart { name, value }).collect(),
            None => columns
                .iter()
                .filter(|c| c.kind == ColumnKind::Measure(Unit::Ms))
                .filter_map(|c| KeyPart::column(&c.name))
                .collect::<Vec<_>>(),
        };
        let spec = TableSpec {
            name: name.clone(),
            family: family.to_owned(),
            columns,
            key,
            filter: self.filter,
            buckets: self.buckets,
            require: self.require,
            guard: self.guard,
            serves: self.serves,
            latency,
            zero: self.zero,
            sweep: self.sweep,
            bounds: self.bounds,
            shared: self.shared,
            inferred: false,
        };
        if spec.key.is_empty() || spec.latency.is_empty() {
            return Err(bad("it needs a key and a measured column".into()));
        }
        // `system` is the place's, so that a formula can tell one machine from the others.
        let known = |c: &str| c == "system" || IDENTITY.contains(&c) || spec.column(c).is_some();
        // Types are the spec's, so a formula that mixes them is found here and not by some table.
        for formula in spec.formulas() {
            formula.eval(&Types(&spec)).map_err(|e| bad(e.to_string()))?;
        }
        let named = spec.formulas().flat_map(Expr::columns);
        let plain = spec.sweep.iter().chain(spec.zero.keys()).map(String::as_str);
        if let Some(unknown) = named.chain(plain).find(|c| !known(c)) {
            return Err(bad(format!("a formula reads {unknown}, which is no column of it")));
        }
        Ok(spec)
    }
}

/// No rows, with the types that a spec gives: what formulas are tried on when the spec is read.
struct Types<'a>(&'a TableSpec);

impl Scope for Types<'_> {
    fn rows(&self) -> usize {
        0
    }

    fn column(&self, name: &str) -> Option<Value<'_>> {
        let kind = self.0.column(name).map_or(ColumnKind::Text, |c| c.kind);
        Some(match kind {
            ColumnKind::Text => Value::Text(Vals::Rows(Cow::Borrowed(&[])), Cow::Borrowed(&[])),
            ColumnKind::Bool => Value::Bool(Vals::Rows(Cow::Borrowed(&[]))),
            _ => Value::Number(Vals::Rows(Cow::Borrowed(&[]))),
        })
    }

    fn field(&self, _: &str) -> Option<f64> {
        None
    }

    fn lookup(&self, _: Lookup, _: &str) -> Option<f64> {
        None
    }
}

impl ColumnSpec {
    fn parse(name: String, kind: &str) -> Result<Self, String> {
        let (kind, optional) = kind.strip_suffix('?').map_or((kind, false), |k| (k, true));
        let kind = match kind {
            "text" => ColumnKind::Text,
            "int" => ColumnKind::Int,
            "bool" => ColumnKind::Bool,
            "number" => ColumnKind::Number,
            "ms" => ColumnKind::Measure(Unit::Ms),
            "us" => ColumnKind::Measure(Unit::Us),
            "GB/s" => ColumnKind::Measure(Unit::GBs),
            "W" => ColumnKind::Measure(Unit::W),
            _ => {
                return Err(format!(
                    "column {name} is {kind}: text, int, bool, number, ms, us, GB/s or W"
                ));
            }
        };
        Ok(Self { name, kind, optional })
    }
}
