//! The batched products of 128 × 512 around decode latent attention.

use serde::Deserialize;

use super::super::cells::{Cells, Columns};
use super::super::dtypes;
use super::super::keys::{SliceSource, no_rows, served};
use super::super::slices::SliceKey;
use super::super::{PlannerSession, Provenance, Refusal};
use super::{Query, TableName, once};

/// A batched product before or after decode latent attention.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MlaBmm {
    pub name: String,
    /// Layers.
    #[serde(default = "once")]
    pub count: f64,
    /// Heads of a GPU.
    pub num_heads: u64,
    /// Quantisation.
    pub quant_mode: String,
    /// Whether it is the product before attention.
    pub is_pre: bool,
}

pub(super) const COLUMNS: Columns = Columns {
    texts: &["bmm_dtype", "op_name"],
    numbers: &["num_tokens", "num_heads"],
    optional: &[],
    optional_texts: &[],
    at: &[&[0]],
    inner: &[0],
    between: &[],
};

/// bmm_dtype, op_name, heads → tokens.
pub(super) fn slice_of(cells: &Cells<'_>) -> SliceKey {
    [cells.code(0), cells.code(1), cells.part(1), 0, 0, 0, 0, 0, 0]
}

impl MlaBmm {
    pub(super) fn ms(
        &self,
        session: &PlannerSession<'_, '_>,
        query: Query,
        evidence: &mut Provenance,
    ) -> Result<f64, Refusal> {
        let (key, heads) = self.slice(session)?;
        // Heads that were not measured are a share of those that were.
        let share =
            if heads == self.num_heads { 1.0 } else { self.num_heads as f64 / heads as f64 };
        let table = session.table(TableName::MlaBmm)?;
        let grid = table.grid(key, 1, None, None);
        let grid = grid.ok_or_else(|| no_rows(TableName::MlaBmm, &self.words(heads)))?;
        let machine = session.machine();
        let dtype = dtypes::gemm(&self.quant_mode)?;
        let (flops, bandwidth, n) = (dtype.flops(machine)?, machine.bandwidth, heads as f64);
        let sol = |[t, ..]: [f64; 3]| {
            let math = 2.0 * t * n * 128.0 * 512.0 / flops * 1000.0;
            math.max(n * (t * 640.0 + 128.0 * 512.0) * dtype.bytes / bandwidth * 1000.0)
        };
        let mut weights = evidence.weights();
        let (ms, how) = grid.query([query.batch, 0, 0], &sol, &mut weights)?;
        evidence.add(table, how, ms * share, weights, || {
            format!("{}, tokens {}", self.words(heads), query.batch)
        });
        Ok((ms * share).max(0.0) * self.count)
    }

    fn op_name(&self) -> &'static str {
        if self.is_pre { "mla_gen_pre" } else { "mla_gen_post" }
    }

    /// A slice, for people.
    fn words(&self, heads: u64) -> String {
        format!("{}, {}, {heads} heads", self.op_name(), self.quant_mode)
    }

    /// The slice that it reads, and the heads that were measured: its own, else the next power of two.
    fn slice(&self, source: &dyn SliceSource) -> Result<(SliceKey, u64), Refusal> {
        let known = source.keys(TableName::MlaBmm)?;
        let (asked, bfloat16) = (source.code(&self.quant_mode), source.code("bfloat16"));
        let op = source.code(self.op_name());
        let key =
            |dtype: u32, heads: u64| -> SliceKey { [dtype, op, heads as u32, 0, 0, 0, 0, 0, 0] };
        // A dtype without rows is read from bfloat16's.
        let has_dtype = known.iter().any(|k| k[0] == asked);
        let has_op = known.iter().any(|k| k[..2] == [asked, op]);
        let mut heads = self.num_heads;
        let power = heads.max(1).checked_next_power_of_two().unwrap_or(heads);
        if power != heads && !known.contains(&key(if has_dtype { asked } else { bfloat16 }, heads))
        {
            heads = power;
        }
        let key = key(if has_op { asked } else { bfloat16 }, heads);
        Ok((served(source, TableName::MlaBmm, key, || self.words(heads))?, heads))
    }

    /// Whether the slice that it reads is served.
    pub(super) fn check(&self, source: &dyn SliceSource) -> Result<(), Refusal> {
        self.slice(source)?;
        dtypes::gemm(&self.quant_mode)?.flops(source.machine()).map(drop)
    }
}
