//! Finds the key whose latency changed most, and the numeric values by which new keys differ from common ones.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::{JoinedKeys, LatencyChange};
use crate::base::stats::times_off;
use crate::database::table::Keys;

/// The maximum length of [`NewKeys::combinations`]. If there are more combinations, the list is empty.
const SHAPES: usize = 3;

/// The key whose latency changed by the largest factor.
#[derive(Debug, Clone, PartialEq)]
pub struct FarthestKey {
    /// The latency ratio, after over before.
    pub ratio: f64,
    /// The names and values of the key parts. Key parts that are equal in the whole table are left out.
    pub key: Vec<(String, serde_json::Value)>,
}

/// The numbers that occur in new keys, by key part. A new key is a key that only the head serves. A key part that is
/// not an axis is left out if its numbers are the same in new and in old keys.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NewKeys {
    /// The numbers that occur in the new keys, by key part. Each list is sorted. Axes come last.
    pub values: Vec<(String, Vec<f64>)>,
    /// The distinct combinations of numbers in new keys, sorted. Each combination has one number for each key part in
    /// `combined`. The list is empty if there are more than three combinations.
    pub combinations: Vec<Vec<f64>>,
    /// The names of the key parts, other than axes, for which `values` lists at least two numbers.
    pub combined: Vec<String>,
}

/// Returns the key whose latency changed by the largest factor; `None` if no key has a ratio.
pub(super) fn farthest(
    joined: &JoinedKeys,
    latencies: &[LatencyChange],
    keys: &Keys<'_>,
) -> Option<FarthestKey> {
    let ratios = joined.common.iter().zip(latencies);
    let ratios = ratios.filter_map(|((_, row), change)| Some((change.ratio()?, *row as usize)));
    let (ratio, row) = ratios.max_by(|a, b| times_off(a.0).total_cmp(&times_off(b.0)))?;
    Some(FarthestKey { ratio, key: keys.distinctive(row) })
}

impl NewKeys {
    /// Collects the numbers in keys that only the head serves. Returns empty lists if there are no such keys, or if
    /// base and head have no key in common.
    pub(super) fn of(joined: &JoinedKeys, keys: &Keys<'_>, axes: &[String]) -> Self {
        let mut new = Self::default();
        if joined.gained.is_empty() || joined.common.is_empty() {
            return new;
        }
        let before = || joined.common.iter().map(|(_, row)| *row as usize);
        let after = || joined.gained.iter().map(|row| *row as usize);
        let (mut together, mut sweep) = (Vec::new(), Vec::new());
        for (part, name) in keys.names().enumerate() {
            let Some(numbers) = keys.numbers(part) else { continue };
            let distinct = |rows: &mut dyn Iterator<Item = usize>| -> BTreeSet<u64> {
                rows.map(|row| (numbers.get(row) + 0.0).to_bits()).collect()
            };
            let own = distinct(&mut after());
            let is_axis = axes.iter().any(|axis| axis == name);
            if !is_axis && own == distinct(&mut before()) {
                continue;
            }
            if !is_axis && own.len() > 1 {
                together.push(numbers);
                new.combined.push(name.to_owned());
            }
            let mut values: Vec<f64> = own.into_iter().map(f64::from_bits).collect();
            values.sort_by(f64::total_cmp);
            let list = if is_axis { &mut sweep } else { &mut new.values };
            list.push((name.to_owned(), values));
        }
        new.values.append(&mut sweep);
        let shape = |row| together.iter().map(|numbers| numbers.get(row)).collect::<Vec<f64>>();
        for row in after() {
            let own = shape(row);
            if !new.combinations.contains(&own) {
                new.combinations.push(own);
            }
            if new.combinations.len() > SHAPES {
                new.combinations.clear();
                break;
            }
        }
        new.combinations.sort_by(|a, b| a.partial_cmp(b).unwrap_or(Ordering::Equal));
        new
    }
}
