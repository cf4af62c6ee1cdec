//! What a static fp8 scale saves: computing the scale, and with quantised input its application.

use super::super::cells::{Cells, Columns};
use super::super::evidence::How;
use super::super::keys::{SliceSource, no_rows, served};
use super::super::slices::SliceKey;
use super::super::{PlannerSession, Provenance, Refusal};
use super::TableName;

pub(super) const COLUMNS: Columns = Columns {
    texts: &["quant_dtype"],
    numbers: &["m", "k"],
    optional: &[],
    optional_texts: &[],
    at: &[&[0], &[1]],
    inner: &[0, 1],
    between: &[],
};

/// quant_dtype → (m, k).
pub(super) fn slice_of(cells: &Cells<'_>) -> SliceKey {
    key(cells.code(0))
}

fn key(dtype: u32) -> SliceKey {
    [dtype, 0, 0, 0, 0, 0, 0, 0, 0]
}

/// The slice of a quantisation.
pub(super) fn slice(
    source: &dyn SliceSource,
    table: TableName,
    quant: &str,
) -> Result<SliceKey, Refusal> {
    served(source, table, key(source.code(quant)), || words(quant))
}

/// A slice, for people.
fn words(quant: &str) -> String {
    format!("quant_dtype {quant}")
}

/// Time of computing the scale of m × k, ms; coordinates are clamped into the grid.
pub(super) fn compute_scale(
    session: &PlannerSession<'_, '_>,
    quant: &str,
    m: u64,
    k: u64,
    evidence: &mut Provenance,
) -> Result<f64, Refusal> {
    lookup(session, TableName::Computescale, quant, [m, k], 2.0, evidence).map(|(ms, _)| ms)
}

/// Time of applying the scale to m × k, ms; outside the grid the clamped answer grows with m · k.
pub(super) fn scale_matrix(
    session: &PlannerSession<'_, '_>,
    quant: &str,
    m: u64,
    k: u64,
    evidence: &mut Provenance,
) -> Result<f64, Refusal> {
    lookup(session, TableName::ScaleMatrix, quant, [m, k], 3.0, evidence)
        .map(|(ms, ratio)| ms * ratio.unwrap_or(1.0))
}

/// The answer at the clamped coordinates, and where they were clamped the ratio of bounds.
/// Speed of light: `accesses` · m · k / bandwidth.
fn lookup(
    session: &PlannerSession<'_, '_>,
    name: TableName,
    quant: &str,
    [m, k]: [u64; 2],
    accesses: f64,
    evidence: &mut Provenance,
) -> Result<(f64, Option<f64>), Refusal> {
    let key = slice(session, name, quant)?;
    let table = session.table(name)?;
    let none = || no_rows(name, &words(quant));
    let grid = table.grid(key, 2, None, None).ok_or_else(none)?;
    let leaves = grid.leaves();
    let (first, last) = leaves.first().zip(leaves.last()).ok_or_else(none)?;
    let ks = leaves.iter().map(|l| l.at[1]);
    let (low, high) = ks.fold((u64::MAX, 0), |(low, high), k| (low.min(k), high.max(k)));
    let clamped = [m.max(first.at[0]).min(last.at[0]), k.max(low).min(high), 0];
    let bandwidth = session.machine().bandwidth;
    let sol = |[m, k, _]: [f64; 3]| accesses * m * k / bandwidth * 1000.0;
    let mut weights = evidence.weights();
    let (ms, how) = grid.query(clamped, &sol, &mut weights)?;
    let is_clamped = clamped != [m, k, 0];
    let how = if is_clamped { How::Beyond } else { how };
    evidence.add(table, how, ms, weights, || format!("{quant}, m {m}, k {k}"));
    let ratio = sol([m as f64, k as f64, 0.0]) / sol(clamped.map(|c| c as f64));
    Ok((ms, is_clamped.then_some(ratio)))
}
