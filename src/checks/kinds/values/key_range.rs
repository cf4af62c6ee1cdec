//! Keys outside of any sweep, dtypes that queries never name, and rows that the loader refuses.

use schemars::JsonSchema;
use serde::Deserialize;

use super::WrongRowsByFault;
use super::dtypes::{outside_choices, unknown_dtypes};
use super::whole_table::{mixed_rows, null_rows};
use crate::base::expr::{Expr, Scope};
use crate::checks::{Judge, Judged, RowContext};
use crate::database::served::rows::guarded_rows;
use crate::database::table::Column;
use crate::findings::Severity;
use crate::specs::{ColumnKind, ColumnSpec, Guard, PLACE};

/// The value ranges of key columns.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyRange {
    may_be_zero: Vec<String>,
    /// Names of columns that the loader reads as 64-bit numbers. The loader reads all other columns as 32-bit numbers
    /// and refuses larger values.
    wide: Vec<String>,
    /// Endings of the names of columns that hold dtypes.
    dtypes: Vec<String>,
}

impl Judge for KeyRange {
    fn table<'v>(&'v self, rows: &'v RowContext<'v>) -> Judged<'v> {
        let spec = rows.spec;
        let [mut wrong, mut unsettled, mut outside] = <[WrongRowsByFault; 3]>::default();
        let [mut dtypes, mut refused] = <[WrongRowsByFault; 2]>::default();
        for column in &spec.columns {
            let name = column.name.as_str();
            let Some(found) = rows.column(name) else {
                continue;
            };
            match column.kind {
                ColumnKind::Int => self.int(&mut wrong, column, found, rows.count),
                ColumnKind::Text if !column.optional && found.has_nulls() && spec.reads(name) => {
                    for row in 0..rows.count {
                        wrong.add(name, row, found.is_null(row).then_some("null"));
                    }
                }
                ColumnKind::Text
                | ColumnKind::Bool
                | ColumnKind::Number
                | ColumnKind::Measure(_) => {}
            }
        }
        let texts = spec.columns.iter().filter(|column| column.kind == ColumnKind::Text);
        let texts = texts.map(|column| column.name.as_str());
        let holds_dtypes = |name: &&str| {
            self.dtypes.iter().any(|end| name.ends_with(end))
                || rows.spec.dtypes.contains_key(*name)
        };
        unknown_dtypes((&mut wrong, &mut dtypes), rows, texts.filter(holds_dtypes));
        outside_choices(&mut outside, rows);
        if let Some(require) = &spec.require {
            let scope = rows.scope();
            // The header reports missing columns; the conditions on the other columns hold all the same.
            let is_there = |c: &&str| PLACE.contains(c) || rows.column(c).is_some();
            let mut conditions = require.conditions();
            conditions.retain(|condition| condition.columns().iter().all(is_there));
            let masks = conditions.iter().map(|condition| condition.mask(scope));
            let masks = masks.collect::<Result<Vec<_>, _>>()?;
            let is_refused = |row: &usize| masks.iter().any(|mask| !mask.get(*row));
            // The same change may add the text to the loader's code.
            let unknown = unknown_texts(rows, require);
            for row in (0..scope.rows()).filter(is_refused) {
                if unknown.has(row) {
                    unsettled.add_kind(
                        "values that rules/facts.yaml does not know",
                        UNSETTLED,
                        "values",
                        row,
                    );
                } else {
                    refused.add_kind(
                        "values that the loader refuses",
                        "the loader refuses the values",
                        "values",
                        row,
                    );
                }
            }
            refused.columns.extend(require.columns().iter().map(|c| (*c).to_owned()));
        }
        mixed_rows(&mut wrong, rows);
        null_rows(&mut refused, rows);
        if let Some(guard) = &spec.guard {
            refused_groups(&mut refused, rows, guard);
        }
        let warning = rows.rule.severity.at_most(Severity::Warning);
        let graded = [(wrong, rows.rule.severity), (outside, warning), (unsettled, Severity::Info)]
            .into_iter();
        let graded = graded.filter_map(|(wrong, severity)| wrong.hit(rows, severity));
        let of_loader = |kind: &str, rows: &RowContext<'_>| {
            format!("a loader of {} that takes them ({kind})", rows.spec.name)
        };
        let dtypes = dtypes.novelties(rows, |kind, _| kind.to_owned(), " is");
        let refused = refused.novelties(rows, of_loader, "; a loader that takes them is");
        Ok(graded.chain(dtypes).chain(refused).collect())
    }
}

impl KeyRange {
    fn int(&self, wrong: &mut WrongRowsByFault, spec: &ColumnSpec, column: &Column, rows: usize) {
        let name = spec.name.as_str();
        let listed = |list: &[String]| list.iter().any(|n| n == name);
        let least = if listed(&self.may_be_zero) { 0.0 } else { 1.0 };
        let most = if listed(&self.wide) { u64::MAX as f64 } else { f64::from(u32::MAX) };
        // Nearly every column is in range, and its distinct numbers are few.
        if let Column::Int { values, nulls: None } = column
            && let Some([low, high]) = values.coded().span()
            && (least..=most).contains(&(low as f64))
            && (least..=most).contains(&(high as f64))
        {
            return;
        }
        if !matches!(column, Column::Int { .. } | Column::Float { .. }) {
            return;
        }
        for row in 0..rows {
            // A column that a table may lack, a row may lack too.
            let why = if column.is_null(row) {
                (!spec.optional).then_some("null")
            } else {
                out_of_range(column.number(row), least, most)
            };
            wrong.add(name, row, why);
        }
    }
}

fn out_of_range(value: f64, least: f64, most: f64) -> Option<&'static str> {
    match value {
        v if v.fract() != 0.0 || v.is_nan() => Some("fractional"),
        v if v < 0.0 => Some("below zero"),
        v if v < least => Some("zero"),
        v if v > most => Some("above the range of the loader"),
        _ => None,
    }
}

/// The message for rows with a text that rules/facts.yaml does not list, if the pull request also changes the loader's
/// code. The new code may know the text.
const UNSETTLED: &str = "the loader's code changes too, and rules/facts.yaml does not list a text";

/// The text columns for which a pull request may change the loader's list of known texts. States which of their texts
/// rules/facts.yaml does not list.
struct UnknownTexts<'a> {
    /// For each text column: each row's index into the distinct texts, and for each distinct text, whether it is
    /// unknown.
    columns: Vec<(&'a [u32], Vec<bool>)>,
}

impl UnknownTexts<'_> {
    fn has(&self, row: usize) -> bool {
        let unknown = |(codes, unknown): &(&[u32], Vec<bool>)| {
            unknown.get(codes[row] as usize).copied().unwrap_or(false)
        };
        self.columns.iter().any(unknown)
    }
}

fn unknown_texts<'a>(rows: &RowContext<'a>, require: &Expr) -> UnknownTexts<'a> {
    let known = &rows.specs.lookups;
    let mut columns = Vec::new();
    for (lookup, column) in require.lookups() {
        if let (true, Some(Column::Text { codes, dict, .. })) =
            (known.may_have_changed(lookup), rows.column(column))
        {
            // Rates are the only looked-up values that depend on the system.
            let system = require.reads_rates().then(|| rows.system()).flatten();
            let is_unknown = |text| known.get(lookup, text, system).is_none();
            columns.push((&codes[..], dict.iter().map(|text| is_unknown(text)).collect()));
        }
    }
    UnknownTexts { columns }
}

/// Adds the rows that the loader refuses because of a guard in the spec. Rows with equal values in the columns
/// `guard.by` form a group. The loader refuses a group with several values in the column `guard.varies`, but only one
/// value in the column `guard.with`.
fn refused_groups(wrong: &mut WrongRowsByFault, rows: &RowContext<'_>, guard: &Guard) {
    let refused = guarded_rows(rows.whole(), guard);
    if refused.is_empty() {
        return;
    }
    let (varies, with) = (&guard.varies, &guard.with);
    let says = format!("{varies} varies while {with} does not, which the loader refuses,");
    for row in refused {
        wrong.add_kind(&format!("{varies} old meaning"), &says, varies, row);
    }
    wrong.columns = guard.by.iter().chain([&guard.varies, &guard.with]).cloned().collect();
}
