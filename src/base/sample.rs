//! Samples by hash.

/// The number of hashes that are tested per block.
const BLOCK: usize = 1024;

/// Returns the indices of the hashes for which `is_in(index, hash)` is true, ascending. The test's result is
/// unpredictable, so the loop has no branch.
pub(crate) fn sampled(hashes: &[u64], is_in: impl Fn(usize, u64) -> bool) -> Vec<u32> {
    let mut found = Vec::new();
    let mut block = [0; BLOCK];
    for (start, hashes) in (0..).step_by(BLOCK).zip(hashes.chunks(BLOCK)) {
        let mut count = 0;
        for (place, hash) in (start..).zip(hashes) {
            block[count] = place as u32;
            count += usize::from(is_in(place, *hash));
        }
        found.extend_from_slice(&block[..count]);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::Random;

    #[test]
    fn a_sample_has_the_places_of_its_hashes_in_their_order() {
        let mut random = Random::new(7);
        for count in [0, 1, BLOCK, 3 * BLOCK + 5] {
            let hashes: Vec<u64> = (0..count).map(|_| random.below(10) as u64).collect();
            for most in [0, 4, 10] {
                let is_in = |place: usize, hash: u64| hash < most && place % 3 != 1;
                let expected: Vec<u32> = (0..count as u32)
                    .filter(|place| is_in(*place as usize, hashes[*place as usize]))
                    .collect();
                assert_eq!(sampled(&hashes, is_in), expected);
            }
        }
    }
}
