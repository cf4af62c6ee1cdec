//! The latency of every key of a table, to be looked up from others.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use hashbrown::HashMap;
use serde::{Deserialize, Serialize};

use crate::base::counting::to_starts;

/// Points in a bucket, about.
const BUCKET: usize = 2;

/// Entries of a bucket that are compared with those beside them, at most: nearly all have fewer.
const NEAR: usize = 8;

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
    /// In a bucket in the order in which they were taken in.
    tags: Vec<u32>,
    /// Leading bits that number a bucket.
    bits: u32,
}

/// The keys of many tables, those that are equal in the same order once: versions and systems of one plan measure
/// the same.
#[derive(Debug, Default)]
pub struct SharedKeys(Mutex<HashMap<u64, Vec<Weak<KeyTags>>>>);

impl KeyLatencies {
    /// Takes in keys and their latencies in ms. Of a repeated key the first counts.
    pub fn of(points: impl Iterator<Item = (u64, f64)> + Clone) -> Self {
        let count = points.clone().count();
        let bits = (count / BUCKET).max(1).ilog2();
        let mut keys = KeyTags { ends: vec![0; 1 << bits], tags: vec![0; count], bits };
        for (hash, _) in points.clone() {
            let bucket = keys.bucket(hash);
            keys.ends[bucket] += 1;
        }
        to_starts(&mut keys.ends);
        let mut latencies = vec![0.0; count];
        for (hash, latency) in points {
            let bucket = keys.bucket(hash);
            let place = keys.ends[bucket] as usize;
            (keys.tags[place], latencies[place]) = (keys.tag(hash), latency as f32);
            keys.ends[bucket] += 1;
        }
        Self { keys: Arc::new(keys), latencies }
    }

    /// Whether these are as many keys as a table has `rows`, so that it repeats none.
    pub fn are_of_each(&self, rows: usize) -> bool {
        self.latencies.len() == rows && !self.keys.may_repeat()
    }

    /// The latency at a key in ms.
    pub fn get(&self, hash: u64) -> Option<f32> {
        self.latencies.get(self.keys.place(hash)?).copied()
    }
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

    /// Whether a bucket has a tag twice, or two that are near each other have one. Compared without a branch for each.
    fn may_repeat(&self) -> bool {
        let are_equal = |apart: usize| {
            let pairs = self.tags.iter().zip(self.tags.get(apart..).unwrap_or(&[]));
            pairs.fold(false, |any, (a, b)| any | (a == b))
        };
        // Of the few buckets that are longer each tag is compared with all before it.
        let starts = std::iter::once(&0).chain(&self.ends);
        let buckets = starts.zip(&self.ends).map(|(start, end)| *start as usize..*end as usize);
        let long = buckets.filter(|bucket| bucket.len() > NEAR);
        let mut long = long.filter_map(|bucket| self.tags.get(bucket));
        (1..NEAR).any(are_equal)
            || long.any(|tags| (1..tags.len()).any(|i| tags[..i].contains(&tags[i])))
    }

    fn bucket(&self, hash: u64) -> usize {
        // In two steps: of no bits it would be one by 64.
        (hash >> 1 >> (63 - self.bits)) as usize
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
        let [own, other, order] = [[1, 2, 3], [1, 2, 4], [3, 1, 2]];
        let mut tables = [table(own, 0.5), table(own, 0.7), table(other, 0.9), table(order, 0.2)];
        tables.iter_mut().for_each(|table| shared.share(table));
        let [a, b, c, d] = &tables;
        assert!(Arc::ptr_eq(&a.keys, &b.keys) && !Arc::ptr_eq(&a.keys, &c.keys));
        // In another order they are found as well.
        assert!(!Arc::ptr_eq(&a.keys, &d.keys));
        let expected = [Some(0.5), Some(0.7), Some(0.9), Some(0.2)];
        assert_eq!([a, b, c, d].map(|t| t.get(hash(2))), expected);
        assert_eq!([a, c].map(|t| t.get(hash(3))), [Some(0.5), None]);
    }
}
