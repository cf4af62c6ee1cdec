//! Dtypes that no query names.

use std::collections::BTreeSet;

use super::Wrong;
use crate::base::error::nearest;
use crate::base::words::names;
use crate::checks::context::RowContext;
use crate::database::table::Column;

/// The maximum number of unknown dtypes of a column that are novelties by themselves; a damaged column may hold another
/// text in each row.
const MOST: usize = 16;

/// Adds the rows of a column whose dtype neither the list of all dtypes nor the table's spec has.
pub(super) fn unknown_dtypes(wrong: &mut Wrong, rows: &RowContext<'_>, name: &str) {
    let Some(column @ Column::Text { codes, dict, .. }) = rows.column(name) else { return };
    let own = rows.spec.dtypes.get(name).into_iter().flatten().map(String::as_str);
    let known: BTreeSet<&str> = rows.specs.lookups.dtypes().chain(own).collect();
    let unknown = dict.iter().map(|text| !known.contains(&**text)).collect::<Vec<_>>();
    let count = unknown.iter().filter(|unknown| **unknown).count();
    let kind = |text: &str| {
        let kind = format!("the {name} {}", names([text].into_iter()));
        let meant = nearest(text, known.iter().copied());
        let meant = meant.map(|meant| format!(" (did you mean {meant}?)")).unwrap_or_default();
        (kind.clone(), kind + &meant)
    };
    let many = (format!("the {name} of many texts"), format!("the {name} of {count} texts"));
    let kinds: Vec<_> = dict
        .iter()
        .zip(&unknown)
        .map(|(text, unknown)| {
            unknown.then(|| if count > MOST { many.clone() } else { kind(text) })
        })
        .collect();
    for row in (0..rows.count).filter(|row| count > 0 && !column.is_null(*row)) {
        if let Some((kind, says)) = &kinds[codes[row] as usize] {
            wrong.add_kind(kind, says, name, row);
        }
    }
}
