//! The spec of a metric file.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::relation::{DerivedColumn, Relation, Thresholds, check};
use super::{Files, Presence, TraceFieldType};
use crate::base::error::Reason;
use crate::base::yaml;

/// The spec of a metric file: a CSV table, or JSON with rows.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetricSpec {
    pub files: Files,
    /// The name of the JSON list whose items are the rows; `None` if the whole file is one row.
    #[serde(default)]
    pub rows: Option<String>,
    /// The names of the JSON objects in a row whose members become columns. The last object contains the metrics, and
    /// the others describe the row.
    #[serde(default)]
    pub within: Vec<String>,
    /// The JSON object that states each metric's `unit` and `label`; `None` if the file states no units.
    #[serde(default)]
    pub units: Option<String>,
    /// Columns that identify a row.
    #[serde(default)]
    pub key: Vec<String>,
    /// The column that names the row's workload card, by the name of the card's directory. `None` if all rows of a file
    /// belong to the same card.
    #[serde(default)]
    pub card: Option<String>,
    /// The accelerator that is assumed for rows that do not state one; `None` if none is assumed.
    #[serde(default)]
    pub accelerator: Option<String>,
    /// The column that contains the name of the row's accelerator; `None` if only the row's card states it.
    #[serde(default)]
    pub accelerator_in: Option<String>,
    pub columns: BTreeMap<String, MetricColumn>,
    #[serde(default)]
    pub derive: Vec<DerivedColumn>,
    #[serde(default)]
    pub thresholds: Thresholds,
    #[serde(default)]
    pub relations: Vec<Relation>,
    #[serde(default)]
    pub charts: Vec<TraceChart>,
}

/// The spec of a metric file's column.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetricColumn {
    #[serde(default, rename = "type")]
    pub kind: TraceFieldType,
    #[serde(default)]
    pub need: Presence,
    /// The unit; `None` for numbers without a unit. Values in `%` must be from 0 to 100. Values in other units must be
    /// at least 0.
    #[serde(default)]
    pub unit: Option<String>,
    /// The smallest and the largest plausible value; `None` if any value is plausible. A value outside this range is
    /// probably in another unit.
    #[serde(default)]
    pub plausible: Option<(f64, f64)>,
}

/// A chart of a metric file with one point per row.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceChart {
    pub title: String,
    pub x: String,
    /// Columns whose values divide the rows into series.
    #[serde(default)]
    pub series: Vec<String>,
    pub panels: Vec<TracePanel>,
}

/// A panel of a chart of a metric file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TracePanel {
    pub y: String,
    /// The columns that are drawn in the panel. The map's key is a label such as `TTFT`, and the map's value is the
    /// name of the column. Each column has one line per series.
    pub lines: BTreeMap<String, String>,
    /// The direction of the line for perfect scaling; `None` if no such line is drawn.
    #[serde(default)]
    pub ideal: Option<IdealSlope>,
}

/// The direction of the line for perfect scaling in a chart.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IdealSlope {
    /// The line rises: the value doubles when x doubles.
    Rises,
    /// The line falls: the value halves when x doubles.
    Falls,
}

/// The suffixes of columns that are computed from a column of lists. For example, `NAME_mean` is the mean of each row's
/// list in the column NAME.
pub(crate) const OF_LIST: [&str; 4] = ["n", "mean", "min", "max"];

impl MetricSpec {
    /// Parses and checks a spec.
    pub(super) fn parse(text: &str) -> Result<Self, Reason> {
        let mut spec: Self = yaml::parse(text)?;
        spec.files.compile()?;
        let mut known: BTreeSet<String> = spec.columns.keys().cloned().collect();
        for (name, column) in &spec.columns {
            if column.kind == TraceFieldType::Numbers {
                known.extend(OF_LIST.iter().map(|of| format!("{name}_{of}")));
            }
        }
        check(&mut known, &spec.derive, &spec.thresholds, &spec.relations)?;
        Ok(spec)
    }
}
