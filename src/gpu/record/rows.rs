//! Converts the points of a log to the columns of a table.

use std::cmp::Ordering;

use serde_json::Value;

use super::entries::{LogPoint, Session};
use crate::base::error::{Error, Result};
use crate::base::stats::{median, quantile};
use crate::database::table::Column;
use crate::gpu::device::Answer;
use crate::specs::{IDENTITY, TableSpec, Unit};

/// Returns the columns of the measured table in the order of its spec, with rows sorted by key. The power column exists
/// only if a point has a power.
pub(crate) fn columns(
    spec: &TableSpec,
    mut points: Vec<&LogPoint>,
    sessions: &[Session],
) -> Result<Vec<(String, Column)>> {
    let measures: Vec<(&str, Unit)> = spec.measures().collect();
    let [(latency, Unit::Ms)] = measures[..] else {
        return Err(Error::new(
            format!("{} does not have exactly one measured column, a latency in ms", spec.name),
            "such a table cannot be recorded yet",
        ));
    };
    let known = IDENTITY.iter().copied().chain(spec.columns.iter().map(|c| c.name.as_str()));
    let has = |name: &&str| points.iter().any(|p| p.key.contains_key(*name));
    let mut names: Vec<&str> = known.filter(has).collect();
    for other in points.iter().copied().flat_map(|p| p.key.keys().map(String::as_str)) {
        if !names.contains(&other) {
            names.push(other);
        }
    }
    points.sort_by(|a, b| {
        let by = |name: &&str| compare(a.key.get(*name), b.key.get(*name));
        names.iter().map(by).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
    });
    let mut columns: Vec<(String, Column)> = Vec::new();
    for name in names {
        let cells: Vec<Value> = points.iter().map(|p| p.cell(name)).collect();
        columns.push((name.to_owned(), column(name, &cells.iter().collect::<Vec<_>>())?));
    }
    let answers: Vec<&Answer> = points.iter().filter_map(|p| p.answer.as_ref()).collect();
    let latencies = answers.iter().map(|a| median(&a.samples_ms));
    columns.push((latency.to_owned(), floats(latencies)));
    if answers.iter().any(|a| a.power_w.is_some()) {
        let limit = |p: &&LogPoint| {
            let session = sessions.get(p.session)?;
            p.answer.as_ref()?.power_w.and(session.about.power_limit_w)
        };
        // The planner cannot read nulls in this column. A power of 0 W with a limit of 0 W means that power was not
        // measured.
        let power = answers.iter().map(|a| a.power_w.unwrap_or(0.0));
        columns.push(("power".into(), floats(power)));
        let limits = points.iter().map(|point| limit(point).unwrap_or(0.0));
        columns.push(("power_limit".into(), floats(limits)));
    }
    Ok(columns)
}

fn floats(cells: impl Iterator<Item = f64>) -> Column {
    Column::Float { values: cells.collect(), nulls: None }
}

/// Builds a column from JSON values of one type. Missing values become null.
fn column(name: &str, cells: &[&Value]) -> Result<Column> {
    Column::from_json(cells).map_err(|_| {
        Error::new(format!("{name} contains both text and numbers"), "the log mixes two tables")
    })
}

fn compare(a: Option<&Value>, b: Option<&Value>) -> Ordering {
    match (a, b) {
        (Some(Value::Number(a)), Some(Value::Number(b))) => {
            a.as_f64().partial_cmp(&b.as_f64()).unwrap_or(Ordering::Equal)
        }
        (Some(Value::String(a)), Some(Value::String(b))) => a.cmp(b),
        (a, b) => a.map(Value::to_string).cmp(&b.map(Value::to_string)),
    }
}

/// For each point, divides the slowest sample by the fastest sample. Returns the median and the 95th percentile of
/// these ratios. There must be at least one point.
pub(crate) fn spread<'a>(answers: impl Iterator<Item = &'a Answer>) -> (f64, f64) {
    let ratio = |a: &Answer| {
        let (low, high) = crate::gpu::judge::extremes(&a.samples_ms);
        high / low
    };
    let mut ratios: Vec<f64> = answers.map(ratio).collect();
    ratios.sort_by(f64::total_cmp);
    (quantile(&ratios, 0.5), quantile(&ratios, 0.95))
}
