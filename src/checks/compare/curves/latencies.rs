//! The latency of every key of a table, to be looked up from others.

use crate::base::hash_buckets::HashBuckets;

/// Latencies by the hash of the key, about 9 bytes per row.
#[derive(Debug, Clone)]
pub struct KeyLatencies(HashBuckets);

impl KeyLatencies {
    /// Takes in keys and their latencies in ms; one of 0 is none. Of a repeated key the first counts.
    pub fn of(points: impl Iterator<Item = (u64, f64)> + Clone) -> Self {
        let points = points.map(|(hash, ms)| (hash, ms as f32)).filter(|(_, ms)| *ms > 0.0);
        Self(HashBuckets::of(points.map(|(hash, ms)| (hash, ms.to_bits()))))
    }

    /// Whether each of a table's `rows` has a key here that no other has.
    pub fn are_of_each(&self, rows: usize) -> bool {
        self.0.given() == rows && !self.0.repeats()
    }

    /// The latency at a key in ms.
    #[inline]
    pub fn get(&self, hash: u64) -> Option<f32> {
        self.0.get(hash).map(f32::from_bits)
    }

    /// Brings into the cache what lookups of some keys read.
    pub fn touch(&self, hashes: impl Iterator<Item = u64>) {
        self.0.touch(hashes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_latency_of_a_repeated_key_counts() {
        let own = KeyLatencies::of([(7, 1.0), (9, 2.0), (9, 3.0)].into_iter());
        assert_eq!([7, 9].map(|key| own.get(key)), [Some(1.0), Some(2.0)]);
        assert!(!own.are_of_each(3));
    }

    #[test]
    fn a_latency_of_0_is_none() {
        let own = KeyLatencies::of([(1, 0.0), (2, 0.5)].into_iter());
        assert_eq!([1, 2].map(|key| own.get(key)), [None, Some(0.5)]);
        assert!(!own.are_of_each(2) && own.are_of_each(1), "a row has no latency");
    }
}
