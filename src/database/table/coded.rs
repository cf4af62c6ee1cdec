//! Columns of whole numbers as codes into their distinct ones: a sweep has few sizes, whatever its number of rows.

use super::{Numbering, all_equal};

/// A column of whole numbers.
#[derive(Debug, Clone, Default)]
pub(crate) struct CodedColumn {
    /// The code of each row's number, its place in `numbers`.
    pub codes: Vec<u32>,
    /// The distinct numbers, in any order. Some may be of no row.
    pub numbers: Vec<i64>,
}

impl CodedColumn {
    /// Of numbers, one a row.
    pub fn of(values: &[i64]) -> Self {
        if all_equal(values) {
            return Self { codes: vec![0; values.len()], numbers: vec![values[0]] };
        }
        let (mut numbering, mut numbers) = (Numbering::default(), Vec::new());
        let code = |value: &i64| {
            let code = numbering.number(*value as u64);
            if code as usize == numbers.len() {
                numbers.push(*value);
            }
            code
        };
        Self { codes: values.iter().map(code).collect(), numbers }
    }

    /// None yet, with room for some rows.
    pub fn with_room(rows: usize) -> Self {
        Self { codes: Vec::with_capacity(rows), numbers: Vec::new() }
    }

    /// Adds rows by their indices into a dictionary, which may have a number several times; none where an index is
    /// beyond it.
    #[must_use]
    pub fn extend(&mut self, mut indices: Vec<u32>, dictionary: &[i64]) -> Option<()> {
        let most = indices.iter().fold(0, |most, index| most.max(*index));
        if !indices.is_empty() && most as usize >= dictionary.len() {
            return None;
        }
        if self.codes.is_empty() && are_distinct(dictionary) {
            self.numbers = dictionary.to_vec();
        }
        if self.codes.capacity() == 0 && self.numbers == dictionary {
            self.codes = indices;
            return Some(());
        }
        if self.numbers != dictionary {
            let mut numbering = Numbering::default();
            for number in &self.numbers {
                numbering.number(*number as u64);
            }
            let code = |number: &i64| {
                let code = numbering.number(*number as u64);
                if code as usize == self.numbers.len() {
                    self.numbers.push(*number);
                }
                code
            };
            let codes: Vec<u32> = dictionary.iter().map(code).collect();
            indices.iter_mut().for_each(|index| *index = codes[*index as usize]);
        }
        self.codes.append(&mut indices);
        Some(())
    }

    /// The numbers, one a row.
    pub fn values(&self) -> Vec<i64> {
        match &self.numbers[..] {
            [number] => vec![*number; self.codes.len()],
            numbers => self.codes.iter().map(|code| numbers[*code as usize]).collect(),
        }
    }

    /// The numbers in ascending order, and the place of each there by its code.
    pub fn ranked(&self) -> (Vec<i64>, Vec<u32>) {
        let mut ascending = self.numbers.clone();
        ascending.sort_unstable();
        let place = |number| ascending.partition_point(|own| own < number) as u32;
        let ranks = self.numbers.iter().map(place).collect();
        (ascending, ranks)
    }

    /// Numbers that no row is below and none above; none of no rows.
    pub fn span(&self) -> Option<[i64; 2]> {
        Some([*self.numbers.iter().min()?, *self.numbers.iter().max()?])
    }

    /// Bytes of memory that it takes.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.codes[..]) + size_of_val(&self.numbers[..])
    }
}

fn are_distinct(numbers: &[i64]) -> bool {
    let mut ascending = numbers.to_vec();
    ascending.sort_unstable();
    ascending.is_sorted_by(|a, b| a < b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::Random;

    #[test]
    fn numbers_are_known_by_their_codes() {
        let mut random = Random::new(5);
        for (rows, most) in [(1, 1), (300, 1), (300, 7), (300, 2000), (0, 1)] {
            let values: Vec<i64> = (0..rows).map(|_| random.below(most) as i64 * 7 - 10).collect();
            let coded = CodedColumn::of(&values);
            assert_eq!(coded.values(), values);
            let span = values.iter().min().zip(values.iter().max());
            assert_eq!(coded.span(), span.map(|(least, most)| [*least, *most]));
            let (ascending, ranks) = coded.ranked();
            assert!(ascending.is_sorted_by(|a, b| a < b));
            let by_rank = coded.codes.iter().map(|code| ranks[*code as usize]);
            assert!(by_rank.map(|rank| ascending[rank as usize]).eq(values));
        }
    }

    #[test]
    fn dictionaries_may_repeat_numbers_and_differ_from_group_to_group() {
        let mut coded = CodedColumn::default();
        coded.extend(vec![1, 0, 1], &[8, 2]).unwrap();
        coded.extend(vec![0, 1], &[8, 2]).unwrap();
        coded.extend(vec![3, 0, 4, 1], &[2, 8, 99, 2, i64::MIN]).unwrap();
        assert_eq!(coded.values(), [2, 8, 2, 8, 2, 2, 2, i64::MIN, 8]);
        assert_eq!(coded.numbers, [8, 2, 99, i64::MIN]);
        assert!(coded.extend(vec![0, 5], &[8, 2]).is_none());
        assert!(coded.extend(vec![0], &[]).is_none());
        let mut repeated = CodedColumn::default();
        repeated.extend(vec![2, 1, 0], &[7, 9, 7]).unwrap();
        assert_eq!((repeated.values(), repeated.numbers), (vec![7, 9, 7], vec![7, 9]));
    }
}
