//! The latency of every key of a table, to be looked up from others.

use serde::{Deserialize, Serialize};

/// Points in a bucket, about.
const BUCKET: usize = 8;

/// Latencies by the hash of the key: 8 bytes per row.
///
/// Hashes are evenly spread, so their leading bits number the bucket, and the 32 bits that follow distinguish
/// the keys of a bucket: of a billion keys that a table has not, it takes about two for one of its own.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct KeyLatencies {
    /// Where the buckets end.
    ends: Vec<u32>,
    entries: Vec<(u32, f32)>,
    /// Leading bits that number a bucket.
    bits: u32,
}

impl KeyLatencies {
    /// Takes in keys and their latencies in ms. Of a repeated key the first counts.
    pub fn of(points: impl Iterator<Item = (u64, f64)> + Clone) -> Self {
        let count = points.clone().count();
        let bits = (count / BUCKET).max(1).ilog2();
        let mut own = Self { ends: vec![0; 1 << bits], entries: vec![(0, 0.0); count], bits };
        for (hash, _) in points.clone() {
            let bucket = own.bucket(hash);
            own.ends[bucket] += 1;
        }
        let mut start = 0;
        for end in &mut own.ends {
            (*end, start) = (start, start + *end);
        }
        for (hash, latency) in points {
            let bucket = own.bucket(hash);
            let place = own.ends[bucket];
            own.entries[place as usize] = (own.tag(hash), latency as f32);
            own.ends[bucket] = place + 1;
        }
        own
    }

    /// The latency at a key in ms.
    pub fn get(&self, hash: u64) -> Option<f32> {
        let bucket = self.bucket(hash);
        let end = *self.ends.get(bucket)? as usize;
        let start = if bucket == 0 { 0 } else { self.ends[bucket - 1] as usize };
        let tag = self.tag(hash);
        self.entries[start..end].iter().find(|(own, _)| *own == tag).map(|(_, latency)| *latency)
    }

    fn bucket(&self, hash: u64) -> usize {
        hash.checked_shr(64 - self.bits).unwrap_or(0) as usize
    }

    fn tag(&self, hash: u64) -> u32 {
        (hash << self.bits >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_found_and_no_other() {
        let hash = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for count in [0, 1, 7, 100, 5000] {
            let own = KeyLatencies::of((0..count).map(|i| (hash(i), i as f64)));
            assert!((0..count).all(|i| own.get(hash(i)) == Some(i as f32)), "{count}");
            assert!((count..count + 1000).all(|i| own.get(hash(i)).is_none()), "{count}");
        }
    }

    #[test]
    fn the_first_of_a_repeated_key_counts() {
        let own = KeyLatencies::of([(9, 1.0), (9, 2.0)].into_iter());
        assert_eq!(own.get(9), Some(1.0));
    }
}
