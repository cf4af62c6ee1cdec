//! Texts that no query asks for: unknown dtypes, and kernels whose backend the framework cannot choose.

use std::collections::{BTreeMap, BTreeSet};

use super::WrongRowsByFault;
use crate::base::error::nearest;
use crate::base::words::names;
use crate::checks::context::RowContext;
use crate::database::table::Column;
use crate::specs::facts::KERNEL_COLUMN;

/// The maximum number of unknown dtypes in a column that are reported separately. A damaged column may have another
/// text in each row.
const MOST: usize = 16;

/// The rows with one unknown dtype. If a column has more than [`MOST`] unknown dtypes, the rows with any of these
/// dtypes are collected together.
#[derive(Default)]
struct UnknownDtype<'a> {
    columns: Vec<&'a str>,
    /// A clause that suggests a known dtype with a similar name; empty if there is none.
    meant: String,
    /// True if other tables have the same dtype in another case.
    is_misspelt: bool,
    rows: BTreeSet<usize>,
}

/// Finds rows with an unknown dtype, which is neither a known dtype nor in the table's spec. Adds them, grouped by
/// dtype, to `wrong` if other tables spell the dtype with other capital letters, otherwise to `unknown`. `columns` are
/// the names of the dtype columns.
pub(super) fn unknown_dtypes<'a>(
    (wrong, unknown): (&mut WrongRowsByFault, &mut WrongRowsByFault),
    rows: &RowContext<'a>,
    columns: impl Iterator<Item = &'a str>,
) {
    let mut found = BTreeMap::new();
    columns.for_each(|name| add_unknown(&mut found, rows, name));
    for (text, dtype) in &found {
        let says = match dtype.columns[..] {
            [column] => format!("the {column} {text}{}", dtype.meant),
            _ => format!("the dtype {text}{}", dtype.meant),
        };
        let to = if dtype.is_misspelt { &mut *wrong } else { &mut *unknown };
        for row in &dtype.rows {
            to.add_kind(&format!("the dtype {text}"), &says, dtype.columns[0], *row);
        }
        to.columns.extend(dtype.columns[1..].iter().map(|column| (*column).to_owned()));
    }
}

/// Adds the rows in which the column `name` has an unknown dtype to `found`, grouped by dtype.
fn add_unknown<'a>(
    found: &mut BTreeMap<String, UnknownDtype<'a>>,
    rows: &RowContext<'a>,
    name: &'a str,
) {
    let Some(column @ Column::Text { codes, dict, .. }) = rows.column(name) else { return };
    let own = rows.spec.dtypes.get(name).into_iter().flatten().map(String::as_str);
    let known: BTreeSet<&str> = rows.specs.lookups.dtypes().chain(own).collect();
    let unknown = dict.iter().map(|text| !known.contains(&**text)).collect::<Vec<_>>();
    let count = unknown.iter().filter(|unknown| **unknown).count();
    let label = |text: &str| {
        let many = || "of many texts".to_owned();
        if count > MOST { many() } else { names([text].into_iter()) }
    };
    let labels: Vec<Option<String>> =
        dict.iter().zip(&unknown).map(|(text, unknown)| unknown.then(|| label(text))).collect();
    for row in (0..rows.count).filter(|row| count > 0 && !column.is_null(*row)) {
        let code = codes[row] as usize;
        let Some(label) = &labels[code] else { continue };
        if !found.contains_key(label) {
            found.insert(label.clone(), UnknownDtype::default());
        }
        let Some(dtype) = found.get_mut(label) else { continue };
        if dtype.columns.last() != Some(&name) {
            dtype.columns.push(name);
            let text = &*dict[code];
            let mut other_case = known.iter().filter(|known| known.eq_ignore_ascii_case(text));
            let spelt = other_case.find(|known| rows.is_text_elsewhere(name, known));
            let meant = nearest(text, known.iter().copied()).filter(|_| count <= MOST);
            dtype.is_misspelt |= count <= MOST && spelt.is_some();
            dtype.meant = match (spelt, meant) {
                (Some(spelt), Some(_)) => format!(", which other tables here call {spelt},"),
                (None, Some(meant)) => format!(" (did you mean {meant}?)"),
                (_, None) => String::new(),
            };
        }
        dtype.rows.insert(row);
    }
}

/// Adds to `wrong` the rows of kernel backends that the framework cannot select. The column `kernel_source` determines
/// the kernel backend of a row. A file in the database lists the kernel backends that each framework can select.
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
