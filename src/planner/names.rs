//! Numbers the texts of tables, so that keys are compared and hashed as integers.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

/// The distinct texts of all tables read so far, with their numbers. Numbers depend on the reading
/// order, so nothing is ever sorted by them.
#[derive(Debug, Default)]
pub struct NameCodes(RwLock<HashMap<Box<str>, u32>>);

impl NameCodes {
    /// The number of a text; a new text gets the next number.
    pub(crate) fn code(&self, text: &str) -> u32 {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner).get(text).copied();
        known.unwrap_or_else(|| {
            let mut codes = self.0.write().unwrap_or_else(PoisonError::into_inner);
            let next = codes.len() as u32;
            *codes.entry(text.into()).or_insert(next)
        })
    }
}
