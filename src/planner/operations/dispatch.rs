//! Communication around a mixture of experts (operators/moe_dispatch.rs 137). It has no table of its
//! own: it is made of all-reduces and of a library's collectives.

use serde::Deserialize;

use super::super::{PlannerSession, Provenance, Refusal};
use super::collective::{Call, all_reduce_ms, library_ms};
use super::{Query, once, one};

/// Communication before or after the experts of a layer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MoeDispatch {
    pub name: String,
    /// Layers.
    #[serde(default = "once")]
    pub count: f64,
    /// Elements of a token.
    pub hidden_size: u64,
    /// GPUs that share an expert.
    pub moe_tp_size: u64,
    /// GPUs that share the experts.
    pub moe_ep_size: u64,
    /// GPUs that run attention on batches of their own.
    #[serde(default = "one")]
    pub attention_dp_size: u64,
    /// Whether it comes before the experts.
    pub pre_dispatch: bool,
    /// The backend whose way it is.
    pub backend: String,
    /// What the backend sends tokens with.
    pub flavor: Flavor,
    /// Quantisation of the experts, in which TensorRT-LLM sends tokens.
    #[serde(default)]
    pub moe_quant: String,
    /// Whether the all-reduce before the experts is listed as an operation of attention.
    #[serde(default)]
    pub attn_ar_modeled: bool,
}

/// What a backend sends tokens with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Flavor {
    CustomAllReduce,
    TrtllmAlltoall,
}

/// The compute capability on which TensorRT-LLM gathers quantised tokens.
const ALLTOALL_SM: f64 = 100.0;

/// A layer's communication at one point.
struct Exchange<'q, 's, 'a> {
    session: &'q PlannerSession<'s, 'a>,
    tokens: f64,
    hidden: f64,
    /// GPUs of the experts.
    gpus: u64,
    dp: u64,
    /// GPUs that share a batch in attention.
    tp: u64,
}

impl Exchange<'_, '_, '_> {
    fn all_reduce(&self, gpus: u64, evidence: &mut Provenance) -> Result<f64, Refusal> {
        let elements = self.tokens * self.hidden;
        Ok(all_reduce_ms(self.session, gpus, elements, evidence)?.max(0.0))
    }

    /// A library's collective among `gpus`, of the tokens of one batch.
    fn small(&self, operation: &str, gpus: u64, evidence: &mut Provenance) -> Result<f64, Refusal> {
        let call = Call { dtype: "half", operation, gpus };
        let elements = self.tokens * self.hidden;
        Ok(library_ms(self.session, call, elements, evidence)?.max(0.0))
    }

    /// A library's collective among all GPUs, of the tokens of all batches; `share` of their bytes
    /// is sent.
    fn all(&self, operation: &str, share: f64, evidence: &mut Provenance) -> Result<f64, Refusal> {
        let call = Call { dtype: "half", operation, gpus: self.gpus };
        let elements = self.tokens * self.dp as f64 * (self.hidden * share);
        Ok(library_ms(self.session, call, elements, evidence)?.max(0.0))
    }
}

impl MoeDispatch {
    pub(super) fn ms(
        &self,
        session: &PlannerSession<'_, '_>,
        query: Query,
        evidence: &mut Provenance,
    ) -> Result<f64, Refusal> {
        let gpus = self.moe_tp_size.saturating_mul(self.moe_ep_size).max(1);
        let dp = self.attention_dp_size.max(1);
        let exchange = Exchange {
            session,
            tokens: query.tokens as f64,
            hidden: self.hidden_size as f64,
            gpus,
            dp,
            tp: (gpus / dp).max(1),
        };
        let ms = match self.flavor {
            Flavor::TrtllmAlltoall => self.trtllm(&exchange, evidence)?,
            Flavor::CustomAllReduce => match self.backend.as_str() {
                "vllm" => self.vllm(&exchange, evidence)?,
                "sglang" => self.sglang(&exchange, evidence)?,
                _ => exchange.all_reduce(exchange.tp, evidence)?,
            },
        };
        Ok(ms.max(0.0) * self.count)
    }

    /// Tokens of all batches are gathered before the experts and reduced after them.
    fn gather_or_reduce(&self) -> &'static str {
        if self.pre_dispatch { "all_gather" } else { "reduce_scatter" }
    }

    fn vllm(&self, x: &Exchange<'_, '_, '_>, evidence: &mut Provenance) -> Result<f64, Refusal> {
        let mut ms = 0.0;
        if x.tp > 1 && !(self.pre_dispatch && self.attn_ar_modeled) {
            ms += x.all_reduce(x.gpus, evidence)?;
        }
        if x.dp > 1 {
            ms += x.all(self.gather_or_reduce(), 1.0, evidence)?;
        }
        Ok(ms)
    }

    fn sglang(&self, x: &Exchange<'_, '_, '_>, evidence: &mut Provenance) -> Result<f64, Refusal> {
        match (x.tp > 1, x.dp > 1) {
            (true, true) if self.pre_dispatch => {
                Ok(x.small("reduce_scatter", x.tp, evidence)?
                    + x.all("all_gather", 1.0, evidence)?)
            }
            (true, true) => {
                Ok(x.all("reduce_scatter", 1.0, evidence)?
                    + x.small("all_gather", x.tp, evidence)?)
            }
            (true, false) => x.all_reduce(x.gpus, evidence),
            (false, true) => x.all(self.gather_or_reduce(), 1.0, evidence),
            (false, false) => Ok(0.0),
        }
    }

    fn trtllm(&self, x: &Exchange<'_, '_, '_>, evidence: &mut Provenance) -> Result<f64, Refusal> {
        let machine = x.session.machine();
        if machine.sm_version() == ALLTOALL_SM && x.dp > 1 {
            if self.moe_tp_size == 1 && machine.node() >= 72.0 {
                let why = "trtllm_alltoall_perf, which nodes of 72 GPUs need, is not read";
                return Err(Refusal::missing(why));
            }
            let operation = self.gather_or_reduce();
            let share = if self.pre_dispatch { self.sent_share() } else { 1.0 };
            return x.all(operation, share, evidence);
        }
        if x.tp > 1 {
            x.all_reduce(x.gpus, evidence)
        } else if x.dp > 1 {
            x.all(self.gather_or_reduce(), 1.0, evidence)
        } else {
            Ok(0.0)
        }
    }

    /// Bytes of a token as it is sent, by those of 16 bits; fp4 with a scale of 8 bits per 16.
    fn sent_share(&self) -> f64 {
        match self.moe_quant.as_str() {
            "nvfp4" => 0.25 + 0.25 / 8.0,
            "fp8" | "fp8_block" => 0.5,
            _ => 1.0,
        }
    }
}
