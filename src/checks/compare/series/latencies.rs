//! The latency of every key of a table, to be looked up from others.

use hashbrown::HashMap;

/// Latencies by the hash of the key.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KeyLatencies {
    by_hash: HashMap<u64, f32>,
    /// The number of keys that were given, repeated ones each time.
    given: usize,
}

impl KeyLatencies {
    /// Takes in keys and their latencies in ms; one of 0 is none. Of a repeated key the first counts.
    pub fn of(points: impl Iterator<Item = (u64, f64)>) -> Self {
        let most = points.size_hint().1.unwrap_or_default();
        let mut own = Self { by_hash: HashMap::with_capacity(most), given: 0 };
        for (hash, ms) in points.map(|(hash, ms)| (hash, ms as f32)).filter(|(_, ms)| *ms > 0.0) {
            own.by_hash.entry(hash).or_insert(ms);
            own.given += 1;
        }
        own
    }

    /// Returns true if each of a table's `rows` has a key here that no other has.
    pub fn are_of_each(&self, rows: usize) -> bool {
        self.given == rows && self.by_hash.len() == rows
    }

    /// The latency at a key in ms.
    pub fn get(&self, hash: u64) -> Option<f32> {
        self.by_hash.get(&hash).copied()
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
