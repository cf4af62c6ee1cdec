//! Integer columns as codes into their distinct numbers. A sweep has few sizes, independent of its number of
//! rows.

use std::mem::take;

use super::Numbering;

/// An integer column, stored as its distinct integers and one code per row.
#[derive(Debug, Clone)]
pub struct CodedColumn {
    /// The code of each row: an index into `numbers`.
    pub codes: Vec<u32>,
    /// The distinct numbers, in any order. Some may belong to no row.
    pub numbers: Vec<i64>,
}

impl CodedColumn {
    /// Encodes one number per row.
    pub(crate) fn of(values: &[i64]) -> Self {
        if all_equal(values) {
            return Self { codes: vec![0; values.len()], numbers: vec![values[0]] };
        }
        let mut numbering = Numbering::default();
        let codes = values.iter().map(|value| numbering.number(*value as u64)).collect();
        Self { codes, numbers: numbers(numbering) }
    }

    /// Creates a column from row groups. A group has a dictionary of numbers, and one index per row into this
    /// dictionary. The dictionary may contain a number twice. Returns `None` if an index is outside of its dictionary.
    pub(crate) fn of_groups(mut groups: Vec<(Vec<u32>, Vec<i64>)>) -> Option<Self> {
        let is_beyond = |(indices, dictionary): &(Vec<u32>, Vec<i64>)| {
            let most = indices.iter().fold(0, |most, index| most.max(*index));
            !indices.is_empty() && most as usize >= dictionary.len()
        };
        if groups.iter().any(is_beyond) {
            return None;
        }
        if let [(indices, dictionary)] = &mut groups[..]
            && are_distinct(dictionary)
        {
            return Some(Self { codes: take(indices), numbers: take(dictionary) });
        }
        let rows = groups.iter().map(|(indices, _)| indices.len()).sum();
        let mut codes = Vec::with_capacity(rows);
        let mut numbering = Numbering::default();
        for (indices, dictionary) in groups {
            let own = dictionary.iter().map(|number| numbering.number(*number as u64));
            let own: Vec<u32> = own.collect();
            codes.extend(indices.iter().map(|index| own[*index as usize]));
        }
        Some(Self { codes, numbers: numbers(numbering) })
    }

    /// Returns the number of a row.
    #[inline]
    pub(crate) fn get(&self, row: usize) -> i64 {
        self.numbers[self.codes[row] as usize]
    }

    /// Applies the function `of` to the number of each row. `of` is called only once per distinct number.
    pub(crate) fn map<T: Copy>(&self, of: impl Fn(i64) -> T) -> Vec<T> {
        let all: Vec<T> = self.numbers.iter().map(|number| of(*number)).collect();
        self.codes.iter().map(|code| all[*code as usize]).collect()
    }

    /// Returns the smallest and the largest of the distinct numbers; `None` if there are none. Distinct numbers that no
    /// row uses are included.
    pub(crate) fn span(&self) -> Option<[i64; 2]> {
        Some([*self.numbers.iter().min()?, *self.numbers.iter().max()?])
    }
}

/// Returns the distinct integers in the order of their codes. `numbering` stores integers as bit patterns.
fn numbers(numbering: Numbering) -> Vec<i64> {
    numbering.into_values().into_iter().map(|bits| bits as i64).collect()
}

fn are_distinct(numbers: &[i64]) -> bool {
    let mut ascending = numbers.to_vec();
    ascending.sort_unstable();
    ascending.is_sorted_by(|a, b| a < b)
}

/// Returns true if there are values and all are equal.
pub fn all_equal<T: PartialEq>(values: &[T]) -> bool {
    /// The number of values that are compared together, without a branch for each value.
    const BLOCK: usize = 256;
    let Some((first, others)) = values.split_first() else { return false };
    others.chunks(BLOCK).all(|block| block.iter().fold(true, |are, value| are & (value == first)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::Random;

    #[test]
    fn a_coded_column_gives_the_same_numbers() {
        let mut random = Random::new(5);
        for (rows, most) in [(1, 1), (300, 1), (300, 7), (300, 2000), (0, 1)] {
            let values: Vec<i64> = (0..rows).map(|_| random.below(most) as i64 * 7 - 10).collect();
            let coded = CodedColumn::of(&values);
            assert_eq!(coded.map(|n| n), values);
            let span = values.iter().min().zip(values.iter().max());
            assert_eq!(coded.span(), span.map(|(least, most)| [*least, *most]));
        }
    }

    #[test]
    fn dictionaries_may_repeat_numbers_and_differ_between_row_groups() {
        let of = |groups: &[(&[u32], &[i64])]| {
            let groups = groups.iter().map(|(indices, own)| (indices.to_vec(), own.to_vec()));
            CodedColumn::of_groups(groups.collect())
        };
        let first: (&[u32], &[i64]) = (&[1, 0, 1], &[8, 2]);
        let others: [(&[u32], &[i64]); 2] = [(&[0, 1], &[8, 2]), (&[3, 0, 4], &[2, 8, 99, 2, -5])];
        let own = of(&[first]).unwrap();
        assert_eq!((own.codes, own.numbers), (vec![1, 0, 1], vec![8, 2]));
        let all = of(&[first, others[0], others[1]]).unwrap();
        assert_eq!(all.map(|number| number), [2, 8, 2, 8, 2, 2, 2, -5]);
        assert_eq!(all.numbers, [8, 2, 99, -5]);
        let repeated = of(&[(&[2, 1, 0], &[7, 9, 7])]).unwrap();
        assert_eq!((repeated.codes, repeated.numbers), (vec![0, 1, 0], vec![7, 9]));
        assert!(of(&[first, (&[0, 5], &[8, 2])]).is_none());
        assert!(of(&[(&[0], &[])]).is_none());
        assert_eq!(of(&[(&[], &[])]).unwrap().span(), None);
    }
}
