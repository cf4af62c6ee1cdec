//! Kernels whose backend the framework cannot choose for a table's family.

use super::Wrong;
use crate::base::words::names;
use crate::checks::context::RowContext;
use crate::database::table::Column;
use crate::specs::facts::KERNEL_COLUMN;

/// Adds the rows of a backend that the database's own catalog does not list among those that the framework can choose.
pub(super) fn outside_choices(wrong: &mut Wrong, rows: &RowContext<'_>) {
    let (at, table) = (rows.at, rows.table);
    let column = table.column(KERNEL_COLUMN);
    let (Some(kernels), Some(Column::Text { codes, dict, .. })) = (&at.spec.kernels, column) else {
        return;
    };
    let place = &at.file.place;
    for (code, kernel) in dict.iter().enumerate() {
        let Some(backends) = kernels.of(&place.backend, &at.file.table, kernel) else { continue };
        for row in (0..table.rows).filter(|row| codes[*row] as usize == code) {
            let value = |name: &str| table.column(name)?.text(row);
            let Some(backend) = backends.outside(value) else { continue };
            let says = format!(
                "{KERNEL_COLUMN} {kernel} stands for {backend}, which {} cannot choose for {} ({})",
                place.backend,
                at.spec.family,
                names(backends.choices.iter().map(String::as_str))
            );
            let kind = format!("{KERNEL_COLUMN} {kernel} of {backend}");
            wrong.add_kind(&kind, &says, KERNEL_COLUMN, row);
        }
    }
}
