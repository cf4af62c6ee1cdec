//! The lines of a measurement log, and the origin and summary of the table written from it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::gpu::device::{About, Answer};

/// The names and values of all columns of a row that are not measurements.
pub type Key = BTreeMap<String, Value>;

/// One line of a measurement log.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum LogLine {
    /// A line that describes a run. The lines after it contain the points that this run measured.
    Session {
        /// The run that measured the points on the following lines.
        session: Session,
    },
    /// A measured point, or a point whose measurement failed.
    Point(LogPoint),
}

/// A run of this program, as stated in a measurement log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// Date of the run in UTC, as YYYY-MM-DD.
    pub date: String,
    /// The device and its software versions.
    #[serde(flatten)]
    pub about: About,
}

/// A measured or failed point in a measurement log.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LogPoint {
    /// The columns of the point's row that are not measurements.
    pub key: Key,
    /// The measurement; `None` if it failed.
    #[serde(flatten)]
    pub answer: Option<Answer>,
    /// The reason why the point could not be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Index of the run (session) that measured the point.
    #[serde(skip)]
    pub(super) session: usize,
}

impl LogPoint {
    /// Returns the value of a column in the point's row. For `kernel_source`, returns the kernel that ran if it is
    /// known.
    pub(super) fn cell(&self, name: &str) -> Value {
        let ran = self.answer.as_ref().and_then(|a| a.kernel_source.clone());
        match ran.filter(|_| name == "kernel_source") {
            Some(kernel) => kernel.into(),
            None => self.key.get(name).cloned().unwrap_or(Value::Null),
        }
    }
}

/// Summary of a table that was written from a measurement log.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    /// Path of the table.
    pub table: PathBuf,
    /// Number of rows in the table.
    pub rows: usize,
    /// Number of points that could not be measured.
    pub failed: usize,
    /// Median and 95th percentile, over the points, of a point's slowest sample divided by its fastest sample.
    pub spread: (f64, f64),
}

/// Facts about how a table was measured, for its sidecar.
pub struct Origin<'a> {
    /// File stem of the table.
    pub table: &'a str,
    /// Name of the measured framework.
    pub framework: &'a str,
    /// Version of the measured framework.
    pub version: &'a str,
    /// A sentence that describes the points to measure.
    pub plan: &'a str,
    /// The hash of the list of points to measure.
    pub cases: String,
    /// True if every point to measure has a measurement.
    pub complete: bool,
}
