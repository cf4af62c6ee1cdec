//! Table specs: what a table's columns mean and what its loader does to its rows.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::expr::Expr;

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

impl Unit {
    /// Its sign.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Ms => "ms",
            Self::Us => "us",
            Self::GBs => "GB/s",
            Self::W => "W",
        }
    }
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

    /// Measured columns that a lookup depends on.
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
        let parts = spec.key.iter().chain(&spec.latency).map(|p| &p.value);
        let bounds = spec.bounds.iter().flat_map(|b| b.working_set.iter().chain([&b.seconds]));
        let rest = spec.filter.iter().chain(&spec.require).chain(spec.zero.values()).chain(bounds);
        let named =
            parts.chain(rest).chain(spec.buckets.iter().map(|b| &b.rows)).flat_map(Expr::columns);
        let plain = spec.sweep.iter().chain(spec.zero.keys()).map(String::as_str);
        if let Some(unknown) = named.chain(plain).find(|c| !known(c)) {
            return Err(bad(format!("a formula reads {unknown}, which is no column of it")));
        }
        Ok(spec)
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
