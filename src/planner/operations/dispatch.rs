//! Communication around a mixture of experts (operators/moe_dispatch.rs 137). It has no table of its
//! own: its time is the sum of all-reduces and collectives of a library.

use serde::Deserialize;

use super::super::keys::SliceSource;
use super::super::machine::MachineFigures;
use super::super::refusal::Refusal;
use super::super::tables::TableName;
use super::collective::{Call, TABLES, all_reduce_ms, check_all_reduce, check_library, library_ms};
use super::operation::{Evaluation, Operation, once, one};

/// Communication before or after the experts of a layer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MoeDispatch {
    pub name: String,
    /// Number of layers.
    #[serde(default = "once")]
    pub count: f64,
    /// Elements per token.
    pub hidden_size: u64,
    /// Number of GPUs that share one expert.
    pub moe_tp_size: u64,
    /// Number of GPUs that the experts are divided among.
    pub moe_ep_size: u64,
    /// Number of GPU groups that run attention on batches of their own.
    #[serde(default = "one")]
    pub attention_dp_size: u64,
    /// True if the communication comes before the experts.
    pub pre_dispatch: bool,
    /// The backend's name.
    pub backend: String,
    /// The method by which the backend sends tokens.
    pub flavor: Flavor,
    /// Quantisation of the experts, in which TensorRT-LLM sends tokens.
    #[serde(default)]
    pub moe_quant: String,
    /// True if the all-reduce before the experts is listed as an operation of attention.
    #[serde(default)]
    pub attn_ar_modeled: bool,
}

/// A method by which a backend sends tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Flavor {
    CustomAllReduce,
    TrtllmAlltoall,
}

/// Compute capability on which TensorRT-LLM gathers quantised tokens.
const ALLTOALL_SM: f64 = 100.0;

/// One communication step of a layer.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Exchange {
    /// An all-reduce of the tokens of one batch.
    AllReduce { gpus: u64 },
    /// A library's collective on the tokens of some batches; only `share` of their bytes is sent.
    Library { operation: &'static str, gpus: u64, batches: u64, share: f64 },
}

/// The division of a layer among GPUs.
#[derive(Debug, Clone, Copy)]
struct Spread {
    /// Number of GPUs that run the experts.
    gpus: u64,
    /// Number of batches in attention.
    dp: u64,
    /// Number of GPUs that share one batch in attention.
    tp: u64,
}

impl Spread {
    /// A collective among all GPUs, on the tokens of all batches.
    fn all(self, operation: &'static str, share: f64) -> Exchange {
        Exchange::Library { operation, gpus: self.gpus, batches: self.dp, share }
    }

    fn all_reduce(self) -> Exchange {
        Exchange::AllReduce { gpus: self.gpus }
    }
}

/// A call of a collective on elements of 16 bits.
fn half(operation: &'static str, gpus: u64) -> Call<'static> {
    Call { dtype: "half", operation, gpus }
}

impl Operation for MoeDispatch {
    fn tables(&self) -> &'static [TableName] {
        &TABLES
    }

    fn ms(&self, at: &mut Evaluation<'_, '_, '_>) -> Result<f64, Refusal> {
        let (tokens, hidden) = (at.query.tokens as f64, self.hidden_size as f64);
        let mut ms = 0.0;
        for exchange in self.exchanges(at.session.machine())? {
            let part = match exchange {
                Exchange::AllReduce { gpus } => all_reduce_ms(at, gpus, tokens * hidden)?,
                Exchange::Library { operation, gpus, batches, share } => {
                    let elements = tokens * batches as f64 * (hidden * share);
                    library_ms(at, half(operation, gpus), elements)?
                }
            };
            ms += part.max(0.0);
        }
        Ok(ms.max(0.0) * self.count)
    }

    fn check(&self, source: &dyn SliceSource) -> Result<(), Refusal> {
        let exchanges = self.exchanges(source.machine());
        // Rows of that table may exist, but this module does not read them.
        let exchanges = exchanges.map_err(|_| Refusal::Unread("trtllm_alltoall_perf"))?;
        exchanges.into_iter().try_for_each(|exchange| match exchange {
            Exchange::AllReduce { gpus } => check_all_reduce(source, gpus),
            Exchange::Library { operation, gpus, .. } => {
                check_library(source, half(operation, gpus))
            }
        })
    }
}

impl MoeDispatch {
    fn spread(&self) -> Spread {
        let gpus = self.moe_tp_size.saturating_mul(self.moe_ep_size).max(1);
        let dp = self.attention_dp_size.max(1);
        Spread { gpus, dp, tp: (gpus / dp).max(1) }
    }

    /// The communication steps on a machine, in the planner's order.
    fn exchanges(&self, machine: &MachineFigures) -> Result<Vec<Exchange>, Refusal> {
        let spread = self.spread();
        match self.flavor {
            Flavor::TrtllmAlltoall => self.trtllm(spread, machine),
            Flavor::CustomAllReduce => Ok(match self.backend.as_str() {
                "vllm" => self.vllm(spread),
                "sglang" => self.sglang(spread),
                _ => vec![Exchange::AllReduce { gpus: spread.tp }],
            }),
        }
    }

    /// The collective on the tokens of all batches: gathering before the experts, reduction after them.
    fn gather_or_reduce(&self) -> &'static str {
        if self.pre_dispatch { "all_gather" } else { "reduce_scatter" }
    }

    fn vllm(&self, x: Spread) -> Vec<Exchange> {
        let reduced = x.tp > 1 && !(self.pre_dispatch && self.attn_ar_modeled);
        let reduced = reduced.then(|| x.all_reduce());
        let spread = (x.dp > 1).then(|| x.all(self.gather_or_reduce(), 1.0));
        reduced.into_iter().chain(spread).collect()
    }

    fn sglang(&self, x: Spread) -> Vec<Exchange> {
        let one = |operation| Exchange::Library { operation, gpus: x.tp, batches: 1, share: 1.0 };
        match (x.tp > 1, x.dp > 1) {
            (true, true) if self.pre_dispatch => {
                vec![one("reduce_scatter"), x.all("all_gather", 1.0)]
            }
            (true, true) => vec![x.all("reduce_scatter", 1.0), one("all_gather")],
            (true, false) => vec![x.all_reduce()],
            (false, true) => vec![x.all(self.gather_or_reduce(), 1.0)],
            (false, false) => Vec::new(),
        }
    }

    fn trtllm(&self, x: Spread, machine: &MachineFigures) -> Result<Vec<Exchange>, Refusal> {
        let all = |share| x.all(self.gather_or_reduce(), share);
        if machine.sm_version() == ALLTOALL_SM && x.dp > 1 {
            if self.moe_tp_size == 1 && machine.node() >= 72.0 {
                let why =
                    "the planner does not read trtllm_alltoall_perf, which nodes of 72 GPUs need";
                return Err(Refusal::missing(why));
            }
            return Ok(vec![all(if self.pre_dispatch { self.sent_share() } else { 1.0 })]);
        }
        Ok(if x.tp > 1 {
            vec![x.all_reduce()]
        } else if x.dp > 1 {
            vec![all(1.0)]
        } else {
            Vec::new()
        })
    }

    /// Size of a sent token relative to 16 bits per element; fp4 includes a scale of 8 bits per 16
    /// elements.
    fn sent_share(&self) -> f64 {
        match self.moe_quant.as_str() {
            "nvfp4" => 0.25 + 0.25 / 8.0,
            "fp8" | "fp8_block" => 0.5,
            _ => 1.0,
        }
    }
}
