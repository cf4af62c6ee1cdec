//! The batched products of 128 × 512 before and after decode of latent attention.

use serde::Deserialize;

use super::super::dtypes;
use super::super::keys::{SliceSource, served};
use super::super::refusal::Refusal;
use super::super::slices::{SliceKey, slice_key};
use super::super::tables::TableName;
use super::operation::{Evaluation, Operation, once};

/// A batched product before or after decode of latent attention.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MlaBmm {
    pub name: String,
    /// Number of layers.
    #[serde(default = "once")]
    pub count: f64,
    /// Heads per GPU.
    pub num_heads: u64,
    /// Quantisation of the weights.
    pub quant_mode: String,
    /// True for the product before attention.
    pub is_pre: bool,
}

impl MlaBmm {
    fn op_name(&self) -> &'static str {
        if self.is_pre { "mla_gen_pre" } else { "mla_gen_post" }
    }

    /// A slice as text for people.
    fn words(&self, heads: u64) -> String {
        format!("{}, {}, {heads} heads", self.op_name(), self.quant_mode)
    }

    /// The served slice, and its number of heads: the requested number, else the next power of two.
    fn slice(&self, source: &dyn SliceSource) -> Result<(SliceKey, u64), Refusal> {
        let known = source.keys(TableName::MlaBmm)?;
        let (asked, bfloat16) = (source.code(&self.quant_mode), source.code("bfloat16"));
        let op = source.code(self.op_name());
        let key = |dtype: u32, heads: u64| slice_key([dtype, op, heads as u32]);
        // For a dtype without rows, bfloat16's rows are read.
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
}

impl Operation for MlaBmm {
    fn tables(&self) -> &'static [TableName] {
        &[TableName::MlaBmm]
    }

    fn ms(&self, at: &mut Evaluation<'_, '_, '_>) -> Result<f64, Refusal> {
        let (key, heads) = self.slice(at.session)?;
        // For a number of heads that was not measured, a share of the measured time is used.
        let share =
            if heads == self.num_heads { 1.0 } else { self.num_heads as f64 / heads as f64 };
        let table = at.session.table(TableName::MlaBmm)?;
        let grid = table.grid(key, None, None);
        let machine = at.session.machine();
        let dtype = dtypes::gemm(&self.quant_mode)?;
        let (flops, bandwidth, n) = (dtype.flops(machine)?, machine.bandwidth, heads as f64);
        let sol = |[t, ..]: [f64; 3]| {
            let math = 2.0 * t * n * 128.0 * 512.0 / flops * 1000.0;
            math.max(n * (t * 640.0 + 128.0 * 512.0) * dtype.bytes / bandwidth * 1000.0)
        };
        let batch = at.query.batch;
        let key = || format!("{}, tokens {batch}", self.words(heads));
        let ms = at
            .evidence
            .look_up(table, share, key, |weights| grid.query([batch, 0, 0], &sol, weights))?;
        Ok(ms.max(0.0) * self.count)
    }

    fn check(&self, source: &dyn SliceSource) -> Result<(), Refusal> {
        self.slice(source)?;
        dtypes::gemm(&self.quant_mode)?.flops(source.machine()).map(drop)
    }
}
