//! What a sketch says of its points beside their latencies: sizes, kernels, slices.

use std::collections::{BTreeMap, BTreeSet};

use super::{SketchPoint, Slice};
use crate::database::table::{Column, Keys, Numbering, TableScope};

/// The column that names the kernel.
pub(super) const KERNEL: &str = "kernel_source";

/// The values of points along the axes of the sweep.
pub(super) fn axes(
    scope: &TableScope<'_>,
    order: &[(u64, u32)],
) -> BTreeMap<String, BTreeSet<i64>> {
    let mut axes = BTreeMap::new();
    for name in &scope.spec.sweep {
        if let Some(Column::Int { values, nulls: None }) = scope.table.column(name) {
            let of_points = order.iter().map(|(_, row)| values[*row as usize]);
            axes.insert(name.clone(), of_points.collect());
        }
    }
    axes
}

/// The kernels that the points of each slice name.
pub(super) fn kernels(
    scope: &TableScope<'_>,
    order: &[(u64, u32)],
    points: &[SketchPoint],
    slices: usize,
) -> Vec<BTreeSet<String>> {
    let Some(column) = scope.table.column(KERNEL) else { return Vec::new() };
    let mut named = vec![BTreeSet::new(); slices];
    for ((_, row), point) in order.iter().zip(points) {
        let kernels = &mut named[point.slice as usize];
        if let Some(kernel) = column.text(*row as usize)
            && !kernels.contains(kernel)
        {
            kernels.insert(kernel.to_owned());
        }
    }
    named
}

/// The slices of a table in the order in which they are met.
#[derive(Default)]
pub(super) struct SliceNumbers {
    pub all: Vec<Slice>,
    codes: Numbering,
}

impl SliceNumbers {
    /// The number of a row's slice; a new one gets the next.
    pub fn number(&mut self, keys: &Keys<'_>, row: usize) -> u32 {
        let number = self.codes.number(keys.text_code(row));
        if number as usize == self.all.len() {
            let texts = keys.show(row).into_iter();
            let slice = texts.filter_map(|(k, v)| Some((k, v.as_str()?.to_owned())));
            self.all.push(slice.collect());
        }
        number
    }
}
