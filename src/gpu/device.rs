//! Measuring points of a table again: what is asked of a device, and what it answers.
//!
//! A [`Device`] is the GPU of this machine through CUDA ([`cuda`]), any command that reads a point
//! per line and answers a measurement per line ([`process`]), or a mock in tests.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::error::Error;
use crate::gpu::recipe::{Dtype, Fill, Inputs, Operation};

/// What a device runs for a point: a recipe with a row's figures in it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Work {
    /// What runs.
    pub operation: Operation,
    /// Element type of inputs and weights.
    pub dtype: Dtype,
    /// Sizes by name, as the recipe gives them: `m`, `n`, `k`, …
    pub sizes: BTreeMap<String, u64>,
    /// Calls with weights of their own in one timed unit.
    pub copies: u64,
    /// Whether the calls share their input.
    pub inputs: Inputs,
    /// What the weights hold.
    pub weight_fill: Fill,
    /// What the inputs hold.
    pub input_fill: Fill,
    /// Whether a unit is captured in a CUDA graph.
    pub cuda_graph: bool,
    /// Whether the card comes to rest before every sample.
    pub rested: bool,
    /// Units run before the timed ones.
    pub warmups: u32,
    /// Units timed together; their mean is a sample.
    pub runs: u32,
    /// Why a plain kernel for this is not the recorded one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<String>,
}

impl Work {
    /// A size by name; 1 where the operation has none of it.
    pub fn size(&self, name: &str) -> u64 {
        self.sizes.get(name).copied().unwrap_or(1)
    }

    /// Elements of one input.
    pub fn input(&self) -> u64 {
        self.product(&["batch", "m", "k"])
    }

    /// Elements of one call's weights.
    pub fn weight(&self) -> u64 {
        self.product(&["batch", "n", "k"])
    }

    /// Elements of one output, gaps of a strided one included; each has 2 bytes.
    pub fn output(&self) -> u64 {
        if self.operation != Operation::Bmm {
            return self.product(&["m", "n"]);
        }
        let far = |count: &str, step: &str| {
            self.size(count).saturating_sub(1).saturating_mul(self.size(step))
        };
        far("batch", "out_batch").saturating_add(far("m", "out_row")).saturating_add(self.size("n"))
    }

    /// A product of sizes; what no machine has is as much as there can be.
    fn product(&self, sizes: &[&str]) -> u64 {
        sizes.iter().fold(1, |all: u64, name| all.saturating_mul(self.size(name)))
    }

    /// How many inputs, and outputs, there are.
    pub fn inputs_held(&self) -> u64 {
        if self.inputs == Inputs::Own { self.copies } else { 1 }
    }

    /// Bytes of device memory that it holds, on each GPU.
    pub fn bytes(&self) -> u64 {
        if self.operation.is_collective() {
            return self.size("count").saturating_mul(2 * self.dtype.bytes());
        }
        let held = self.inputs_held();
        let read = held.saturating_mul(self.input());
        let read = read.saturating_add(self.copies.saturating_mul(self.weight()));
        let written = held.saturating_mul(self.output());
        read.saturating_mul(self.dtype.bytes()).saturating_add(written.saturating_mul(2))
    }
}

/// A point to measure.
#[derive(Debug, Clone)]
pub struct Point {
    /// Path of its table.
    pub path: String,
    /// Row in the file, from 0.
    pub row: u64,
    /// Every column that is not a measurement.
    pub key: Vec<(String, Value)>,
    /// The texts among those that set slices apart.
    pub slice: String,
    /// Latency decile within its slice, from 1.
    pub decile: usize,
    /// What the table says, in ms.
    pub recorded_ms: f64,
    /// What the table says, in W.
    pub recorded_w: Option<f64>,
    /// Whether its power is asked for, which takes a second more.
    pub power: bool,
    /// By its recipe; a point of a table without one goes to a command only.
    pub work: Option<Work>,
}

#[cfg(test)]
impl Point {
    /// A synthetic point of 1 ms.
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
        }
    }
}

/// What a device answers for a point.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// Every sample, a call's mean time each, in ms.
    pub samples_ms: Vec<f64>,
    /// Mean power in W over a second of it, where that was asked for.
    #[serde(default)]
    pub power_w: Option<f64>,
    /// Mean SM clock after the samples, in MHz.
    #[serde(default)]
    pub clocks_mhz: Option<f64>,
    /// Why the clocks were held down, by NVML's names.
    #[serde(default)]
    pub throttled: Vec<String>,
    /// Why what ran is not the recorded kernel.
    #[serde(default)]
    pub proxy: Option<String>,
    /// Anything else worth knowing.
    #[serde(default)]
    pub note: Option<String>,
}

/// What a device is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct About {
    /// The GPU's name, as the tables' `device` column has it.
    #[serde(rename = "device")]
    pub name: String,
    /// Bytes of its memory that a point may fill; none where that is not known.
    #[serde(default)]
    pub memory_bytes: Option<u64>,
    /// Versions by what they are of: driver, CUDA, cuBLAS, …
    #[serde(default)]
    pub versions: BTreeMap<String, String>,
    /// How the card is set, by name: persistence mode, power limit, applied clocks.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// The power it may draw, in W.
    #[serde(default)]
    pub power_limit_w: Option<f64>,
    /// Why what it measures now says little: another process keeps it busy.
    #[serde(default)]
    pub busy: Option<String>,
}

/// The card at a moment.
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
    /// Why the clocks are held down, by NVML's names.
    pub throttled: Vec<String>,
}

/// Why one point was not measured, in a line, as the log and the report show it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unmeasured(String);

impl Unmeasured {
    /// Takes the reason from an error, or from what a command answered.
    pub fn new(why: impl std::fmt::Display) -> Self {
        Self(why.to_string())
    }

    /// The reason.
    pub fn why(&self) -> &str {
        &self.0
    }
}

/// Why a device did not measure a point.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// This point cannot be measured; others may.
    #[error(transparent)]
    Point(#[from] Unmeasured),
    /// Nothing more can be measured.
    #[error(transparent)]
    Device(#[from] Error),
}

impl MeasureError {
    /// Keeps the reason why a point was not measured, apart from a device that fails.
    ///
    /// # Errors
    ///
    /// When nothing more can be measured.
    pub fn of_point(answer: Result<Answer, Self>) -> Result<Result<Answer, Unmeasured>, Error> {
        match answer {
            Ok(answer) => Ok(Ok(answer)),
            Err(Self::Point(why)) => Ok(Err(why)),
            Err(Self::Device(e)) => Err(e),
        }
    }
}

/// Samples that are asked for; half of them may be disturbed, or lie badly, before the median is.
pub const SAMPLES: u32 = 5;

/// Where points are measured.
pub trait Device {
    /// What it is.
    fn about(&self) -> &About;

    /// Measures a point: up to [`SAMPLES`] samples of the mean of `runs` units after `warmups`.
    fn measure(&mut self, point: &Point) -> Result<Answer, MeasureError>;

    /// Whether it can run the operation at all, decided without running it.
    fn takes(&self, work: Option<&Work>) -> bool;

    /// Whether what it measures for this is not what was recorded, as the recipe warns.
    fn stands_in(&self, work: &Work) -> bool {
        work.proxy.is_some()
    }

    /// What happened on the way, a sentence each.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// The card now, where that can be read.
    fn state(&mut self) -> Option<CardState> {
        None
    }
}
