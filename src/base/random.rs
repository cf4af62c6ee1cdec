//! Seeded random numbers, the same on every machine, and samples by hash.

/// A random number generator: SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
/// generators", OOPSLA 2014). The same seed gives the same numbers on every machine.
pub struct Random(u64);

impl Random {
    /// Creates a generator from a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number of at least 0 and below 1, with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a whole number below `n`. The bias is below `n / 2⁶⁴`.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    /// Returns a standard normal number (Box and Muller).
    pub fn normal(&mut self) -> f32 {
        // The uniform numbers are above 0 and at most 1, so that the logarithm is finite.
        const STEP: f64 = 1.0 / (1u64 << 53) as f64;
        let (u, v) = (self.unit() + STEP, self.unit() + STEP);
        ((-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()) as f32
    }

    /// Shuffles items in place (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

/// The number of hashes that [`sampled`] tests per block.
const BLOCK: usize = 1024;

/// Returns the indices of the hashes for which `is_in(index, hash)` is true, ascending. The loop has no branch, because
/// a processor cannot predict the test's result.
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
    fn the_generator_is_splitmix64() {
        // The first numbers of the reference implementation for seed 1234567.
        let mut random = Random::new(1_234_567);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn a_sample_lists_the_positions_of_small_hashes_in_order() {
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
