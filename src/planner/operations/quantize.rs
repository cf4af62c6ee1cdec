//! Time that a static fp8 scale saves: the computation of the scale and, for quantised input, its
//! application.

use super::super::interpolate::How;
use super::super::keys::{SliceSource, no_rows, served};
use super::super::refusal::Refusal;
use super::super::slices::{SliceKey, slice_key};
use super::super::tables::TableName;
use super::operation::Evaluation;

/// The served slice of a quantisation.
pub(super) fn slice(
    source: &dyn SliceSource,
    table: TableName,
    quant: &str,
) -> Result<SliceKey, Refusal> {
    served(source, table, slice_key([source.code(quant)]), || words(quant))
}

/// A slice as text for people.
fn words(quant: &str) -> String {
    format!("quant_dtype {quant}")
}

/// Time to compute the scale of m × k in ms; coordinates are clamped into the grid.
pub(super) fn compute_scale(
    at: &mut Evaluation<'_, '_, '_>,
    quant: &str,
    size: [u64; 2],
) -> Result<f64, Refusal> {
    lookup(at, TableName::Computescale, quant, size, 2.0).map(|(ms, _)| ms)
}

/// Time to apply the scale to m × k in ms. Outside the grid, the time at the clamped coordinates grows
/// with m · k.
pub(super) fn scale_matrix(
    at: &mut Evaluation<'_, '_, '_>,
    quant: &str,
    size: [u64; 2],
) -> Result<f64, Refusal> {
    let (ms, ratio) = lookup(at, TableName::ScaleMatrix, quant, size, 3.0)?;
    Ok(ms * ratio.unwrap_or(1.0))
}

/// The time at the clamped coordinates in ms, and the ratio of bounds if they were clamped. The bound is
/// `accesses` · m · k / bandwidth.
fn lookup(
    at: &mut Evaluation<'_, '_, '_>,
    name: TableName,
    quant: &str,
    [m, k]: [u64; 2],
    accesses: f64,
) -> Result<(f64, Option<f64>), Refusal> {
    let key = slice(at.session, name, quant)?;
    let table = at.session.table(name)?;
    let grid = table.grid(key, None, None);
    let [Some(first), Some(last)] = [grid.leaves.first(), grid.leaves.last()] else {
        return Err(no_rows(name, &words(quant)));
    };
    let ks = grid.leaves.iter().map(|l| l.at[1]);
    let (low, high) = ks.fold((u64::MAX, 0), |(low, high), k| (low.min(k), high.max(k)));
    let clamped = [m.max(first.at[0]).min(last.at[0]), k.max(low).min(high), 0];
    let is_clamped = clamped != [m, k, 0];
    let bandwidth = at.session.machine().bandwidth;
    let sol = |[m, k, _]: [f64; 3]| accesses * m * k / bandwidth * 1000.0;
    let key = || format!("{quant}, m {m}, k {k}");
    let ms = at.evidence.look_up(table, 1.0, key, |weights| {
        let (ms, how) = grid.query(clamped, &sol, weights)?;
        Ok((ms, if is_clamped { How::Beyond } else { how }))
    })?;
    let ratio = sol([m as f64, k as f64, 0.0]) / sol(clamped.map(|c| c as f64));
    Ok((ms, is_clamped.then_some(ratio)))
}
