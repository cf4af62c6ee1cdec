//! Rerun lists: points to measure again, with reasons. `perfdb-gate plan` writes them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::error::{Error, Reason, Result};
use crate::base::expr::ExprError;
use crate::database::catalog::Place;
use crate::database::table::{Column, Keys, Table, TableScope};
use crate::specs::{Specs, TableSpec};

/// The schema name of a rerun list.
const SCHEMA: &str = "perfdb-gate/rerun/v1";

/// The columns that rerun lists omit, because the measuring device reports their values.
const SAID_BY_THE_DEVICE: [&str; 2] = ["version", "device"];

/// A rerun list: points to measure again.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RerunList {
    /// Schema name: `perfdb-gate/rerun/v1`.
    pub schema: String,
    /// Where the list comes from, in one sentence.
    pub about: String,
    /// Expected duration of all measurements in seconds; absent if the duration of any point is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// The points, grouped by table.
    pub operations: Vec<RerunOperation>,
}

/// The points to measure again in one table.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RerunOperation {
    /// Name of the system.
    pub system: String,
    /// Name of the family's directory.
    pub family: String,
    /// Name of the backend directory.
    pub backend: String,
    /// Name of the version directory.
    pub version: String,
    /// File stem of the table.
    pub table: String,
    /// Path of the table that contains the points; absent if this table does not exist yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Expected duration of measuring the table's points in seconds; absent if the duration of any point is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Shell commands that measure the points with a collector. Empty if no collector for the table is known.
    #[serde(default)]
    pub collect: Vec<String>,
    /// Size and duration of the table's whole sweep. Present only if the commands cannot select single points and
    /// therefore measure the whole sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<RerunSweep>,
    /// The points to measure again.
    pub points: Vec<RerunPoint>,
}

/// The size of a table's whole sweep, and the expected duration of measuring it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RerunSweep {
    /// Number of points of the sweep.
    pub points: usize,
    /// Expected duration of the sweep in seconds; absent if the duration of any point is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

/// A point to measure again.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RerunPoint {
    /// The columns of the point's row, by name, without measurements, device and version.
    pub key: BTreeMap<String, Value>,
    /// The reason for measuring the point again.
    pub reason: String,
    /// Recorded latency in ms; absent if none is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<f64>,
    /// Expected duration of measuring the point in seconds; absent if no latency is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// True if a power is recorded for the point.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub power: bool,
}

impl RerunList {
    /// Creates a rerun list from the points of some tables. `about` states where the list comes from.
    pub(crate) fn new(about: String, operations: Vec<RerunOperation>) -> Self {
        // The sum of an empty list is negative zero.
        let seconds = operations.iter().map(|o| o.seconds).sum::<Option<f64>>().map(|s| s + 0.0);
        Self { schema: SCHEMA.to_owned(), about, seconds, operations }
    }

    /// Returns true if a text names the schema of rerun lists. The text may still be malformed.
    pub fn is_one(text: &str) -> bool {
        let named = |line: &str| {
            line.strip_prefix("schema:").is_some_and(|name| name.contains("perfdb-gate/rerun/"))
        };
        text.lines().any(named)
    }

    /// Reads a rerun list from a file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or is not a rerun list.
    pub fn read(path: &Path) -> Result<Self> {
        let bad = |why: Reason| {
            let hint = "`perfdb-gate plan --output FILE` writes a rerun list";
            Error::new(format!("{}: {why}", path.display()), hint)
        };
        let text = std::fs::read_to_string(path).map_err(|e| bad(e.to_string().into()))?;
        Self::parse(&text).map_err(bad)
    }

    /// Parses the text of a rerun list.
    ///
    /// # Errors
    ///
    /// If the text is not a rerun list, or if its points do not form a table, for example because their columns differ.
    pub fn parse(text: &str) -> Result<Self, Reason> {
        let list: Self = crate::base::yaml::parse(text)?;
        if list.schema != SCHEMA {
            return Err(format!("schema is '{}', not {SCHEMA}", list.schema).into());
        }
        for operation in &list.operations {
            operation.rows().map_err(|why| Reason::from(format!("{}: {why}", operation.table)))?;
        }
        Ok(list)
    }

    /// Returns the list as YAML.
    pub fn text(&self) -> String {
        serde_yaml::to_string(self).unwrap_or_default()
    }

    /// Returns the list's points of the table with this place in the database and this file stem; `None` if the list
    /// has no point of this table.
    pub(crate) fn of(&self, place: &Place, table: &str) -> Option<&RerunOperation> {
        self.operations.iter().find(|o| {
            o.table == table
                && (&o.system, &o.backend, &o.version)
                    == (&place.system, &place.backend, &place.version)
        })
    }

    /// Returns the number of points in the list.
    pub fn points(&self) -> usize {
        self.operations.iter().map(|o| o.points.len()).sum()
    }
}

impl RerunOperation {
    /// Returns the table's system, family, backend and version.
    pub(crate) fn place(&self) -> Place {
        Place {
            system: self.system.clone(),
            family: Some(self.family.clone()),
            backend: self.backend.clone(),
            version: self.version.clone(),
        }
    }

    /// Returns the hashes of the points' keys. A row of the table with the same key has the same hash.
    ///
    /// # Errors
    ///
    /// If a formula of the spec does not fit the points' columns.
    pub(crate) fn keys(&self, spec: &TableSpec, specs: &Specs) -> Result<BTreeSet<u64>, ExprError> {
        // A list that was read has valid rows.
        let Ok(table) = self.rows() else { return Ok(BTreeSet::new()) };
        let (place, system) = (self.place(), specs.systems.get(&self.system));
        let scope = TableScope::new(&table, spec, &place, system, &specs.lookups);
        Ok(Keys::new(&spec.key, &scope)?.hashes().iter().copied().collect())
    }

    /// Returns the points as a table without latencies, in the order of the list.
    ///
    /// # Errors
    ///
    /// If the points have different columns, or a column mixes types.
    pub(crate) fn rows(&self) -> Result<Table, Reason> {
        let Some(first) = self.points.first() else { return Err("the list has no points".into()) };
        let names: Vec<&String> = first.key.keys().collect();
        if let Some(said) = names.iter().find(|n| SAID_BY_THE_DEVICE.contains(&n.as_str())) {
            let why = format!("the points have a column {said}, which the device reports itself");
            return Err(why.into());
        }
        if names.is_empty() || self.points.iter().any(|p| !p.key.keys().eq(first.key.keys())) {
            return Err("all points need the same columns, and at least one column".into());
        }
        let column = |name: &String| {
            let cells: Vec<&Value> = self.points.iter().map(|p| &p.key[name]).collect();
            let column = Column::from_json(&cells);
            column
                .map(|column| (name.clone(), column))
                .map_err(|why| Reason::from(format!("{name}: {why}")))
        };
        let columns = names.into_iter().map(column).collect::<Result<Vec<_>, _>>()?;
        Ok(Table::of(self.points.len(), columns))
    }
}

/// Returns true if rerun lists contain the column. Rerun lists omit measurements, and the columns `version` and
/// `device`, whose values the device reports.
pub(crate) fn is_listed(column: &str) -> bool {
    !SAID_BY_THE_DEVICE.contains(&column) && crate::specs::measured_unit(column).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "schema: perfdb-gate/rerun/v1\nabout: synthetic\noperations:\n- {system: h200_sxm, family: gemm, backend: vllm, version: 0.24.0, table: gemm_perf, points: ";

    #[test]
    fn the_points_of_a_rerun_list_are_the_rows_of_a_table() {
        let text = format!(
            "{HEAD}[{{key: {{m: 1, gemm_dtype: bfloat16}}, reason: r}}, {{key: {{m: 2, gemm_dtype: fp8}}, reason: r, latency_ms: 0.5}}]}}\n"
        );
        let list = RerunList::parse(&text).unwrap();
        let table = list.operations[0].rows().unwrap();
        assert_eq!((table.rows, list.points()), (2, 2));
        assert_eq!(table.column("m").unwrap().json(1), 2);
        let again = RerunList::parse(&list.text()).unwrap();
        assert_eq!(again.text(), list.text());
        assert!(list.of(&list.operations[0].place(), "gemm_perf").is_some());
    }

    #[test]
    fn an_invalid_rerun_list_is_refused_with_the_reason() {
        for (points, why) in [
            ("[]", "has no points"),
            ("[{key: {}, reason: r}]", "at least one"),
            ("[{key: {m: 1}, reason: r}, {key: {n: 1}, reason: r}]", "the same columns"),
            ("[{key: {m: 1}, reason: r}, {key: {m: a}, reason: r}]", "m: the cells"),
            ("[{key: {device: H200}, reason: r}]", "a column device"),
        ] {
            let error = RerunList::parse(&format!("{HEAD}{points}}}\n")).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
        assert!(RerunList::parse("schema: other\nabout: a\noperations: []\n").is_err());
    }
}
