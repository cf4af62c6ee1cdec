//! Numbers the distinct values of a column.

use hashbrown::HashTable;

use super::{mix, run_seed};

/// The number of entries in the cache of recent values. A column of a sweep usually has fewer distinct values.
const REMEMBERED: usize = 512;

/// Distinct values, numbered in order of first occurrence.
pub(crate) struct Numbering {
    numbers: HashTable<(u64, u32)>,
    /// The random seed of the hashes.
    seed: u64,
    /// A cache of recent values, each with its number, indexed by hash. Nearly all rows have a cached value.
    lately: Vec<Option<(u64, u32)>>,
}

impl Default for Numbering {
    fn default() -> Self {
        Self { numbers: HashTable::new(), seed: run_seed(), lately: vec![None; REMEMBERED] }
    }
}

impl Numbering {
    /// Returns the number that identifies a value; a new value gets the next number.
    #[inline]
    pub(crate) fn number(&mut self, value: u64) -> u32 {
        let hash = mix(self.seed, value);
        match self.lately[hash as usize % REMEMBERED] {
            Some((known, number)) if known == value => number,
            _ => self.look_up(value, hash),
        }
    }

    /// Returns the number of distinct values.
    pub(crate) fn count(&self) -> usize {
        self.numbers.len()
    }

    /// Returns the distinct values in the order of their numbers.
    pub(crate) fn into_values(self) -> Vec<u64> {
        let mut values = vec![0; self.count()];
        self.numbers.into_iter().for_each(|(value, number)| values[number as usize] = value);
        values
    }

    /// Returns the number of a value that is not in the cache; a new value gets the next number. Not inlined, so that
    /// the compiler can inline the function with the cache lookup, which nearly all calls need.
    #[inline(never)]
    fn look_up(&mut self, value: u64, hash: u64) -> u32 {
        let next = self.numbers.len() as u32;
        let is_value = |(known, _): &(u64, u32)| *known == value;
        let seed = self.seed;
        let entry = self.numbers.entry(hash, is_value, |(known, _)| mix(seed, *known));
        let number = entry.or_insert_with(|| (value, next)).get().1;
        self.lately[hash as usize % REMEMBERED] = Some((value, number));
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_numbered_in_order_of_appearance() {
        let mut numbering = Numbering::default();
        let values = || (0..5000_u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        assert!(values().map(|value| numbering.number(value)).eq(0..5000));
        assert!(values().map(|value| numbering.number(value)).eq(0..5000));
        assert_eq!(numbering.number(7), 5000);
        assert_eq!(numbering.count(), 5001);
        assert!(numbering.into_values().into_iter().eq(values().chain([7])));
    }
}
