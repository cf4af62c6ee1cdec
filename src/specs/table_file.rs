//! Converts `rules/tables/<family>.yaml` into table specs, and checks what the YAML's types cannot.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::column::{ColumnKind, ColumnSpec, Unit};
use super::table::{
    Bound, Bucket, Filling, Guard, IDENTITY, Identity, KeyPart, Seal, Serves, TableSpec,
};
use crate::base::error::Reason;
use crate::base::expr::Expr;

/// A file of `rules/tables/`: the tables of one family.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Family {
    /// The family's directory.
    family: String,
    /// The tables of the family, by the stem of the table's file name.
    tables: BTreeMap<String, TableEntry>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Table")]
struct TableEntry {
    /// A description of the table for people.
    #[allow(dead_code, reason = "people read it in the YAML")]
    about: String,
    /// The type or unit of each column, by the column's name, in the order of the file. A `?` at the end means that a
    /// table may lack the column.
    #[schemars(with = "BTreeMap<String, String>", extend("additionalProperties" = {
        "type": "string", "pattern": r"^(text|int|bool|number|ms|us|GB/s|TFLOP/s|W)\??$"
    }))]
    columns: OrderedMap<String>,
    /// The parts of the loader's key: columns, or names with formulas.
    key: Vec<KeyEntry>,
    /// Numeric key parts between whose values the planner interpolates. The outermost axis comes first. At most three
    /// axes are allowed.
    #[serde(default)]
    axes: Vec<String>,
    /// The condition that selects the rows that the loader reads; by default all rows.
    #[serde(default)]
    filter: Option<Expr>,
    /// The maps in which the loader stores the table's rows by key; by default one map of all rows.
    #[serde(default)]
    buckets: Vec<Bucket>,
    /// The condition that every row must fulfil. Otherwise, the loader refuses the table.
    #[serde(default)]
    require: Option<Expr>,
    /// The loader's check on groups of rows: if one column varies in a group, another must vary too.
    #[serde(default)]
    guard: Option<Guard>,
    /// The columns that must have the same value in all rows. Otherwise, the loader refuses the table.
    #[serde(default)]
    uniform: Vec<String>,
    /// True if the loader refuses a table with a column that the spec does not list.
    #[serde(default)]
    exact: bool,
    /// True if the loader refuses a table with a null in any cell.
    #[serde(default)]
    no_nulls: bool,
    /// The row that the loader serves if several rows have the same key.
    serves: Serves,
    /// Columns in which rows with the same key may differ intentionally.
    #[serde(default)]
    coexist: Vec<String>,
    /// The formulas for the latencies in ms that the loader returns for a key, by the latency's name; by default the
    /// columns in ms.
    #[serde(default)]
    #[schemars(with = "Option<BTreeMap<String, Expr>>")]
    latency: Option<OrderedMap<Expr>>,
    /// Additional dtypes that a column may contain, by column. Those in `rules/dtypes.yaml` are always allowed.
    #[serde(default)]
    dtypes: BTreeMap<String, Vec<String>>,
    /// The condition under which a measured column may be zero in a row, by column.
    #[serde(default)]
    zero: BTreeMap<String, Expr>,
    /// The columns whose values the collector sweeps. A larger value in such a column means a longer latency.
    #[serde(default)]
    sweep: Vec<String>,
    /// Formulas for the shortest times that a measurement can take, one per resource of the machine, such as memory.
    #[serde(default)]
    bounds: Vec<Bound>,
    /// Relations that the values of each row must satisfy.
    #[serde(default)]
    identities: Vec<Identity>,
    /// The identity columns that the table has; by default all.
    #[serde(default)]
    identity: Option<Vec<String>>,
    /// True if the table need not contain every point of a grid. Then no point is reported as missing.
    #[serde(default)]
    sparse: bool,
    /// True if the planner reads the table to predict a model's step times. It is then an error if the current version
    /// loses a whole slice of the table.
    #[serde(default)]
    read_by_models: bool,
    /// The spec of the file that seals the table.
    #[serde(default)]
    seal: Option<Seal>,
    /// States which other files supply rows for keys that the table lacks: all of them (the default), only files of
    /// earlier versions, or none.
    #[serde(default)]
    shared: Option<SharedValue>,
}

/// The value of the field `shared` in a table's entry.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(untagged)]
enum SharedValue {
    /// `true` if all other files supply rows for keys that the table lacks, `false` if no other file does.
    Flag(bool),
    /// The word `earlier` if only files of earlier versions supply rows for keys that the table lacks.
    Case(SharedCase),
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum SharedCase {
    /// Only earlier versions of the same backend supply rows for keys that the table lacks.
    Earlier,
}

impl SharedValue {
    fn filling(self) -> Filling {
        match self {
            Self::Flag(true) => Filling::Always,
            Self::Flag(false) => Filling::Never,
            Self::Case(SharedCase::Earlier) => Filling::Earlier,
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
enum KeyEntry {
    Column(String),
    Formula(BTreeMap<String, String>),
}

/// A YAML map whose entries stay in the order of the file.
#[derive(Debug)]
struct OrderedMap<T>(Vec<(String, T)>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OrderedMap<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MapVisitor<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> serde::de::Visitor<'de> for MapVisitor<T> {
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
        deserializer.deserialize_map(MapVisitor(std::marker::PhantomData))
    }
}

impl Family {
    /// Converts the file's tables to specs. If `tried` is true, also checks the formulas, including the column names
    /// that they contain.
    pub(super) fn into_specs(self, tried: bool) -> Result<Vec<TableSpec>, Reason> {
        let (family, tables) = (self.family, self.tables.into_iter());
        tables.map(|(name, table)| table.into_spec(name, &family, tried)).collect()
    }
}

impl TableEntry {
    fn into_spec(self, name: String, family: &str, tried: bool) -> Result<TableSpec, Reason> {
        let bad = |why: Reason| Reason::from(format!("table {name}: {why}"));
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
                let value = text.parse::<Expr>().map_err(|e| bad(e.to_string().into()))?;
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
            axes: self.axes,
            filter: self.filter,
            buckets: self.buckets,
            require: self.require,
            guard: self.guard,
            uniform: self.uniform,
            exact: self.exact,
            no_nulls: self.no_nulls,
            serves: self.serves,
            coexist: self.coexist,
            latency,
            dtypes: self.dtypes,
            zero: self.zero,
            sweep: self.sweep,
            bounds: self.bounds,
            identities: self.identities,
            filling: self.shared.map_or(Filling::Always, SharedValue::filling),
            identity: self.identity.unwrap_or_else(|| IDENTITY.map(str::to_owned).to_vec()),
            is_sparse: self.sparse,
            is_read_by_models: self.read_by_models,
            seal: self.seal,
            lanes: None,
            kernels: None,
            inferred: false,
        };
        if spec.key.is_empty() || spec.latency.is_empty() {
            return Err(bad("a table needs a key and a measured column".into()));
        }
        let is_of_key = |name: &String| spec.key.iter().any(|part| part.name == *name);
        if let Some(name) = spec.axes.iter().find(|name| !is_of_key(name)) {
            return Err(bad(format!("{name} is not a part of its key").into()));
        }
        if spec.axes.len() > 3 {
            return Err(bad("the planner interpolates along three axes at most".into()));
        }
        if tried {
            try_formulas(&spec).map_err(bad)?;
        }
        Ok(spec)
    }
}

/// Checks the types in a spec's formulas by evaluating them on empty columns.
fn try_formulas(spec: &TableSpec) -> Result<(), Reason> {
    for formula in spec.formulas() {
        formula.eval(&spec.types()).map_err(|e| e.to_string())?;
    }
    for identity in &spec.identities {
        if identity.derived().is_some() != identity.is.is_some()
            || identity.is.is_some() == identity.holds.is_some()
        {
            return Err("an identity has either `column` and `is`, or `holds`".into());
        }
        if identity.units.iter().chain([&identity.within]).any(|n| !n.is_finite() || *n < 0.0) {
            return Err("`units` and `within` of an identity are numbers from 0".into());
        }
    }
    let named = spec.formulas().flat_map(Expr::columns);
    let plain = spec
        .sweep
        .iter()
        .chain(&spec.coexist)
        .chain(&spec.uniform)
        .chain(spec.zero.keys())
        .chain(spec.dtypes.keys())
        .map(String::as_str);
    match named.chain(plain).find(|c| !spec.knows(c)) {
        Some(unknown) => {
            Err(format!("a formula reads {unknown}, which is not one of its columns").into())
        }
        None => Ok(()),
    }
}

impl ColumnSpec {
    fn parse(name: String, kind: &str) -> Result<Self, Reason> {
        let (kind, optional) = kind.strip_suffix('?').map_or((kind, false), |k| (k, true));
        let kind = match kind {
            "text" => ColumnKind::Text,
            "int" => ColumnKind::Int,
            "bool" => ColumnKind::Bool,
            "number" => ColumnKind::Number,
            "ms" => ColumnKind::Measure(Unit::Ms),
            "us" => ColumnKind::Measure(Unit::Us),
            "GB/s" => ColumnKind::Measure(Unit::GBs),
            "TFLOP/s" => ColumnKind::Measure(Unit::Tflops),
            "W" => ColumnKind::Measure(Unit::W),
            _ => {
                return Err(format!(
                    "column {name} is {kind}, but must be text, int, bool, number, ms, us, GB/s, TFLOP/s or W"
                )
                .into());
            }
        };
        Ok(Self { name, kind, optional })
    }
}
