//! Attention of several heads or groups of heads (perf_database/attention.rs 205, 928).

use serde::Deserialize;

use super::super::asked::KeyPattern;
use super::super::cells::{Cells, Columns};
use super::super::dtypes;
use super::super::keys::{SliceSource, no_rows, served};
use super::super::slices::SliceKey;
use super::super::{MachineFigures, PlannerSession, Provenance, Refusal};
use super::{Query, TableName, new_share, once};

/// Prefill attention.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextAttention {
    pub name: String,
    /// Layers.
    #[serde(default = "once")]
    pub count: f64,
    /// Query heads of a GPU.
    pub n: u64,
    /// Key-value heads of a GPU.
    pub n_kv: u64,
    /// Dimension of a head.
    pub head_size: u64,
    /// Tokens that a token attends to; 0 for all.
    #[serde(default)]
    pub window_size: u64,
    /// Whether queries and keys are normalised first.
    #[serde(default)]
    pub use_qk_norm: bool,
    /// Type of the cache; the list's where it is left out.
    #[serde(default)]
    pub kv_cache_dtype: String,
    /// Precision; the list's where it is left out.
    #[serde(default)]
    pub fmha_quant_mode: String,
}

/// Decode attention.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GenerationAttention {
    pub name: String,
    /// Layers.
    #[serde(default = "once")]
    pub count: f64,
    /// Query heads of a GPU.
    pub n: u64,
    /// Key-value heads of a GPU.
    pub n_kv: u64,
    /// Dimension of a head.
    pub head_size: u64,
    /// Tokens that a token attends to; 0 for all.
    #[serde(default)]
    pub window_size: u64,
    /// Type of the cache; the list's where it is left out.
    #[serde(default)]
    pub kv_cache_dtype: String,
}

pub(super) const CONTEXT_COLUMNS: Columns = Columns {
    texts: &["attn_dtype", "kv_cache_dtype"],
    numbers: &["batch_size", "isl", "num_heads", "num_key_value_heads", "head_dim"],
    optional: &[("window_size", 0)],
    optional_texts: &[],
    at: &[&[2], &[1], &[0]],
    inner: &[0, 1],
    between: &[],
};

pub(super) const GENERATION_COLUMNS: Columns = Columns {
    texts: &["kv_cache_dtype"],
    numbers: &["batch_size", "isl", "num_heads", "num_key_value_heads", "head_dim", "step"],
    optional: &[("window_size", 0)],
    optional_texts: &[],
    at: &[&[2], &[0], &[1, 5]],
    inner: &[0, 1, 5],
    between: &[],
};

/// Key-value heads as keys hold them: 0 where every query head has its own.
fn kv_key(heads: u64, kv_heads: u64) -> u64 {
    if heads == kv_heads { 0 } else { kv_heads }
}

/// Key-value heads, head_dim and window as keys hold them.
fn shape_key(heads: u64, kv_heads: u64, head_size: u64, window: u64) -> [u32; 3] {
    [kv_key(heads, kv_heads), head_size, window].map(|n| n as u32)
}

/// attn_dtype, kv_cache_dtype, key-value heads, head_dim, window → (heads, isl, batch).
pub(super) fn context_slice(cells: &Cells<'_>) -> SliceKey {
    let kv = kv_key(cells.number(2), cells.number(3)) as u32;
    let window = cells.optional(0) as u32;
    [cells.code(0), cells.code(1), kv, cells.part(4), window, 0, 0, 0, 0]
}

/// kv_cache_dtype, key-value heads, head_dim, window → (heads, batch, isl + step). The precision of
/// attention is not part of the key: the first row wins.
pub(super) fn generation_slice(cells: &Cells<'_>) -> SliceKey {
    let kv = kv_key(cells.number(2), cells.number(3)) as u32;
    [cells.code(0), kv, cells.part(4), cells.optional(0) as u32, 0, 0, 0, 0, 0]
}

/// What a bound needs beside the coordinates.
#[derive(Debug, Clone, Copy)]
pub(super) struct AttentionShape {
    kv: u64,
    head_size: u64,
    window: u64,
    cache_bytes: f64,
    flops: f64,
    bandwidth: f64,
}

impl AttentionShape {
    fn kv_heads(self, heads: f64) -> f64 {
        if self.kv == 0 { heads } else { self.kv as f64 }
    }

    /// At (heads, isl, batch): half of the pairs of tokens are masked, or a window limits them.
    fn prefill_sol(self, [n, s, b]: [f64; 3]) -> f64 {
        let (h, w) = (self.head_size as f64, self.window as f64);
        let windowed = self.window > 0 && s > w;
        let pairs = if windowed { 2.0 * b * s * w } else { 2.0 * b * s * s };
        let math = if windowed { pairs * n * h * 2.0 } else { pairs * n * h * 2.0 / 2.0 };
        let kv = self.kv_heads(n);
        let bytes = 2.0 * b * (2.0 * n * s * h) + self.cache_bytes * b * 2.0 * kv * s * h;
        (math / self.flops * 1000.0).max(bytes / self.bandwidth * 1000.0)
    }

    /// At (heads, batch, tokens).
    fn decode_sol(self, [n, b, s]: [f64; 3]) -> f64 {
        let h = self.head_size as f64;
        let attended = if self.window > 0 { (s - 1.0).min(self.window as f64) } else { s - 1.0 };
        let math = 2.0 * b * n * h * 2.0 * attended;
        let cache = 2.0 * self.kv_heads(n) * attended * h * self.cache_bytes;
        let bytes = b * (n * h * 2.0 + cache + n * h * 2.0);
        (math / self.flops * 1000.0).max(bytes / self.bandwidth * 1000.0)
    }
}

impl ContextAttention {
    pub(super) fn ms(
        &self,
        session: &PlannerSession<'_, '_>,
        query: Query,
        evidence: &mut Provenance,
    ) -> Result<f64, Refusal> {
        let machine = session.machine();
        let (key, shape) = self.slice(session)?;
        let table = session.table(TableName::ContextAttention)?;
        let grid = table.grid(key, 3, Some(1), None);
        let grid = grid.ok_or_else(|| no_rows(TableName::ContextAttention, &self.words()))?;
        let full = query.sequence + query.prefix;
        let mut weights = evidence.weights();
        let sol = |at| shape.prefill_sol(at);
        let (ms, how) = grid.query([self.n, full, query.batch], &sol, &mut weights)?;
        let ms = ms * new_share(full, query.prefix);
        evidence.add(table, how, ms, weights, || {
            format!("{}, isl {full}, batch {}", self.words(), query.batch)
        });
        let fmha = dtypes::fmha(&self.fmha_quant_mode)?;
        Ok((ms + self.around(machine, fmha.bytes)).max(0.0) * self.count)
    }

    /// The slice that it reads, and what bounds it.
    pub(super) fn slice(
        &self,
        source: &dyn SliceSource,
    ) -> Result<(SliceKey, AttentionShape), Refusal> {
        let machine = source.machine();
        let fmha = dtypes::fmha(&self.fmha_quant_mode)?;
        let shape = AttentionShape {
            kv: kv_key(self.n, self.n_kv),
            head_size: self.head_size,
            window: self.window_size,
            cache_bytes: dtypes::cache(&self.kv_cache_dtype)?,
            flops: fmha.flops(machine)?,
            bandwidth: machine.bandwidth,
        };
        let codes = [&self.fmha_quant_mode, &self.kv_cache_dtype].map(|t| source.code(t));
        let [kv, head, window] = shape_key(self.n, self.n_kv, self.head_size, self.window_size);
        let key: SliceKey = [codes[0], codes[1], kv, head, window, 0, 0, 0, 0];
        Ok((served(source, TableName::ContextAttention, key, || self.words())?, shape))
    }

    /// What the keys of its shape have, whatever the precision.
    pub(super) fn pattern(&self) -> KeyPattern {
        let [kv, head, window] =
            shape_key(self.n, self.n_kv, self.head_size, self.window_size).map(Some);
        [None, None, kv, head, window, None, None, None, None]
    }

    /// Its slice, for people.
    fn words(&self) -> String {
        let heads = heads(self.n, self.n_kv, self.head_size, self.window_size);
        format!("{}, cache {}, {heads}", self.fmha_quant_mode, self.kv_cache_dtype)
    }

    /// Norms, rotation and the write of the cache: memory traffic, ms. Figures are per token and not
    /// multiplied by tokens, as in the planner.
    fn around(&self, machine: &MachineFigures, fmha_bytes: f64) -> f64 {
        let q = (self.n * self.head_size) as f64;
        let k = (self.n_kv * self.head_size) as f64;
        let mut ms = 0.0;
        if self.use_qk_norm {
            ms += (machine.memory_ms(q * 2.0) * 2.0 + machine.memory_ms(k * 2.0) * 2.0) * 2.0;
        }
        ms += machine.memory_ms(q * 2.0 + k * 2.0) * 2.0 + machine.memory_ms(k * fmha_bytes) * 2.0;
        ms * 1.1
    }
}

impl GenerationAttention {
    pub(super) fn ms(
        &self,
        session: &PlannerSession<'_, '_>,
        query: Query,
        evidence: &mut Provenance,
    ) -> Result<f64, Refusal> {
        let (key, shape) = self.slice(session)?;
        let sol = |at| shape.decode_sol(at);
        let table = session.table(TableName::GenerationAttention)?;
        // Rows faster than light are raised to it when they are loaded.
        let grid = table.grid(key, 3, None, Some(&sol));
        let grid = grid.ok_or_else(|| no_rows(TableName::GenerationAttention, &self.words()))?;
        let mut mean = 0.0;
        for tokens in samples(query.sequence) {
            let mut weights = evidence.weights();
            let (ms, how) = grid.query([self.n, query.batch, tokens], &sol, &mut weights)?;
            mean += ms * 0.2;
            evidence.add(table, how, ms * 0.2, weights, || {
                format!("{}, batch {}, tokens {tokens}", self.words(), query.batch)
            });
        }
        Ok(mean.max(0.0) * self.count)
    }

    /// The slice that it reads, and what bounds it.
    pub(super) fn slice(
        &self,
        source: &dyn SliceSource,
    ) -> Result<(SliceKey, AttentionShape), Refusal> {
        let cache_bytes = dtypes::cache(&self.kv_cache_dtype)?;
        let [kv, head, window] = shape_key(self.n, self.n_kv, self.head_size, self.window_size);
        let cache = source.code(&self.kv_cache_dtype);
        let key: SliceKey = [cache, kv, head, window, 0, 0, 0, 0, 0];
        let key = served(source, TableName::GenerationAttention, key, || self.words())?;
        let machine = source.machine();
        let shape = AttentionShape {
            kv: kv_key(self.n, self.n_kv),
            head_size: self.head_size,
            window: self.window_size,
            cache_bytes,
            flops: dtypes::decode_flops(machine, &self.kv_cache_dtype)?,
            bandwidth: machine.bandwidth,
        };
        Ok((key, shape))
    }

    /// What the keys of its shape have, whatever the type of the cache.
    pub(super) fn pattern(&self) -> KeyPattern {
        let [kv, head, window] =
            shape_key(self.n, self.n_kv, self.head_size, self.window_size).map(Some);
        [None, kv, head, window, None, None, None, None, None]
    }

    /// Its slice, for people.
    fn words(&self) -> String {
        let heads = heads(self.n, self.n_kv, self.head_size, self.window_size);
        format!("cache {}, {heads}", self.kv_cache_dtype)
    }
}

/// The heads of a layer, for people.
fn heads(queries: u64, keys: u64, size: u64, window: u64) -> String {
    format!("{queries} heads, {keys} key-value heads, head size {size}, window {window}")
}

/// The five lengths between 0.9 and 1.1 of a sequence whose mean decode attention is.
fn samples(sequence: u64) -> impl Iterator<Item = u64> {
    let low = ((sequence as f64 * 0.9) as u64).max(1);
    let high = ((sequence as f64 * 1.1) as u64).max(low);
    (0..5).map(move |i| low + (high - low) * i / 4)
}
