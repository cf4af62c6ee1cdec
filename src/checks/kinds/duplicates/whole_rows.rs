//! Rows of a table without a spec that repeat an earlier one in every column.

use crate::base::expr::ExprError;
use crate::base::words::plural;
use crate::checks::RowContext;
use crate::checks::judge::Found;
use crate::database::served::rows::repeats;
use crate::database::table::Keys;
use crate::findings::{EXAMPLES, Example, Severity};
use crate::specs::KeyPart;

/// One finding for each half of the table: nothing says what its key is, so only whole rows are compared.
pub(super) fn whole_rows(rows: &RowContext<'_>) -> Result<Found, ExprError> {
    let scope = rows.scope();
    let parts: Vec<KeyPart> =
        rows.table.columns().filter_map(|(name, _)| KeyPart::column(name)).collect();
    // A column whose name no formula can hold could tell them apart.
    if parts.len() < rows.table.columns().count() || parts.is_empty() {
        return Ok(Found::new());
    }
    let keys = Keys::new(&parts, &scope)?;
    let copies = repeats(keys.hashes(), |_| true, |a, b| keys.equal(a, b));
    let all: Vec<usize> = copies.into_iter().map(|(row, _)| row).collect();
    let mut findings = Found::new();
    for half in rows.halves() {
        let own = half.of(&all);
        if own.is_empty() {
            continue;
        }
        let verb = if own.len() == 1 { "repeats" } else { "repeat" };
        let message =
            format!("{} {verb} an earlier row exactly, in every column", plural(own.len(), "row"));
        let severity = rows.rule.severity.at_most(Severity::Warning);
        let shown = &own[..own.len().min(EXAMPLES)];
        let examples = shown.iter().map(|row| Example {
            row: *row as u64,
            key: keys.show(*row),
            values: Vec::new(),
        });
        let finding = rows.finding_as(severity, message).rows(own.len());
        findings.push(finding.examples(examples.collect()).half(&half, all.len()).naming(own));
    }
    Ok(findings)
}
