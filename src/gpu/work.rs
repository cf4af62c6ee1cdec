//! The work of a device for a point: an operation with its sizes, element type, contents and timing.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A measurement for a device to run: a recipe evaluated for one row.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Work {
    /// The operation to run.
    pub operation: GpuOperation,
    /// Element type of inputs and weights.
    pub dtype: Dtype,
    /// Sizes of the operation by name, such as `m`, `n` and `k`, as the recipe's formulas give them.
    pub sizes: BTreeMap<String, u64>,
    /// Number of calls in one timed unit. Each call has its own weights.
    pub copies: u64,
    /// Sharing of inputs between the calls of a unit.
    pub inputs: Inputs,
    /// Contents of the weights.
    pub weight_fill: Fill,
    /// Contents of the inputs.
    pub input_fill: Fill,
    /// True if a timed unit is captured in a CUDA graph.
    pub cuda_graph: bool,
    /// True if the card rests before every sample.
    pub rested: bool,
    /// Number of units that run before timing starts.
    pub warmups: u32,
    /// Number of units that are timed together; a sample is their mean.
    pub runs: u32,
    /// The reason why the built-in kernel measures something other than what was recorded; absent if it measures the
    /// same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<String>,
}

impl Work {
    /// Returns the size with the given name; 1 if the operation has no such size.
    pub fn size(&self, name: &str) -> u64 {
        self.sizes.get(name).copied().unwrap_or(1)
    }

    /// Returns the number of elements of one input.
    pub(crate) fn input(&self) -> u64 {
        self.product(&["batch", "m", "k"])
    }

    /// Returns the number of elements of one call's weights.
    pub(crate) fn weight(&self) -> u64 {
        self.product(&["batch", "n", "k"])
    }

    /// Returns the product of the sizes with the given names; `u64::MAX` if it overflows.
    pub(super) fn product(&self, sizes: &[&str]) -> u64 {
        sizes.iter().fold(1, |all: u64, name| all.saturating_mul(self.size(name)))
    }

    /// Returns the number of inputs in memory, which is also the number of outputs.
    pub(crate) fn inputs_held(&self) -> u64 {
        if self.inputs == Inputs::Own { self.copies } else { 1 }
    }
}

/// An operation that a device can measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Operation")]
pub enum GpuOperation {
    /// Matrix product `y[m,n] = x[m,k] W[n,k]ᵀ`.
    Gemm,
    /// Batched matrix product with strides, one product per head.
    Bmm,
    /// Sum over all GPUs; each GPU gets the whole sum.
    AllReduce,
    /// Concatenation of the parts of all GPUs; each GPU gets the whole result.
    AllGather,
    /// Sum over all GPUs; each GPU gets one part of the sum.
    ReduceScatter,
    /// Exchange: each GPU sends a different part to each other GPU.
    Alltoall,
}

/// Element types that can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Dtype {
    /// bfloat16.
    Bfloat16,
    /// float8 e4m3; the output is bfloat16.
    Fp8,
    /// float16.
    Half,
    /// Integers of one byte.
    Int8,
}

impl Dtype {
    /// Returns the bytes per element.
    pub(crate) fn bytes(self) -> u64 {
        match self {
            Self::Bfloat16 | Self::Half => 2,
            Self::Fp8 | Self::Int8 => 1,
        }
    }
}

/// Sharing of inputs between the calls of a timed unit.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Inputs {
    /// One input for all calls of a unit.
    #[default]
    Shared,
    /// One input and one output per call.
    Own,
}

/// Contents of a tensor, which influence power and therefore time.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fill {
    /// Zeros; uninitialised memory gives the same times.
    #[default]
    Zeros,
    /// One value in all elements.
    Constant,
    /// Values of the standard normal distribution.
    Normal,
}
