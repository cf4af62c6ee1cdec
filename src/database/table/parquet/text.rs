//! Columns of text: cells become codes into the distinct names.

use std::collections::HashMap;
use std::sync::Arc;

use polars_arrow::array::{ArrayRef, DictionaryArray, Utf8ViewArray};

use super::LONGEST_TEXT;
use super::errors::ColumnError;
use crate::base::expr::NULL_CODE;
use crate::database::table::Column;

/// A column of text, from indices into dictionaries or from texts.
pub(super) fn column(arrays: &[ArrayRef]) -> Result<Column, ColumnError> {
    let mut names = DistinctNames::default();
    let mut codes = Vec::with_capacity(arrays.iter().map(|a| a.len()).sum());
    for array in arrays {
        let any = array.as_any();
        if let Some(indices) = any.downcast_ref::<DictionaryArray<u32>>() {
            names.indices(indices, &mut codes)?;
        } else {
            names.texts(any.downcast_ref().ok_or(ColumnError::Arrays)?, &mut codes)?;
        }
    }
    let nulls = arrays.iter().map(|a| a.null_count()).sum();
    Ok(Column::Text { codes, dict: names.dict, nulls })
}

/// Distinct names, in the order in which cells first hold them.
#[derive(Default)]
struct DistinctNames {
    dict: Vec<Arc<str>>,
    by_text: HashMap<Arc<str>, u32>,
}

impl DistinctNames {
    fn code(&mut self, text: &str) -> Result<u32, ColumnError> {
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

    /// A dictionary's entries are looked up once each, where a cell first refers to them.
    fn indices(
        &mut self,
        array: &DictionaryArray<u32>,
        codes: &mut Vec<u32>,
    ) -> Result<(), ColumnError> {
        let texts: &Utf8ViewArray =
            array.values().as_any().downcast_ref().ok_or(ColumnError::Arrays)?;
        let mut known = vec![NULL_CODE; texts.len()];
        let indices = array.keys().values();
        let valid = array.validity().filter(|bits| bits.unset_bits() > 0);
        if let (1, None, [_, ..]) = (texts.len(), valid, &indices[..]) {
            // One name in every row, as of most columns that say where rows were measured.
            if indices.iter().any(|index| *index != 0) {
                return Err(ColumnError::Arrays);
            }
            let code = self.code(texts.value(0))?;
            codes.resize(codes.len() + indices.len(), code);
            return Ok(());
        }
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

    fn texts(&mut self, array: &Utf8ViewArray, codes: &mut Vec<u32>) -> Result<(), ColumnError> {
        for text in array {
            codes.push(text.map_or(Ok(NULL_CODE), |text| self.code(text))?);
        }
        Ok(())
    }
}
