//! An operation of a model's list, and operations that contain others (operators/op.rs 459, 486).

use serde::Deserialize;

use super::super::evidence::Provenance;
use super::super::keys::SliceSource;
use super::super::refusal::Refusal;
use super::super::session::PlannerSession;
use super::super::tables::TableName;
use super::attention::{ContextAttention, GenerationAttention};
use super::collective::{CustomAllReduce, Nccl};
use super::dispatch::MoeDispatch;
use super::formula::{Elementwise, Embedding, P2p};
use super::gemm::Gemm;
use super::mla::{ContextMla, GenerationMla};
use super::mla_bmm::MlaBmm;
use super::mla_module::{MlaModuleContext, MlaModuleGeneration};
use super::moe::Moe;
use super::operation::{Evaluation, Operation, Query};

/// An operation of a model's list. Fields have the planner's names.
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
    /// The batched products around decode of latent attention.
    MlaBmm(MlaBmm),
    /// A mixture of experts.
    Moe(Moe),
    /// Communication before or after a mixture of experts.
    MoeDispatch(MoeDispatch),
    /// The backend's own all-reduce.
    CustomAllReduce(CustomAllReduce),
    /// A collective of NCCL or oneCCL.
    Nccl(Nccl),
    /// Norms and activations: memory traffic only.
    Elementwise(Elementwise),
    /// The lookup of the tokens' rows in the embedding.
    Embedding(Embedding),
    /// A transfer between pipeline stages.
    P2P(P2p),
    /// Two groups of operations that overlap: the longer time counts.
    Max(Max),
    /// The first alternative for which the data gives a time.
    First(First),
}

/// Two groups of operations that overlap in time; the planner calls this Overlap.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Max {
    pub name: String,
    /// The two groups. Each operation states its own layers, so the sums over all layers are compared.
    pub of: [Vec<Op>; 2],
}

/// An operation, and the operations that replace it if the data gives no time; the planner calls this
/// Fallback. The choice is made anew at every point.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct First {
    pub name: String,
    /// The preferred operation.
    #[serde(rename = "try")]
    pub attempt: Box<Op>,
    /// The operations whose sum replaces the preferred one.
    #[serde(rename = "else")]
    pub otherwise: Vec<Op>,
}

impl Op {
    /// The operation's name, and the operation itself.
    fn named(&self) -> (&str, &dyn Operation) {
        match self {
            Self::Gemm(op) => (&op.name, op),
            Self::ContextAttention(op) => (&op.name, op),
            Self::GenerationAttention(op) => (&op.name, op),
            Self::ContextMla(op) => (&op.name, op),
            Self::GenerationMla(op) => (&op.name, op),
            Self::MlaModuleContext(op) => (&op.name, op),
            Self::MlaModuleGeneration(op) => (&op.name, op),
            Self::MlaBmm(op) => (&op.name, op),
            Self::Moe(op) => (&op.name, op),
            Self::MoeDispatch(op) => (&op.name, op),
            Self::CustomAllReduce(op) => (&op.name, op),
            Self::Nccl(op) => (&op.name, op),
            Self::Elementwise(op) => (&op.name, op),
            Self::Embedding(op) => (&op.name, op),
            Self::P2P(op) => (&op.name, op),
            Self::Max(op) => (&op.name, op),
            Self::First(op) => (&op.name, op),
        }
    }

    /// The name in the list, such as `context_qkv_gemm`.
    pub fn name(&self) -> &str {
        self.named().0
    }

    /// The time at a point over all layers, in ms; never negative.
    ///
    /// # Errors
    ///
    /// If the data or the machine's figures give no time.
    pub fn ms(
        &self,
        session: &PlannerSession<'_, '_>,
        query: Query,
        evidence: &mut Provenance,
    ) -> Result<f64, Refusal> {
        self.evaluate(&mut Evaluation { session, query, evidence })
    }

    fn evaluate(&self, at: &mut Evaluation<'_, '_, '_>) -> Result<f64, Refusal> {
        let (name, operation) = self.named();
        at.evidence.enter(name);
        let ms = operation.ms(at)?;
        if !matches!(self, Self::Max(_) | Self::First(_)) {
            at.evidence.leave(ms);
        }
        Ok(ms)
    }

    /// Checks that the slices that the operation and those inside it read are served.
    ///
    /// # Errors
    ///
    /// The first refusal, which is the same as that of [`ms`](Self::ms) if the data lacks a slice.
    pub fn check(&self, source: &dyn SliceSource) -> Result<(), Refusal> {
        self.named().1.check(source)
    }

    /// Bytes of the weights on one GPU over all layers.
    pub fn weight_bytes(&self) -> f64 {
        self.named().1.weight_bytes()
    }

    /// The tables that the operation may read, without those of operations inside it.
    pub fn tables(&self) -> &'static [TableName] {
        self.named().1.tables()
    }

    /// Returns true if the operation takes the same time in both sessions, whatever else differs.
    pub fn answers_alike(
        &self,
        session: &PlannerSession<'_, '_>,
        other: &PlannerSession<'_, '_>,
    ) -> bool {
        let mut is_same = session.is_on_machine_of(other);
        self.visit(&mut |op| {
            let mut tables = op.tables().iter();
            is_same = is_same && tables.all(|table| session.answers_table_as(other, *table));
        });
        is_same
    }

    /// Calls `each` on this operation and on the operations inside it.
    pub fn visit(&self, each: &mut dyn FnMut(&Op)) {
        if let Self::Max(max) = self {
            max.of.iter().flatten().for_each(|op| op.visit(each));
        } else if let Self::First(first) = self {
            first.attempt.visit(each);
            first.otherwise.iter().for_each(|op| op.visit(each));
        }
        each(self);
    }

    /// Calls `each` on this operation and on the operations inside it, for changes.
    pub fn visit_mut(&mut self, each: &mut dyn FnMut(&mut Op)) {
        if let Self::Max(max) = self {
            max.of.iter_mut().flatten().for_each(|op| op.visit_mut(each));
        } else if let Self::First(first) = self {
            first.attempt.visit_mut(each);
            first.otherwise.iter_mut().for_each(|op| op.visit_mut(each));
        }
        each(self);
    }
}

/// The sum of the operations' times in ms, added up in their order.
fn sum(ops: &[Op], at: &mut Evaluation<'_, '_, '_>) -> Result<f64, Refusal> {
    ops.iter().try_fold(0.0, |total, op| Ok(total + op.evaluate(at)?))
}

impl Operation for Max {
    fn ms(&self, at: &mut Evaluation<'_, '_, '_>) -> Result<f64, Refusal> {
        let [a, b] = &self.of;
        let before = at.evidence.moment();
        let a = sum(a, at)?;
        let between = at.evidence.moment();
        let b = sum(b, at)?;
        at.evidence.keep_one([before, between], a >= b);
        Ok(a.max(b).max(0.0))
    }

    fn check(&self, source: &dyn SliceSource) -> Result<(), Refusal> {
        self.of.iter().flatten().try_for_each(|op| op.check(source))
    }

    fn weight_bytes(&self) -> f64 {
        self.of.iter().flatten().map(Op::weight_bytes).sum()
    }
}

impl Operation for First {
    fn ms(&self, at: &mut Evaluation<'_, '_, '_>) -> Result<f64, Refusal> {
        let before = at.evidence.moment();
        match self.attempt.evaluate(at) {
            Err(Refusal::Missing(_)) => {
                at.evidence.back_to(before);
                Ok(sum(&self.otherwise, at)?.max(0.0))
            }
            // A figure that the machine lacks is missing for the alternative too.
            other => other,
        }
    }

    fn check(&self, source: &dyn SliceSource) -> Result<(), Refusal> {
        match self.attempt.check(source) {
            Err(Refusal::Missing(_)) => self.otherwise.iter().try_for_each(|op| op.check(source)),
            other => other,
        }
    }

    /// Bytes of the alternative's weights, because a module does not state the size of its projections.
    fn weight_bytes(&self) -> f64 {
        self.otherwise.iter().map(Op::weight_bytes).sum()
    }
}
