//! Mixtures of experts (perf_database/moe.rs 404).

use hashbrown::HashSet;

use serde::Deserialize;

use super::super::asked::KeyPattern;
use super::super::cells::{Cells, Columns};
use super::super::dtypes;
use super::super::keys::{SliceSource, no_rows, served};
use super::super::names::NameCodes;
use super::super::slices::SliceKey;
use super::super::{MachineFigures, PlannerSession, Provenance, Refusal};
use super::{Query, TableName, once, one};

/// The routed experts of a layer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moe {
    pub name: String,
    /// Layers.
    #[serde(default = "once")]
    pub count: f64,
    /// Width of a token.
    pub hidden_size: u64,
    /// Width inside an expert.
    pub inter_size: u64,
    /// Experts of a token.
    pub topk: u64,
    /// Experts.
    pub num_experts: u64,
    /// GPUs that share an expert.
    pub moe_tp_size: u64,
    /// GPUs that share the experts.
    pub moe_ep_size: u64,
    /// GPUs that run attention on batches of their own.
    #[serde(default = "one")]
    pub attention_dp_size: u64,
    /// Quantisation.
    pub quant_mode: String,
    /// How tokens are spread over experts.
    pub workload_distribution: String,
    /// Whether an expert has a gate.
    #[serde(default)]
    pub is_gated: bool,
}

pub(super) const COLUMNS: Columns = Columns {
    texts: &["moe_dtype", "distribution"],
    numbers: &[
        "topk",
        "num_experts",
        "hidden_size",
        "inter_size",
        "moe_tp_size",
        "moe_ep_size",
        "num_tokens",
    ],
    optional: &[],
    optional_texts: &["kernel_source"],
    at: &[&[6]],
    inner: &[6],
    between: &[],
};

/// dtype, kernel for few tokens, distribution, shape → tokens. Two kernels have dtypes of their own.
pub(super) fn slice_of(cells: &Cells<'_>, names: &NameCodes) -> SliceKey {
    let kernel = cells.text(2);
    let dtype = match (cells.text(0), kernel) {
        ("w4a8_mxfp4_mxfp8", "sglang_mxfp4_flashinfer_trtllm_moe") => {
            names.code("w4a8_mxfp4_mxfp8_trtllm")
        }
        ("w4a16_mxfp4", "sglang_flashinfer_cutlass_moe") => names.code("w4a16_mxfp4_cutlass"),
        _ => cells.code(0),
    };
    let few = u32::from(kernel == "moe_torch_flow_min_latency");
    let part = |column| cells.part(column);
    let shape = [part(0), part(1), part(2), part(3), part(4), part(5)];
    slice(dtype, few, cells.code(1), shape)
}

fn slice(dtype: u32, few: u32, distribution: u32, shape: [u32; 6]) -> SliceKey {
    let [topk, experts, hidden, inter, tp, ep] = shape;
    [dtype, few, distribution, topk, experts, hidden, inter, tp, ep]
}

impl Moe {
    pub(super) fn ms(
        &self,
        session: &PlannerSession<'_, '_>,
        query: Query,
        evidence: &mut Provenance,
    ) -> Result<f64, Refusal> {
        let tokens = query.tokens * self.attention_dp_size.max(1);
        let sol = self.sol(session.machine())?;
        let key = self.slice(session, tokens)?;
        let table = session.table(TableName::Moe)?;
        let curve = table.curve(key, None);
        let curve = curve.ok_or_else(|| no_rows(TableName::Moe, &self.words()))?;
        let at = tokens as f64;
        if curve.is_singleton_above(at) {
            let why = format!(
                "moe_perf has a single row of {}, and that has more than {tokens} tokens",
                self.words()
            );
            return Err(Refusal::missing(why));
        }
        let mut weights = evidence.weights();
        let (ms, how) = curve.query(at, &sol, &mut weights)?;
        evidence.add(table, how, ms, weights, || format!("{}, tokens {tokens}", self.words()));
        Ok(ms.max(0.0) * self.count)
    }

    /// Its slice, for people.
    fn words(&self) -> String {
        let Self { quant_mode, topk, num_experts, hidden_size, inter_size, .. } = self;
        format!(
            "{quant_mode}, {}, top {topk} of {num_experts} experts of {hidden_size} × {inter_size}, \
             tp {} ep {}",
            self.workload_distribution, self.moe_tp_size, self.moe_ep_size
        )
    }

    /// The slice that it reads for a number of tokens: that of the kernel for few where it has one.
    fn slice(&self, source: &dyn SliceSource, tokens: u64) -> Result<SliceKey, Refusal> {
        let known = source.keys(TableName::Moe)?;
        let few = tokens <= 128 && self.quant_mode == "nvfp4" && self.is_gated;
        let found = few.then(|| self.key(source, known, 1)).filter(|key| known.contains(key));
        let key = found.unwrap_or_else(|| self.key(source, known, 0));
        served(source, TableName::Moe, key, || self.words())
    }

    /// Whether the slice that it reads is served, of however many tokens.
    pub(super) fn check(&self, source: &dyn SliceSource) -> Result<(), Refusal> {
        dtypes::moe(&self.quant_mode)?.flops(source.machine())?;
        self.slice(source, u64::MAX).map(drop)
    }

    /// Bytes of its weights on a GPU.
    pub(super) fn weight_bytes(&self) -> f64 {
        let bytes = dtypes::moe(&self.quant_mode).map_or(0.0, |dtype| dtype.bytes);
        let products = if self.is_gated { 3.0 } else { 2.0 };
        let expert = products * self.hidden_size as f64 * self.inter_size as f64 * bytes;
        let shared = self.moe_tp_size.max(1) as f64 * self.moe_ep_size.max(1) as f64;
        self.count * self.num_experts as f64 * expert / shared
    }

    /// What the keys of its shape have, whatever dtype, kernel and distribution stand for those that it names.
    pub(super) fn pattern(&self) -> KeyPattern {
        let [topk, experts, hidden, inter, tp, ep] = self.shape().map(Some);
        [None, None, None, topk, experts, hidden, inter, tp, ep]
    }

    fn shape(&self) -> [u32; 6] {
        let shape = [
            self.topk,
            self.num_experts,
            self.hidden_size,
            self.inter_size,
            self.moe_tp_size,
            self.moe_ep_size,
        ];
        shape.map(|n| n as u32)
    }

    /// The key of its shape. A distribution that the dtype has no row of is read as `uniform`.
    fn key(&self, source: &dyn SliceSource, known: &HashSet<SliceKey>, few: u32) -> SliceKey {
        let dtype = source.code(&self.quant_mode);
        let asked = source.code(&self.workload_distribution);
        let has = known.iter().any(|k| k[..3] == [dtype, few, asked]);
        let distribution = if has { asked } else { source.code("uniform") };
        slice(dtype, few, distribution, self.shape())
    }

    /// Bound at tokens, ms. Divisions are of whole numbers, from left to right, as in the planner.
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
