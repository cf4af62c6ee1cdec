//! The combinations of values that some columns take: few, whatever the number of rows.

use crate::database::table::{Numbering, all_equal, mix_all};

/// Rows that are hashed at once, so that their hashes stay in the cache while column after column is taken in.
const BLOCK: usize = 1024;

/// Some columns, one value a row.
#[derive(Default)]
pub(super) struct Combinations<'a> {
    codes: Vec<&'a [u32]>,
    numbers: Vec<&'a [i64]>,
}

impl<'a> Combinations<'a> {
    /// Takes in a column of codes.
    pub fn add_codes(&mut self, codes: &'a [u32]) {
        if !all_equal(codes) {
            self.codes.push(codes);
        }
    }

    /// Takes in a column of whole numbers.
    pub fn add_numbers(&mut self, numbers: &'a [i64]) {
        if !all_equal(numbers) {
            self.numbers.push(numbers);
        }
    }

    /// The first of `rows` rows with each combination. Two are the same where their hashes of 64 bits are.
    pub fn first_rows(&self, rows: usize) -> Vec<usize> {
        let mut first = Vec::new();
        self.each(rows, |row, number| {
            first.extend((number as usize == first.len()).then_some(row));
        });
        first
    }

    /// The combination of each of `rows` rows, numbered in the order in which they are met.
    pub fn numbers(&self, rows: usize) -> Vec<u32> {
        let mut numbers = Vec::with_capacity(rows);
        self.each(rows, |_, number| numbers.push(number));
        numbers
    }

    /// Calls `each` on every row and the number of its combination.
    fn each(&self, rows: usize, mut each: impl FnMut(usize, u32)) {
        let mut numbering = Numbering::default();
        let mut hashes = [0; BLOCK];
        for start in (0..rows).step_by(BLOCK) {
            let block = start..rows.min(start + BLOCK);
            let hashes = &mut hashes[..block.len()];
            hashes.fill(0);
            for codes in &self.codes {
                mix_all(hashes, &codes[block.clone()], u64::from);
            }
            for numbers in &self.numbers {
                mix_all(hashes, &numbers[block.clone()], |number| number as u64);
            }
            for (row, hash) in block.zip(&*hashes) {
                each(row, numbering.number(*hash));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::Random;

    #[test]
    fn every_combination_is_met_once_at_its_first_row() {
        let mut random = Random::new(3);
        for rows in [0, 1, BLOCK - 1, BLOCK + 1, 5 * BLOCK] {
            let codes: Vec<u32> = (0..rows).map(|_| random.below(40) as u32).collect();
            let numbers: Vec<i64> = (0..rows).map(|_| random.below(60) as i64 - 30).collect();
            let same = vec![7; rows];
            let mut combinations = Combinations::default();
            combinations.add_codes(&codes);
            combinations.add_numbers(&numbers);
            combinations.add_numbers(&same);
            let mut met = std::collections::HashSet::new();
            let is_first = |row: &usize| met.insert((codes[*row], numbers[*row]));
            let expected: Vec<usize> = (0..rows).filter(is_first).collect();
            assert_eq!(combinations.first_rows(rows), expected, "{rows} rows");
            let first = |number: &u32| expected[*number as usize];
            let numbered = combinations.numbers(rows);
            let is_alike = |(row, number): (usize, &u32)| {
                first(number) <= row
                    && (codes[first(number)], numbers[first(number)]) == (codes[row], numbers[row])
            };
            assert!(numbered.len() == rows && numbered.iter().enumerate().all(is_alike));
        }
        assert_eq!(Combinations::default().first_rows(3), [0]);
        assert_eq!(Combinations::default().first_rows(0), [0_usize; 0]);
    }
}
