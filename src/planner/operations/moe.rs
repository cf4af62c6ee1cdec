//! Mixtures of experts (perf_database/moe.rs 404).

use hashbrown::HashSet;

use serde::Deserialize;

use super::super::dtypes;
use super::super::keys::{SliceSource, served};
use super::super::machine::MachineFigures;
use super::super::refusal::Refusal;
use super::super::slices::SliceKey;
use super::super::tables::TableName;
use super::operation::{Evaluation, Operation, once, one};

/// The routed experts of a layer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moe {
    pub name: String,
    /// Number of layers.
    #[serde(default = "once")]
    pub count: f64,
    /// Width of a token.
    pub hidden_size: u64,
    /// Width inside an expert.
    pub inter_size: u64,
    /// Number of experts per token.
    pub topk: u64,
    /// Number of experts.
    pub num_experts: u64,
    /// Number of GPUs that share one expert.
    pub moe_tp_size: u64,
    /// Number of GPUs that the experts are divided among.
    pub moe_ep_size: u64,
    /// Number of GPU groups that run attention on batches of their own.
    #[serde(default = "one")]
    pub attention_dp_size: u64,
    /// Quantisation of the experts.
    pub quant_mode: String,
    /// The distribution of tokens over experts.
    pub workload_distribution: String,
    /// True if an expert has a gate.
    #[serde(default)]
    pub is_gated: bool,
}

impl Moe {
    /// The slice as text for people.
    fn words(&self) -> String {
        let Self { quant_mode, topk, num_experts, hidden_size, inter_size, .. } = self;
        format!(
            "{quant_mode}, {}, top {topk} of {num_experts} experts of {hidden_size} × {inter_size}, \
             tp {} ep {}",
            self.workload_distribution, self.moe_tp_size, self.moe_ep_size
        )
    }

    /// The served slice for a number of tokens; the kernel for few tokens is preferred if it was
    /// measured.
    fn slice(&self, source: &dyn SliceSource, tokens: u64) -> Result<SliceKey, Refusal> {
        let known = source.keys(TableName::Moe)?;
        let few = tokens <= 128 && self.quant_mode == "nvfp4" && self.is_gated;
        let found = few.then(|| self.key(source, known, 1)).filter(|key| known.contains(key));
        let key = found.unwrap_or_else(|| self.key(source, known, 0));
        served(source, TableName::Moe, key, || self.words())
    }

    /// The key of the shape. The distribution `uniform` replaces one without rows of the dtype.
    fn key(&self, source: &dyn SliceSource, known: &HashSet<SliceKey>, few: u32) -> SliceKey {
        let dtype = source.code(&self.quant_mode);
        let asked = source.code(&self.workload_distribution);
        let has = known.iter().any(|k| k[..3] == [dtype, few, asked]);
        let distribution = if has { asked } else { source.code("uniform") };
        let Self { topk, num_experts, hidden_size, inter_size, .. } = self;
        let experts = [*topk, *num_experts, *hidden_size, *inter_size];
        let [topk, experts, hidden, inter] = experts.map(|n| n as u32);
        let [tp, ep] = [self.moe_tp_size, self.moe_ep_size].map(|n| n as u32);
        [dtype, few, distribution, topk, experts, hidden, inter, tp, ep]
    }

    /// Bound at a number of tokens, in ms. As in the planner, divisions are of integers, from left to
    /// right.
    fn sol(&self, machine: &MachineFigures) -> Result<impl Fn(f64) -> f64 + use<>, Refusal> {
        let dtype = dtypes::moe(&self.quant_mode)?;
        let (flops, bandwidth) = (dtype.flops(machine)?, machine.bandwidth);
        let products: u64 = if self.is_gated { 3 } else { 2 };
        let (ep, tp) = (self.moe_ep_size.max(1), self.moe_tp_size.max(1));
        let (h, i, topk, experts) =
            (self.hidden_size, self.inter_size, self.topk, self.num_experts);
        Ok(move |tokens: f64| {
            let routed = ((tokens + 0.5).floor() as u64).saturating_mul(topk);
            let times = |a: u64, b: &[u64]| b.iter().fold(a, |a, b| a.saturating_mul(*b));
            let operations = times(routed, &[h, i, products, 2]) / ep / tp;
            let elements = times(routed / ep, &[h, 2])
                .saturating_add(times(routed / ep, &[i, products]) / tp)
                .saturating_add(times(
                    times(h, &[i, products]) / tp,
                    &[(experts / ep).min(routed / ep)],
                ));
            let math = operations as f64 / flops * 1000.0;
            math.max(elements as f64 * dtype.bytes / bandwidth * 1000.0)
        })
    }
}

impl Operation for Moe {
    fn tables(&self) -> &'static [TableName] {
        &[TableName::Moe]
    }

    fn ms(&self, at: &mut Evaluation<'_, '_, '_>) -> Result<f64, Refusal> {
        let tokens = at.query.tokens * self.attention_dp_size.max(1);
        let sol = self.sol(at.session.machine())?;
        let key = self.slice(at.session, tokens)?;
        let table = at.session.table(TableName::Moe)?;
        let curve = table.curve(key);
        if curve.is_singleton_above(tokens as f64) {
            let why = format!(
                "moe_perf has a single row of {}, and that has more than {tokens} tokens",
                self.words()
            );
            return Err(Refusal::missing(why));
        }
        let key = || format!("{}, tokens {tokens}", self.words());
        let ms = at
            .evidence
            .look_up(table, 1.0, key, |weights| curve.query(tokens as f64, &sol, weights))?;
        Ok(ms.max(0.0) * self.count)
    }

    /// Checks that the slice for many tokens is served.
    fn check(&self, source: &dyn SliceSource) -> Result<(), Refusal> {
        dtypes::moe(&self.quant_mode)?.flops(source.machine())?;
        self.slice(source, u64::MAX).map(drop)
    }

    fn weight_bytes(&self) -> f64 {
        let bytes = dtypes::moe(&self.quant_mode).map_or(0.0, |dtype| dtype.bytes);
        let products = if self.is_gated { 3.0 } else { 2.0 };
        let expert = products * self.hidden_size as f64 * self.inter_size as f64 * bytes;
        let shared = self.moe_tp_size.max(1) as f64 * self.moe_ep_size.max(1) as f64;
        self.count * self.num_experts as f64 * expert / shared
    }
}
