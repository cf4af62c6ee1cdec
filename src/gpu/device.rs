//! The interface of a measuring device: points to measure, and the device's answers.
//!
//! A [`Device`] is one of three: the GPU of this machine through CUDA ([`cuda`](super::cuda)); a command that reads one
//! point per line and answers with one measurement per line ([`process`](super::process)); or a mock in tests.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::error::{Error, Reason};
use crate::base::words::plural;
use crate::gpu::calls::Call;
use crate::gpu::work::Work;

/// A row of a table that is to be measured again.
#[derive(Debug, Clone)]
pub struct Point {
    /// Path of the table in the database.
    pub path: String,
    /// Row number in the table's file, from 0.
    pub row: u64,
    /// Names and values of all columns of the row that are not measurements.
    pub key: Vec<(String, Value)>,
    /// The name of the row's slice: the row's texts except framework, version and device, joined by spaces.
    pub slice: String,
    /// The row's latency decile within its slice, from 1 (the fastest rows) to 10 (the slowest rows).
    pub decile: usize,
    /// Recorded latency in ms; NaN if the row has none yet.
    pub recorded_ms: f64,
    /// Recorded power in W; `None` if the table has none.
    pub recorded_w: Option<f64>,
    /// True if the power is measured in addition to the time. This takes one more second.
    pub power: bool,
    /// The built-in measurement that the row's recipe describes; `None` if no recipe matches the row.
    pub work: Option<Work>,
    /// The call of a collector that measures the row; `None` if collectors are not used.
    pub call: Option<Call>,
    /// Index of the point's reply in the log of an earlier run. `None` if the point is measured now.
    pub reply: Option<usize>,
}

impl Point {
    /// Returns the table's name: its file name without endings.
    pub(crate) fn table(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or(&self.path);
        name.split('.').next().unwrap_or(name)
    }

    /// Returns the dtypes of the row: the texts of its columns that end in `_dtype`.
    pub(crate) fn dtypes(&self) -> impl Iterator<Item = String> {
        let dtypes = self.key.iter().filter(|(name, _)| name.ends_with("_dtype"));
        dtypes.filter_map(|(_, value)| value.as_str().map(str::to_owned))
    }
}

#[cfg(test)]
impl Point {
    /// Returns a synthetic point with a recorded latency of 1 ms.
    pub(super) fn synthetic() -> Self {
        Self {
            path: "t".into(),
            row: 0,
            key: Vec::new(),
            slice: String::new(),
            decile: 1,
            recorded_ms: 1.0,
            recorded_w: None,
            power: false,
            work: None,
            call: None,
            reply: None,
        }
    }
}

/// A device's answer for a measured point.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// The samples in ms. A sample is the mean time of several calls.
    pub samples_ms: Vec<f64>,
    /// The name of the kernel that ran, as in the column `kernel_source` of tables; `None` if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_source: Option<String>,
    /// Mean power in W over one second; `None` if it was not requested.
    #[serde(default)]
    pub power_w: Option<f64>,
    /// Mean SM clock after the samples, in MHz.
    #[serde(default)]
    pub clocks_mhz: Option<f64>,
    /// Reasons for reduced clocks, as NVML names them.
    #[serde(default)]
    pub throttled: Vec<String>,
    /// The reason why another kernel than the recorded one was measured; `None` if the recorded one was measured.
    #[serde(default)]
    pub proxy: Option<String>,
    /// A remark on the measurement.
    #[serde(default)]
    pub note: Option<String>,
}

/// A description of a measuring device: its GPU, software versions and settings.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct About {
    /// The GPU's name, as in the tables' column `device`.
    #[serde(rename = "device")]
    pub name: String,
    /// Bytes of GPU memory that a point may fill; `None` if unknown.
    #[serde(default)]
    pub memory_bytes: Option<u64>,
    /// Software versions by name: driver, CUDA, cuBLAS, …
    #[serde(default)]
    pub versions: BTreeMap<String, String>,
    /// Time in µs that the host needs for an empty kernel launch; `None` if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch_us: Option<f64>,
    /// Number of GPUs that a call can use together; `None` if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpus: Option<u64>,
    /// Settings of the GPU by name, such as persistence mode, power limit and applied clocks.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// The GPU's power limit in W.
    #[serde(default)]
    pub power_limit_w: Option<f64>,
    /// A sentence that other processes keep the GPU busy, so that measurements are unreliable; `None` if it is idle.
    #[serde(default)]
    pub busy: Option<String>,
}

impl About {
    /// Returns the name and version of a backend's software, as the device states them. `None` if the device states no
    /// version of this software.
    pub(crate) fn version_of(&self, backend: &str) -> Option<(&str, &str)> {
        let mut versions = self.versions.iter().map(|(n, v)| (n.as_str(), v.as_str()));
        versions.find(|(name, _)| name.eq_ignore_ascii_case(backend))
    }
}

/// Returns a version without its build, such as `2.9.0` for `2.9.0+cu130`.
pub(crate) fn release(version: &str) -> &str {
    version.split_once('+').map_or(version, |(release, _)| release)
}

/// The clocks, power and temperature of the GPU at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "State")]
pub struct CardState {
    /// SM clock in MHz.
    pub sm_mhz: Option<u32>,
    /// Memory clock in MHz.
    pub memory_mhz: Option<u32>,
    /// Power in W.
    pub power_w: Option<f64>,
    /// Temperature in °C.
    pub celsius: Option<u32>,
    /// Reasons for reduced clocks, as NVML names them.
    pub throttled: Vec<String>,
}

/// The numbers of errors and warnings that a runner wrote to standard error.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Complaints {
    /// Number of lines that are errors.
    pub errors: usize,
    /// Number of lines that are warnings.
    pub warnings: usize,
    /// The line of the first error, or of the first warning if there is no error.
    pub first: String,
}

impl Complaints {
    /// Returns a sentence on the errors and warnings, without a full stop; `None` if there are none.
    pub(crate) fn sentence(&self) -> Option<String> {
        let counts = match (plural(self.errors, "error"), plural(self.warnings, "warning")) {
            (errors, _) if self.warnings == 0 => errors,
            (errors, warnings) => format!("{errors} and {warnings}"),
        };
        (self.errors + self.warnings > 0)
            .then(|| format!("the runner wrote {counts}, first: {}", self.first))
    }
}

/// The reason why a device did not measure a point.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The point cannot be measured. The device can still measure other points.
    #[error(transparent)]
    Point(#[from] Reason),
    /// The device failed, so that nothing more can be measured.
    #[error(transparent)]
    Device(#[from] Error),
}

impl MeasureError {
    /// Separates the failure of one point from the failure of the device.
    ///
    /// # Errors
    ///
    /// If the device failed, so that nothing more can be measured.
    pub(crate) fn of_point(answer: Result<Answer, Self>) -> Result<Result<Answer, Reason>, Error> {
        match answer {
            Ok(answer) => Ok(Ok(answer)),
            Err(Self::Point(why)) => Ok(Err(why)),
            Err(Self::Device(e)) => Err(e),
        }
    }
}

/// Marks an answer as a proxy if the kernel that ran is not the kernel in the point's row.
pub(crate) fn own_kernel(mut answer: Answer, point: &Point) -> Answer {
    let recorded = point.key.iter().find(|(name, _)| name == "kernel_source");
    if let (Some(ran), Some((_, Value::String(recorded)))) = (&answer.kernel_source, recorded)
        && ran != recorded
    {
        answer.proxy.get_or_insert(format!("ran {ran} instead of {recorded}"));
    }
    answer
}

/// The number of samples requested per point. Their median is reliable even if two of them are disturbed.
pub(crate) const SAMPLES: u32 = 5;

/// A device that measures points.
pub trait Device {
    /// Returns a description of the device.
    fn about(&self) -> &About;

    /// Measures a point with up to [`SAMPLES`] samples.
    fn measure(&mut self, point: &Point) -> Result<Answer, MeasureError>;

    /// Returns true if the device can run the operation.
    fn supports(&self, _: Option<&Work>) -> bool {
        true
    }

    /// Returns true if the device would measure something else than was recorded, as the recipe states.
    fn is_proxy_for(&self, work: &Work) -> bool {
        work.proxy.is_some()
    }

    /// Returns remarks on the run, one sentence each.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the errors and warnings that the device wrote since the last call.
    fn complaints(&mut self) -> Complaints {
        Complaints::default()
    }

    /// Reads the GPU's clocks, power and temperature; `None` if they cannot be read.
    fn state(&mut self) -> Option<CardState> {
        None
    }
}
