//! Keys that no sweep has, and rows that the loader refuses.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Deserialize;

use super::Wrong;
use crate::base::expr::{Expr, ExprError, Scope};
use crate::checks::RowContext;
use crate::checks::judge::{Found, Judge};
use crate::database::table::Column;
use crate::findings::{Reads, Severity};
use crate::specs::{ColumnKind, ColumnSpec, Guard, PLACE, TableSpec};

/// Which whole-number columns may be zero.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyRange {
    may_be_zero: Vec<String>,
    /// Columns the loader reads as 64-bit; it reads the others as 32-bit and refuses what is more.
    wide: Vec<String>,
}

impl Judge for KeyRange {
    fn reads(&self, spec: &TableSpec) -> Reads {
        let is_key = |c: &&ColumnSpec| !matches!(c.kind, ColumnKind::Measure(_));
        Reads::columns(spec.columns.iter().filter(is_key).map(|c| c.name.as_str()))
    }

    fn table(&self, rows: &RowContext<'_>) -> Result<Found, ExprError> {
        let spec = rows.at.spec;
        let (mut wrong, mut unsettled) = (Wrong::default(), Wrong::default());
        for column in &spec.columns {
            let name = column.name.as_str();
            let Some(found) = rows.table.column(name) else {
                continue;
            };
            match column.kind {
                ColumnKind::Int => self.int(&mut wrong, column, found, rows.table.rows),
                ColumnKind::Text if !column.optional && found.has_nulls() && spec.reads(name) => {
                    wrong.add(name, rows.table.rows, |i| found.is_null(i).then_some("null"));
                }
                _ => {}
            }
        }
        if let Some(require) = &spec.require
            && require.columns().iter().all(|c| PLACE.contains(c) || rows.table.column(c).is_some())
        {
            let scope = rows.scope();
            let accepted = require.mask(&scope)?;
            // What the loader's code knows of a text may come with this very change.
            let unknown = unknown_texts(rows, require);
            let refused = |i: usize| !accepted.get(i);
            let why = "that the loader refuses";
            wrong.add("values", scope.rows(), |i| (refused(i) && !unknown.has(i)).then_some(why));
            wrong.columns.extend(require.columns().iter().map(|c| (*c).to_owned()));
            unsettled.add("values", scope.rows(), |i| {
                (refused(i) && unknown.has(i)).then_some(
                    "that rules/facts.yaml does not know, and the loader's code changes with them",
                )
            });
        }
        if let Some(guard) = &spec.guard {
            refused_groups(&mut wrong, rows, guard);
        }
        let mut findings = wrong.findings(rows, rows.rule.severity);
        findings.extend(unsettled.findings(rows, Severity::Info));
        Ok(findings)
    }
}

impl KeyRange {
    fn int(&self, wrong: &mut Wrong, spec: &ColumnSpec, column: &Column, rows: usize) {
        let name = spec.name.as_str();
        let listed = |list: &[String]| list.iter().any(|n| n == name);
        let least = if listed(&self.may_be_zero) { 0.0 } else { 1.0 };
        let most = if listed(&self.wide) { u64::MAX as f64 } else { f64::from(u32::MAX) };
        // Whole columns at a time: nearly every column is in range.
        if let Column::Int { values, nulls: None } = column {
            let (low, high) =
                values.iter().fold((i64::MAX, i64::MIN), |(l, h), v| (l.min(*v), h.max(*v)));
            if low as f64 >= least && high as f64 <= most {
                return;
            }
        }
        if !matches!(column, Column::Int { .. } | Column::Float { .. }) {
            return;
        }
        wrong.add(name, rows, |i| match column.number(i) {
            // A column that a table may lack, a row may lack too.
            _ if column.is_null(i) => (!spec.optional).then_some("null"),
            v if v.fract() != 0.0 || v.is_nan() => Some("fractional"),
            v if v < 0.0 => Some("below zero"),
            v if v < least => Some("zero"),
            v if v > most => Some("beyond the loader's range"),
            _ => None,
        });
    }
}

/// Rows with a text that a list lacks whose code a pull request changes.
struct UnknownTexts<'a> {
    /// By column: whether each of its texts is unknown, by code.
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
    let known = &rows.at.specs.lookups;
    let mut columns = Vec::new();
    for (lookup, column) in require.lookups() {
        if let (true, Some(Column::Text { codes, dict, .. })) =
            (known.is_unsettled(lookup), rows.table.column(column))
        {
            let is_unknown = |text| known.get(lookup, text, rows.at.system).is_none();
            columns.push((&codes[..], dict.iter().map(|text| is_unknown(text)).collect()));
        }
    }
    UnknownTexts { columns }
}

/// Groups that the loader refuses since two columns do not vary together.
fn refused_groups(wrong: &mut Wrong, rows: &RowContext<'_>, guard: &Guard) {
    let column = |name: &String| rows.table.column(name);
    let by: Option<Vec<&Column>> = guard.by.iter().map(column).collect();
    let (Some(by), Some(varies), Some(with)) = (by, column(&guard.varies), column(&guard.with))
    else {
        return;
    };
    let code = |c: &Column, i: usize| match c {
        Column::Text { codes, .. } => u64::from(codes[i]),
        other => other.number(i).to_bits(),
    };
    let group = |i: usize| by.iter().map(|c| code(c, i)).collect::<Vec<u64>>();
    let mut seen: BTreeMap<Vec<u64>, BTreeSet<(u64, u64)>> = BTreeMap::new();
    let mut last = None;
    for i in 0..rows.table.rows {
        // Rows come in runs: only a change is looked at.
        let now = (group(i), (code(varies, i), code(with, i)));
        if last.as_ref() != Some(&now) {
            seen.entry(now.0.clone()).or_default().insert(now.1);
            last = Some(now);
        }
    }
    seen.retain(|_, pairs| {
        let of_varies: BTreeSet<u64> = pairs.iter().map(|p| p.0).collect();
        let of_with: BTreeSet<u64> = pairs.iter().map(|p| p.1).collect();
        of_varies.len() > 1 && of_with.len() == 1
    });
    if seen.is_empty() {
        return;
    }
    let what = format!(
        "{} that varies while {} does not, which the loader refuses:",
        guard.varies, guard.with
    );
    wrong.add(&what, rows.table.rows, |i| seen.contains_key(&group(i)).then_some("old meaning"));
    wrong.columns = guard.by.iter().chain([&guard.varies, &guard.with]).cloned().collect();
}
