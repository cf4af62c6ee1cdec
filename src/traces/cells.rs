//! Checks each cell of a metric file by itself.

use std::collections::{BTreeMap, BTreeSet};

use super::metrics::{Metrics, RowFinding, RowValues};
use super::names::is_blank;
use super::{Findings, TraceCell, TraceFieldType, brief};
use crate::base::words::{plural, plural_verb};
use crate::checks::kinds::traces::TraceCheck;
use crate::findings::Severity;

impl Metrics<'_, '_> {
    /// Reports cells that are wrong regardless of other cells: texts in columns of numbers, NaN, infinite numbers,
    /// negative numbers, percentages above 100 %, and numbers that are implausible for their unit.
    pub(super) fn cells(&self, findings: &mut Findings<'_>) {
        self.texts(findings, true);
        self.texts(findings, false);
        for (name, cells) in &self.rows.cells {
            if self.spec.columns.get(name).is_none_or(|c| c.kind != TraceFieldType::Text) {
                self.numbers(findings, name, cells);
            }
        }
        for (name, lists) in &self.rows.lists {
            self.lists(findings, name, lists);
        }
    }

    /// Reports texts in columns of numbers. If `blank` is true, reports only texts that mean "not measured", such as
    /// `n/a`. If `blank` is false, reports only the other texts.
    fn texts(&self, findings: &mut Findings<'_>, blank: bool) {
        let (of, severity, what) = if blank {
            let what = "instead of null or an empty cell for what was not measured";
            ("unmeasured", Severity::Warning, what)
        } else {
            ("text", Severity::Error, "instead of a number")
        };
        let all = self.rows.texts.iter();
        let texts: Vec<_> = all.filter(|(_, _, text)| is_blank(text) == blank).collect();
        let Some((column, _, text)) = texts.first() else { return };
        let cells = plural_verb(texts.len(), "cell", ["contains", "contain"]);
        let message =
            format!("{cells} text {what}, for example '{}' in {}", brief(text), brief(column));
        let rows: BTreeSet<usize> = texts.iter().map(|(_, row, _)| *row).collect();
        let values = |row: usize| {
            let in_row = texts.iter().filter(|(_, r, _)| *r == row);
            in_row.map(|(column, _, text)| (column.clone(), brief(text).into())).collect()
        };
        let finding = RowFinding::new(TraceCheck::MetricInvalid, of, message, rows, &values);
        self.add(findings, RowFinding { severity: Some(severity), ..finding });
    }

    /// Reports wrong numbers in a column: NaN, infinite, negative and implausible numbers, and percentages above 100 %.
    fn numbers(&self, findings: &mut Findings<'_>, name: &str, cells: &[TraceCell]) {
        let column = self.spec.columns.get(name);
        let own_unit = column.and_then(|c| c.unit.as_deref());
        let stated_unit = self.rows.units.get(name).map(|(unit, _)| unit.as_str());
        let values = |row: usize| vec![(name.to_owned(), cells[row].json())];
        let mut numbers = (0..self.rows.rows).filter_map(|row| Some((row, cells[row].number()?)));
        self.ranges(findings, name, stated_unit.or(own_unit), &values, &mut numbers);
        if let Some(plausible) = column.and_then(|c| c.plausible) {
            self.plausible(findings, name, own_unit, plausible, &values);
        }
    }

    /// Reports values outside the plausible range from `least` to `most`, which the column's spec states in the unit
    /// `unit`.
    fn plausible(
        &self,
        findings: &mut Findings<'_>,
        name: &str,
        unit: Option<&str>,
        (least, most): (f64, f64),
        values: &RowValues<'_>,
    ) {
        let odd = |row: &usize| {
            let scaled = self.frame.cell(name, *row).number();
            scaled.is_some_and(|n| n != 0.0 && !(least..=most).contains(&n))
        };
        let rows: Vec<usize> = (0..self.rows.rows).filter(odd).collect();
        if rows.is_empty() {
            return;
        }
        let message = format!(
            "{name} is outside {least} to {most} {} in {}: it may be in another unit",
            unit.unwrap_or("of its unit"),
            plural(rows.len(), "row")
        );
        let of = format!("plausible: {name}");
        let check = TraceCheck::MetricImplausible;
        self.add(findings, RowFinding::new(check, &of, message, rows, values));
    }

    /// Reports NaN, infinite and negative numbers in a column whose cells are lists of times in seconds.
    fn lists(&self, findings: &mut Findings<'_>, name: &str, lists: &[Vec<f64>]) {
        /// The maximum number of values of one list that an example shows.
        const SHOWN: usize = 8;
        let values = |row: usize| {
            let first = lists[row].iter().take(SHOWN).map(|n| TraceCell::Number(*n).json());
            vec![(name.to_owned(), first.collect())]
        };
        let rows = lists.iter().enumerate();
        let mut numbers = rows.flat_map(|(row, list)| list.iter().map(move |n| (row, *n)));
        self.ranges(findings, name, Some("s"), &values, &mut numbers);
    }

    /// Reports NaN, infinite numbers, negative numbers, and percentages above 100 %.
    fn ranges(
        &self,
        findings: &mut Findings<'_>,
        name: &str,
        unit: Option<&str>,
        values: &RowValues<'_>,
        numbers: &mut dyn Iterator<Item = (usize, f64)>,
    ) {
        let known = unit.is_some() || self.spec.columns.contains_key(name);
        let mut faults: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
        for (row, n) in numbers {
            let fault = match n {
                n if !n.is_finite() => "is not finite",
                // A column without a unit or a spec may contain differences, which can be negative.
                n if n < 0.0 && known => "is below zero",
                // A sum of rounded shares can exceed 100 % slightly.
                n if unit == Some("%") && n > 100.1 => "is above 100 %",
                _ => continue,
            };
            faults.entry(fault).or_default().insert(row);
        }
        for (fault, rows) in faults {
            let message = format!("{} {fault} in {}", brief(name), plural(rows.len(), "row"));
            let of = format!("{name} {fault}");
            let check = TraceCheck::MetricInvalid;
            self.add(findings, RowFinding::new(check, &of, message, rows, values));
        }
    }
}
