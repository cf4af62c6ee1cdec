//! Multi-head latent attention without its projections (perf_database/mla.rs).

use serde::Deserialize;

use super::super::cells::{Cells, Columns};
use super::super::dtypes;
use super::super::keys::{SliceSource, no_rows, served};
use super::super::slices::SliceKey;
use super::super::{PlannerSession, Provenance, Refusal};
use super::{Query, TableName, new_share, once};

/// Prefill latent attention.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextMla {
    pub name: String,
    /// Layers.
    #[serde(default = "once")]
    pub count: f64,
    /// Heads of a GPU.
    pub num_heads: u64,
    /// Type of the cache; the list's where it is left out.
    #[serde(default)]
    pub kv_cache_dtype: String,
    /// Precision; the list's where it is left out.
    #[serde(default)]
    pub fmha_quant_mode: String,
}

/// Decode latent attention.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GenerationMla {
    pub name: String,
    /// Layers.
    #[serde(default = "once")]
    pub count: f64,
    /// Heads of a GPU.
    pub num_heads: u64,
    /// Type of the cache; the list's where it is left out.
    #[serde(default)]
    pub kv_cache_dtype: String,
}

pub(super) const CONTEXT_COLUMNS: Columns = Columns {
    texts: &["mla_dtype", "kv_cache_dtype"],
    numbers: &["num_heads", "batch_size", "isl"],
    optional: &[],
    optional_texts: &[],
    at: &[&[0], &[2], &[1]],
    inner: &[0, 1, 2],
    between: &[],
};

pub(super) const GENERATION_COLUMNS: Columns = Columns {
    texts: &["kv_cache_dtype"],
    numbers: &["num_heads", "batch_size", "isl", "step"],
    optional: &[],
    optional_texts: &[],
    at: &[&[0], &[1], &[2, 3]],
    inner: &[0, 1, 2, 3],
    between: &[],
};

/// mla_dtype, kv_cache_dtype → (heads, isl, batch).
pub(super) fn context_slice(cells: &Cells<'_>) -> SliceKey {
    [cells.code(0), cells.code(1), 0, 0, 0, 0, 0, 0, 0]
}

/// kv_cache_dtype → (heads, batch, isl + step).
pub(super) fn generation_slice(cells: &Cells<'_>) -> SliceKey {
    [cells.code(0), 0, 0, 0, 0, 0, 0, 0, 0]
}

/// Bound of prefill at (heads, tokens, batch), ms: 320 is the mean of the head's two dimensions
/// (192 + 128) of keys and values.
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

/// Operations and bytes of decode at (heads, batch, tokens), ms each.
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
    pub(super) fn ms(
        &self,
        session: &PlannerSession<'_, '_>,
        query: Query,
        evidence: &mut Provenance,
    ) -> Result<f64, Refusal> {
        let (fmha, cache) = (self.fmha_quant_mode.as_str(), self.kv_cache_dtype.as_str());
        let key = self.slice(session)?;
        let table = session.table(TableName::ContextMla)?;
        let grid = table.grid(key, 3, Some(1), None);
        let grid = grid.ok_or_else(|| no_rows(TableName::ContextMla, &self.words()))?;
        let machine = session.machine();
        let flops = dtypes::fmha(fmha)?.flops(machine)?;
        let sol = prefill_sol(dtypes::cache(cache)?, flops, machine.bandwidth);
        let (n, full) = (self.num_heads, query.sequence + query.prefix);
        let mut weights = evidence.weights();
        let (ms, how) = grid.query([n, full, query.batch], &sol, &mut weights)?;
        let ms = ms * new_share(full, query.prefix);
        evidence.add(table, how, ms, weights, || {
            format!("{}, {n} heads, isl {full}, batch {}", self.words(), query.batch)
        });
        Ok(ms.max(0.0) * self.count)
    }

    fn slice(&self, source: &dyn SliceSource) -> Result<SliceKey, Refusal> {
        let [fmha, cache] =
            [&self.fmha_quant_mode, &self.kv_cache_dtype].map(|text| source.code(text));
        let key = [fmha, cache, 0, 0, 0, 0, 0, 0, 0];
        served(source, TableName::ContextMla, key, || self.words())
    }

    /// Its slice, for people.
    fn words(&self) -> String {
        format!("{}, cache {}", self.fmha_quant_mode, self.kv_cache_dtype)
    }

    /// Whether the slice that it reads is served.
    pub(super) fn check(&self, source: &dyn SliceSource) -> Result<(), Refusal> {
        self.slice(source)?;
        dtypes::fmha(&self.fmha_quant_mode)?.flops(source.machine())?;
        dtypes::cache(&self.kv_cache_dtype).map(drop)
    }
}

impl GenerationMla {
    pub(super) fn ms(
        &self,
        session: &PlannerSession<'_, '_>,
        query: Query,
        evidence: &mut Provenance,
    ) -> Result<f64, Refusal> {
        let cache = self.kv_cache_dtype.as_str();
        let key = self.slice(session)?;
        let table = session.table(TableName::GenerationMla)?;
        let grid = table.grid(key, 3, None, None);
        let grid = grid.ok_or_else(|| no_rows(TableName::GenerationMla, &self.words()))?;
        let machine = session.machine();
        let flops = dtypes::decode_flops(machine, cache)?;
        let parts = decode_parts(dtypes::cache(cache)?, flops, machine.bandwidth);
        let sol = |at| {
            let (math, memory) = parts(at);
            math.max(memory)
        };
        let (n, tokens) = (self.num_heads, query.sequence);
        let mut weights = evidence.weights();
        let (ms, how) = grid.query([n, query.batch, tokens], &sol, &mut weights)?;
        evidence.add(table, how, ms, weights, || {
            format!("{}, {n} heads, batch {}, tokens {tokens}", self.words(), query.batch)
        });
        Ok(ms.max(0.0) * self.count)
    }

    fn slice(&self, source: &dyn SliceSource) -> Result<SliceKey, Refusal> {
        let key = [source.code(&self.kv_cache_dtype), 0, 0, 0, 0, 0, 0, 0, 0];
        served(source, TableName::GenerationMla, key, || self.words())
    }

    /// Its slice, for people.
    fn words(&self) -> String {
        format!("cache {}", self.kv_cache_dtype)
    }

    /// Whether the slice that it reads is served.
    pub(super) fn check(&self, source: &dyn SliceSource) -> Result<(), Refusal> {
        self.slice(source)?;
        dtypes::decode_flops(source.machine(), &self.kv_cache_dtype)?;
        dtypes::cache(&self.kv_cache_dtype).map(drop)
    }
}
