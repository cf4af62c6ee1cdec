//! Multi-head latent attention without its projections (perf_database/mla.rs).

use serde::Deserialize;

use super::super::dtypes;
use super::super::keys::{SliceSource, served};
use super::super::refusal::Refusal;
use super::super::slices::{SliceKey, slice_key};
use super::super::tables::TableName;
use super::operation::{Evaluation, Operation, new_share, once};

/// Prefill of latent attention, without its projections.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextMla {
    pub name: String,
    /// Number of layers.
    #[serde(default = "once")]
    pub count: f64,
    /// Heads per GPU.
    pub num_heads: u64,
    /// Type of the key-value cache; if empty, the model's list decides.
    #[serde(default)]
    pub kv_cache_dtype: String,
    /// Precision of attention; if empty, the model's list decides.
    #[serde(default)]
    pub fmha_quant_mode: String,
}

/// Decode of latent attention, without its projections.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GenerationMla {
    pub name: String,
    /// Number of layers.
    #[serde(default = "once")]
    pub count: f64,
    /// Heads per GPU.
    pub num_heads: u64,
    /// Type of the key-value cache; if empty, the model's list decides.
    #[serde(default)]
    pub kv_cache_dtype: String,
}

/// Bound of prefill at (heads, tokens, batch), in ms. 320 is the sum of a head's two dimensions, 192 of
/// keys and 128 of values.
pub(super) fn prefill_sol(
    cache_bytes: f64,
    flops: f64,
    bandwidth: f64,
) -> impl Fn([f64; 3]) -> f64 {
    move |[n, s, b]| {
        let math = b * n * 320.0 * s * s / flops * 1000.0;
        let bytes = b * n * (cache_bytes * s * 320.0 + 2.0 * s * 320.0);
        math.max(bytes / bandwidth * 1000.0)
    }
}

/// Times of decode's computation and memory traffic at (heads, batch, tokens), in ms.
pub(super) fn decode_parts(
    cache_bytes: f64,
    flops: f64,
    bandwidth: f64,
) -> impl Fn([f64; 3]) -> (f64, f64) {
    move |[n, b, s]| {
        let math = 2.0 * b * n * 1088.0 * s / flops * 1000.0;
        let bytes = b * (n * 1088.0 * 2.0 + (s - 1.0) * 576.0 * cache_bytes);
        (math, bytes / bandwidth * 1000.0)
    }
}

impl ContextMla {
    /// The served slice, and the bound at (heads, tokens, batch) in ms.
    fn slice(
        &self,
        source: &dyn SliceSource,
    ) -> Result<(SliceKey, impl Fn([f64; 3]) -> f64), Refusal> {
        let key = [&self.fmha_quant_mode, &self.kv_cache_dtype].map(|text| source.code(text));
        let key = served(source, TableName::ContextMla, slice_key(key), || self.words())?;
        let machine = source.machine();
        let flops = dtypes::fmha(&self.fmha_quant_mode)?.flops(machine)?;
        Ok((key, prefill_sol(dtypes::cache(&self.kv_cache_dtype)?, flops, machine.bandwidth)))
    }

    /// The slice as text for people.
    fn words(&self) -> String {
        format!("{}, cache {}", self.fmha_quant_mode, self.kv_cache_dtype)
    }
}

impl Operation for ContextMla {
    fn tables(&self) -> &'static [TableName] {
        &[TableName::ContextMla]
    }

    fn ms(&self, at: &mut Evaluation<'_, '_, '_>) -> Result<f64, Refusal> {
        let (key, sol) = self.slice(at.session)?;
        let table = at.session.table(TableName::ContextMla)?;
        let grid = table.grid(key, Some(1), None);
        let (n, batch) = (self.num_heads, at.query.batch);
        let full = at.query.sequence + at.query.prefix;
        let key = || format!("{}, {n} heads, isl {full}, batch {batch}", self.words());
        let share = new_share(full, at.query.prefix);
        let ms = at
            .evidence
            .look_up(table, share, key, |weights| grid.query([n, full, batch], &sol, weights))?;
        Ok(ms.max(0.0) * self.count)
    }

    fn check(&self, source: &dyn SliceSource) -> Result<(), Refusal> {
        self.slice(source).map(drop)
    }
}

impl GenerationMla {
    /// The served slice, and the bound at (heads, batch, tokens) in ms.
    fn slice(
        &self,
        source: &dyn SliceSource,
    ) -> Result<(SliceKey, impl Fn([f64; 3]) -> f64), Refusal> {
        let (machine, cache) = (source.machine(), self.kv_cache_dtype.as_str());
        let key = slice_key([source.code(cache)]);
        let key = served(source, TableName::GenerationMla, key, || self.words())?;
        let flops = dtypes::decode_flops(machine, cache)?;
        let parts = decode_parts(dtypes::cache(cache)?, flops, machine.bandwidth);
        Ok((key, move |at| {
            let (math, memory) = parts(at);
            math.max(memory)
        }))
    }

    /// The slice as text for people.
    fn words(&self) -> String {
        format!("cache {}", self.kv_cache_dtype)
    }
}

impl Operation for GenerationMla {
    fn tables(&self) -> &'static [TableName] {
        &[TableName::GenerationMla]
    }

    fn ms(&self, at: &mut Evaluation<'_, '_, '_>) -> Result<f64, Refusal> {
        let (key, sol) = self.slice(at.session)?;
        let table = at.session.table(TableName::GenerationMla)?;
        let grid = table.grid(key, None, None);
        let (n, batch, tokens) = (self.num_heads, at.query.batch, at.query.sequence);
        let key = || format!("{}, {n} heads, batch {batch}, tokens {tokens}", self.words());
        let ms = at
            .evidence
            .look_up(table, 1.0, key, |weights| grid.query([n, batch, tokens], &sol, weights))?;
        Ok(ms.max(0.0) * self.count)
    }

    fn check(&self, source: &dyn SliceSource) -> Result<(), Refusal> {
        self.slice(source).map(drop)
    }
}
