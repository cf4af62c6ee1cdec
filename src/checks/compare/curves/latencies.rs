//! The latency of every key of a table, to be looked up from others.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use hashbrown::HashMap;
use serde::{Deserialize, Serialize};

/// Points in a bucket, about.
const BUCKET: usize = 4;

/// Entries of a bucket whose places are counted, at most: nearly all have fewer, but a key that is repeated
/// may fill one.
const MOST_RANKED: usize = 32;

/// Latencies by the hash of the key: 8 bytes per row, 4 of them once for all tables of the same keys.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct KeyLatencies {
    keys: Arc<KeyTags>,
    /// In ms, in the order of the keys.
    latencies: Vec<f32>,
}

/// Keys by their hashes.
///
/// Hashes are evenly spread, so their leading bits number the bucket, and the 32 bits that follow distinguish
/// the keys of a bucket: of a billion keys that a table has not, it takes about two for one of its own.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct KeyTags {
    /// Where the buckets end.
    ends: Vec<u32>,
    /// In a bucket in ascending order.
    tags: Vec<u32>,
    /// Leading bits that number a bucket.
    bits: u32,
}

/// The keys of many tables, equal ones once: versions and systems of one plan measure the same. In the bundle
/// of five systems that holds for a fifth of all rows.
#[derive(Debug, Default)]
pub struct SharedKeys(Mutex<HashMap<u64, Vec<Weak<KeyTags>>>>);

impl KeyLatencies {
    /// Takes in keys and their latencies in ms. Of a repeated key the first counts.
    pub fn of(points: impl Iterator<Item = (u64, f64)> + Clone) -> Self {
        let count = points.clone().count();
        let bits = (count / BUCKET).max(1).ilog2();
        let mut keys = KeyTags { ends: vec![0; 1 << bits], tags: Vec::new(), bits };
        for (hash, _) in points.clone() {
            let bucket = keys.bucket(hash);
            keys.ends[bucket] += 1;
        }
        let mut start = 0;
        for end in &mut keys.ends {
            (*end, start) = (start, start + *end);
        }
        let mut entries = vec![(0_u32, 0_f32); count];
        for (hash, latency) in points {
            let bucket = keys.bucket(hash);
            let place = keys.ends[bucket];
            entries[place as usize] = (keys.tag(hash), latency as f32);
            keys.ends[bucket] = place + 1;
        }
        keys.tags = vec![0; count];
        let mut latencies = vec![0.0; count];
        let mut start = 0;
        for end in &keys.ends {
            let end = *end as usize;
            let bucket = &mut entries[start..end];
            let is_sorted = bucket.len() > MOST_RANKED;
            if is_sorted {
                bucket.sort_by_key(|(tag, _)| *tag);
            }
            for (place, (tag, latency)) in bucket.iter().enumerate() {
                let rank = start + if is_sorted { place } else { rank(bucket, place) };
                (keys.tags[rank], latencies[rank]) = (*tag, *latency);
            }
            start = end;
        }
        Self { keys: Arc::new(keys), latencies }
    }

    /// Whether these are as many keys as a table has `rows`, so that it repeats none.
    pub fn are_of_each(&self, rows: usize) -> bool {
        let alike = |two: &[u32]| two[0] == two[1];
        self.latencies.len() == rows && !self.keys.tags.windows(2).any(alike)
    }

    /// The latency at a key in ms.
    pub fn get(&self, hash: u64) -> Option<f32> {
        self.latencies.get(self.keys.place(hash)?).copied()
    }
}

/// The place of an entry in the order of the tags, those of one tag in the order that they have: of few
/// entries counted faster than sorted.
fn rank(bucket: &[(u32, f32)], place: usize) -> usize {
    let (before, from) = bucket.split_at(place);
    let tag = bucket[place].0;
    before.iter().map(|(own, _)| usize::from(*own <= tag)).sum::<usize>()
        + from.iter().map(|(own, _)| usize::from(*own < tag)).sum::<usize>()
}

impl KeyTags {
    /// Where a key is.
    fn place(&self, hash: u64) -> Option<usize> {
        let bucket = self.bucket(hash);
        let end = *self.ends.get(bucket)? as usize;
        let start = if bucket == 0 { 0 } else { self.ends[bucket - 1] as usize };
        let tag = self.tag(hash);
        let bucket = self.tags.get(start..end)?;
        bucket.iter().position(|own| *own == tag).map(|at| start + at)
    }

    fn bucket(&self, hash: u64) -> usize {
        hash.checked_shr(64 - self.bits).unwrap_or(0) as usize
    }

    fn tag(&self, hash: u64) -> u32 {
        (hash << self.bits >> 32) as u32
    }
}

impl SharedKeys {
    /// Lets a table have its keys in common with an earlier one, where they are equal.
    pub fn share(&self, latencies: &mut KeyLatencies) {
        let keys = &latencies.keys;
        let sum = keys.tags.iter().fold(0_u64, |sum, tag| sum.wrapping_add(u64::from(*tag)));
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let alike = known.entry(sum).or_default();
        // What no table has any more is gone.
        alike.retain(|keys| keys.strong_count() > 0);
        match alike.iter().filter_map(Weak::upgrade).find(|equal| equal == keys) {
            Some(equal) => latencies.keys = equal,
            None => alike.push(Arc::downgrade(keys)),
        }
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
    fn a_repeated_key_shows() {
        let hash = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for count in [1, 7, 5000] {
            let keys = |repeated: Option<u64>| {
                let all = (0..count).chain(repeated);
                KeyLatencies::of(all.map(|i| (hash(i), i as f64)).collect::<Vec<_>>().into_iter())
            };
            assert!(keys(None).are_of_each(count as usize));
            assert!(!keys(None).are_of_each(count as usize + 1), "a row has no latency");
            for key in [0, count / 2, count - 1] {
                assert!(!keys(Some(key)).are_of_each(count as usize + 1), "{count}: {key}");
            }
        }
    }

    #[test]
    fn the_first_of_a_repeated_key_counts() {
        for count in [2, 100] {
            let own = KeyLatencies::of((0..count).map(|i| (9, f64::from(i))));
            assert_eq!(own.get(9), Some(0.0));
        }
    }

    #[test]
    fn equal_keys_are_shared_and_keep_their_own_latencies() {
        let hash = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let table =
            |keys: [u64; 3], ms: f64| KeyLatencies::of(keys.map(|i| (hash(i), ms)).into_iter());
        let shared = SharedKeys::default();
        let mut tables = [table([1, 2, 3], 0.5), table([3, 1, 2], 0.7), table([1, 2, 4], 0.9)];
        tables.iter_mut().for_each(|table| shared.share(table));
        let [a, b, c] = &tables;
        assert!(Arc::ptr_eq(&a.keys, &b.keys) && !Arc::ptr_eq(&a.keys, &c.keys));
        assert_eq!([a, b, c].map(|t| t.get(hash(2))), [Some(0.5), Some(0.7), Some(0.9)]);
        assert_eq!([a, c].map(|t| t.get(hash(3))), [Some(0.5), None]);
    }
}
