//! Multi-head latent attention measured with its projections (perf_database/mla.rs 96).

use hashbrown::HashSet;

use serde::Deserialize;

use super::super::cells::{Cells, Columns};
use super::super::dtypes;
use super::super::keys::{SliceSource, no_rows};
use super::super::slices::SliceKey;
use super::super::{PlannerSession, Provenance, Reason, Refusal};
use super::mla::{decode_parts, prefill_sol};
use super::{Query, TableName, new_share, once};

/// Prefill latent attention with its projections.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MlaModuleContext {
    pub name: String,
    /// Layers.
    #[serde(default = "once")]
    pub count: f64,
    /// Heads of a GPU.
    pub num_heads: u64,
    /// Heads of the model on one GPU.
    #[serde(default)]
    pub native_num_heads: Option<u64>,
    /// Quantisation of the projections.
    pub gemm_quant_mode: String,
    /// Type of the cache; the list's where it is left out.
    #[serde(default)]
    pub kv_cache_dtype: String,
    /// Precision; the list's where it is left out.
    #[serde(default)]
    pub fmha_quant_mode: String,
}

/// Decode latent attention with its projections. Its table has no precision of attention in its key.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MlaModuleGeneration {
    pub name: String,
    /// Layers.
    #[serde(default = "once")]
    pub count: f64,
    /// Heads of a GPU.
    pub num_heads: u64,
    /// Heads of the model on one GPU.
    #[serde(default)]
    pub native_num_heads: Option<u64>,
    /// Quantisation of the projections.
    pub gemm_quant_mode: String,
    /// Type of the cache; the list's where it is left out.
    #[serde(default)]
    pub kv_cache_dtype: String,
}

pub(super) const CONTEXT_COLUMNS: Columns = Columns {
    texts: &["mla_dtype", "kv_cache_dtype", "gemm_type", "model"],
    numbers: &["num_heads", "batch_size", "isl"],
    optional: &[("tp_size", 1)],
    optional_texts: &[],
    at: &[&[0], &[2], &[1]],
    inner: &[1, 2],
    between: &[],
};

pub(super) const GENERATION_COLUMNS: Columns = Columns {
    texts: &["kv_cache_dtype", "gemm_type", "model"],
    numbers: &["num_heads", "batch_size", "isl", "step"],
    optional: &[("tp_size", 1)],
    optional_texts: &[],
    at: &[&[0], &[1], &[2, 3]],
    inner: &[1, 2, 3],
    between: &[],
};

/// mla_dtype, kv_cache_dtype, gemm_type, native heads → (heads, isl, batch).
pub(super) fn context_slice(cells: &Cells<'_>) -> Result<SliceKey, Reason> {
    let native = native(cells, 3)?;
    Ok([cells.code(0), cells.code(1), cells.code(2), native, 0, 0, 0, 0, 0])
}

/// kv_cache_dtype, gemm_type, native heads → (heads, batch, isl + step).
pub(super) fn generation_slice(cells: &Cells<'_>) -> Result<SliceKey, Reason> {
    let native = native(cells, 2)?;
    Ok([cells.code(0), cells.code(1), 0, native, 0, 0, 0, 0, 0])
}

/// Heads of the row's model on one GPU, which the loader knows by the model's name.
fn native(cells: &Cells<'_>, model: usize) -> Result<u32, Reason> {
    let name = cells.text(model);
    let native = match name {
        "deepseek-ai/DeepSeek-V3" | "deepseek-ai/DeepSeek-R1" | "nvidia/DeepSeek-V3.1-NVFP4" => 128,
        _ => {
            return Err(format!(
                "the loader does not know the number of heads of the model {name}"
            )
            .into());
        }
    };
    let tp = cells.optional(0).max(1);
    let heads = cells.number(0);
    if tp > 1 && heads.saturating_mul(tp) != u64::from(native) {
        return Err(format!(
            "{heads} heads times tp_size {tp} is not {native}, the heads of {name}"
        )
        .into());
    }
    Ok(native)
}

/// The slice of the native heads nearest to those asked for: the same, the only one, the largest that
/// is not above, else the smallest.
fn pick(all: &HashSet<SliceKey>, key: SliceKey, asked: Option<u64>) -> Option<SliceKey> {
    let same = |k: &&SliceKey| k[..3] == key[..3];
    let mut known: Vec<u32> = all.iter().filter(same).map(|k| k[3]).collect();
    known.sort_unstable();
    let native = match (asked, known.as_slice()) {
        (_, [only]) => *only,
        (Some(asked), [smallest, ..]) => {
            let below = known.iter().rev().find(|native| u64::from(**native) <= asked);
            *below.unwrap_or(smallest)
        }
        _ => return None,
    };
    Some([key[0], key[1], key[2], native, 0, 0, 0, 0, 0])
}

impl MlaModuleContext {
    pub(super) fn ms(
        &self,
        session: &PlannerSession<'_, '_>,
        query: Query,
        evidence: &mut Provenance,
    ) -> Result<f64, Refusal> {
        let machine = session.machine();
        let flops = dtypes::fmha(&self.fmha_quant_mode)?.flops(machine)?;
        let key = self.slice(session)?;
        let table = session.table(TableName::MlaContextModule)?;
        let grid = table.grid(key, 3, Some(1), None);
        let grid = grid.ok_or_else(|| no_rows(TableName::MlaContextModule, &self.words()))?;
        let sol = prefill_sol(dtypes::cache(&self.kv_cache_dtype)?, flops, machine.bandwidth);
        let full = query.sequence + query.prefix;
        let mut weights = evidence.weights();
        let (ms, how) = grid.query([self.num_heads, full, query.batch], &sol, &mut weights)?;
        let ms = ms * new_share(full, query.prefix);
        evidence.add(table, how, ms, weights, || {
            format!("{}, isl {full}, batch {}", self.words(), query.batch)
        });
        Ok(ms.max(0.0) * self.count)
    }

    fn slice(&self, source: &dyn SliceSource) -> Result<SliceKey, Refusal> {
        let texts = [&self.fmha_quant_mode, &self.kv_cache_dtype, &self.gemm_quant_mode];
        let [a, b, c] = texts.map(|text| source.code(text));
        let known = source.keys(TableName::MlaContextModule)?;
        let key = pick(known, [a, b, c, 0, 0, 0, 0, 0, 0], self.native_num_heads);
        key.ok_or_else(|| no_rows(TableName::MlaContextModule, &self.words()))
    }

    /// Its slice, for people.
    fn words(&self) -> String {
        let Self { fmha_quant_mode, kv_cache_dtype, gemm_quant_mode, num_heads, .. } = self;
        format!(
            "{fmha_quant_mode}, cache {kv_cache_dtype}, GEMM {gemm_quant_mode}, {num_heads} heads"
        )
    }

    /// Whether the slice that it reads is served.
    pub(super) fn check(&self, source: &dyn SliceSource) -> Result<(), Refusal> {
        dtypes::fmha(&self.fmha_quant_mode)?.flops(source.machine())?;
        self.slice(source)?;
        dtypes::cache(&self.kv_cache_dtype).map(drop)
    }
}

impl MlaModuleGeneration {
    pub(super) fn ms(
        &self,
        session: &PlannerSession<'_, '_>,
        query: Query,
        evidence: &mut Provenance,
    ) -> Result<f64, Refusal> {
        let (cache, gemm) = (self.kv_cache_dtype.as_str(), self.gemm_quant_mode.as_str());
        let machine = session.machine();
        let flops = dtypes::decode_flops(machine, cache)?;
        let dtype = dtypes::gemm(gemm)?;
        let projections = dtype.flops(machine)?;
        let key = self.slice(session)?;
        let table = session.table(TableName::MlaGenerationModule)?;
        let grid = table.grid(key, 3, None, None);
        let grid = grid.ok_or_else(|| no_rows(TableName::MlaGenerationModule, &self.words()))?;
        let bandwidth = machine.bandwidth;
        let attention = decode_parts(dtypes::cache(cache)?, flops, bandwidth);
        // Attention, and the two products of 128 × 512 around it.
        let sol = |[n, b, s]: [f64; 3]| {
            let (math, memory) = attention([n, b, s]);
            let math = math + 2.0 * 2.0 * b * n * 128.0 * 512.0 / projections * 1000.0;
            let weights = 2.0 * n * (b * 640.0 + 128.0 * 512.0) * dtype.bytes;
            math.max(memory + weights / bandwidth * 1000.0)
        };
        let (n, tokens) = (self.num_heads, query.sequence);
        let mut weights = evidence.weights();
        let (ms, how) = grid.query([n, query.batch, tokens], &sol, &mut weights)?;
        evidence.add(table, how, ms, weights, || {
            format!("{}, batch {}, tokens {tokens}", self.words(), query.batch)
        });
        Ok(ms.max(0.0) * self.count)
    }

    fn slice(&self, source: &dyn SliceSource) -> Result<SliceKey, Refusal> {
        let [cache, gemm] =
            [&self.kv_cache_dtype, &self.gemm_quant_mode].map(|text| source.code(text));
        let known = source.keys(TableName::MlaGenerationModule)?;
        let key = pick(known, [cache, gemm, 0, 0, 0, 0, 0, 0, 0], self.native_num_heads);
        key.ok_or_else(|| no_rows(TableName::MlaGenerationModule, &self.words()))
    }

    /// Its slice, for people.
    fn words(&self) -> String {
        let Self { kv_cache_dtype, gemm_quant_mode, num_heads, .. } = self;
        format!("cache {kv_cache_dtype}, GEMM {gemm_quant_mode}, {num_heads} heads")
    }

    /// Whether the slice that it reads is served.
    pub(super) fn check(&self, source: &dyn SliceSource) -> Result<(), Refusal> {
        dtypes::decode_flops(source.machine(), &self.kv_cache_dtype)?;
        dtypes::gemm(&self.gemm_quant_mode)?.flops(source.machine())?;
        self.slice(source)?;
        dtypes::cache(&self.kv_cache_dtype).map(drop)
    }
}
