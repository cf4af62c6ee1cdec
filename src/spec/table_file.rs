//! `rules/tables/<family>.yaml` → table specs, with what the YAML's types cannot check.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;

use super::table::{
    Bound, Bucket, ColumnKind, ColumnSpec, Guard, IDENTITY, KeyPart, Serves, TableSpec, Unit,
};
use crate::expr::{Expr, Lookup, Scope, Vals, Value};

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
pub(super) struct Types<'a>(pub(super) &'a TableSpec);

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
