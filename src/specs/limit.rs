//! Limits (`rules/limits.yaml`): reasons why a system cannot run a case, so that a missing key is not
//! reported.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use globset::{Glob, GlobMatcher};
use serde::Deserialize;
use serde_yaml::Spanned;

use super::column::{NO_NUMBERS, NO_TEXTS, NoRows};
use super::{KnownSystems, SpecFile, TableSpec, TableSpecs};
use crate::base::error::Reason;
use crate::base::expr::{Expr, Vals, Value};
use crate::base::glob::{self, GlobScope};

/// A reason, such as too little memory, why a system cannot measure some keys of some tables. These keys are then not
/// reported as missing.
#[derive(Debug)]
pub struct Limit {
    /// True if the limit is embedded in the program; false if it comes from an overlay. The condition of an embedded
    /// limit may read the key parts of all embedded table specs.
    shipped: bool,
    tables: Vec<Glob>,
    /// The compiled globs of `tables`. They are compiled when they are first used.
    compiled: OnceLock<Vec<GlobMatcher>>,
    /// The condition on a key. Keys that meet this condition cannot be measured.
    pub forbids: Expr,
    /// The reason why the keys cannot be measured, and where this is documented.
    pub reason: String,
    place: String,
}

/// All limits by their ids.
pub type Limits = BTreeMap<String, Limit>;

/// The names that a limit's condition can read in addition to key parts and figures of the system. `larger_served` is
/// true if the table serves a key that is at least as large as the missing key along every axis. `smaller_served` is
/// true if the table serves a key that is at most as large as the missing key along every axis. `missing_share` is the
/// fraction of missing keys in the slice.
const FACTS: [&str; 6] =
    ["system", "backend", "version", "larger_served", "smaller_served", "missing_share"];

/// The prefix with which a limit's condition reads figures of other systems. For example, `nearest.gpu.mem_capacity` is
/// the smallest memory capacity of the systems whose tables have the missing key.
pub const NEAREST: &str = "nearest.";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LimitFile {
    limits: Vec<LimitEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LimitEntry {
    id: Spanned<String>,
    tables: Vec<String>,
    #[serde(rename = "where")]
    holds: Spanned<Expr>,
    reason: String,
}

/// Parses a file of limits. An error is one line.
pub(super) fn parse(document: &SpecFile) -> Result<Limits, Reason> {
    let file: LimitFile = crate::base::yaml::parse(&document.text)?;
    let mut limits = Limits::new();
    for entry in file.limits {
        let at = |line: u64| format!("line {line}");
        let id = entry.id.value;
        if id.trim().is_empty() || entry.reason.trim().is_empty() {
            return Err(format!(
                "a limit has no id or no reason, {}",
                at(entry.id.referenced.line())
            )
            .into());
        }
        let tables: Result<Vec<Glob>, Reason> =
            entry.tables.iter().map(|table| glob::parse(table, GlobScope::Names)).collect();
        let limit = Limit {
            tables: tables.map_err(|e| format!("limit {id}: {e}"))?,
            compiled: OnceLock::new(),
            shipped: document.shipped,
            place: format!("{}: {}", document.shown, at(entry.holds.referenced.line())),
            forbids: entry.holds.value,
            reason: entry.reason.split_whitespace().collect::<Vec<_>>().join(" "),
        };
        if limits.insert(id.clone(), limit).is_some() {
            return Err(
                format!("two limits have the id {id}, {}", at(entry.id.referenced.line())).into()
            );
        }
    }
    Ok(limits)
}

impl Limit {
    /// Returns true if the limit applies to a table.
    pub(crate) fn concerns(&self, table: &str) -> bool {
        let compile = || self.tables.iter().map(Glob::compile_matcher).collect();
        let tables = self.compiled.get_or_init(compile);
        tables.iter().any(|t| t.is_match(table) || t.is_match(table.trim_end_matches("_perf")))
    }

    /// Checks that the limit's condition reads only known names and compares only values of the same type. The error
    /// names file and line.
    pub(super) fn check(&self, tables: &TableSpecs, systems: &KnownSystems) -> Result<(), Reason> {
        let mut known: BTreeSet<&str> = FACTS.into();
        if self.shipped {
            let parts = tables.shipped().flat_map(|spec| &spec.key);
            known.extend(parts.map(|part| part.name.as_str()));
        }
        for spec in tables.values().filter(|t| self.concerns(&t.name)) {
            known.extend(spec.key.iter().map(|p| p.name.as_str()));
            let types = NoRows(|name: &str| key_type(spec, name));
            let typed = self.forbids.mask(&types);
            typed.map_err(|e| format!("{}: {e}, of {}", self.place, spec.name))?;
        }
        let figure = |field: &str| {
            let own = field.strip_prefix(NEAREST).unwrap_or(field);
            systems.values().any(|s| s.figure(own).is_some())
        };
        let refuse = |what: &str, why: &str| {
            Err(format!("{}: `{}` reads {what}, which is not a {why}", self.place, self.forbids)
                .into())
        };
        if let Some(column) = self.forbids.columns().into_iter().find(|c| !known.contains(c)) {
            return refuse(column, "key part of its tables");
        }
        match self.forbids.fields().into_iter().find(|f| !figure(f)) {
            Some(field) => refuse(field, "figure of any system"),
            None => Ok(()),
        }
    }
}

/// Returns the type of a name in a limit's condition, as an empty column of this type; `None` if the name is unknown.
fn key_type(spec: &TableSpec, name: &str) -> Option<Value<'static>> {
    if let Some(part) = spec.key.iter().find(|p| p.name == name) {
        // A flag is compared by its name.
        return Some(if spec.is_name(part) { NO_TEXTS } else { NO_NUMBERS });
    }
    match name {
        "larger_served" | "smaller_served" => Some(Value::Bool(Vals::One(false))),
        "missing_share" => Some(Value::Number(Vals::One(0.0))),
        _ => FACTS.contains(&name).then_some(NO_TEXTS),
    }
}
