//! Hashes of numbers, texts and keys. Fixed hashes decide which keys are in a table's sketch, so they must not
//! change. Hashes of a run place rows in hash tables; their seed is random, so that no file can contain keys that
//! collide.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

/// The initial value of all hashes.
pub(super) const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns bits that are equal for equal numbers: both zeros have the same bits, and so do all NaNs.
#[inline]
pub(crate) fn number_bits(value: f64) -> u64 {
    if value.is_nan() { u64::MAX } else { (value + 0.0).to_bits() }
}

/// Returns the random seed of this program run, from which [`run_seed`] and [`run_text_hash`] are computed.
fn run_state() -> &'static RandomState {
    static STATE: OnceLock<RandomState> = OnceLock::new();
    STATE.get_or_init(RandomState::new)
}

/// Returns the random seed of this run's hash tables.
pub(crate) fn run_seed() -> u64 {
    run_state().hash_one(SEED)
}

/// Returns a hash of a text for hash tables. The hash differs between runs of the program.
pub(crate) fn run_text_hash(text: &str) -> u64 {
    run_state().hash_one(text)
}

/// Combines a hash and a value into a new hash. As in wyhash, a 128-bit product is folded: its high half is xored with
/// its low half. A change of the function would change which keys are in a sketch.
#[inline]
pub(crate) fn mix(hash: u64, value: u64) -> u64 {
    let scrambled = value.wrapping_mul(0xa076_1d64_78bd_642f);
    let wide = u128::from(hash ^ scrambled) * 0xe703_7ed1_a0b4_28db;
    (wide as u64) ^ ((wide >> 64) as u64)
}

/// Returns the seed for the hashes of one key part's values. `seed` is the seed of the whole key's hash, and `part` is
/// the part's index.
#[inline]
pub(super) fn part_seed(seed: u64, part: usize) -> u64 {
    mix(seed, part as u64 + 1)
}

/// Returns the hash of one value of a key part. The hash of a key is the sum of a seed and the hashes of its parts.
/// `part` is the part's index, and `bits` identifies the value; for numbers, see [`number_bits`].
#[inline]
pub(crate) fn part_hash(part: usize, bits: u64) -> u64 {
    mix(part_seed(SEED, part), bits)
}

/// Returns the FNV-1a hash of a text. The function suits short names. Another function would change which keys are in a
/// sketch, and so the findings on large tables.
pub(crate) fn text_hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
}
