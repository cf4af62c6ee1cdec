//! The latency of every key of a table, to be looked up from others.

use serde::{Deserialize, Serialize};

use super::stored;

/// Keys that a bucket has room for: with their latencies they fill a line of the cache.
pub(super) const ROOM: usize = 8;

/// Keys in a bucket, about: so few that one in fifty lies in the bucket after its own.
const FILLED: usize = 5;

/// Things whose keys are [touched](KeyLatencies::touch) before they are looked at: few enough to stay in the cache.
pub const BLOCK: usize = 32;

/// Latencies by the hash of the key, about 13 bytes per row. A lookup reads one line of the cache, and lookups in the
/// order of their hashes read line after line.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct KeyLatencies {
    /// A key is in the bucket that the high half of its hash says, or after it where that is full.
    #[serde(with = "stored")]
    buckets: Vec<Bucket>,
    /// Keys here, each once.
    keys: usize,
}

/// Some keys.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C, align(64))]
pub(super) struct Bucket {
    /// The low halves of their hashes: of a billion keys that a table has not, it takes about one for one of its own.
    pub tags: [u32; ROOM],
    /// In ms; 0 where there is no key, which is so after the last.
    pub latencies: [f32; ROOM],
}

impl Bucket {
    pub const EMPTY: Self = Self { tags: [0; ROOM], latencies: [0.0; ROOM] };

    /// The latency of a key that is here. No tag is here twice, so that all are compared at once, without a branch.
    #[inline]
    fn latency(&self, tag: u32) -> Option<f32> {
        let own = |(own, ms): (&u32, &f32)| if *own == tag { ms.to_bits() } else { 0 };
        let bits = self.tags.iter().zip(&self.latencies).map(own).fold(0, |all, own| all | own);
        (bits != 0).then(|| f32::from_bits(bits))
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.latencies[ROOM - 1] != 0.0
    }

    /// How many keys are here.
    pub fn count(&self) -> usize {
        self.latencies.iter().filter(|ms| **ms != 0.0).count()
    }
}

impl KeyLatencies {
    /// Takes in keys and their latencies in ms; one of 0 is none. Of a repeated key the first counts.
    pub fn of(points: impl Iterator<Item = (u64, f64)> + Clone) -> Self {
        let count = points.clone().count().div_ceil(FILLED) + 1;
        let mut all = Self { buckets: vec![Bucket::EMPTY; count], keys: 0 };
        let mut filled = vec![0; count];
        let points = points.map(|(hash, ms)| (hash, ms as f32)).filter(|(_, ms)| *ms > 0.0);
        points.for_each(|(hash, latency)| all.insert(hash, latency, &mut filled));
        all
    }

    /// Takes in a key, unless it is here; `filled` counts the keys of each bucket.
    fn insert(&mut self, hash: u64, latency: f32, filled: &mut [u8]) {
        for place in self.places(hash) {
            let (bucket, filled) = (&mut self.buckets[place], &mut filled[place]);
            if bucket.latency(tag(hash)).is_some() {
                return;
            }
            if let Some(free) = bucket.latencies.get_mut(usize::from(*filled)) {
                *free = latency;
                bucket.tags[usize::from(*filled)] = tag(hash);
                *filled += 1;
                self.keys += 1;
                return;
            }
        }
    }

    /// Whether these are as many keys as a table has `rows`, so that it repeats none.
    pub fn are_of_each(&self, rows: usize) -> bool {
        self.keys == rows
    }

    /// The latency at a key in ms.
    #[inline]
    pub fn get(&self, hash: u64) -> Option<f32> {
        let bucket = self.buckets.get(self.first(hash))?;
        match bucket.latency(tag(hash)) {
            None if bucket.is_full() => self.get_beyond(hash),
            found => found,
        }
    }

    /// The latency at a key whose own bucket is full.
    #[cold]
    fn get_beyond(&self, hash: u64) -> Option<f32> {
        for place in self.places(hash) {
            let bucket = &self.buckets[place];
            let found = bucket.latency(tag(hash));
            if found.is_some() || !bucket.is_full() {
                return found;
            }
        }
        None
    }

    /// Brings into the cache what lookups of some keys read. Memory is asked for all of them at once, where lookups one
    /// after the other wait for it each.
    pub fn touch(&self, hashes: impl Iterator<Item = u64>) {
        let tags = hashes.filter_map(|hash| Some(self.buckets.get(self.first(hash))?.tags[0]));
        std::hint::black_box(tags.fold(0, |all, tag| all ^ tag));
    }

    /// The bucket in which a key is, unless that is full.
    #[inline]
    fn first(&self, hash: u64) -> usize {
        (((hash >> 32) * self.buckets.len() as u64) >> 32) as usize
    }

    /// The buckets in the order in which a key may be in them.
    fn places(&self, hash: u64) -> impl Iterator<Item = usize> + use<> {
        let first = self.first(hash);
        (first..self.buckets.len()).chain(0..first)
    }
}

/// What distinguishes the keys of a bucket.
fn tag(hash: u64) -> u32 {
    hash as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Synthetic: that of a key, by its number.
    fn hash(key: u64) -> u64 {
        (key + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    /// Synthetic: keys by their hashes, of which each takes longer than the one before.
    fn latencies(keys: impl Iterator<Item = u64>) -> KeyLatencies {
        let points: Vec<(u64, f64)> = keys.zip(1..).map(|(key, ms)| (key, f64::from(ms))).collect();
        KeyLatencies::of(points.into_iter())
    }

    #[test]
    fn every_key_is_found_and_no_other() {
        for count in [0, 1, 7, 100, 5000] {
            let own = latencies((0..count).map(hash));
            assert!((0..count).all(|i| own.get(hash(i)) == Some((i + 1) as f32)), "{count}");
            assert!((count..count + 1000).all(|i| own.get(hash(i)).is_none()), "{count}");
        }
    }

    #[test]
    fn keys_of_one_bucket_are_found_in_those_after_it() {
        for bucket in [0, u64::from(u32::MAX)] {
            let hash = |key: u64| bucket << 32 | key;
            let own = latencies((0..100).map(hash));
            assert!((0..100).all(|i| own.get(hash(i)) == Some((i + 1) as f32)));
            assert!((100..200).all(|i| own.get(hash(i)).is_none()) && own.are_of_each(100));
        }
    }

    #[test]
    fn a_repeated_key_shows() {
        for count in [1, 7, 5000] {
            let keys = |repeated: Option<u64>| latencies((0..count).chain(repeated).map(hash));
            assert!(keys(None).are_of_each(count as usize));
            assert!(!keys(None).are_of_each(count as usize + 1), "a row has no latency");
            for key in [0, count / 2, count - 1] {
                assert!(!keys(Some(key)).are_of_each(count as usize + 1), "{count}: {key}");
            }
        }
    }

    #[test]
    fn the_first_of_a_repeated_key_counts() {
        for count in [2, 100, 5000] {
            let own = latencies(std::iter::repeat_n(9, count));
            assert_eq!(own.get(9), Some(1.0));
            assert!(own.are_of_each(1));
        }
    }

    #[test]
    fn a_latency_of_0_is_none() {
        let own = KeyLatencies::of([(1, 0.0), (2, 0.5)].into_iter());
        assert_eq!([1, 2].map(|key| own.get(key)), [None, Some(0.5)]);
    }
}
