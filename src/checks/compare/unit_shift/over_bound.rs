//! The smallest latency of each slice, divided by the least time that the machine needs for it.

use std::collections::BTreeMap;

use crate::base::expr::ExprError;
use crate::checks::compare::sketch::{Slice, SliceNumbers};
use crate::database::table::{Keys, TableScope};

/// The smallest ratio of a latency to its bound, by slice. If a row has several bounds, the longest counts. Slices
/// without a bound are left out.
///
/// # Errors
///
/// If a formula of the table's spec cannot be evaluated.
pub fn least_over_bound(
    keys: &Keys<'_>,
    scope: &TableScope<'_>,
) -> Result<BTreeMap<Slice, f64>, ExprError> {
    let spec = scope.spec;
    let Some(latency) = spec.latency.first().filter(|_| !spec.bounds.is_empty()) else {
        return Ok(BTreeMap::new());
    };
    let mut slices = SliceNumbers::default();
    let mut least: Vec<f64> = Vec::new();
    let measured = latency.value.numbers(scope)?;
    let loaded = spec.filter.as_ref().map(|filter| filter.mask(scope)).transpose()?;
    for (row, bound) in scope.longest_bounds()?.into_iter().enumerate() {
        let is_loaded = loaded.as_ref().is_none_or(|loaded| loaded.get(row));
        let ratio = measured.get(row) / bound;
        if is_loaded && bound > 0.0 && ratio > 0.0 {
            let slice = slices.number(keys, row) as usize;
            least.resize(least.len().max(slice + 1), f64::INFINITY);
            least[slice] = least[slice].min(ratio);
        }
    }
    Ok(slices.all.into_iter().zip(least).collect())
}
