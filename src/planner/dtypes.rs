//! The planner's names of quantisations: bytes of an element, and the rate at which its products are computed
//! (sdk/common enums).

use super::machine::{BFLOAT16, FP4, FP8, INT8, MachineFigures};
use super::refusal::Refusal;

/// A quantisation's facts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct QuantFacts {
    /// Bytes of an element; block scales of fp4 count a sixteenth more.
    pub bytes: f64,
    /// The path of the machine's rate.
    rate: &'static str,
}

impl QuantFacts {
    /// The machine's rate for it, FLOP/s.
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

/// A quantisation of a GEMM.
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

/// A quantisation of a mixture of experts.
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

/// A precision of prefill attention.
pub(crate) fn fmha(name: &str) -> Result<QuantFacts, Refusal> {
    let found = match name {
        "bfloat16" => dtype(2.0, BFLOAT16),
        "fp8" | "fp8_block" => dtype(1.0, FP8),
        _ => None,
    };
    known("attention", name, found)
}

/// Bytes of an element of a key-value cache; `None` for a name that no cache has.
pub(crate) fn cache_bytes(name: &str) -> Option<f64> {
    match name {
        "bfloat16" => Some(2.0),
        "int8" | "fp8" => Some(1.0),
        _ => None,
    }
}

/// Bytes of an element of a key-value cache.
pub(crate) fn cache(name: &str) -> Result<f64, Refusal> {
    let unknown = || Refusal::missing(format!("a key-value cache has no type named {name}"));
    cache_bytes(name).ok_or_else(unknown)
}

/// The rate of decode attention: fp8 where the cache is fp8 and the GPU multiplies it (sm 89 and
/// later), else bfloat16.
pub(crate) fn decode_flops(machine: &MachineFigures, cache: &str) -> Result<f64, Refusal> {
    let fp8 = cache == "fp8" && machine.sm_version() >= 89.0;
    machine.flops(if fp8 { FP8 } else { BFLOAT16 })
}
