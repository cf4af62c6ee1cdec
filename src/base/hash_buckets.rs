//! Numbers by hash.

use bytemuck::{Pod, Zeroable};

use super::counting::to_starts;

/// Keys in a bucket, about: so few that they fill half a line of the cache.
const FILLED: usize = 4;

/// Things whose keys are [touched](HashBuckets::touch) before they are looked at: few enough to stay in the cache.
pub(crate) const BLOCK: usize = 32;

/// A number of 32 bits for each of some keys, by the hash of the key: about 9 bytes a key. They lie bucket after bucket,
/// so that lookups in the order of their hashes read line after line of the cache.
#[derive(Debug, Clone)]
pub(crate) struct HashBuckets {
    /// Where each bucket begins in `keys`, and where the last one ends. A key is in the bucket that the high half of
    /// its hash says.
    starts: Vec<u32>,
    /// The keys of each bucket in the order in which they were given, repeated ones too.
    keys: Vec<NumberedKey>,
}

/// A key.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
struct NumberedKey {
    /// The low half of its hash: of a billion keys that are not here, it takes about one for one that is.
    tag: u32,
    number: u32,
}

impl HashBuckets {
    /// Takes in hashes of keys with their numbers. Of a repeated key the first counts.
    pub fn of(numbered: impl Iterator<Item = (u64, u32)> + Clone) -> Self {
        let buckets = numbered.clone().count() / FILLED + 1;
        let mut starts = vec![0; buckets + 1];
        let ends = &mut starts[1..];
        numbered.clone().for_each(|(hash, _)| ends[bucket(hash, buckets)] += 1);
        let mut keys = vec![NumberedKey::zeroed(); to_starts(ends) as usize];
        for (hash, number) in numbered {
            // Where a bucket begins is, once its keys are in, where it ends.
            let end = &mut ends[bucket(hash, buckets)];
            keys[*end as usize] = NumberedKey { tag: tag(hash), number };
            *end += 1;
        }
        Self { starts, keys }
    }

    /// How many keys were given, repeated ones each time.
    pub fn given(&self) -> usize {
        self.keys.len()
    }

    /// Whether a key was given more than once.
    pub fn repeats(&self) -> bool {
        self.numbers().count() < self.given()
    }

    /// The number of each key, once.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        let buckets = (0..self.buckets()).map(|number| self.bucket(number));
        buckets.flat_map(|own| {
            let is_first =
                |(at, key): &(usize, &NumberedKey)| own[..*at].iter().all(|o| o.tag != key.tag);
            own.iter().enumerate().filter(is_first).map(|(_, key)| key.number)
        })
    }

    /// The number of a key.
    #[inline]
    pub fn get(&self, hash: u64) -> Option<u32> {
        let own = self.bucket(bucket(hash, self.buckets()));
        own.iter().find(|key| key.tag == tag(hash)).map(|key| key.number)
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
    fn bucket(&self, number: usize) -> &[NumberedKey] {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Synthetic: that of a key, by its number.
    fn hash(key: u64) -> u64 {
        (key + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    /// Synthetic: keys by their hashes, numbered from 0.
    fn numbered(keys: impl Iterator<Item = u64>) -> HashBuckets {
        let keys: Vec<(u64, u32)> = keys.zip(0..).collect();
        HashBuckets::of(keys.into_iter())
    }

    #[test]
    fn every_key_is_found_and_no_other() {
        for count in [0, 1, 7, 100, 5000] {
            let own = numbered((0..count).map(hash));
            assert!((0..count).all(|i| own.get(hash(i)) == Some(i as u32)), "{count}");
            assert!((count..count + 1000).all(|i| own.get(hash(i)).is_none()), "{count}");
        }
    }

    #[test]
    fn keys_of_one_bucket_are_found() {
        for bucket in [0, u64::from(u32::MAX)] {
            let hash = |key: u64| bucket << 32 | key;
            let own = numbered((0..100).map(hash));
            assert!((0..100).all(|i| own.get(hash(i)) == Some(i as u32)));
            assert!((100..200).all(|i| own.get(hash(i)).is_none()) && !own.repeats());
        }
    }

    #[test]
    fn a_repeated_key_shows_and_has_its_first_number_once() {
        for count in [1, 7, 5000] {
            let keys = |repeated: Option<u64>| numbered((0..count).chain(repeated).map(hash));
            assert!(!keys(None).repeats());
            for key in [0, count / 2, count - 1] {
                let own = keys(Some(key));
                assert!(own.repeats() && own.given() == count as usize + 1, "{count}: {key}");
                assert_eq!(own.get(hash(key)), Some(key as u32));
                let mut numbers: Vec<u32> = own.numbers().collect();
                numbers.sort_unstable();
                assert!(numbers.into_iter().eq(0..count as u32), "{count}: {key}");
            }
        }
    }
}
