//! Attention with several heads or groups of heads (perf_database/attention.rs 205, 928).

use serde::Deserialize;

use super::super::dtypes;
use super::super::keys::{SliceSource, served};
use super::super::machine::MachineFigures;
use super::super::refusal::Refusal;
use super::super::slices::{SliceKey, slice_key};
use super::super::tables::TableName;
use super::operation::{Evaluation, Operation, new_share, once};

/// Prefill attention.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextAttention {
    pub name: String,
    /// Number of layers.
    #[serde(default = "once")]
    pub count: f64,
    /// Query heads per GPU.
    pub n: u64,
    /// Key-value heads per GPU.
    pub n_kv: u64,
    /// Dimension of a head.
    pub head_size: u64,
    /// Number of tokens that a token attends to; 0 for all.
    #[serde(default)]
    pub window_size: u64,
    /// True if queries and keys are normalised first.
    #[serde(default)]
    pub use_qk_norm: bool,
    /// Type of the key-value cache; if empty, the model's list decides.
    #[serde(default)]
    pub kv_cache_dtype: String,
    /// Precision of attention; if empty, the model's list decides.
    #[serde(default)]
    pub fmha_quant_mode: String,
}

/// Decode attention.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GenerationAttention {
    pub name: String,
    /// Number of layers.
    #[serde(default = "once")]
    pub count: f64,
    /// Query heads per GPU.
    pub n: u64,
    /// Key-value heads per GPU.
    pub n_kv: u64,
    /// Dimension of a head.
    pub head_size: u64,
    /// Number of tokens that a token attends to; 0 for all.
    #[serde(default)]
    pub window_size: u64,
    /// Type of the key-value cache; if empty, the model's list decides.
    #[serde(default)]
    pub kv_cache_dtype: String,
}

/// Number of key-value heads as written in keys: 0 if every query head has its own.
fn kv_key(heads: u64, kv_heads: u64) -> u64 {
    if heads == kv_heads { 0 } else { kv_heads }
}

/// Parameters of attention's speed-of-light bound, apart from the coordinates.
#[derive(Debug, Clone, Copy)]
struct AttentionShape {
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

    /// Bound of prefill at (heads, isl, batch), in ms. Half of the token pairs are masked, or a window
    /// limits them.
    fn prefill_sol(self, [n, s, b]: [f64; 3]) -> f64 {
        let (h, w) = (self.head_size as f64, self.window as f64);
        let windowed = self.window > 0 && s > w;
        let pairs = if windowed { 2.0 * b * s * w } else { 2.0 * b * s * s };
        let math = if windowed { pairs * n * h * 2.0 } else { pairs * n * h * 2.0 / 2.0 };
        let kv = self.kv_heads(n);
        let bytes = 2.0 * b * (2.0 * n * s * h) + self.cache_bytes * b * 2.0 * kv * s * h;
        (math / self.flops * 1000.0).max(bytes / self.bandwidth * 1000.0)
    }

    /// Bound of decode at (heads, batch, tokens), in ms.
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
    /// The served slice, and the parameters of its bound.
    fn slice(&self, source: &dyn SliceSource) -> Result<(SliceKey, AttentionShape), Refusal> {
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
        let [fmha, cache] = [&self.fmha_quant_mode, &self.kv_cache_dtype].map(|t| source.code(t));
        let [kv, head, window] = [shape.kv, shape.head_size, shape.window].map(|n| n as u32);
        let key = slice_key([fmha, cache, kv, head, window]);
        Ok((served(source, TableName::ContextAttention, key, || self.words())?, shape))
    }

    /// The slice as text for people.
    fn words(&self) -> String {
        let heads = heads(self.n, self.n_kv, self.head_size, self.window_size);
        format!("{}, cache {}, {heads}", self.fmha_quant_mode, self.kv_cache_dtype)
    }

    /// Time of norms, rotation and the write to the cache, in ms; all of it is memory traffic. Sizes are
    /// per token and are not multiplied by tokens, as in the planner.
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

impl Operation for ContextAttention {
    fn tables(&self) -> &'static [TableName] {
        &[TableName::ContextAttention]
    }

    fn ms(&self, at: &mut Evaluation<'_, '_, '_>) -> Result<f64, Refusal> {
        let (key, shape) = self.slice(at.session)?;
        let table = at.session.table(TableName::ContextAttention)?;
        let grid = table.grid(key, Some(1), None);
        let (batch, full) = (at.query.batch, at.query.sequence + at.query.prefix);
        let key = || format!("{}, isl {full}, batch {batch}", self.words());
        let share = new_share(full, at.query.prefix);
        let ms = at.evidence.look_up(table, share, key, |weights| {
            grid.query([self.n, full, batch], &|at| shape.prefill_sol(at), weights)
        })?;
        let fmha = dtypes::fmha(&self.fmha_quant_mode)?;
        Ok((ms + self.around(at.session.machine(), fmha.bytes)).max(0.0) * self.count)
    }

    fn check(&self, source: &dyn SliceSource) -> Result<(), Refusal> {
        self.slice(source).map(drop)
    }
}

impl GenerationAttention {
    /// The served slice, and the parameters of its bound.
    fn slice(&self, source: &dyn SliceSource) -> Result<(SliceKey, AttentionShape), Refusal> {
        let cache_bytes = dtypes::cache(&self.kv_cache_dtype)?;
        let kv = kv_key(self.n, self.n_kv);
        let sizes = [kv, self.head_size, self.window_size].map(|n| n as u32);
        let key = slice_key([source.code(&self.kv_cache_dtype), sizes[0], sizes[1], sizes[2]]);
        let key = served(source, TableName::GenerationAttention, key, || self.words())?;
        let machine = source.machine();
        let shape = AttentionShape {
            kv,
            head_size: self.head_size,
            window: self.window_size,
            cache_bytes,
            flops: dtypes::decode_flops(machine, &self.kv_cache_dtype)?,
            bandwidth: machine.bandwidth,
        };
        Ok((key, shape))
    }

    /// The slice as text for people.
    fn words(&self) -> String {
        let heads = heads(self.n, self.n_kv, self.head_size, self.window_size);
        format!("cache {}, {heads}", self.kv_cache_dtype)
    }
}

impl Operation for GenerationAttention {
    fn tables(&self) -> &'static [TableName] {
        &[TableName::GenerationAttention]
    }

    fn ms(&self, at: &mut Evaluation<'_, '_, '_>) -> Result<f64, Refusal> {
        let (key, shape) = self.slice(at.session)?;
        let sol = |at| shape.decode_sol(at);
        let table = at.session.table(TableName::GenerationAttention)?;
        // Latencies below the speed-of-light bound are raised to it.
        let grid = table.grid(key, None, Some(&sol));
        let batch = at.query.batch;
        let mut mean = 0.0;
        for tokens in samples(at.query.sequence) {
            let key = || format!("{}, batch {batch}, tokens {tokens}", self.words());
            mean += at.evidence.look_up(table, 0.2, key, |weights| {
                grid.query([self.n, batch, tokens], &sol, weights)
            })?;
        }
        Ok(mean.max(0.0) * self.count)
    }

    fn check(&self, source: &dyn SliceSource) -> Result<(), Refusal> {
        self.slice(source).map(drop)
    }
}

/// The heads of a layer as text for people.
fn heads(queries: u64, keys: u64, size: u64, window: u64) -> String {
    format!("{queries} heads, {keys} key-value heads, head size {size}, window {window}")
}

/// Five sequence lengths between 0.9 and 1.1 of the sequence; the time of decode attention is their
/// mean.
fn samples(sequence: u64) -> impl Iterator<Item = u64> {
    let low = ((sequence as f64 * 0.9) as u64).max(1);
    let high = ((sequence as f64 * 1.1) as u64).max(low);
    (0..5).map(move |i| low + (high - low) * i / 4)
}
