//! Operations of an inference step: one file per kind, with the table it reads, the parts of its key
//! that must match, its coordinates and its speed of light.

mod attention;
mod collective;
mod composite;
mod dispatch;
mod formula;
mod gemm;
mod mla;
mod mla_bmm;
mod mla_module;
mod moe;
mod quantize;
mod tables;

use serde::Deserialize;

pub use attention::{ContextAttention, GenerationAttention};
pub use collective::{CustomAllReduce, Nccl};
pub use composite::{First, Max};
pub use dispatch::MoeDispatch;
pub use formula::{Elementwise, Embedding, P2p};
pub use gemm::Gemm;
pub use mla::{ContextMla, GenerationMla};
pub use mla_bmm::MlaBmm;
pub use mla_module::{MlaModuleContext, MlaModuleGeneration};
pub use moe::Moe;
pub use tables::TableName;

use super::asked::KeyPattern;
use super::keys::SliceSource;
use super::{PlannerSession, Provenance, Refusal};

/// The point at which an operation is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Query {
    /// Requests that are computed together.
    pub batch: u64,
    /// In prefill the new tokens of a request; in decode the tokens that it attends to.
    pub sequence: u64,
    /// Tokens that the operation works on.
    pub tokens: u64,
    /// Tokens of a request that are in the cache already; prefill only.
    pub prefix: u64,
}

/// An operation as a list names it. Fields have the planner's names.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Op {
    /// A matrix product.
    Gemm(Gemm),
    /// Prefill attention.
    ContextAttention(ContextAttention),
    /// Decode attention.
    GenerationAttention(GenerationAttention),
    /// Prefill multi-head latent attention, without its projections.
    ContextMla(ContextMla),
    /// Decode multi-head latent attention, without its projections.
    GenerationMla(GenerationMla),
    /// Prefill multi-head latent attention with its projections.
    MlaModuleContext(MlaModuleContext),
    /// Decode multi-head latent attention with its projections.
    MlaModuleGeneration(MlaModuleGeneration),
    /// The batched products around decode latent attention.
    MlaBmm(MlaBmm),
    /// A mixture of experts.
    Moe(Moe),
    /// Communication before or after a mixture of experts.
    MoeDispatch(MoeDispatch),
    /// The backend's own all-reduce.
    CustomAllReduce(CustomAllReduce),
    /// A collective of NCCL or oneCCL.
    Nccl(Nccl),
    /// Norms, activations: memory traffic alone.
    Elementwise(Elementwise),
    /// The embedding's rows.
    Embedding(Embedding),
    /// A hand-over between pipeline stages.
    P2P(P2p),
    /// Two groups that overlap: the longer one counts.
    Max(Max),
    /// The first alternative that the data answers.
    First(First),
}

impl Op {
    /// Its name in the list, such as `context_qkv_gemm`.
    pub fn name(&self) -> &str {
        match self {
            Self::Gemm(o) => &o.name,
            Self::ContextAttention(o) => &o.name,
            Self::GenerationAttention(o) => &o.name,
            Self::ContextMla(o) => &o.name,
            Self::GenerationMla(o) => &o.name,
            Self::MlaModuleContext(o) => &o.name,
            Self::MlaModuleGeneration(o) => &o.name,
            Self::MlaBmm(o) => &o.name,
            Self::Moe(o) => &o.name,
            Self::MoeDispatch(o) => &o.name,
            Self::CustomAllReduce(o) => &o.name,
            Self::Nccl(o) => &o.name,
            Self::Elementwise(o) => &o.name,
            Self::Embedding(o) => &o.name,
            Self::P2P(o) => &o.name,
            Self::Max(o) => &o.name,
            Self::First(o) => &o.name,
        }
    }

    /// Its time at a point, ms, over all layers; never negative.
    ///
    /// # Errors
    ///
    /// Where the data or the machine's figures do not answer.
    pub fn ms(
        &self,
        session: &PlannerSession<'_, '_>,
        query: Query,
        evidence: &mut Provenance,
    ) -> Result<f64, Refusal> {
        evidence.enter(self.name());
        let ms = match self {
            Self::Gemm(o) => o.ms(session, query, evidence),
            Self::ContextAttention(o) => o.ms(session, query, evidence),
            Self::GenerationAttention(o) => o.ms(session, query, evidence),
            Self::ContextMla(o) => o.ms(session, query, evidence),
            Self::GenerationMla(o) => o.ms(session, query, evidence),
            Self::MlaModuleContext(o) => o.ms(session, query, evidence),
            Self::MlaModuleGeneration(o) => o.ms(session, query, evidence),
            Self::MlaBmm(o) => o.ms(session, query, evidence),
            Self::Moe(o) => o.ms(session, query, evidence),
            Self::MoeDispatch(o) => o.ms(session, query, evidence),
            Self::CustomAllReduce(o) => o.ms(session, query, evidence),
            Self::Nccl(o) => o.ms(session, query, evidence),
            Self::Elementwise(o) => Ok(o.ms(session.machine(), query)),
            Self::Embedding(o) => o.ms(session.machine(), query),
            Self::P2P(o) => Ok(o.ms(session.machine(), query)),
            Self::Max(o) => o.ms(session, query, evidence),
            Self::First(o) => o.ms(session, query, evidence),
        }?;
        if !matches!(self, Self::Max(_) | Self::First(_)) {
            evidence.leave(ms);
        }
        Ok(ms)
    }

    /// Whether the slices that it reads are served, itself and those inside it.
    ///
    /// # Errors
    ///
    /// The first refusal, as that of [`ms`](Self::ms) where the data lacks a slice.
    pub fn check(&self, source: &dyn SliceSource) -> Result<(), Refusal> {
        match self {
            Self::Gemm(o) => o.check(source),
            Self::ContextAttention(o) => o.slice(source).map(drop),
            Self::GenerationAttention(o) => o.slice(source).map(drop),
            Self::ContextMla(o) => o.check(source),
            Self::GenerationMla(o) => o.check(source),
            Self::MlaModuleContext(o) => o.check(source),
            Self::MlaModuleGeneration(o) => o.check(source),
            Self::MlaBmm(o) => o.check(source),
            Self::Moe(o) => o.check(source),
            Self::MoeDispatch(o) => o.check(source),
            Self::CustomAllReduce(o) => o.check(source),
            Self::Nccl(o) => o.check(source),
            Self::Max(o) => o.of.iter().flatten().try_for_each(|op| op.check(source)),
            Self::First(o) => match o.attempt.check(source) {
                Err(Refusal::Missing(_)) => o.otherwise.iter().try_for_each(|op| op.check(source)),
                other => other,
            },
            Self::Elementwise(_) | Self::Embedding(_) | Self::P2P(_) => Ok(()),
        }
    }

    /// Bytes of the weights that it names, on one GPU, over all layers.
    pub fn weight_bytes(&self) -> f64 {
        match self {
            Self::Gemm(o) => o.weight_bytes(),
            Self::Moe(o) => o.weight_bytes(),
            Self::Max(o) => o.of.iter().flatten().map(Self::weight_bytes).sum(),
            // A module does not say how large its projections are; what stands in for it does.
            Self::First(o) => o.otherwise.iter().map(Self::weight_bytes).sum(),
            _ => 0.0,
        }
    }

    /// The tables that it may read itself.
    pub fn tables(&self) -> &'static [TableName] {
        match self {
            Self::Gemm(o) if o.quant_mode == "fp8_static" => {
                &[TableName::Gemm, TableName::Computescale, TableName::ScaleMatrix]
            }
            Self::Gemm(_) => &[TableName::Gemm],
            Self::ContextAttention(_) => &[TableName::ContextAttention],
            Self::GenerationAttention(_) => &[TableName::GenerationAttention],
            Self::ContextMla(_) => &[TableName::ContextMla],
            Self::GenerationMla(_) => &[TableName::GenerationMla],
            Self::MlaModuleContext(_) => &[TableName::MlaContextModule],
            Self::MlaModuleGeneration(_) => &[TableName::MlaGenerationModule],
            Self::MlaBmm(_) => &[TableName::MlaBmm],
            Self::Moe(_) => &[TableName::Moe],
            Self::MoeDispatch(_) | Self::CustomAllReduce(_) => {
                &[TableName::CustomAllReduce, TableName::Nccl, TableName::OneCcl]
            }
            Self::Nccl(_) => &[TableName::Nccl, TableName::OneCcl],
            Self::Elementwise(_)
            | Self::Embedding(_)
            | Self::P2P(_)
            | Self::Max(_)
            | Self::First(_) => &[],
        }
    }

    /// What the key of a slice has that it may read itself; none where that may be any of its tables.
    pub(super) fn pattern(&self) -> Option<KeyPattern> {
        match self {
            Self::ContextAttention(o) => Some(o.pattern()),
            Self::GenerationAttention(o) => Some(o.pattern()),
            Self::Moe(o) => Some(o.pattern()),
            _ => None,
        }
    }

    /// Calls `each` on this operation and on those inside it.
    pub fn visit(&self, each: &mut dyn FnMut(&Op)) {
        match self {
            Self::Max(o) => o.of.iter().flatten().for_each(|op| op.visit(each)),
            Self::First(o) => {
                o.attempt.visit(each);
                o.otherwise.iter().for_each(|op| op.visit(each));
            }
            _ => {}
        }
        each(self);
    }

    /// Calls `each` on this operation and on those inside it.
    pub fn visit_mut(&mut self, each: &mut dyn FnMut(&mut Op)) {
        match self {
            Self::Max(o) => o.of.iter_mut().flatten().for_each(|op| op.visit_mut(each)),
            Self::First(o) => {
                o.attempt.visit_mut(each);
                o.otherwise.iter_mut().for_each(|op| op.visit_mut(each));
            }
            _ => {}
        }
        each(self);
    }
}

/// The default of fields that split work: 1.
fn one() -> u64 {
    1
}

/// The default factor of an operation: 1.
fn once() -> f64 {
    1.0
}

/// The share of a prefill's attention that is new work when `prefix` tokens are cached:
/// (full² − prefix²) / full².
fn new_share(full: u64, prefix: u64) -> f64 {
    let (full, prefix) = (full as f64, prefix as f64);
    (full * full - prefix * prefix) / (full * full)
}
