//! Text columns of Parquet files: cells become codes into the distinct names.

use std::collections::HashMap;
use std::sync::Arc;

use polars_arrow::array::{Array, Utf8ViewArray};

use super::Column;
use crate::base::expr::NULL_CODE;

/// Bytes of a name; a longer text is none, and would be told in full.
const LONGEST_TEXT: usize = 1 << 16;

/// A text column: columns repeat a handful of names, mostly in runs.
pub(super) fn column(name: &str, arrays: &[&Utf8ViewArray]) -> Result<Column, String> {
    let mut codes = Vec::with_capacity(arrays.iter().map(|a| a.len()).sum());
    let mut dict: Vec<Arc<str>> = Vec::new();
    let mut by_text: HashMap<Arc<str>, u32> = HashMap::new();
    for array in arrays {
        // Cells of one parquet dictionary entry share their view, so equal views are equal text
        // (within an array); only a view not seen before is looked up by its text.
        let mut recent = Recent::default();
        let mut by_view: HashMap<u128, u32> = HashMap::new();
        for (i, view) in array.views().iter().enumerate() {
            if array.is_null(i) {
                codes.push(NULL_CODE);
                continue;
            }
            let bits = view.as_u128();
            let code = recent.get(bits).unwrap_or_else(|| {
                let code = *by_view.entry(bits).or_insert_with(|| {
                    let text = array.value(i);
                    if let Some(code) = by_text.get(text) {
                        return *code;
                    }
                    let (text, code): (Arc<str>, _) = (text.into(), dict.len() as u32);
                    dict.push(text.clone());
                    by_text.insert(text, code);
                    code
                });
                recent.put(bits, code);
                code
            });
            codes.push(code);
        }
    }
    if let Some(long) = dict.iter().find(|text| text.len() > LONGEST_TEXT) {
        let len = long.len();
        return Err(format!("a cell of {name} holds {len} bytes of text, no name is as long"));
    }
    Ok(Column::Text { codes, dict, nulls: arrays.iter().map(|a| a.null_count()).sum() })
}

/// The last few views and their codes: most columns alternate between two or three names, and
/// looking through these is cheaper than hashing.
#[derive(Default)]
struct Recent {
    views: [u128; 4],
    codes: [u32; 4],
    used: usize,
    next: usize,
}

impl Recent {
    #[inline]
    fn get(&self, view: u128) -> Option<u32> {
        self.views[..self.used].iter().position(|v| *v == view).map(|at| self.codes[at])
    }

    fn put(&mut self, view: u128, code: u32) {
        (self.views[self.next], self.codes[self.next]) = (view, code);
        self.next = (self.next + 1) % self.views.len();
        self.used = (self.used + 1).min(self.views.len());
    }
}
