//! Texts in a table that its sketch keeps: kernels, operations, versions and slices.

use std::collections::BTreeSet;

use super::point::{SketchPoint, Slice};
use crate::database::table::{Column, Keys, Numbering, TableScope};

/// The column that names the kernel.
pub(super) const KERNEL: &str = "kernel_source";
/// The column that names the operation.
pub(super) const OPERATION: &str = "op_name";

/// The column that names the version of the backend.
pub(super) const VERSION: &str = "version";

/// The kernels, operations and backend versions that the rows of a table name.
#[derive(Debug, Clone, Default)]
pub struct SketchNames {
    /// The kernels that each slice names, in the order of the sketch's slices; empty if the table does not name
    /// kernels.
    pub kernels: Vec<BTreeSet<String>>,
    /// The operations that the rows name.
    pub operations: BTreeSet<String>,
    /// The versions of the backend that the rows name.
    pub versions: BTreeSet<String>,
}

/// Returns the different texts in a column of a table, without the empty text.
pub(super) fn texts(scope: &TableScope<'_>, column: &str) -> BTreeSet<String> {
    let Some(Column::Text { codes, dict, .. }) = scope.table.column(column) else {
        return BTreeSet::new();
    };
    let mut met = vec![false; dict.len()];
    for code in codes {
        if let Some(met) = met.get_mut(*code as usize) {
            *met = true;
        }
    }
    let named = dict.iter().zip(met).filter(|(name, met)| *met && !name.is_empty());
    named.map(|(name, _)| name.to_string()).collect()
}

/// Returns for each slice the kernels that the rows of its points name; empty if the table does not name kernels.
pub(super) fn kernels(
    scope: &TableScope<'_>,
    order: &[(u64, u32)],
    points: &[SketchPoint],
    slices: usize,
) -> Vec<BTreeSet<String>> {
    let Some(column) = scope.table.column(KERNEL) else { return Vec::new() };
    let mut named = vec![BTreeSet::new(); slices];
    let Column::Text { codes, dict, .. } = column else { return named };
    let points =
        order.iter().zip(points).map(|((_, row), point)| (point.slice, codes[*row as usize]));
    // A name is looked at once for each slice, however many points have it.
    let mut met: Vec<(u16, u32)> = points.collect();
    met.sort_unstable();
    met.dedup();
    for (slice, code) in met {
        named[slice as usize].extend(dict.get(code as usize).map(ToString::to_string));
    }
    named
}

/// The slices of a table, numbered in the order in which they first occur.
#[derive(Default)]
pub(crate) struct SliceNumbers {
    /// The slices; the index of a slice is its number.
    pub all: Vec<Slice>,
    codes: Numbering,
}

impl SliceNumbers {
    /// The number of the row's slice. A slice that is not known yet gets the next number.
    pub(crate) fn number(&mut self, keys: &Keys<'_>, row: usize) -> u32 {
        let number = self.codes.number(keys.text_code(row));
        if number as usize == self.all.len() {
            let texts = keys.show(row).into_iter();
            let slice = texts.filter_map(|(k, v)| Some((k, v.as_str()?.to_owned())));
            self.all.push(slice.collect());
        }
        number
    }
}
