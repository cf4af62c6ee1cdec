//! Kernels whose backend the framework cannot choose for a table's family.

use super::WrongRowsByFault;
use crate::base::words::names;
use crate::checks::context::RowContext;
use crate::database::table::Column;
use crate::specs::facts::KERNEL_COLUMN;

/// Adds the rows of a backend that the database's own catalog does not list among those that the framework can choose.
pub(super) fn outside_choices(wrong: &mut WrongRowsByFault, rows: &RowContext<'_>) {
    let Some(kernels) = &rows.spec.kernels else { return };
    let Some(Column::Text { codes, dict, .. }) = rows.column(KERNEL_COLUMN) else { return };
    let place = &rows.file.place;
    for (code, kernel) in dict.iter().enumerate() {
        let Some(backends) = kernels.of(&place.backend, &rows.file.table, kernel) else { continue };
        for row in (0..rows.count).filter(|row| codes[*row] as usize == code) {
            let value = |name: &str| rows.column(name)?.text(row);
            let Some(backend) = backends.outside(value) else { continue };
            let says = format!(
                "{KERNEL_COLUMN} {kernel} stands for {backend}, which {} cannot choose for {} ({})",
                place.backend,
                rows.spec.family,
                names(backends.choices.iter().map(String::as_str))
            );
            let kind = format!("{KERNEL_COLUMN} {kernel} of {backend}");
            wrong.add_kind(&kind, &says, KERNEL_COLUMN, row);
        }
    }
}
