//! Estimates the time to measure points again and names the collector's commands, from
//! `rules/collectors.yaml`.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use crate::base::error::Result;
use crate::base::escape::quoted;
use crate::gpu::rerun::{RerunOperation, RerunPoint};
use crate::specs::Library;

/// The maximum number of `--case-filter` options in one command. A collector compares each of its cases with each
/// filter, so that many filters are slow.
const FILTERS: usize = 20;

/// The settings of the collectors that measure tables, from `rules/collectors.yaml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Collectors {
    default: PointCost,
    /// Backends that the public collector measures.
    #[serde(default)]
    backends: Vec<String>,
    #[serde(default)]
    tables: BTreeMap<String, TableCollector>,
    /// The name of the user's file with collector settings; `None` if only the built-in settings were read.
    #[serde(skip)]
    pub overlay: Option<String>,
}

/// The cost of measuring a point.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct PointCost {
    /// The number of times that the collector repeats a measurement, warm-ups included. Each repetition calls the
    /// operation `copies` times.
    calls: f64,
    /// The number of calls of the operation in one repetition.
    copies: f64,
    /// Time per point outside the calls, in seconds.
    overhead_s: f64,
    /// Additional time per point for measuring power, in seconds.
    power_s: f64,
}

/// The collector's settings for a table; an absent setting has its default.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct TableCollector {
    calls: Option<f64>,
    copies: Option<f64>,
    overhead_s: Option<f64>,
    /// The operation names that the collector's command line takes to measure this table. If empty, the name is the
    /// table's file stem without `_perf`.
    #[serde(default)]
    ops: Vec<String>,
    /// The command that measures the whole table, with `{backend}` as a placeholder for the backend's name. `None` if
    /// the public collector's script `collect.py` measures the table.
    collector: Option<String>,
    /// A pattern that matches one point in the collector's list of cases, such as `{m}, {n}, {k}`. Each name in braces
    /// is a column. `None` if the collector cannot select single points.
    case: Option<String>,
}

impl Collectors {
    /// Reads `rules/collectors.yaml`. A user's file of the same name replaces the entries that it contains.
    ///
    /// # Errors
    ///
    /// Returns an error with the line if the file is malformed.
    pub(crate) fn read(library: &Library) -> Result<Self> {
        let mut all = Self::default();
        for file in library.file("rules/collectors.yaml") {
            let Self { default, backends, tables, .. } = file.parse()?;
            all.overlay = (!file.shipped).then(|| file.shown.clone());
            all.default = default;
            if !backends.is_empty() {
                all.backends = backends;
            }
            all.tables.extend(tables);
        }
        Ok(all)
    }

    /// Estimates the time to measure a point of a table, in seconds. Returns `None` if the point's latency is unknown.
    /// If `power` is true, the time to measure power is included.
    pub(crate) fn seconds(&self, table: &str, latency_ms: Option<f64>, power: bool) -> Option<f64> {
        let default = self.default;
        let own =
            |field: fn(&TableCollector) -> Option<f64>| self.tables.get(table).and_then(field);
        let calls = own(|table| table.calls).unwrap_or(default.calls);
        let copies = own(|table| table.copies).unwrap_or(default.copies);
        let overhead = own(|table| table.overhead_s).unwrap_or(default.overhead_s);
        let power = if power { default.power_s } else { 0.0 };
        let seconds = latency_ms? / 1000.0 * copies * calls + overhead + power;
        // Estimates are rounded to milliseconds.
        Some((seconds * 1000.0).round() / 1000.0)
    }

    /// Returns true if the collector's commands can select single points of a table, instead of measuring all of its
    /// points.
    pub(crate) fn selects_points(&self, table: &str) -> bool {
        self.tables.get(table).is_some_and(|own| own.collector.is_none() && own.case.is_some())
    }

    /// Returns the commands that measure an operation's points with the public collectors.
    pub(crate) fn commands(&self, operation: &RerunOperation) -> Vec<String> {
        let own = self.tables.get(&operation.table);
        if let Some(script) = own.and_then(|t| t.collector.as_deref()) {
            let words = script.split_whitespace();
            let words = words.map(|word| quoted(&word.replace("{backend}", &operation.backend)));
            return vec![words.collect::<Vec<_>>().join(" ")];
        }
        if !self.backends.contains(&operation.backend) {
            return Vec::new();
        }
        let mut ops: Vec<String> = own.iter().flat_map(|t| &t.ops).map(|op| quoted(op)).collect();
        if ops.is_empty() {
            ops.push(quoted(operation.table.trim_end_matches("_perf")));
        }
        let power = operation.points.iter().any(|p| p.power);
        let head = format!(
            "python3 collect.py --backend {} --ops {}{}",
            quoted(&operation.backend),
            ops.join(" "),
            if power { " --measure_power" } else { "" }
        );
        let case = own.and_then(|t| t.case.as_deref());
        let filter = |point: &RerunPoint| filled(case?, point);
        let filters: BTreeSet<String> = operation.points.iter().filter_map(filter).collect();
        let filters: Vec<String> =
            filters.iter().map(|f| format!(" --case-filter {}", quoted(f))).collect();
        if filters.is_empty() {
            return vec![head];
        }
        filters.chunks(FILTERS).map(|part| format!("{head}{}", part.concat())).collect()
    }
}

/// Replaces each `{column}` in the pattern `case` by the point's cell of that column. Returns `None` if the point lacks
/// a column.
fn filled(case: &str, point: &RerunPoint) -> Option<String> {
    let mut text = String::new();
    let mut rest = case;
    while let Some((before, inside)) = rest.split_once('{') {
        let (column, after) = inside.split_once('}')?;
        text += before;
        match point.key.get(column)? {
            Value::String(cell) => text += cell,
            cell => text += &cell.to_string(),
        }
        rest = after;
    }
    Some(text + rest)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn operation(table: &str, ms: &[i64]) -> RerunOperation {
        let point = |m: &i64| RerunPoint {
            key: [("m", json!(m)), ("n", json!(2)), ("k", json!(3))]
                .map(|(name, value)| (name.to_owned(), value))
                .into(),
            reason: "synthetic".into(),
            latency_ms: Some(2.0),
            seconds: None,
            power: false,
        };
        RerunOperation {
            system: "h200_sxm".into(),
            family: "gemm".into(),
            backend: "vllm".into(),
            version: "0.24.0".into(),
            table: table.into(),
            path: None,
            seconds: None,
            collect: Vec::new(),
            sweep: None,
            points: ms.iter().map(point).collect(),
        }
    }

    #[test]
    fn collector_commands_name_operations_and_cases() {
        let collectors = Collectors::read(&Library::embedded()).unwrap();
        let commands = |table: &str| collectors.commands(&operation(table, &[1, 8]));
        assert_eq!(
            commands("gemm_perf"),
            [
                "python3 collect.py --backend vllm --ops gemm --case-filter '1, 2, 3' --case-filter '8, 2, 3'"
            ]
        );
        assert_eq!(
            commands("context_attention_perf"),
            ["python3 collect.py --backend vllm --ops attention_context"]
        );
        assert_eq!(
            commands("custom_allreduce_perf"),
            ["network/collect_comm.sh --all_reduce_backend vllm"]
        );
        let many: Vec<i64> = (0..45).collect();
        assert_eq!(collectors.commands(&operation("gemm_perf", &many)).len(), 3);
    }

    #[test]
    fn the_cost_of_a_point_is_its_calls_and_an_overhead() {
        let collectors = Collectors::read(&Library::embedded()).unwrap();
        let seconds = |table, power| collectors.seconds(table, Some(10.0), power).unwrap();
        assert!((seconds("moe_perf", false) - (0.01 * 13.0 + 0.3)).abs() < 1e-9);
        assert!((seconds("gemm_perf", true) - (0.01 * 6.0 * 13.0 + 0.3 + 1.0)).abs() < 1e-9);
        assert_eq!(collectors.seconds("gemm_perf", None, false), None);
    }
}
