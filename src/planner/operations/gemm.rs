//! Matrix products (operators/gemm.rs 80, perf_database/gemm.rs 532, 591).

use serde::Deserialize;

use super::super::dtypes::{self, QuantFacts};
use super::super::interpolate::{Sol, query_sites};
use super::super::keys::{SliceSource, served};
use super::super::machine::MachineFigures;
use super::super::refusal::Refusal;
use super::super::slices::slice_key;
use super::super::tables::TableName;
use super::operation::{Evaluation, Operation, Query, once, one};
use super::quantize;

/// A matrix product of the tokens with weights of n × k.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gemm {
    pub name: String,
    /// Number of layers.
    #[serde(default = "once")]
    pub count: f64,
    /// Columns of the result.
    pub n: u64,
    /// Columns of the input.
    pub k: u64,
    /// Quantisation of the weights.
    pub quant_mode: String,
    /// True if the input is already quantised, so that `fp8_static` saves its quantisation too.
    #[serde(default)]
    pub low_precision_input: bool,
    /// True if the speed-of-light time replaces a missing row.
    #[serde(default)]
    pub below_grid_sol: bool,
    /// Number of tokens per row of the product.
    #[serde(default = "one")]
    pub scale_num_tokens: u64,
}

/// Bound max(2mnk / flops, bytes · (mn + mk + nk) / bandwidth), in ms.
fn sol(dtype: QuantFacts, flops: f64, machine: &MachineFigures) -> impl Fn([f64; 3]) -> f64 {
    let bandwidth = machine.bandwidth;
    move |[m, n, k]| {
        let math = 2.0 * m * n * k / flops * 1000.0;
        math.max(dtype.bytes * (m * n + m * k + n * k) / bandwidth * 1000.0)
    }
}

impl Gemm {
    /// Number of rows of the product. The last layer's logits are computed for one token per request.
    fn rows(&self, query: Query) -> u64 {
        let tokens = if self.name.contains("logits_gemm") { query.batch } else { query.tokens };
        tokens / self.scale_num_tokens.max(1)
    }

    /// Returns true if the scale is known in advance; the time is then fp8's minus the computation of
    /// the scale.
    fn is_static(&self) -> bool {
        self.quant_mode == "fp8_static"
    }

    /// The quantisation whose rows are read.
    fn measured_quant(&self) -> &str {
        if self.is_static() { "fp8" } else { &self.quant_mode }
    }

    /// The slices of the dtype as text for people.
    fn words(&self) -> String {
        format!("gemm_dtype {}", self.measured_quant())
    }

    /// Refuses a source without rows of the dtype, whatever their shape.
    fn check_dtype(&self, source: &dyn SliceSource) -> Result<(), Refusal> {
        let key = slice_key([source.code(self.measured_quant())]);
        served(source, TableName::Gemm, key, || self.words()).map(drop)
    }

    fn product(
        &self,
        at: &mut Evaluation<'_, '_, '_>,
        shape: [u64; 3],
        sol: Sol<'_>,
    ) -> Result<f64, Refusal> {
        self.check_dtype(at.session)?;
        let (table, quant) = (at.session.table(TableName::Gemm)?, self.measured_quant());
        // Latencies below the speed-of-light bound are raised to it.
        let rows = table.shapes(at.session.code(quant), sol);
        let [m, n, k] = shape;
        let key = || format!("{quant}, m {m}, n {n}, k {k}");
        at.evidence.look_up(table, 1.0, key, |weights| {
            query_sites(shape, &rows, || rows.sites(), sol, weights).map_err(|why| {
                Refusal::missing(format!("gemm_perf, {quant} m {m} n {n} k {k}: {why}"))
            })
        })
    }
}

impl Operation for Gemm {
    fn tables(&self) -> &'static [TableName] {
        if self.is_static() {
            &[TableName::Gemm, TableName::Computescale, TableName::ScaleMatrix]
        } else {
            &[TableName::Gemm]
        }
    }

    fn ms(&self, at: &mut Evaluation<'_, '_, '_>) -> Result<f64, Refusal> {
        let m = self.rows(at.query);
        let (quant, machine) = (self.measured_quant(), at.session.machine());
        let dtype = dtypes::gemm(quant)?;
        let sol = sol(dtype, dtype.flops(machine)?, machine);
        let shape = [m, self.n, self.k];
        let floats = shape.map(|c| c as f64);
        let mut ms = match self.product(at, shape, &sol) {
            Err(Refusal::Missing(_)) if self.below_grid_sol => sol(floats),
            other => other?,
        };
        if self.is_static() {
            ms -= quantize::compute_scale(at, quant, [m, self.k])?;
            if self.low_precision_input {
                ms -= quantize::scale_matrix(at, quant, [m, self.k])?;
            }
            ms = ms.max(sol(floats));
        }
        Ok(ms.max(0.0) * self.count)
    }

    fn check(&self, source: &dyn SliceSource) -> Result<(), Refusal> {
        let quant = self.measured_quant();
        dtypes::gemm(quant)?.flops(source.machine())?;
        match self.check_dtype(source) {
            Err(Refusal::Missing(_)) if self.below_grid_sol => {}
            other => other?,
        }
        if self.is_static() {
            quantize::slice(source, TableName::Computescale, quant)?;
            if self.low_precision_input {
                quantize::slice(source, TableName::ScaleMatrix, quant)?;
            }
        }
        Ok(())
    }

    fn weight_bytes(&self) -> f64 {
        let bytes = dtypes::gemm(self.measured_quant()).map_or(0.0, |dtype| dtype.bytes);
        self.count * self.n as f64 * self.k as f64 * bytes
    }
}
