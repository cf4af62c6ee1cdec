//! A model's list as a version of a backend plans it on a system with its data.

use super::dtypes::{self, QuantFacts};
use super::keys::SliceSource;
use super::machine::MachineFigures;
use super::models::{BackendPlan, ModelList, ModelQuant, PlannedLayout};
use super::operations::Op;
use super::refusal::Refusal;
use super::tables::TableName;

/// The operations of a step, by phase.
#[derive(Debug, Clone, PartialEq)]
pub struct OpList {
    /// The operations of prefill.
    pub prefill: Vec<Op>,
    /// The operations of decode.
    pub decode: Vec<Op>,
}

/// Quantisation by part, as it is planned on a system.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, schemars::JsonSchema,
)]
pub struct Quant {
    /// Weights of dense layers.
    pub gemm: String,
    /// Weights of experts.
    pub moe: String,
    /// The key-value cache.
    pub kvcache: String,
    /// Prefill attention.
    pub fmha: String,
    /// Messages between GPUs.
    pub comm: String,
}

/// A list as it is planned on a system with its data.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    /// Quantisation.
    pub quant: Quant,
    /// Operations.
    pub ops: OpList,
}

impl ModelList {
    /// The quantisation that the file states, for use without data.
    pub fn stated(&self, plan: &BackendPlan) -> Quant {
        let ModelQuant { gemm, moe, kvcache, comm } = self.quant.clone();
        Quant { gemm, moe, kvcache, fmha: plan.fmha.clone(), comm }
    }

    /// Returns whether a machine multiplies the weights in the quantisation that the file states.
    pub(crate) fn runs_on(&self, machine: &MachineFigures) -> bool {
        let rate = |dtype: Result<QuantFacts, Refusal>| dtype.and_then(|d| d.flops(machine));
        rate(dtypes::gemm(&self.quant.gemm)).is_ok() && rate(dtypes::moe(&self.quant.moe)).is_ok()
    }

    /// A layout's list as a backend's version plans it on a system: with the precision of attention
    /// that the data has, and nvfp4 as weights alone where the GPU does not multiply fp4.
    pub fn resolve(
        &self,
        plan: &BackendPlan,
        layout: &PlannedLayout,
        source: &dyn SliceSource,
    ) -> Resolved {
        let quant = &self.quant;
        let weights = |name: &str| weights_only(name, source.machine()).to_owned();
        let quant = Quant {
            gemm: weights(&quant.gemm),
            moe: weights(&quant.moe),
            kvcache: quant.kvcache.clone(),
            fmha: plan.fmha(source, &quant.kvcache),
            comm: quant.comm.clone(),
        };
        let mut ops = OpList { prefill: layout.prefill.clone(), decode: layout.decode.clone() };
        let all = ops.prefill.iter_mut().chain(&mut ops.decode);
        all.for_each(|op| op.visit_mut(&mut |op| settle(op, &quant, source.machine())));
        Resolved { quant, ops }
    }
}

/// The planner's name of a quantisation on a GPU that may not multiply fp4.
fn weights_only<'n>(name: &'n str, machine: &MachineFigures) -> &'n str {
    if name == "nvfp4" && !machine.has_fp4() { "nvfp4_wo" } else { name }
}

/// Fills in what a list leaves to its quantisation.
fn settle(op: &mut Op, quant: &Quant, machine: &MachineFigures) {
    let or = |field: &mut String, otherwise: &str| {
        if field.is_empty() {
            otherwise.clone_into(field);
        }
    };
    let weights = |field: &mut String| {
        let name = weights_only(field, machine);
        if name != field.as_str() {
            *field = name.to_owned();
        }
    };
    match op {
        Op::Gemm(o) => weights(&mut o.quant_mode),
        Op::Moe(o) => weights(&mut o.quant_mode),
        Op::MoeDispatch(o) => weights(&mut o.moe_quant),
        Op::ContextAttention(o) => {
            or(&mut o.kv_cache_dtype, &quant.kvcache);
            or(&mut o.fmha_quant_mode, &quant.fmha);
        }
        Op::GenerationAttention(o) => or(&mut o.kv_cache_dtype, &quant.kvcache),
        Op::ContextMla(o) => {
            or(&mut o.kv_cache_dtype, &quant.kvcache);
            or(&mut o.fmha_quant_mode, &quant.fmha);
        }
        Op::GenerationMla(o) => or(&mut o.kv_cache_dtype, &quant.kvcache),
        Op::MlaModuleContext(o) => {
            or(&mut o.kv_cache_dtype, &quant.kvcache);
            or(&mut o.fmha_quant_mode, &quant.fmha);
            weights(&mut o.gemm_quant_mode);
        }
        Op::MlaModuleGeneration(o) => {
            or(&mut o.kv_cache_dtype, &quant.kvcache);
            weights(&mut o.gemm_quant_mode);
        }
        Op::MlaBmm(_)
        | Op::CustomAllReduce(_)
        | Op::Nccl(_)
        | Op::Elementwise(_)
        | Op::Embedding(_)
        | Op::P2P(_)
        | Op::Max(_)
        | Op::First(_) => {}
    }
}

impl BackendPlan {
    /// The precision of prefill attention on a system with its data
    /// (sdk/models helpers, `resolve_context_fmha_by_data`).
    fn fmha(&self, source: &dyn SliceSource, cache: &str) -> String {
        if self.fmha_by_data.is_empty() || self.fmha != "fp8" {
            return self.fmha.clone();
        }
        let [fp8, bfloat16, cache] = ["fp8", "bfloat16", cache].map(|text| source.code(text));
        let tables =
            self.fmha_by_data.iter().filter_map(|stem| TableName::of_prefill_attention(stem));
        // A table that cannot be loaded says nothing.
        let tables: Vec<_> = tables.filter_map(|table| source.keys(table).ok()).collect();
        let has = |fmha| tables.iter().any(|t| t.iter().any(|k| k[0] == fmha && k[1] == cache));
        let lower = !has(fp8) && has(bfloat16);
        if lower { "bfloat16".to_owned() } else { self.fmha.clone() }
    }
}
