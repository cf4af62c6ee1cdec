//! The integers of a column, stored directly, as codes, or both.

use std::ops::{Deref, Range};
use std::sync::OnceLock;

use super::coded::{CodedColumn, all_equal};
use crate::base::expr::WholeNumbers;

/// Integers, one per row.
///
/// Most files store integers as codes (indices into a list of distinct integers), and most callers only need the codes.
/// The slice of plain integers is created when it is first requested. If only plain integers are stored, the codes are
/// created on request.
#[derive(Debug, Clone)]
pub struct IntValues {
    values: OnceLock<Vec<i64>>,
    coded: OnceLock<CodedColumn>,
    /// The integers as floating-point numbers for formulas, created on first use.
    floats: OnceLock<Vec<f64>>,
}

impl From<Vec<i64>> for IntValues {
    fn from(values: Vec<i64>) -> Self {
        Self { values: values.into(), coded: OnceLock::new(), floats: OnceLock::new() }
    }
}

impl FromIterator<i64> for IntValues {
    fn from_iter<I: IntoIterator<Item = i64>>(values: I) -> Self {
        values.into_iter().collect::<Vec<_>>().into()
    }
}

impl From<CodedColumn> for IntValues {
    fn from(coded: CodedColumn) -> Self {
        Self { values: OnceLock::new(), coded: coded.into(), floats: OnceLock::new() }
    }
}

impl Deref for IntValues {
    type Target = [i64];

    fn deref(&self) -> &[i64] {
        self.values.get_or_init(|| match self.coded.get() {
            Some(coded) => coded.map(|number| number),
            None => Vec::new(),
        })
    }
}

impl IntValues {
    /// Returns the column as a list of distinct integers and one code per row.
    pub(crate) fn coded(&self) -> &CodedColumn {
        self.coded.get_or_init(|| CodedColumn::of(self))
    }

    /// Returns the integer of a row.
    #[inline]
    pub(crate) fn get(&self, row: usize) -> i64 {
        match self.coded.get() {
            Some(coded) => coded.get(row),
            None => self[row],
        }
    }

    /// Returns the number of rows.
    pub(crate) fn count(&self) -> usize {
        self.coded.get().map_or_else(|| self.len(), |coded| coded.codes.len())
    }

    /// Returns the integers of some rows for formulas.
    pub(super) fn whole(&self, range: Range<usize>) -> WholeNumbers<'_> {
        match self.coded.get() {
            Some(CodedColumn { codes, numbers }) => {
                WholeNumbers::Codes { codes: &codes[range], numbers }
            }
            None => WholeNumbers::Values(&self[range]),
        }
    }

    /// Returns the integers as floating-point numbers.
    pub(super) fn floats(&self) -> &[f64] {
        self.floats.get_or_init(|| self.map(|number| number as f64))
    }

    /// Applies the function `of` to each row's integer.
    pub(crate) fn map<T: Copy>(&self, of: impl Fn(i64) -> T) -> Vec<T> {
        match self.coded.get() {
            Some(coded) => coded.map(of),
            None => self.iter().map(|value| of(*value)).collect(),
        }
    }
}

/// Returns true if there are rows and all have the same integer.
pub(super) fn are_equal(whole: WholeNumbers<'_>) -> bool {
    match whole {
        WholeNumbers::Codes { codes, numbers: [_] } => !codes.is_empty(),
        WholeNumbers::Codes { codes, .. } => all_equal(codes),
        WholeNumbers::Values(values) => all_equal(values),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coded_and_plain_integers_have_the_same_values() {
        let coded = CodedColumn::of_groups(vec![(vec![1, 0, 1], vec![8, -2])]).unwrap();
        let (coded, laid_out) = (IntValues::from(coded), IntValues::from(vec![-2, 8, -2]));
        for values in [&coded, &laid_out] {
            assert_eq!((values.count(), values.get(1)), (3, 8));
            let numbers = |whole: WholeNumbers<'_>| (0..2).map(|row| whole.get(row)).collect();
            let some: Vec<i64> = numbers(values.whole(1..3));
            assert_eq!(some, [8, -2]);
            assert_eq!(values.coded().map(|number| number), &values[..]);
            assert_eq!(values.floats(), [-2.0, 8.0, -2.0]);
        }
        assert_eq!(&coded[..], &laid_out[..]);
        let are_equal = |values: Vec<i64>| are_equal(IntValues::from(values).whole(0..3));
        assert!(are_equal(vec![7, 7, 7]) && !are_equal(vec![7, 7, 8]));
    }
}
