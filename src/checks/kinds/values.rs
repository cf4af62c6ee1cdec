//! Cells by themselves: measurements that are no numbers, zero or negative, keys out of range.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::expr::{ExprError, Scope};
use crate::base::words::plural;
use crate::checks::RowContext;
use crate::database::table::Column;
use crate::findings::{EXAMPLES, Finding, Half, Severity};
use crate::specs::{ColumnKind, ColumnSpec, Guard};

/// Rows that are wrong, by what is wrong with them.
#[derive(Default)]
struct Wrong {
    kinds: BTreeMap<String, Vec<usize>>,
    columns: Vec<String>,
}

impl Wrong {
    /// Adds the rows of `column` for which `why` says something.
    fn add(&mut self, column: &str, rows: usize, why: impl Fn(usize) -> Option<&'static str>) {
        for i in 0..rows {
            if let Some(why) = why(i) {
                self.kinds.entry(format!("{column} {why}")).or_default().push(i);
                if self.columns.last().is_none_or(|c| c != column) {
                    self.columns.push(column.to_owned());
                }
            }
        }
    }

    fn findings(self, rows: &RowContext<'_>, severity: Severity) -> Vec<Finding> {
        let all: BTreeSet<usize> = self.kinds.values().flatten().copied().collect();
        let all: Vec<usize> = all.into_iter().collect();
        rows.halves().filter_map(|half| self.half(rows, severity, &half, &all)).collect()
    }

    fn half(
        &self,
        rows: &RowContext<'_>,
        severity: Severity,
        half: &Half<'_>,
        all: &[usize],
    ) -> Option<Finding> {
        let bad = half.of(all);
        let kinds: BTreeMap<&str, usize> = self
            .kinds
            .iter()
            .map(|(kind, rows)| (kind.as_str(), rows.iter().filter(|r| half.has(**r)).count()))
            .filter(|(_, rows)| *rows > 0)
            .collect();
        if bad.is_empty() {
            return None;
        }
        let verb = if bad.len() == 1 { "has" } else { "have" };
        let named: Vec<&str> = kinds.keys().copied().collect();
        let message = format!("{} {verb} {}", plural(bad.len(), "row"), named.join(", "));
        let columns: Vec<&str> = self.columns.iter().map(String::as_str).collect();
        let evidence = serde_json::to_value(&kinds).unwrap_or_default();
        let finding = rows
            .finding_as(severity, message)
            .rows(bad.len())
            .half(half, all.len())
            .examples(rows.examples(&bad[..bad.len().min(EXAMPLES)], &columns));
        Some(finding.evidence("rows_by_kind", evidence))
    }
}

/// The rule's severity; a warning where the spec is only inferred, since a column that looks like a
/// size may well be a flag there.
fn guessed(rows: &RowContext<'_>) -> Severity {
    if rows.at.spec.inferred {
        rows.rule.severity.at_most(Severity::Warning)
    } else {
        rows.rule.severity
    }
}

/// NaN, infinities and nulls among the measurements.
pub fn not_finite(rows: &RowContext<'_>) -> Result<Vec<Finding>, ExprError> {
    let mut wrong = Wrong::default();
    for (name, _) in rows.at.spec.measures() {
        let Some(column) = rows.table.column(name) else {
            continue;
        };
        let clean = match column {
            Column::Float { values, .. } => values.iter().all(|v| v.is_finite()),
            Column::Int { nulls, .. } => nulls.is_none(),
            // header-mismatch tells of a column that holds no numbers.
            _ => true,
        };
        if clean {
            continue;
        }
        wrong.add(name, rows.table.rows, |i| {
            let value = column.number(i);
            if column.is_null(i) {
                Some("null")
            } else if value.is_nan() {
                Some("NaN")
            } else if value.is_infinite() {
                Some("infinite")
            } else {
                None
            }
        });
    }
    Ok(wrong.findings(rows, rows.rule.severity))
}

/// Measurements of zero where no zero rule allows it, or below zero.
pub fn not_positive(rows: &RowContext<'_>) -> Result<Vec<Finding>, ExprError> {
    let scope = rows.scope();
    let mut wrong = Wrong::default();
    for (name, _) in rows.at.spec.measures() {
        let Some(column) = rows.table.column(name) else {
            continue;
        };
        let clean = match column {
            Column::Float { values, .. } => values.iter().all(|v| *v > 0.0 || v.is_nan()),
            Column::Int { values, .. } => values.iter().all(|v| *v > 0),
            _ => true,
        };
        if clean {
            continue;
        }
        let zero = rows.at.spec.zero.get(name).map(|z| z.mask(&scope)).transpose()?;
        wrong.add(name, rows.table.rows, |i| match column.number(i) {
            v if v < 0.0 => Some("below zero"),
            0.0 if !zero.as_ref().is_some_and(|z| z.get(i)) => Some("zero"),
            _ => None,
        });
    }
    // A column that no lookup reads misleads only people.
    let read =
        |c: &String| rows.at.spec.latency.iter().any(|l| l.value.columns().contains(&c.as_str()));
    let severity = if wrong.columns.iter().any(read) {
        guessed(rows)
    } else {
        rows.rule.severity.at_most(Severity::Warning)
    };
    Ok(wrong.findings(rows, severity))
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

/// Which whole-number columns may be zero.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyRange {
    may_be_zero: Vec<String>,
    /// Columns the loader reads as 64-bit; it reads the others as 32-bit and refuses what is more.
    wide: Vec<String>,
}

impl KeyRange {
    /// Keys that no sweep has, and rows that the loader refuses.
    pub fn check(&self, rows: &RowContext<'_>) -> Result<Vec<Finding>, ExprError> {
        let spec = rows.at.spec;
        let mut wrong = Wrong::default();
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
            && require.columns().iter().all(|c| rows.table.column(c).is_some())
        {
            let scope = rows.scope();
            let accepted = require.mask(&scope)?;
            let why = "that the loader refuses";
            wrong.add("values", scope.rows(), |i| (!accepted.get(i)).then_some(why));
            wrong.columns.extend(require.columns().iter().map(|c| (*c).to_owned()));
        }
        if let Some(guard) = &spec.guard {
            refused_groups(&mut wrong, rows, guard);
        }
        Ok(wrong.findings(rows, guessed(rows)))
    }

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
