//! The form of a metric file.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::relation::{Derived, Relation, Threshold, check};
use super::{FieldType, Files, Presence};
use crate::base::reason::Reason;

/// A metric file: a table, or JSON with rows.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetricSpec {
    pub files: Files,
    /// Of JSON: the list that holds the rows; without one, the file is one row.
    #[serde(default)]
    pub rows: Option<String>,
    /// Of JSON: objects of a row whose members are columns, the first without units.
    #[serde(default)]
    pub within: Vec<String>,
    /// Of JSON: the object that gives each metric's `unit` and `label`.
    #[serde(default)]
    pub units: Option<String>,
    /// Columns that name a row.
    #[serde(default)]
    pub key: Vec<String>,
    /// The column that names the directory of the row's card; without one it is the file's own.
    #[serde(default)]
    pub card: Option<String>,
    /// The accelerator where no card says.
    #[serde(default)]
    pub accelerator: Option<String>,
    /// The column that names the accelerator.
    #[serde(default)]
    pub accelerator_in: Option<String>,
    pub columns: BTreeMap<String, MetricColumn>,
    #[serde(default)]
    pub derive: Vec<Derived>,
    #[serde(default)]
    pub thresholds: BTreeMap<String, Threshold>,
    #[serde(default)]
    pub relations: Vec<Relation>,
    #[serde(default)]
    pub charts: Vec<TraceChart>,
}

/// A column of a metric file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetricColumn {
    #[serde(default, rename = "type")]
    pub kind: FieldType,
    #[serde(default)]
    pub need: Presence,
    /// Unit; `%` has values from 0 to 100, any other from 0.
    #[serde(default)]
    pub unit: Option<String>,
    /// What a machine can measure; outside it, the unit is another.
    #[serde(default)]
    pub plausible: Option<(f64, f64)>,
}

/// A chart of a metric file: a point a row.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceChart {
    pub title: String,
    pub x: String,
    /// Columns by whose values rows are series.
    #[serde(default)]
    pub series: Vec<String>,
    pub panels: Vec<TracePanel>,
}

/// A panel of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TracePanel {
    pub y: String,
    /// Columns shown, each a line of every series; by the name that the line has.
    pub lines: BTreeMap<String, String>,
}

/// What formulas read of a list in a metric file.
pub const OF_LIST: [&str; 4] = ["n", "mean", "min", "max"];

impl MetricSpec {
    pub(super) fn check(&self) -> Result<(), Reason> {
        let mut known: BTreeSet<String> = self.columns.keys().cloned().collect();
        for (name, column) in &self.columns {
            if column.kind == FieldType::Numbers {
                known.extend(OF_LIST.iter().map(|of| format!("{name}_{of}")));
            }
        }
        check(&mut known, &self.derive, &self.thresholds, &self.relations)
    }
}
