//! The axes of a table's sweep, read from its columns.

use crate::checks::series::AxisSizes;
use crate::database::table::{Column, Combinations, NumberedRows, Numbering, Table, number_bits};
use crate::specs::{TableSpec, measured_unit};

/// The axes of a table's sweep, read from its columns. The rows of a series are equal in all columns except the
/// measurements and the axis.
pub(super) struct ColumnSweep<'k> {
    /// The columns of the sweep that contain whole numbers: each column's name and sizes. Other rules report a sweep
    /// column that contains anything else.
    pub axes: Vec<(&'k str, AxisSizes<'k>)>,
    /// A number for each row. Two rows have the same number if they are equal in all columns that are neither
    /// measurements nor axes.
    fixed: NumberedRows,
}

impl<'k> ColumnSweep<'k> {
    pub(crate) fn new(table: &'k Table, spec: &'k TableSpec) -> Self {
        let axis = |name: &'k String| {
            let Column::Int { values, nulls: None } = table.column(name)? else { return None };
            Some((name.as_str(), AxisSizes::of_column(values.coded())))
        };
        let axes: Vec<(&str, AxisSizes<'_>)> = spec.sweep.iter().filter_map(axis).collect();
        let mut fixed = Combinations::default();
        let is_fixed = |name: &str| {
            measured_unit(name).is_none() && axes.iter().all(|(axis, _)| *axis != name)
        };
        for (_, column) in table.columns().filter(|(name, _)| is_fixed(name)) {
            match column {
                Column::Text { codes, dict, nulls } => fixed.add_texts(codes, dict.len(), *nulls),
                Column::Int { values, .. } => fixed.add_numbers(values.coded()),
                Column::Float { values, .. } => {
                    let mut numbering = Numbering::default();
                    let codes = values.iter().map(|value| numbering.number(number_bits(*value)));
                    let codes: Vec<u32> = codes.collect();
                    fixed.add_codes(codes, numbering.count());
                }
                Column::Bool { values, .. } => {
                    fixed.add_codes(values.iter().copied().map(u32::from).collect::<Vec<_>>(), 2);
                }
                Column::Other(_) => {}
            }
        }
        let fixed = fixed.numbers(table.rows);
        Self { axes, fixed }
    }

    /// Returns a number for each row that identifies the row's series along the axis with the index `along`.
    pub(crate) fn series_of_rows(&self, along: usize) -> NumberedRows {
        let mut fixed = Combinations::default();
        fixed.add_codes(&self.fixed.of_rows[..], self.fixed.counts.len());
        let others = self.axes.iter().enumerate().filter(|(number, _)| *number != along);
        others.for_each(|(_, (_, axis))| axis.add_to(&mut fixed));
        fixed.numbers(self.fixed.of_rows.len())
    }
}
