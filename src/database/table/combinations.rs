//! Numbers the combinations of values in some columns. There are few combinations, independent of the number
//! of rows.

use std::borrow::Cow;

use super::{CodedColumn, Numbering, mix};
use crate::base::expr::NULL_CODE;

/// The number of rows that are combined at once, so that they stay in the cache while all columns are
/// processed.
const BLOCK: usize = 1024;

/// The maximum number of possible combinations per row of the table up to which an array is used to number the
/// combinations. With more, a hash table is used.
const LISTED_PER_ROW: usize = 8;

/// Columns of codes whose combinations are numbered. Rows with the same codes in all columns have the same combination.
#[derive(Default)]
pub struct Combinations<'a> {
    columns: Vec<CodeColumn<'a>>,
}

struct CodeColumn<'a> {
    codes: Cow<'a, [u32]>,
    /// The number that is added to each code, so that [`NULL_CODE`] becomes 0.
    shift: u32,
    /// The number of possible codes.
    count: usize,
}

/// The combination of each row, numbered in order of first occurrence.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NumberedRows {
    /// The number that identifies each row's combination.
    pub of_rows: Vec<u32>,
    /// The number of rows of each combination.
    pub counts: Vec<u32>,
}

impl NumberedRows {
    /// Returns the first row of each combination, indexed by the combination's number.
    pub(crate) fn first_rows(&self) -> Vec<usize> {
        let mut first: Vec<usize> = Vec::with_capacity(self.counts.len());
        for (row, number) in self.of_rows.iter().enumerate() {
            // Combinations are numbered in the order of their first rows.
            if *number as usize == first.len() {
                first.push(row);
            }
        }
        first
    }
}

impl<'a> Combinations<'a> {
    /// Adds a column of codes below `count`.
    pub(crate) fn add_codes(&mut self, codes: impl Into<Cow<'a, [u32]>>, count: usize) {
        self.add(codes.into(), 0, count);
    }

    /// Adds a text column, given as codes of `names` distinct texts. If the column has nulls, null gets a code of its
    /// own.
    pub(crate) fn add_texts(&mut self, codes: &'a [u32], names: usize, nulls: usize) {
        let null = usize::from(nulls > 0);
        self.add(codes.into(), null as u32, names + null);
    }

    /// Adds an integer column.
    pub(crate) fn add_numbers(&mut self, column: &'a CodedColumn) {
        self.add_codes(&column.codes[..], column.numbers.len());
    }

    fn add(&mut self, codes: Cow<'a, [u32]>, shift: u32, count: usize) {
        if count > 1 {
            self.columns.push(CodeColumn { codes, shift, count });
        }
    }

    /// Returns the combination of each row, numbered in order of first occurrence. `rows` is the number of rows.
    pub(crate) fn numbers(&self, rows: usize) -> NumberedRows {
        let mut of_rows = Vec::with_capacity(rows);
        let count = self.visit_blocks(rows, |_, numbers| of_rows.extend_from_slice(numbers));
        let mut counts = vec![0; count];
        of_rows.iter().for_each(|number| counts[*number as usize] += 1);
        NumberedRows { of_rows, counts }
    }

    /// Calls `see` for each block of rows, with the block's first row and the combination number of each row in the
    /// block. Returns the number of distinct combinations.
    fn visit_blocks(&self, rows: usize, see: impl FnMut(usize, &[u32])) -> usize {
        let mut counts = self.columns.iter().map(|column| column.count);
        let mut numbering = Numbering::default();
        match counts.try_fold(1_usize, usize::checked_mul) {
            Some(count) if count / LISTED_PER_ROW <= rows && u32::try_from(count).is_ok() => {
                let mut list = NumberList { numbers: vec![NumberList::NONE; count], next: 0 };
                // 32-bit arithmetic lets the compiler combine several rows at once.
                let place = |before: u32, code: u32, count: usize| before * count as u32 + code;
                self.each_of(rows, place, |place| list.number(place), see);
                list.next as usize
            }
            Some(_) => {
                let place =
                    |before: u64, code: u32, count: usize| before * count as u64 + u64::from(code);
                self.each_of(rows, place, |place| numbering.number(place), see);
                numbering.count()
            }
            // Combinations with equal 64-bit hashes are taken for equal here.
            None => {
                let hash = |before: u64, code: u32, _| mix(before, u64::from(code));
                self.each_of(rows, hash, |hash| numbering.number(hash), see);
                numbering.count()
            }
        }
    }

    fn each_of<T: Copy + Default>(
        &self,
        rows: usize,
        combine: impl Fn(T, u32, usize) -> T,
        mut number: impl FnMut(T) -> u32,
        mut visit: impl FnMut(usize, &[u32]),
    ) {
        let (mut places, mut numbers) = ([T::default(); BLOCK], [0; BLOCK]);
        for start in (0..rows).step_by(BLOCK) {
            let block = start..rows.min(start + BLOCK);
            let places = &mut places[..block.len()];
            places.fill(T::default());
            for CodeColumn { codes, shift, count } in &self.columns {
                for (place, code) in places.iter_mut().zip(&codes[block.clone()]) {
                    *place = combine(*place, code.wrapping_add(*shift), *count);
                }
            }
            let numbers = &mut numbers[..block.len()];
            numbers.iter_mut().zip(places).for_each(|(own, place)| *own = number(*place));
            visit(start, numbers);
        }
    }
}

/// The numbers assigned to combinations so far, in an array with one element per possible combination.
struct NumberList {
    numbers: Vec<u32>,
    next: u32,
}

impl NumberList {
    const NONE: u32 = u32::MAX;

    fn number(&mut self, place: u32) -> u32 {
        let number = &mut self.numbers[place as usize];
        if *number == Self::NONE {
            *number = self.next;
            self.next += 1;
        }
        *number
    }
}

// Codes shifted by one have null at 0.
const _: () = assert!(NULL_CODE.wrapping_add(1) == 0);

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::base::random::Random;

    /// Synthetic: columns with few values, with many, and with more combinations than 64 bits can number.
    #[test]
    fn combinations_of_values_are_numbered_in_order_of_appearance() {
        let mut random = Random::new(3);
        for rows in [0, 1, BLOCK - 1, BLOCK + 1, 5 * BLOCK] {
            for (names, spread, count) in [(4, 6, 6), (40, 60, 60), (40, 900, 1 << 40)] {
                let mut some =
                    |most| -> Vec<u32> { (0..rows).map(|_| random.below(most) as u32).collect() };
                // One of the names is null.
                let texts: Vec<u32> =
                    some(names).into_iter().map(|code| code.wrapping_sub(1)).collect();
                let numbers: Vec<i64> = some(spread).into_iter().map(i64::from).collect();
                let (codes, same) = (some(spread), some(1));
                let coded = CodedColumn::of(&numbers);
                let mut combinations = Combinations::default();
                combinations.add_texts(&texts, names - 1, rows);
                combinations.add_numbers(&coded);
                combinations.add_codes(&codes[..], count);
                combinations.add_codes(codes.clone(), count);
                combinations.add_codes(same, 1);
                let (mut met, mut expected) = (HashMap::new(), NumberedRows::default());
                for row in 0..rows {
                    let number =
                        *met.entry((texts[row], numbers[row], codes[row])).or_insert_with(|| {
                            expected.counts.push(0);
                            expected.counts.len() - 1
                        });
                    expected.counts[number] += 1;
                    expected.of_rows.push(number as u32);
                }
                assert_eq!(combinations.numbers(rows), expected, "{rows} rows of {count}");
            }
        }
        assert_eq!(Combinations::default().numbers(3).counts, [3]);
        assert_eq!(Combinations::default().numbers(0).counts, [0_u32; 0]);
    }
}
