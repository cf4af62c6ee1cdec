//! The work of a device for a point: an operation with its sizes, element type, contents and timing.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The measurement of one row for a device to run: the operation, its sizes and the method of timing.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Work {
    /// The operation to run.
    pub operation: GpuOperation,
    /// Element type of inputs and weights.
    pub dtype: Dtype,
    /// Sizes of the operation by name, such as `m`, `n` and `k`.
    pub sizes: BTreeMap<String, u64>,
    /// Number of calls that are timed together as one unit. Each call has its own weights.
    pub copies: u64,
    /// Whether the calls of a unit share one input or have one each.
    pub inputs: Inputs,
    /// The values in the weights.
    pub weight_fill: Fill,
    /// The values in the inputs.
    pub input_fill: Fill,
    /// True if a timed unit is captured in a CUDA graph.
    pub cuda_graph: bool,
    /// True if the GPU rests before every sample, so that its clocks are not reduced.
    pub rested: bool,
    /// Number of untimed warm-up runs of the unit. The unit consists of `copies` calls.
    pub warmups: u32,
    /// Number of timed runs of the unit for one sample. The unit consists of `copies` calls. The sample is the mean
    /// time of a run.
    pub runs: u32,
    /// The reason why this measurement differs from the recorded one, such as another kernel. Absent if it does not
    /// differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<String>,
}

impl Work {
    /// Returns the size with this name, such as `m`. Returns 1 if the operation has no such size.
    pub fn size(&self, name: &str) -> u64 {
        self.sizes.get(name).copied().unwrap_or(1)
    }

    /// Multiplies the sizes with the given names, such as `m` and `n`. Returns `u64::MAX` on overflow.
    pub(super) fn product(&self, sizes: &[&str]) -> u64 {
        sizes.iter().fold(1, |all: u64, name| all.saturating_mul(self.size(name)))
    }

    /// Returns the number of input tensors in memory, which is also the number of output tensors.
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

/// Element types of inputs and weights.
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

/// Whether the calls of a timed unit share one input or have one each.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Inputs {
    /// All calls of a timed unit use the same input and output.
    #[default]
    Shared,
    /// Each call of a timed unit has its own input and output.
    Own,
}

/// The values in a tensor. They influence the power of a kernel, and therefore its time.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fill {
    /// All elements are zero.
    #[default]
    Zeros,
    /// All elements have the same nonzero value.
    Constant,
    /// Random values of the standard normal distribution.
    Normal,
}
