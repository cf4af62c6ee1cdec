//! Dtypes that no query names.

use std::collections::BTreeSet;

use crate::base::error::nearest;
use crate::base::words::names;
use crate::checks::context::RowContext;
use crate::database::table::Column;

/// The rows of a column whose dtype is not known.
pub(super) struct UnknownDtypes {
    /// The values with the nearest known ones, in words.
    pub says: String,
    pub rows: Vec<usize>,
}

impl UnknownDtypes {
    /// Rows of a column with a dtype that neither the list of all dtypes nor the table's spec has; `None` where there
    /// are none.
    pub fn of(rows: &RowContext<'_>, name: &str) -> Option<Self> {
        let column = rows.column(name)?;
        let Column::Text { codes, dict, .. } = column else { return None };
        let own = rows.spec.dtypes.get(name).into_iter().flatten().map(String::as_str);
        let known: BTreeSet<&str> = rows.specs.lookups.dtypes().chain(own).collect();
        let is_unknown: Vec<bool> = dict.iter().map(|text| !known.contains(&**text)).collect();
        if !is_unknown.contains(&true) {
            return None;
        }
        let unknown = |row: &usize| is_unknown[codes[*row] as usize] && !column.is_null(*row);
        let found: Vec<usize> = (0..rows.count).filter(unknown).collect();
        let values: BTreeSet<&str> = found.iter().map(|row| &*dict[codes[*row] as usize]).collect();
        let meant = values.iter().filter_map(|text| nearest(text, known.iter().copied()));
        let meant: BTreeSet<&str> = meant.collect();
        let mut says = format!("{name} is not a known dtype ({}", names(values.into_iter()));
        if !meant.is_empty() {
            says += &format!("; did you mean {}?", names(meant.into_iter()));
        }
        (!found.is_empty()).then(|| Self { says: says + ")", rows: found })
    }

    /// Returns true if these are most rows of a table.
    pub fn are_most(&self, rows: usize) -> bool {
        2 * self.rows.len() > rows
    }
}
