//! Texts of tables as numbers, so that keys are compared and hashed as integers.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

/// What the number of a text has and a size in a key has not: no model has two thousand million heads.
const TEXT: u32 = 1 << 31;

/// The number of the text at an index.
pub(super) fn code_at(index: usize) -> u32 {
    TEXT | index as u32
}

/// The index of the text of a number; none of a size.
pub(super) fn index_of(code: u32) -> Option<usize> {
    code.checked_sub(TEXT).map(|index| index as usize)
}

/// Every distinct text of the tables that were read, by number. Numbers depend on the order of
/// reading, so nothing is ever sorted by them.
#[derive(Debug, Default)]
pub struct NameCodes(RwLock<CodedNames>);

#[derive(Debug, Default)]
struct CodedNames {
    codes: HashMap<Arc<str>, u32>,
    texts: Vec<Arc<str>>,
}

impl NameCodes {
    /// The number of a text.
    pub fn code(&self, text: &str) -> u32 {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner).codes.get(text).copied();
        known.unwrap_or_else(|| self.add(text))
    }

    /// The text of a number; none of a size.
    pub fn text(&self, code: u32) -> Option<Arc<str>> {
        let index = index_of(code)?;
        self.0.read().unwrap_or_else(PoisonError::into_inner).texts.get(index).cloned()
    }

    fn add(&self, text: &str) -> u32 {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have added it since.
        if let Some(code) = known.codes.get(text) {
            return *code;
        }
        let (text, code) = (Arc::<str>::from(text), code_at(known.texts.len()));
        known.texts.push(text.clone());
        known.codes.insert(text, code);
        code
    }
}
