//! The loader's order of kernels, for loaders that store the rows of each kernel separately.

use std::cmp::Reverse;

use super::TableScope;
use crate::base::expr::{NULL_CODE, Scope, Value};

/// The figure of a system that contains its GPU's compute capability.
const CAPABILITY: &str = "gpu.sm_version";

/// Returns the rank of each row's kernel in the loader's order: the pinned kernel first, then kernels with more rows.
/// Rows of maps that the loader asks after all others come last. `None` if the loader does not store the rows of
/// kernels separately.
pub(crate) fn lane_ranks(scope: &TableScope<'_>) -> Option<Vec<u32>> {
    let Some(lanes) = scope.spec.lanes.as_ref() else {
        let last = scope.spec.buckets.iter().find(|bucket| bucket.apart.is_some())?;
        let is_last = last.rows.mask(scope).ok()?;
        return Some((0..scope.rows()).map(|row| u32::from(is_last.get(row))).collect());
    };
    let Some(Value::Text(codes, names)) = scope.column(&lanes.column) else { return None };
    let mut counts = vec![0usize; names.len()];
    for row in (0..scope.rows()).map(|row| codes.get(row)).filter(|code| *code != NULL_CODE) {
        counts[row as usize] += 1;
    }
    let capability = scope.field(CAPABILITY).map_or(-1, |c| c as i64);
    let pinned = lanes.defaults.pinned(&scope.place.backend, &scope.place.version, capability);
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by_key(|i| (Some(&*names[*i]) != pinned, Reverse(counts[*i]), names[*i].clone()));
    let mut ranks = vec![0u32; names.len()];
    for (rank, code) in order.into_iter().enumerate() {
        ranks[code] = rank as u32;
    }
    let rank = |code: u32| ranks.get(code as usize).copied().unwrap_or(u32::MAX);
    Some((0..scope.rows()).map(|row| rank(codes.get(row))).collect())
}
