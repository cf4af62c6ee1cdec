//! Values of a column, numbered.

use hashbrown::HashTable;

use super::mix;

/// Values that are found by a look at one place: more than a sweep has sizes.
const REMEMBERED: usize = 512;

/// Values, numbered in the order in which they are met.
pub(crate) struct Numbering {
    numbers: HashTable<(u64, u32)>,
    /// Values met lately with their numbers, by their hashes: nearly all rows have one of these.
    lately: Vec<Option<(u64, u32)>>,
}

impl Default for Numbering {
    fn default() -> Self {
        Self { numbers: HashTable::new(), lately: vec![None; REMEMBERED] }
    }
}

impl Numbering {
    /// The number of a value; a new one gets the next.
    #[inline]
    pub fn number(&mut self, value: u64) -> u32 {
        let hash = mix(0, value);
        match self.lately[hash as usize % REMEMBERED] {
            Some((known, number)) if known == value => number,
            _ => self.look_up(value, hash),
        }
    }

    /// How many values there are.
    pub fn count(&self) -> usize {
        self.numbers.len()
    }

    /// The values, by their numbers.
    pub fn into_values(self) -> Vec<u64> {
        let mut values = vec![0; self.count()];
        self.numbers.into_iter().for_each(|(value, number)| values[number as usize] = value);
        values
    }

    /// The number of a value that was not met lately. Out of line, so that the look at one place is not.
    #[inline(never)]
    fn look_up(&mut self, value: u64, hash: u64) -> u32 {
        let next = self.numbers.len() as u32;
        let is_value = |(known, _): &(u64, u32)| *known == value;
        let entry = self.numbers.entry(hash, is_value, |(known, _)| mix(0, *known));
        let number = entry.or_insert_with(|| (value, next)).get().1;
        self.lately[hash as usize % REMEMBERED] = Some((value, number));
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_numbered_as_they_are_met_however_many_there_are() {
        let mut numbering = Numbering::default();
        let values = || (0..5000_u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        assert!(values().map(|value| numbering.number(value)).eq(0..5000));
        assert!(values().map(|value| numbering.number(value)).eq(0..5000));
        assert_eq!(numbering.number(7), 5000);
        assert_eq!(numbering.count(), 5001);
        assert!(numbering.into_values().into_iter().eq(values().chain([7])));
    }
}
