//! The columns of a table, compared with its spec and with what the planner's loader can open. The operations that
//! its rows name are compared with those of other tables.

use std::collections::BTreeMap;

use self::stored::{holds, is_read, unopened};
use crate::base::error::nearest;
use crate::base::words::{names, plural_verb};
use crate::checks::{CheckInputs, CrossContext, Input, Judge, Judged, RowContext, RuleHead};
use crate::database::catalog::TableFile;
use crate::database::table::Column;
use crate::findings::{EXAMPLES, Finding, Severity, wholes};
use crate::specs::{ColumnKind, ColumnSpec, IDENTITY, StoredType, TableSpec, measured_unit};

mod stored;

/// The maximum number of columns that a message lists. The finding's evidence lists all columns.
const SHOWN: usize = 30;

/// A table whose operation is unique among the tables of its name is reported only if at least this many of the other
/// tables share one operation.
const SHARED: usize = 3;

/// The check for columns that are missing, unknown or of the wrong type.
pub(crate) struct HeaderCheck;

impl Judge for HeaderCheck {
    fn needs(&self) -> CheckInputs {
        CheckInputs::of(&[Input::Peers])
    }

    fn judges_unknown_tables(&self) -> bool {
        true
    }

    fn table<'v>(&'v self, rows: &'v RowContext<'v>) -> Judged<'v> {
        let found = columns(rows).into_iter().chain(unknown(rows)).chain(without_identity(rows));
        Ok(wholes(found))
    }

    /// Reports tables whose rows name an operation that no other table of the same name has.
    fn cross<'v>(&'v self, rule: RuleHead<'v>, at: &'v CrossContext<'v>) -> Judged<'v> {
        let mut tables: BTreeMap<&str, usize> = BTreeMap::new();
        for name in at.sketched().flat_map(|(_, sketch)| &sketch.names.operations) {
            *tables.entry(name).or_default() += 1;
        }
        Ok(wholes(at.judged_tables().filter_map(|file| operation(rule, at, file, &tables))))
    }
}

/// Returns a finding if none of the table's operations occurs in another table of the same name, and if at least
/// [`SHARED`] of the other tables share one operation; `None` otherwise. `tables` maps each operation to the number of
/// tables that have it.
fn operation(
    rule: RuleHead<'_>,
    at: &CrossContext<'_>,
    file: &TableFile,
    tables: &BTreeMap<&str, usize>,
) -> Option<Finding> {
    let own = at.sketches.get(&file.entry.path)?;
    let named = &own.names.operations;
    if named.is_empty() || named.iter().any(|name| tables[name.as_str()] > 1) {
        return None;
    }
    let others = tables.iter().filter(|(name, _)| !named.contains(**name));
    let (usual, count) = others.max_by_key(|(_, count)| **count)?;
    if *count < SHARED {
        return None;
    }
    let message = format!(
        "op_name is {}, but {} {usual}",
        names(named.iter().map(String::as_str)),
        plural_verb(*count, &format!("other {} table", file.table), ["has", "have"]),
    );
    let finding =
        Finding::on_table(rule.id, rule.severity.at_most(Severity::Warning), file, message);
    Some(finding.rows(own.rows).parts(named.iter().map(|name| format!("op_name {name}"))))
}

/// Returns one finding with all faults of the table's columns; `None` without faults. Its severity is that of the worst
/// fault.
fn columns(rows: &RowContext<'_>) -> Option<Finding> {
    let spec = rows.spec;
    if spec.inferred {
        let text = |(name, column): &(&str, &Column)| {
            measured_unit(name).is_some() && matches!(column, Column::Text { .. })
        };
        let broken: Vec<&str> = rows.whole().columns().filter(text).map(|(name, _)| name).collect();
        if !broken.is_empty() {
            let message =
                format!("text instead of numbers in the measured columns: {}", broken.join(", "));
            return Some(rows.finding(message).parts(broken));
        }
        let what = format!("a spec of {}", spec.name);
        return Some(rows.finding_as(Severity::Info, no_spec(spec)).unknown(&what));
    }
    let (mut errors, warnings) = mismatches(rows, spec);
    let unopened = unopened(rows);
    let mut said = Vec::new();
    let others: Vec<String> = errors.iter().chain(&warnings).cloned().collect();
    if !others.is_empty() {
        said.push(format!("the columns are not those of {}: {}", spec.name, first_of(&others)));
    }
    if !unopened.is_empty() {
        said.push(format!(
            "the planner's loader cannot read {} as it is stored: {}",
            spec.name,
            first_of(&unopened)
        ));
    }
    if said.is_empty() {
        return None;
    }
    errors.extend(unopened);
    let least = if errors.is_empty() { Severity::Warning } else { Severity::Error };
    let severity = rows.rule.severity.at_most(least);
    let all: Vec<String> = errors.into_iter().chain(warnings).collect();
    let shown = spec.columns.iter().find_map(|column| texts(rows, column));
    let examples = shown.map(|(name, cells)| rows.examples(&cells, &[name])).unwrap_or_default();
    let finding = rows.finding_as(severity, said.join("; "));
    let finding = finding.rows(rows.count).examples(examples);
    Some(finding.parts(&all).evidence("columns", all))
}

/// Returns a list of errors and a list of warnings about columns that are missing, unknown or of the wrong type.
/// Columns that the loader cannot open are left to `unopened`.
fn mismatches(rows: &RowContext<'_>, spec: &TableSpec) -> (Vec<String>, Vec<String>) {
    let (mut errors, mut warnings) = (Vec::new(), Vec::new());
    for column in &spec.columns {
        let needed = is_read(spec, &column.name);
        match rows.column(&column.name) {
            None if column.optional => {}
            None => {
                let list = if needed && rows.is_elsewhere(&column.name) {
                    &mut errors
                } else {
                    &mut warnings
                };
                list.push(format!("{} is missing", column.name));
            }
            Some(_) if is_nested(rows, &column.name) => {}
            Some(found) if !fits(column, found) => {
                let wanted = kind_name(column.kind);
                let list = if needed { &mut errors } else { &mut warnings };
                list.push(format!("{} is {}, not {wanted}", column.name, found.kind_name()));
            }
            Some(_) => {}
        }
    }
    for name in spec.identity.iter().map(String::as_str) {
        let optional = spec.column(name).is_some_and(|c| c.optional);
        let is_needed = spec.reads(name) && !optional;
        match rows.column(name) {
            // The sidecar names the runtime of all rows, so the column is not needed.
            None if !is_needed && rows.meta().is_some() => {}
            None => {
                let list =
                    if is_needed && rows.is_elsewhere(name) { &mut errors } else { &mut warnings };
                list.push(format!("{name} is missing"));
            }
            Some(Column::Text { .. }) => {}
            Some(_) if is_nested(rows, name) => {}
            // A column that is null in every row counts as missing. A column of another type cannot name a runtime.
            Some(Column::Other(null)) if null == "null" => {
                let list = if is_needed { &mut errors } else { &mut warnings };
                list.push(format!("{name} is null in every row"));
            }
            Some(found) => errors.push(format!("{name} is {}, not text", found.kind_name())),
        }
    }
    let misspelt = unknown_names(rows).into_iter().filter_map(|(name, meant)| Some((name, meant?)));
    warnings.extend(
        misspelt
            .map(|(name, meant)| format!("{name} is not a known column (did you mean {meant}?)")),
    );
    (errors, warnings)
}

/// Returns an info on the identity columns that a table with a sidecar lacks; `None` if it has all of them.
fn without_identity(rows: &RowContext<'_>) -> Option<Finding> {
    rows.meta().filter(|_| !rows.spec.inferred)?;
    let identity = rows.spec.identity.iter().map(String::as_str);
    let missing: Vec<&str> =
        identity.filter(|name| rows.column(name).is_none() && !rows.spec.reads(name)).collect();
    let lacks = names(missing.iter().copied());
    let said = format!("the table has no column {lacks}; the sidecar names the runtime");
    let finding = rows.finding_as(Severity::Info, said).parts(missing.iter().copied());
    (!missing.is_empty()).then_some(finding)
}

/// Returns the columns of the table that the spec does not have. Each is paired with the missing column whose name it
/// may misspell; `None` if no missing column has a similar name.
fn unknown_names<'r>(rows: &RowContext<'r>) -> Vec<(&'r str, Option<&'r str>)> {
    let spec = rows.spec;
    let all = spec.columns.iter().map(|column| column.name.as_str()).chain(IDENTITY);
    let missing: Vec<&str> = all.filter(|name| rows.column(name).is_none()).collect();
    let names = rows.whole().columns().map(|(name, _)| name);
    let is_known = |name: &&str| spec.column(name).is_some() || IDENTITY.contains(name);
    let unknown = names.filter(|name| !is_known(name) && !is_nested(rows, name));
    unknown.map(|name| (name, nearest(name, missing.iter().copied()))).collect()
}

/// Returns a warning for each column that the spec does not have, or one warning for all if there are many. Columns
/// whose name may be a misspelling are left out.
fn unknown(rows: &RowContext<'_>) -> Vec<Finding> {
    if rows.spec.inferred {
        return Vec::new();
    }
    let finding = |name: &str| {
        let what = format!("the column {name}");
        let says = if rows.spec.exact {
            format!(
                "the loader refuses a table with the column {name}; a newer one that takes it is"
            )
        } else {
            format!("{what} is")
        };
        rows.novelty(&what, &says).rows(rows.count)
    };
    let novel = unknown_names(rows).into_iter().filter(|(_, meant)| meant.is_none());
    let novel: Vec<&str> = novel.map(|(name, _)| name).collect();
    if novel.len() > SHOWN {
        let what = format!("a table with the columns {}", names(novel.iter().copied()));
        return vec![rows.novelty(&what, &format!("{what} is")).rows(rows.count)];
    }
    novel.into_iter().map(finding).collect()
}

/// Joins the first [`SHOWN`] texts with commas, and says how many more there are.
fn first_of(all: &[String]) -> String {
    let shown = all.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if all.len() > SHOWN { format!("{shown} and {} more", all.len() - SHOWN) } else { shown }
}

/// Returns true for a column that consists of other columns or has several values per row.
fn is_nested(rows: &RowContext<'_>, name: &str) -> bool {
    let stored = rows.whole().stored.as_ref().and_then(|stored| stored.stored_type(name));
    stored.is_some_and(StoredType::is_nested)
}

/// Returns the message for a table without a spec. It names the checks that do not need a spec.
fn no_spec(spec: &TableSpec) -> String {
    let measured: Vec<String> =
        spec.measures().map(|(name, unit)| format!("{name} in {}", unit.name())).collect();
    if measured.is_empty() {
        return format!(
            "no spec describes {}, and no column has the name of a measurement: the only check is that the \
             file can be read",
            spec.name
        );
    }
    format!(
        "no spec describes {}: only measurements ({}) and repeated rows are checked; `perfdb-gate \
         suggest` prints a first spec",
        spec.name,
        measured.join(", ")
    )
}

/// If a column of numbers was read as text, returns its name and the first rows whose cells are not numbers. Returns
/// `None` for any other column.
fn texts<'a>(rows: &RowContext<'_>, spec: &'a ColumnSpec) -> Option<(&'a str, Vec<usize>)> {
    let Some(Column::Text { codes, dict, .. }) = rows.column(&spec.name) else { return None };
    if spec.kind == ColumnKind::Text {
        return None;
    }
    let is_text =
        |row: &usize| dict.get(codes[*row] as usize).is_some_and(|t| t.parse::<f64>().is_err());
    Some((&spec.name, (0..codes.len()).filter(is_text).take(EXAMPLES).collect()))
}

fn fits(spec: &ColumnSpec, found: &Column) -> bool {
    // An optional column that no row fills has no type.
    let is_unfilled = matches!(found, Column::Other(name) if spec.optional && name == "null");
    is_unfilled || holds(spec.kind, found)
}

fn kind_name(kind: ColumnKind) -> &'static str {
    match kind {
        ColumnKind::Text => "text",
        ColumnKind::Int => "int",
        ColumnKind::Bool => "bool",
        ColumnKind::Number | ColumnKind::Measure(_) => "number",
    }
}
