//! The numbers of keys that tables serve together, from their sketches.

use std::collections::BTreeMap;

use crate::checks::compare::sketch::{Sketch, Slice};

/// The number of different keys that tables serve together. It is exact if their sketches hold all points, otherwise
/// an estimate.
pub fn keys(served: &[&Sketch]) -> usize {
    if let [one] = served {
        return one.keys;
    }
    let end = served.iter().map(|s| s.end).min().unwrap_or(0);
    let mut hashes: Vec<u64> = Vec::new();
    for sketch in served {
        hashes.extend(sketch.points.iter().map(|p| p.hash).take_while(|hash| *hash <= end));
    }
    // A few sorted runs, which a stable sort merges.
    hashes.sort();
    hashes.dedup();
    (hashes.len() as f64 * (u64::MAX as f64 / end.max(1) as f64)).round() as usize
}

/// Counts the points up to the hash `end` that tables serve together, by slice.
pub fn points_by_slice<'a>(served: &[&'a Sketch], end: u64) -> BTreeMap<&'a Slice, usize> {
    let mut numbers: BTreeMap<&Slice, usize> = BTreeMap::new();
    let mut points: Vec<(u64, usize)> = Vec::new();
    for sketch in served {
        let mut by_slice: Vec<usize> = Vec::with_capacity(sketch.slices.len());
        for slice in &sketch.slices {
            let next = numbers.len();
            by_slice.push(*numbers.entry(slice).or_insert(next));
        }
        let own = sketch.points.iter().take_while(|p| p.hash <= end);
        points.extend(own.map(|p| (p.hash, by_slice[p.slice as usize])));
    }
    points.sort();
    points.dedup_by_key(|(hash, _)| *hash);
    let mut counts = vec![0; numbers.len()];
    for (_, number) in &points {
        counts[*number] += 1;
    }
    let counted = numbers.into_iter().map(|(slice, number)| (slice, counts[number]));
    counted.filter(|(_, count)| *count > 0).collect()
}
