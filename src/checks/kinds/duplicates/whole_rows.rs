//! Rows of a table without a spec that repeat an earlier one in every column.

use crate::base::words::plural;
use crate::checks::context::RowContext;
use crate::checks::judge::Judged;
use crate::database::served::rows::repeats;
use crate::database::table::Keys;
use crate::findings::{EXAMPLES, Example, Hit, Hits, Severity};
use crate::specs::KeyPart;

/// Reports rows that repeat an earlier row in every column. Whole rows are compared since the key is not known.
pub(super) fn whole_rows<'v>(rows: &'v RowContext<'v>) -> Judged<'v> {
    let parts: Vec<KeyPart> =
        rows.whole().columns().filter_map(|(name, _)| KeyPart::column(name)).collect();
    // The rows may differ in a column whose name no formula can contain, and which is therefore not compared.
    if parts.len() < rows.whole().columns().count() || parts.is_empty() {
        return Ok(Hits::new());
    }
    let keys = Keys::new(&parts, rows.scope())?;
    let copies = repeats(&keys.run_hashes(), |_| true, |a, b| keys.equal(a, b));
    let all: Vec<usize> = copies.into_iter().map(|(row, _)| row).collect();
    let severity = rows.rule.severity.at_most(Severity::Warning);
    let hit = Hit::rows(rows.file, all, severity, move |part| {
        let own = part.rows;
        let verb = if own.len() == 1 { "repeats" } else { "repeat" };
        let message =
            format!("{} {verb} an earlier row exactly, in every column", plural(own.len(), "row"));
        let keys = Keys::new(&parts, rows.scope()).ok()?;
        let shown = &own[..own.len().min(EXAMPLES)];
        let examples = shown.iter().map(|row| Example {
            row: *row as u64,
            line: rows.lines().line(*row),
            key: keys.show(*row),
            values: Vec::new(),
        });
        let finding = rows.finding_as(severity, message).rows(own.len());
        Some(finding.examples(examples.collect()))
    });
    Ok(hit.into_iter().collect())
}
