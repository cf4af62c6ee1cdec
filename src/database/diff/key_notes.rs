//! Keys to be named in a report: the key that moved farthest, and the values of the keys that are new.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::{JoinedKeys, LatencyChange};
use crate::base::stats::times_off;
use crate::database::table::Keys;

/// The most shapes of new keys that are listed.
const SHAPES: usize = 3;

/// The key whose latency changed by the largest factor.
#[derive(Debug, Clone, PartialEq)]
pub struct FarthestKey {
    /// The latency after over before.
    pub ratio: f64,
    /// The names and values of the key, without parts that are the same in the whole table.
    pub key: Vec<(String, serde_json::Value)>,
}

/// The numbers by which new keys differ from the keys that were served before. The texts of keys are those of slices.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NewKeys {
    /// The values of the parts whose values differ from those of before, and of the axes at the end, each sorted.
    pub values: Vec<(String, Vec<f64>)>,
    /// The combinations of the values of `together`, sorted; empty if there are many.
    pub shapes: Vec<Vec<f64>>,
    /// The names of the parts that have several values, without the axes.
    pub together: Vec<String>,
}

/// Returns the key of the head whose latency moved farthest; `None` if no key has a ratio.
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
    /// Returns the values by which the keys that only the head serves differ from those that both sides serve; none if
    /// there are only keys of one kind.
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
                new.together.push(name.to_owned());
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
            if !new.shapes.contains(&own) {
                new.shapes.push(own);
            }
            if new.shapes.len() > SHAPES {
                new.shapes.clear();
                break;
            }
        }
        new.shapes.sort_by(|a, b| a.partial_cmp(b).unwrap_or(Ordering::Equal));
        new
    }
}
