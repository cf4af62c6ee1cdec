//! Multi-head latent attention measured together with its projections (perf_database/mla.rs 96).

use serde::Deserialize;

use super::super::dtypes;
use super::super::keys::{SliceSource, no_rows};
use super::super::refusal::Refusal;
use super::super::slices::SliceKey;
use super::super::tables::TableName;
use super::mla::{decode_parts, prefill_sol};
use super::operation::{Evaluation, Operation, new_share, once};

/// Prefill of latent attention with its projections.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MlaModuleContext {
    pub name: String,
    /// Number of layers.
    #[serde(default = "once")]
    pub count: f64,
    /// Heads per GPU.
    pub num_heads: u64,
    /// Heads of the model on one GPU.
    #[serde(default)]
    pub native_num_heads: Option<u64>,
    /// Quantisation of the projections.
    pub gemm_quant_mode: String,
    /// Type of the key-value cache; if empty, the model's list decides.
    #[serde(default)]
    pub kv_cache_dtype: String,
    /// Precision of attention; if empty, the model's list decides.
    #[serde(default)]
    pub fmha_quant_mode: String,
}

/// Decode of latent attention with its projections. The table's key has no precision of attention.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MlaModuleGeneration {
    pub name: String,
    /// Number of layers.
    #[serde(default = "once")]
    pub count: f64,
    /// Heads per GPU.
    pub num_heads: u64,
    /// Heads of the model on one GPU.
    #[serde(default)]
    pub native_num_heads: Option<u64>,
    /// Quantisation of the projections.
    pub gemm_quant_mode: String,
    /// Type of the key-value cache; if empty, the model's list decides.
    #[serde(default)]
    pub kv_cache_dtype: String,
}

/// Picks one of the slices whose key begins with `quants`, by native heads: the only slice, else the
/// slice with the most heads up to `asked`, else the slice with the fewest. Returns `None` for several
/// slices without `asked`.
fn pick<const N: usize>(
    source: &dyn SliceSource,
    table: TableName,
    quants: [&String; N],
    asked: Option<u64>,
    words: impl FnOnce() -> String,
) -> Result<SliceKey, Refusal> {
    let quants = quants.map(|text| source.code(text));
    let all = source.keys(table)?;
    let mut known: Vec<&SliceKey> = all.iter().filter(|key| key[..N] == quants).collect();
    known.sort_unstable();
    match (asked, known.as_slice()) {
        (_, [only]) => Ok(**only),
        (Some(asked), [smallest, ..]) => {
            let below = known.iter().rev().find(|key| u64::from(key[N]) <= asked);
            Ok(**below.unwrap_or(smallest))
        }
        _ => Err(no_rows(table, &words())),
    }
}

impl MlaModuleContext {
    /// The served slice, and the bound at (heads, tokens, batch) in ms.
    fn slice(
        &self,
        source: &dyn SliceSource,
    ) -> Result<(SliceKey, impl Fn([f64; 3]) -> f64), Refusal> {
        let machine = source.machine();
        let flops = dtypes::fmha(&self.fmha_quant_mode)?.flops(machine)?;
        let quants = [&self.fmha_quant_mode, &self.kv_cache_dtype, &self.gemm_quant_mode];
        let (table, asked) = (TableName::MlaContextModule, self.native_num_heads);
        let key = pick(source, table, quants, asked, || self.words())?;
        Ok((key, prefill_sol(dtypes::cache(&self.kv_cache_dtype)?, flops, machine.bandwidth)))
    }

    /// The slice as text for people.
    fn words(&self) -> String {
        let Self { fmha_quant_mode, kv_cache_dtype, gemm_quant_mode, num_heads, .. } = self;
        format!(
            "{fmha_quant_mode}, cache {kv_cache_dtype}, GEMM {gemm_quant_mode}, {num_heads} heads"
        )
    }
}

impl Operation for MlaModuleContext {
    fn tables(&self) -> &'static [TableName] {
        &[TableName::MlaContextModule]
    }

    fn ms(&self, at: &mut Evaluation<'_, '_, '_>) -> Result<f64, Refusal> {
        let (key, sol) = self.slice(at.session)?;
        let table = at.session.table(TableName::MlaContextModule)?;
        let grid = table.grid(key, Some(1), None);
        let (batch, full) = (at.query.batch, at.query.sequence + at.query.prefix);
        let key = || format!("{}, isl {full}, batch {batch}", self.words());
        let share = new_share(full, at.query.prefix);
        let ms = at.evidence.look_up(table, share, key, |weights| {
            grid.query([self.num_heads, full, batch], &sol, weights)
        })?;
        Ok(ms.max(0.0) * self.count)
    }

    fn check(&self, source: &dyn SliceSource) -> Result<(), Refusal> {
        self.slice(source).map(drop)
    }
}

impl MlaModuleGeneration {
    /// The served slice, and the bound at (heads, batch, tokens) in ms.
    fn slice(
        &self,
        source: &dyn SliceSource,
    ) -> Result<(SliceKey, impl Fn([f64; 3]) -> f64), Refusal> {
        let (machine, cache) = (source.machine(), self.kv_cache_dtype.as_str());
        let flops = dtypes::decode_flops(machine, cache)?;
        let dtype = dtypes::gemm(&self.gemm_quant_mode)?;
        let projections = dtype.flops(machine)?;
        let (table, asked) = (TableName::MlaGenerationModule, self.native_num_heads);
        let quants = [&self.kv_cache_dtype, &self.gemm_quant_mode];
        let key = pick(source, table, quants, asked, || self.words())?;
        let bandwidth = machine.bandwidth;
        let attention = decode_parts(dtypes::cache(cache)?, flops, bandwidth);
        // Attention, and the two products of 128 × 512 around attention.
        let sol = move |[n, b, s]: [f64; 3]| {
            let (math, memory) = attention([n, b, s]);
            let math = math + 2.0 * 2.0 * b * n * 128.0 * 512.0 / projections * 1000.0;
            let weights = 2.0 * n * (b * 640.0 + 128.0 * 512.0) * dtype.bytes;
            math.max(memory + weights / bandwidth * 1000.0)
        };
        Ok((key, sol))
    }

    /// The slice as text for people.
    fn words(&self) -> String {
        let Self { kv_cache_dtype, gemm_quant_mode, num_heads, .. } = self;
        format!("cache {kv_cache_dtype}, GEMM {gemm_quant_mode}, {num_heads} heads")
    }
}

impl Operation for MlaModuleGeneration {
    fn tables(&self) -> &'static [TableName] {
        &[TableName::MlaGenerationModule]
    }

    fn ms(&self, at: &mut Evaluation<'_, '_, '_>) -> Result<f64, Refusal> {
        let (key, sol) = self.slice(at.session)?;
        let table = at.session.table(TableName::MlaGenerationModule)?;
        let grid = table.grid(key, None, None);
        let (batch, tokens) = (at.query.batch, at.query.sequence);
        let key = || format!("{}, batch {batch}, tokens {tokens}", self.words());
        let ms = at.evidence.look_up(table, 1.0, key, |weights| {
            grid.query([self.num_heads, batch, tokens], &sol, weights)
        })?;
        Ok(ms.max(0.0) * self.count)
    }

    fn check(&self, source: &dyn SliceSource) -> Result<(), Refusal> {
        self.slice(source).map(drop)
    }
}
