//! Adapts a model's operation list to a system and to the data of a backend's version.

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

/// Quantisation of each part of a model, as planned on a system.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, schemars::JsonSchema,
)]
pub struct Quant {
    /// Quantisation of the weights of dense layers.
    pub gemm: String,
    /// Quantisation of the experts' weights.
    pub moe: String,
    /// Type of the key-value cache.
    pub kvcache: String,
    /// Precision of prefill attention.
    pub fmha: String,
    /// Type of the messages between GPUs.
    pub comm: String,
}

/// An operation list as planned on a system with its data.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    /// Quantisation by part.
    pub quant: Quant,
    /// The operations of a step.
    pub ops: OpList,
}

impl ModelList {
    /// The quantisation that the model's file states, for use without data.
    pub fn stated(&self, plan: &BackendPlan) -> Quant {
        let ModelQuant { gemm, moe, kvcache, comm } = self.quant.clone();
        Quant { gemm, moe, kvcache, fmha: plan.fmha.clone(), comm }
    }

    /// Returns true if a machine multiplies the weights in the quantisation that the model's file
    /// states.
    pub(crate) fn runs_on(&self, machine: &MachineFigures) -> bool {
        let rate = |dtype: Result<QuantFacts, Refusal>| dtype.and_then(|d| d.flops(machine));
        rate(dtypes::gemm(&self.quant.gemm)).is_ok() && rate(dtypes::moe(&self.quant.moe)).is_ok()
    }

    /// Plans a layout's list on a system with a backend's data. The data decides the precision of
    /// attention. On GPUs that do not multiply fp4, nvfp4 applies to the weights alone.
    pub fn resolve(
        &self,
        plan: &BackendPlan,
        layout: &PlannedLayout,
        source: &dyn SliceSource,
    ) -> Resolved {
        let machine = source.machine();
        let mut quant = Quant { fmha: plan.fmha(source, &self.quant.kvcache), ..self.stated(plan) };
        weights_only(&mut quant.gemm, machine);
        weights_only(&mut quant.moe, machine);
        let mut ops = OpList { prefill: layout.prefill.clone(), decode: layout.decode.clone() };
        let all = ops.prefill.iter_mut().chain(&mut ops.decode);
        all.for_each(|op| op.visit_mut(&mut |op| settle(op, &quant, machine)));
        Resolved { quant, ops }
    }
}

/// Changes the name of nvfp4 to that of its weights alone, if the GPU does not multiply fp4.
fn weights_only(name: &mut String, machine: &MachineFigures) {
    if name == "nvfp4" && !machine.has_fp4() {
        "nvfp4_wo".clone_into(name);
    }
}

/// Fills in the fields that a list leaves to the quantisation.
fn settle(op: &mut Op, quant: &Quant, machine: &MachineFigures) {
    let or = |field: &mut String, otherwise: &str| {
        if field.is_empty() {
            otherwise.clone_into(field);
        }
    };
    match op {
        Op::Gemm(o) => weights_only(&mut o.quant_mode, machine),
        Op::Moe(o) => weights_only(&mut o.quant_mode, machine),
        Op::MoeDispatch(o) => weights_only(&mut o.moe_quant, machine),
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
            weights_only(&mut o.gemm_quant_mode, machine);
        }
        Op::MlaModuleGeneration(o) => {
            or(&mut o.kv_cache_dtype, &quant.kvcache);
            weights_only(&mut o.gemm_quant_mode, machine);
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
    /// The precision of prefill attention on a system with its data (sdk/models helpers,
    /// `resolve_context_fmha_by_data`).
    fn fmha(&self, source: &dyn SliceSource, cache: &str) -> String {
        if self.fmha_by_data.is_empty() || self.fmha != "fp8" {
            return self.fmha.clone();
        }
        let [fp8, bfloat16, cache] = ["fp8", "bfloat16", cache].map(|text| source.code(text));
        let tables =
            self.fmha_by_data.iter().filter_map(|stem| TableName::of_prefill_attention(stem));
        // A table that cannot be loaded is ignored.
        let tables: Vec<_> = tables.filter_map(|table| source.keys(table).ok()).collect();
        let has = |fmha| tables.iter().any(|t| t.iter().any(|k| k[0] == fmha && k[1] == cache));
        let lower = !has(fp8) && has(bfloat16);
        if lower { "bfloat16".to_owned() } else { self.fmha.clone() }
    }
}
