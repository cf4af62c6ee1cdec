//! The latency of every key of a table, to be looked up from others.

use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};

use super::stored;
use crate::base::counting::to_starts;

/// Keys in a bucket, about: so few that they fill half a line of the cache.
const FILLED: usize = 4;

/// Things whose keys are [touched](KeyLatencies::touch) before they are looked at: few enough to stay in the cache.
pub const BLOCK: usize = 32;

/// Latencies by the hash of the key, about 9 bytes per row. Keys lie bucket after bucket, so that lookups in the order
/// of their hashes read line after line of the cache.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "StoredLatencies")]
pub struct KeyLatencies {
    /// Where each bucket begins in `keys`, and where the last one ends. A key is in the bucket that the high half of
    /// its hash says.
    #[serde(serialize_with = "stored::serialize")]
    starts: Vec<u32>,
    /// The keys of each bucket in the order in which they were given, repeated ones too.
    #[serde(serialize_with = "stored::serialize")]
    keys: Vec<KeyLatency>,
}

/// A key.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
struct KeyLatency {
    /// The low half of its hash: of a billion keys that a table has not, it takes about one for one of its own.
    tag: u32,
    /// In ms.
    latency: f32,
}

impl KeyLatencies {
    /// Takes in keys and their latencies in ms; one of 0 is none. Of a repeated key the first counts.
    pub fn of(points: impl Iterator<Item = (u64, f64)> + Clone) -> Self {
        let points = points.map(|(hash, ms)| (hash, ms as f32)).filter(|(_, ms)| *ms > 0.0);
        let buckets = points.clone().count() / FILLED + 1;
        let mut starts = vec![0; buckets + 1];
        let ends = &mut starts[1..];
        points.clone().for_each(|(hash, _)| ends[bucket(hash, buckets)] += 1);
        let mut keys = vec![KeyLatency::zeroed(); to_starts(ends) as usize];
        for (hash, latency) in points {
            // Where a bucket begins is, once its keys are in, where it ends.
            let end = &mut ends[bucket(hash, buckets)];
            keys[*end as usize] = KeyLatency { tag: tag(hash), latency };
            *end += 1;
        }
        Self { starts, keys }
    }

    /// Whether each of a table's `rows` has a key here that no other has.
    pub fn are_of_each(&self, rows: usize) -> bool {
        let repeats = |own: &[KeyLatency]| {
            (1..own.len()).any(|i| own[..i].iter().any(|other| other.tag == own[i].tag))
        };
        self.keys.len() == rows && !(0..self.buckets()).any(|number| repeats(self.bucket(number)))
    }

    /// The latency at a key in ms.
    #[inline]
    pub fn get(&self, hash: u64) -> Option<f32> {
        let own = self.bucket(bucket(hash, self.buckets()));
        own.iter().find(|key| key.tag == tag(hash)).map(|key| key.latency)
    }

    /// Brings into the cache what lookups of some keys read. Memory is asked for all of them at once, where lookups one
    /// after the other wait for it each.
    pub fn touch(&self, hashes: impl Iterator<Item = u64>) {
        let buckets = hashes.map(|hash| self.bucket(bucket(hash, self.buckets())));
        let tags = buckets.filter_map(|own| Some(own.first()?.tag));
        std::hint::black_box(tags.fold(0, |all, tag| all ^ tag));
    }

    #[inline]
    fn buckets(&self) -> usize {
        self.starts.len() - 1
    }

    /// The keys of a bucket.
    #[inline]
    fn bucket(&self, number: usize) -> &[KeyLatency] {
        let [start, end] = [self.starts[number], self.starts[number + 1]];
        &self.keys[start as usize..end as usize]
    }
}

/// The bucket of a key among as many as there are.
#[inline]
fn bucket(hash: u64, buckets: usize) -> usize {
    (((hash >> 32) * buckets as u64) >> 32) as usize
}

/// What distinguishes the keys of a bucket.
fn tag(hash: u64) -> u32 {
    hash as u32
}

/// [`KeyLatencies`] as they were stored.
#[derive(Deserialize)]
struct StoredLatencies {
    #[serde(deserialize_with = "stored::deserialize")]
    starts: Vec<u32>,
    #[serde(deserialize_with = "stored::deserialize")]
    keys: Vec<KeyLatency>,
}

impl TryFrom<StoredLatencies> for KeyLatencies {
    type Error = &'static str;

    fn try_from(StoredLatencies { starts, keys }: StoredLatencies) -> Result<Self, Self::Error> {
        let ends = starts.len() > 1 && starts[starts.len() - 1] as usize == keys.len();
        if starts.first() == Some(&0) && ends && starts.is_sorted() {
            Ok(Self { starts, keys })
        } else {
            Err("not the buckets of some keys")
        }
    }
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
    fn keys_of_one_bucket_are_found() {
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
            let own = latencies([7, 9].into_iter().chain(std::iter::repeat_n(9, count)));
            assert_eq!([7, 9].map(|key| own.get(key)), [Some(1.0), Some(2.0)]);
            assert!(!own.are_of_each(count + 1));
        }
    }

    #[test]
    fn a_latency_of_0_is_none() {
        let own = KeyLatencies::of([(1, 0.0), (2, 0.5)].into_iter());
        assert_eq!([1, 2].map(|key| own.get(key)), [None, Some(0.5)]);
    }

    #[test]
    fn latencies_are_read_as_they_were_stored() {
        for count in [0, 1, 100] {
            let own = latencies((0..count).map(hash));
            let read: KeyLatencies =
                rmp_serde::from_slice(&rmp_serde::to_vec(&own).unwrap()).unwrap();
            assert_eq!((read.starts, read.keys), (own.starts, own.keys));
        }
    }

    #[test]
    fn other_buckets_are_refused() {
        let keys = || vec![KeyLatency { tag: 1, latency: 0.5 }; 3];
        let is_read = |starts: &[u32]| {
            KeyLatencies::try_from(StoredLatencies { starts: starts.to_vec(), keys: keys() })
                .is_ok()
        };
        assert!(is_read(&[0, 3]) && is_read(&[0, 1, 1, 3]));
        for starts in [&[][..], &[3], &[0, 2], &[0, 4], &[1, 3], &[0, 2, 1, 3]] {
            assert!(!is_read(starts), "{starts:?}");
        }
    }
}
