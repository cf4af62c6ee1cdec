//! Decodes text columns into codes and distinct texts.

use std::collections::HashMap;
use std::sync::Arc;

use polars_arrow::array::{ArrayRef, DictionaryArray, PrimitiveArray, Utf8ViewArray};
use polars_arrow::types::NativeType;

use super::errors::{ColumnError, ColumnResult};
use crate::base::expr::NULL_CODE;
use crate::database::limits::LONGEST_TEXT;
use crate::database::table::Column;

/// Decodes a text column from dictionary indices or from texts.
pub(super) fn column(arrays: Vec<ArrayRef>) -> ColumnResult<Column> {
    let nulls = arrays.iter().map(|a| a.null_count()).sum();
    let mut names = DistinctNames::default();
    let mut codes = Vec::new();
    for mut array in arrays {
        let any = array.as_any_mut();
        if let Some(indices) = any.downcast_mut::<DictionaryArray<u32>>() {
            let empty = DictionaryArray::new_empty(indices.dtype().clone());
            names.indices(std::mem::replace(indices, empty), &mut codes)?;
        } else {
            names.texts(any.downcast_ref().ok_or(ColumnError::Arrays)?, &mut codes)?;
        }
    }
    Ok(Column::Text { codes, dict: names.dict, nulls })
}

/// The distinct texts of a column, in order of first occurrence.
#[derive(Default)]
struct DistinctNames {
    dict: Vec<Arc<str>>,
    by_text: HashMap<Arc<str>, u32>,
}

impl DistinctNames {
    fn code(&mut self, text: &str) -> ColumnResult<u32> {
        if let Some(code) = self.by_text.get(text) {
            return Ok(*code);
        }
        if text.len() > LONGEST_TEXT {
            return Err(ColumnError::LongText(text.len()));
        }
        if text.contains('\0') {
            return Err(ColumnError::Nul);
        }
        let (text, code): (Arc<str>, _) = (text.into(), self.dict.len() as u32);
        self.dict.push(text.clone());
        self.by_text.insert(text, code);
        Ok(code)
    }

    /// Adds cells given as dictionary indices. Each dictionary entry is looked up once, at its first use.
    fn indices(&mut self, array: DictionaryArray<u32>, codes: &mut Vec<u32>) -> ColumnResult<()> {
        let (_, keys, texts) = array.take();
        let indices = keys.values();
        let texts: &Utf8ViewArray = texts.as_any().downcast_ref().ok_or(ColumnError::Arrays)?;
        let valid = keys.validity().filter(|bits| bits.unset_bits() > 0);
        if codes.is_empty() && valid.is_none() && self.is_numbered_alike(texts, indices)? {
            *codes = owned(keys);
            return Ok(());
        }
        let mut known = vec![NULL_CODE; texts.len()];
        codes.reserve(indices.len());
        for (row, index) in indices.iter().enumerate() {
            if valid.is_some_and(|bits| !bits.get_bit(row)) {
                codes.push(NULL_CODE);
                continue;
            }
            let code = known.get_mut(*index as usize).ok_or(ColumnError::Arrays)?;
            if *code == NULL_CODE {
                *code = self.code(texts.value(*index as usize))?;
            }
            codes.push(*code);
        }
        Ok(())
    }

    /// Returns true if a dictionary's indices can be used as the column's codes, because both number the texts in order
    /// of first occurrence. Also adds texts of the dictionary to the distinct texts, until one is out of order.
    fn is_numbered_alike(&mut self, texts: &Utf8ViewArray, indices: &[u32]) -> ColumnResult<bool> {
        let Some(met) = met_in_order(indices).filter(|met| *met as usize <= texts.len()) else {
            return Ok(false);
        };
        for index in 0..met {
            if self.code(texts.value(index as usize))? != index {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn texts(&mut self, array: &Utf8ViewArray, codes: &mut Vec<u32>) -> ColumnResult<()> {
        for text in array {
            codes.push(text.map_or(Ok(NULL_CODE), |text| self.code(text))?);
        }
        Ok(())
    }
}

/// Returns the number of distinct indices if they first occur in the order 0, 1, 2, …; otherwise `None`.
fn met_in_order(indices: &[u32]) -> Option<u32> {
    let mut met = 0;
    for block in indices.chunks(64) {
        // Most blocks only contain indices that occurred before.
        if block.iter().fold(0, |most, index| most.max(*index)) < met {
            continue;
        }
        for index in block {
            if *index > met {
                return None;
            }
            met = met.max(*index + 1);
        }
    }
    Some(met)
}

/// Returns the values of an array; they are copied only if they are shared.
pub(super) fn owned<T: NativeType>(array: PrimitiveArray<T>) -> Vec<T> {
    let (_, values, _) = array.into_inner();
    values.into_mut().either(|shared| shared.iter().copied().collect(), |own| own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_in_order_of_appearance_are_recognized() {
        assert_eq!(met_in_order(&[0, 0, 1, 0, 2, 1]), Some(3));
        assert_eq!(met_in_order(&[0, 2, 1]), None);
        assert_eq!(met_in_order(&[1]), None);
        assert_eq!(met_in_order(&[]), Some(0));
        let late = |last: u32| [&[0; 200][..], &[last]].concat();
        assert_eq!(met_in_order(&late(1)), Some(2));
        assert_eq!(met_in_order(&late(2)), None);
        assert_eq!(met_in_order(&[u32::MAX]), None);
    }

    /// Synthetic: dictionaries of two row groups, the second in another order.
    #[test]
    fn names_are_coded_in_the_order_in_which_cells_first_have_them() {
        let array = |names: &[&str], indices: &[u32]| {
            let names = Utf8ViewArray::from_slice_values(names);
            let keys = PrimitiveArray::from_vec(indices.to_vec());
            DictionaryArray::try_from_keys(keys, names.boxed(), false).unwrap().boxed()
        };
        let codes = |arrays: Vec<ArrayRef>| match column(arrays).unwrap() {
            Column::Text { codes, dict, .. } => {
                (codes, dict.iter().map(ToString::to_string).collect::<Vec<_>>())
            }
            _ => panic!("a column of text"),
        };
        let [first, second] = [array(&["a", "b"], &[0, 1, 0]), array(&["b", "c", "a"], &[0, 1, 2])];
        assert_eq!(codes(vec![first.clone()]), (vec![0, 1, 0], vec!["a".into(), "b".into()]));
        let (all, names) = codes(vec![first, second]);
        assert_eq!((all, names.concat()), (vec![0, 1, 0, 1, 2, 0], "abc".into()));
        // A dictionary with a duplicate, and with an unused text.
        assert_eq!(codes(vec![array(&["a", "a", "c"], &[0, 1])]), (vec![0, 0], vec!["a".into()]));
        let (all, names) = codes(vec![array(&["c", "a", "b"], &[1, 2, 1])]);
        assert_eq!((all, names.concat()), (vec![0, 1, 0], "ab".into()));
    }
}
