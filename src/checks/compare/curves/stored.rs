//! Buckets of latencies as bytes, for a later run: of each the number of its keys, their tags and their latencies. As
//! numbers they would be written one by one, each with its type.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

use super::latencies::{Bucket, ROOM};

/// Bytes of a tag, and of a latency.
const WORD: usize = 4;

/// Writes buckets.
///
/// # Errors
///
/// Those of the serializer.
pub(super) fn serialize<S: Serializer>(buckets: &[Bucket], to: S) -> Result<S::Ok, S::Error> {
    let mut bytes = Vec::with_capacity(size_of_val(buckets));
    for bucket in buckets {
        let count = bucket.count();
        bytes.push(count as u8);
        bytes.extend(bucket.tags[..count].iter().flat_map(|tag| tag.to_le_bytes()));
        bytes.extend(bucket.latencies[..count].iter().flat_map(|ms| ms.to_le_bytes()));
    }
    to.serialize_bytes(&bytes)
}

/// Reads buckets.
///
/// # Errors
///
/// Where the bytes are not those of buckets.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Bucket>, D::Error> {
    let mut bytes = <&[u8]>::deserialize(from)?;
    let mut buckets = Vec::new();
    while !bytes.is_empty() {
        let bucket =
            take(&mut bytes).ok_or_else(|| D::Error::custom("not the bytes of buckets"))?;
        buckets.push(bucket);
    }
    Ok(buckets)
}

/// Takes a bucket from the beginning of bytes.
fn take(bytes: &mut &[u8]) -> Option<Bucket> {
    let (count, rest) = bytes.split_first()?;
    let count = usize::from(*count);
    let (tags, rest) = rest.split_at_checked(count * WORD)?;
    let (latencies, rest) = rest.split_at_checked(count * WORD)?;
    let mut bucket = Bucket::EMPTY;
    let (tags, latencies) = (tags.as_chunks().0, latencies.as_chunks().0);
    for (own, tag) in bucket.tags.get_mut(..count)?.iter_mut().zip(tags) {
        *own = u32::from_le_bytes(*tag);
    }
    for (own, ms) in bucket.latencies.iter_mut().zip(latencies) {
        *own = f32::from_le_bytes(*ms);
    }
    *bytes = rest;
    Some(bucket)
}

// What a byte counts.
const _: () = assert!(ROOM <= u8::MAX as usize);

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Serialize, serde::Deserialize)]
    struct Stored(#[serde(with = "super")] Vec<Bucket>);

    /// Synthetic: a bucket of some keys.
    fn bucket(count: usize) -> Bucket {
        let mut bucket = Bucket::EMPTY;
        for key in 0..count {
            (bucket.tags[key], bucket.latencies[key]) = (7 * key as u32, 0.5 + key as f32);
        }
        bucket
    }

    #[test]
    fn buckets_are_read_as_they_were() {
        let buckets: Vec<Bucket> = (0..=ROOM).chain([3, 0]).map(bucket).collect();
        let bytes = rmp_serde::to_vec(&Stored(buckets.clone())).unwrap();
        assert_eq!(rmp_serde::from_slice::<Stored>(&bytes).unwrap().0, buckets);
    }

    #[test]
    fn other_bytes_are_refused() {
        let whole = [&[2][..], &[1; 4 * WORD]].concat();
        assert!(take(&mut &whole[..]).is_some());
        let too_many = [&[9][..], &[1; 18 * WORD]].concat();
        for damaged in [&[][..], &[1], &whole[..whole.len() - 1], &too_many] {
            assert_eq!(take(&mut &damaged[..]), None);
        }
        let bytes = rmp_serde::to_vec("text").unwrap();
        assert!(rmp_serde::from_slice::<Stored>(&bytes).is_err());
    }
}
