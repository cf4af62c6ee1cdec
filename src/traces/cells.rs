//! Cells of a metric file one by one.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::field::is_blank;
use super::findings::Findings;
use super::frame::Cell;
use super::metrics::{Metrics, Told};
use super::spec::Type;
use super::tree::brief;
use crate::base::words::plural;
use crate::checks::kinds::traces::TraceCheck;
use crate::findings::Severity;

impl Metrics<'_, '_> {
    /// Cells one by one: text for a number, not finite, negative, a percentage beyond 100, a value
    /// that only another unit gives.
    pub(super) fn cells(&self, findings: &mut Findings<'_>) {
        let invalid = TraceCheck::MetricInvalid;
        for (blank, severity, what) in [
            (
                true,
                Severity::Warning,
                "for what was not measured; null is for that, or an empty cell",
            ),
            (false, Severity::Error, "that is no number"),
        ] {
            let texts = self.rows.texts.iter().filter(|(_, _, text)| is_blank(text) == blank);
            let texts: Vec<_> = texts.collect();
            let Some((column, _, text)) = texts.first() else { continue };
            let cells = plural(texts.len(), "cell");
            let message = format!("text in {cells} {what}: '{}' in {}", brief(text), brief(column));
            let rows: BTreeSet<usize> = texts.iter().map(|(_, row, _)| *row).collect();
            let rows: Vec<usize> = rows.into_iter().collect();
            let show = |row: usize| {
                let here = texts.iter().filter(|(_, r, _)| *r == row);
                here.map(|(c, _, t)| (c.clone(), brief(t).into())).collect()
            };
            let of = if blank { "unmeasured" } else { "text" };
            self.tell(
                findings,
                Told {
                    check: invalid,
                    severity: Some(severity),
                    of,
                    message,
                    rows,
                    show: &show,
                    grounds: Vec::new(),
                },
            );
        }
        for (name, cells) in &self.rows.cells {
            let column = self.spec.columns.get(name);
            if column.is_some_and(|c| c.kind == Type::Text) {
                continue;
            }
            let told = self.rows.units.get(name).map(|(unit, _)| unit.as_str());
            let unit = told.or(column.and_then(|c| c.unit.as_deref()));
            let plausible = column.and_then(|c| c.plausible);
            let number = |row: usize| cells[row].number();
            let all = || (0..self.rows.rows).filter_map(|row| Some((row, number(row)?)));
            let values = |row: usize| vec![(name.clone(), cells[row].json())];
            self.ranges(findings, name, unit, &values, &mut all());
            if let Some((least, most)) = plausible {
                let scaled = |row: usize| self.frame.cell(name, row).number();
                let odd = (0..self.rows.rows)
                    .filter_map(|row| Some((row, scaled(row)?)))
                    .filter(|(_, n)| *n != 0.0 && !(least..=most).contains(n));
                let rows: Vec<usize> = odd.map(|(row, _)| row).collect();
                if !rows.is_empty() {
                    let unit = column.and_then(|c| c.unit.as_deref()).unwrap_or("its unit");
                    let message = format!(
                        "{name} outside {least} to {most} {unit}: it may be in another unit, in {}",
                        plural(rows.len(), "row")
                    );
                    let of = format!("plausible: {name}");
                    let check = TraceCheck::MetricImplausible;
                    self.tell(
                        findings,
                        Told {
                            check,
                            severity: None,
                            of: &of,
                            message,
                            rows,
                            show: &values,
                            grounds: Vec::new(),
                        },
                    );
                }
            }
        }
        for (name, lists) in &self.rows.lists {
            let values = |row: usize| {
                vec![(
                    name.clone(),
                    lists[row].iter().take(8).copied().map(|n| Cell::Number(n).json()).collect(),
                )]
            };
            let mut all =
                lists.iter().enumerate().flat_map(|(row, l)| l.iter().map(move |n| (row, *n)));
            self.ranges(findings, name, Some("s"), &values, &mut all);
        }
    }

    /// Tells values that no measurement gives, whatever was measured.
    fn ranges(
        &self,
        findings: &mut Findings<'_>,
        name: &str,
        unit: Option<&str>,
        show: &dyn Fn(usize) -> Vec<(String, Json)>,
        values: &mut dyn Iterator<Item = (usize, f64)>,
    ) {
        let known = unit.is_some() || self.spec.columns.contains_key(name);
        let mut faults: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
        for (row, n) in values {
            let fault = match n {
                n if !n.is_finite() => "is not finite",
                // A column that nothing is known of may well be a difference.
                n if n < 0.0 && known => "is below zero",
                // Sums of parts end a little above.
                n if unit == Some("%") && n > 100.1 => "is above 100 %",
                _ => continue,
            };
            faults.entry(fault).or_default().insert(row);
        }
        for (fault, rows) in faults {
            let rows: Vec<usize> = rows.into_iter().collect();
            let message = format!("{} {fault} in {}", brief(name), plural(rows.len(), "row"));
            let of = format!("{name} {fault}");
            let check = TraceCheck::MetricInvalid;
            self.tell(
                findings,
                Told { check, severity: None, of: &of, message, rows, show, grounds: Vec::new() },
            );
        }
    }
}
