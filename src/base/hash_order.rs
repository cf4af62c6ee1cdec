//! Putting things in the order of their hashes.

use super::counting::by_group;

/// Things in a bucket, about, before they are sorted.
const BUCKET: usize = 2;

/// Things in the order of `key`, which begins with the hash. Hashes are spread evenly from 0 to about `most`, so a
/// counting sort by their first bits leaves a few things to sort in each bucket.
pub(crate) fn sorted_by_hash<T: Copy, K: Ord>(
    things: Vec<T>,
    most: u64,
    hash: impl Fn(&T) -> u64,
    key: impl Fn(&T) -> K,
) -> Vec<T> {
    let bits = (things.len() / BUCKET).max(2).next_power_of_two().trailing_zeros();
    let shift = (64 - bits).saturating_sub(most.leading_zeros());
    let last = (1_u64 << bits) - 1;
    let bucket = |thing: &T| last.min(hash(thing) >> shift) as usize;
    let (mut sorted, ends) = by_group(&things, 1 << bits, bucket);
    let mut start = 0;
    for end in ends {
        let end = end as usize;
        sorted[start..end].sort_unstable_by_key(&key);
        start = end;
    }
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::Random;

    #[test]
    fn things_are_sorted_whatever_their_hashes_spread_over() {
        let mut random = Random::new(3);
        for most in [u64::MAX, u64::MAX / 3, 1 << 20, 5, 1, 0] {
            for count in [0, 1, 2, 17, 1000] {
                // Some are beyond what was said.
                let hash = |n: usize| if n % 50 == 7 { u64::MAX - n as u64 } else { most };
                let things: Vec<(u64, usize)> = (0..count)
                    .map(|n| (hash(n).min(random.below(1 << 30) as u64 * (most >> 30).max(1)), n))
                    .collect();
                let mut expected = things.clone();
                expected.sort_unstable();
                assert_eq!(
                    sorted_by_hash(things, most, |(hash, _)| *hash, |thing| *thing),
                    expected
                );
            }
        }
    }
}
