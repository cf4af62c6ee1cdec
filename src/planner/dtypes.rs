//! Facts about the planner's quantisations: bytes per element, and the machine's rate for their products
//! (sdk/common enums).

use super::machine::{BFLOAT16, FP4, FP8, INT8, MachineFigures};
use super::refusal::Refusal;

/// Bytes and rate of a quantisation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct QuantFacts {
    /// Bytes per element; for fp4 with block scales, one sixteenth is added to the half byte.
    pub bytes: f64,
    /// Path of the machine's rate in the system's YAML, such as `gpu.fp8_tc_flops`.
    rate: &'static str,
}

impl QuantFacts {
    /// The machine's rate for this quantisation, FLOP/s.
    pub(crate) fn flops(self, machine: &MachineFigures) -> Result<f64, Refusal> {
        machine.flops(self.rate)
    }
}

const fn dtype(bytes: f64, rate: &'static str) -> Option<QuantFacts> {
    Some(QuantFacts { bytes, rate })
}

fn known(kind: &str, name: &str, found: Option<QuantFacts>) -> Result<QuantFacts, Refusal> {
    found.ok_or_else(|| Refusal::missing(format!("{kind} has no quantisation named {name}")))
}

/// The facts of a GEMM's quantisation, by its name.
pub(crate) fn gemm(name: &str) -> Result<QuantFacts, Refusal> {
    let found = match name {
        "bfloat16" => dtype(2.0, BFLOAT16),
        "int8_wo" => dtype(1.0, BFLOAT16),
        "int4_wo" => dtype(0.5, BFLOAT16),
        "fp8" | "fp8_static" | "fp8_block" | "fp8_ootb" => dtype(1.0, FP8),
        "sq" => dtype(1.0, INT8),
        "nvfp4" => dtype(9.0 / 16.0, FP4),
        "nvfp4_wo" | "w4a16_nvfp4" => dtype(9.0 / 16.0, BFLOAT16),
        _ => None,
    };
    known("a GEMM", name, found)
}

/// The facts of a mixture of experts' quantisation, by its name.
pub(crate) fn moe(name: &str) -> Result<QuantFacts, Refusal> {
    let found = match name {
        "bfloat16" => dtype(2.0, BFLOAT16),
        "fp8" | "fp8_block" => dtype(1.0, FP8),
        "int4_wo" | "w4a16_mxfp4" | "w4a16_mxfp4_cutlass" => dtype(0.5, BFLOAT16),
        "w4afp8" | "w4a8_mxfp4_mxfp8" | "w4a8_mxfp4_mxfp8_trtllm" => dtype(0.5, FP8),
        "nvfp4" => dtype(9.0 / 16.0, FP4),
        "nvfp4_wo" | "w4a16_nvfp4" => dtype(9.0 / 16.0, BFLOAT16),
        _ => None,
    };
    known("a mixture of experts", name, found)
}

/// The facts of a precision of prefill attention, by its name.
pub(crate) fn fmha(name: &str) -> Result<QuantFacts, Refusal> {
    let found = match name {
        "bfloat16" => dtype(2.0, BFLOAT16),
        "fp8" | "fp8_block" => dtype(1.0, FP8),
        _ => None,
    };
    known("attention", name, found)
}

/// Bytes per element of a key-value cache; `None` for an unknown name.
pub(crate) fn cache_bytes(name: &str) -> Option<f64> {
    match name {
        "bfloat16" => Some(2.0),
        "int8" | "fp8" => Some(1.0),
        _ => None,
    }
}

/// Bytes per element of a key-value cache; an unknown name is refused.
pub(crate) fn cache(name: &str) -> Result<f64, Refusal> {
    let unknown = || Refusal::missing(format!("a key-value cache has no type named {name}"));
    cache_bytes(name).ok_or_else(unknown)
}

/// The machine's rate for decode attention, FLOP/s: the fp8 rate if the cache is fp8 and the GPU
/// multiplies fp8 (sm 89 and later), else the bfloat16 rate.
pub(crate) fn decode_flops(machine: &MachineFigures, cache: &str) -> Result<f64, Refusal> {
    let fp8 = cache == "fp8" && machine.sm_version() >= 89.0;
    machine.flops(if fp8 { FP8 } else { BFLOAT16 })
}
