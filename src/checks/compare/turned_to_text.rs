//! Parquet tables that a pull request turns into text, which the planner's loader does not read.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::words::plural;
use crate::checks::{ChangeContext, RuleHead};
use crate::database::catalog::{Catalog, Format, TableFile};
use crate::findings::{Finding, Severity};

/// System, backend, version and name of a table, independent of its path.
type TablePlace<'a> = (&'a str, &'a str, &'a str, &'a str);

/// Returns one error for each table that is Parquet in the base and only text in the head.
pub(super) fn turned_to_text(rule: RuleHead<'_>, at: &ChangeContext<'_>) -> Vec<Finding> {
    if at.specs.loader.text_tables {
        return Vec::new();
    }
    let parquet = |catalog| of_format(catalog, Format::Parquet).map(TableFile::identity).collect();
    let (before, after): (BTreeSet<_>, BTreeSet<_>) =
        (parquet(at.base.catalog), parquet(at.head.catalog));
    let rows = at.diff.tables.iter().filter(|diff| diff.was_parquet()).filter_map(|diff| {
        let place = &diff.place;
        let identity = (&*place.system, &*place.backend, &*place.version, &*diff.table);
        Some((identity, diff.base_rows? as usize))
    });
    let rows: BTreeMap<TablePlace<'_>, usize> = rows.collect();
    let texts = of_format(at.head.catalog, Format::Csv);
    let is_turned =
        |file: &&TableFile| before.contains(&file.identity()) && !after.contains(&file.identity());
    let finding = |file: &TableFile| {
        let rows = rows.get(&file.identity()).copied();
        let counted =
            rows.map_or("its rows".to_owned(), |rows| format!("its {}", plural(rows, "row")));
        let message = format!(
            "{} was a Parquet table and is text now, which the planner's loader does not read: none of {counted} is \
             served any more",
            file.table
        );
        let finding = Finding::on_table(rule.id, Severity::Error, file, message);
        finding.rows(rows.unwrap_or_default()).parts([&file.entry.path]).about_change()
    };
    texts.filter(is_turned).map(finding).collect()
}

fn of_format(catalog: &Catalog, format: Format) -> impl Iterator<Item = &TableFile> {
    catalog.tables.iter().filter(move |file| file.format == format)
}
