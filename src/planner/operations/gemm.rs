//! Matrix products (operators/gemm.rs 80, perf_database/gemm.rs 532, 591).

use serde::Deserialize;

use super::super::cells::{Cells, Columns};
use super::super::dtypes::{self, QuantFacts};
use super::super::interpolate::query_sites;
use super::super::keys::{SliceSource, no_rows};
use super::super::slices::{SliceKey, shape_slice};
use super::super::{MachineFigures, PlannerSession, Provenance, Refusal};
use super::{Query, TableName, once, one, quantize};

/// A matrix product of m tokens with weights of n × k.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gemm {
    pub name: String,
    /// Layers.
    #[serde(default = "once")]
    pub count: f64,
    /// Columns of the result.
    pub n: u64,
    /// Columns of the input.
    pub k: u64,
    /// Quantisation of the weights.
    pub quant_mode: String,
    /// Whether the input comes quantised, so that `fp8_static` saves its quantisation too.
    #[serde(default)]
    pub low_precision_input: bool,
    /// Whether the speed of light stands in for a missing row.
    #[serde(default)]
    pub below_grid_sol: bool,
    /// Tokens per row of the product.
    #[serde(default = "one")]
    pub scale_num_tokens: u64,
}

pub(super) const COLUMNS: Columns = Columns {
    texts: &["gemm_dtype"],
    numbers: &["m", "n", "k"],
    optional: &[],
    optional_texts: &[],
    at: &[&[0], &[1], &[2]],
    inner: &[0],
    between: &[1, 2],
};

/// gemm_dtype → (m, n, k). Rows of awq and gptq are ignored.
pub(super) fn slice_of(cells: &Cells<'_>) -> Option<SliceKey> {
    if matches!(cells.text(0), "awq" | "gptq") {
        return None;
    }
    Some(shape_slice(cells.code(0), [cells.number(1), cells.number(2)]))
}

/// max(2mnk / flops, bytes · (mn + mk + nk) / bandwidth), ms.
fn sol(dtype: QuantFacts, flops: f64, machine: &MachineFigures) -> impl Fn([f64; 3]) -> f64 {
    let bandwidth = machine.bandwidth;
    move |[m, n, k]| {
        let math = 2.0 * m * n * k / flops * 1000.0;
        math.max(dtype.bytes * (m * n + m * k + n * k) / bandwidth * 1000.0)
    }
}

impl Gemm {
    /// Rows of the product. The last layer's logits are computed for one token of a request.
    fn rows(&self, query: Query) -> u64 {
        let tokens = if self.name.contains("logits_gemm") { query.batch } else { query.tokens };
        tokens / self.scale_num_tokens.max(1)
    }

    /// Whether the scale is known before: the rows of fp8, less the time of computing one.
    fn is_static(&self) -> bool {
        self.quant_mode == "fp8_static"
    }

    /// The quantisation that it was measured in.
    fn measured_quant(&self) -> &str {
        if self.is_static() { "fp8" } else { &self.quant_mode }
    }

    /// The slices of its dtype, for people.
    fn words(&self) -> String {
        format!("gemm_dtype {}", self.measured_quant())
    }

    /// Whether the slices that it reads are served.
    pub(super) fn check(&self, source: &dyn SliceSource) -> Result<(), Refusal> {
        let quant = self.measured_quant();
        dtypes::gemm(quant)?.flops(source.machine())?;
        match source.has_first(TableName::Gemm, source.code(quant)) {
            Ok(true) => {}
            Ok(false) if self.below_grid_sol => {}
            Err(Refusal::Missing(_)) if self.below_grid_sol => {}
            Ok(false) => return Err(no_rows(TableName::Gemm, &self.words())),
            Err(other) => return Err(other),
        }
        if self.is_static() {
            quantize::slice(source, TableName::Computescale, quant)?;
            if self.low_precision_input {
                quantize::slice(source, TableName::ScaleMatrix, quant)?;
            }
        }
        Ok(())
    }

    /// Bytes of its weights.
    pub(super) fn weight_bytes(&self) -> f64 {
        let bytes = dtypes::gemm(self.measured_quant()).map_or(0.0, |dtype| dtype.bytes);
        self.count * self.n as f64 * self.k as f64 * bytes
    }

    pub(super) fn ms(
        &self,
        session: &PlannerSession<'_, '_>,
        query: Query,
        evidence: &mut Provenance,
    ) -> Result<f64, Refusal> {
        let m = self.rows(query);
        let quant = self.measured_quant();
        let dtype = dtypes::gemm(quant)?;
        let sol = sol(dtype, dtype.flops(session.machine())?, session.machine());
        let shape = [m, self.n, self.k];
        let floats = shape.map(|c| c as f64);
        let mut ms = match self.product(session, shape, &sol, evidence) {
            Err(Refusal::Missing(_)) if self.below_grid_sol => sol(floats),
            other => other?,
        };
        if self.is_static() {
            ms -= quantize::compute_scale(session, quant, m, self.k, evidence)?;
            if self.low_precision_input {
                ms -= quantize::scale_matrix(session, quant, m, self.k, evidence)?;
            }
            ms = ms.max(sol(floats));
        }
        Ok(ms.max(0.0) * self.count)
    }

    fn product(
        &self,
        session: &PlannerSession<'_, '_>,
        shape: [u64; 3],
        sol: &dyn Fn([f64; 3]) -> f64,
        evidence: &mut Provenance,
    ) -> Result<f64, Refusal> {
        let table = session.table(TableName::Gemm)?;
        // Rows faster than light are raised to it when they are loaded.
        let quant = self.measured_quant();
        let rows = table.shapes(session.code(quant), sol);
        let rows = rows.ok_or_else(|| no_rows(TableName::Gemm, &self.words()))?;
        let mut weights = evidence.weights();
        let [m, n, k] = shape;
        let answer = query_sites(shape, &rows, || rows.sites(), sol, &mut weights);
        let (ms, how) = answer.map_err(|why| {
            Refusal::missing(format!("gemm_perf, {quant} m {m} n {n} k {k}: {why}"))
        })?;
        evidence.add(table, how, ms, weights, || format!("{quant}, m {m}, n {n}, k {k}"));
        Ok(ms)
    }
}
