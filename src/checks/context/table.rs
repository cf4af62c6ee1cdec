//! The view of one table: its file, its rows and what is known about its columns.

use std::cell::OnceCell;

use crate::base::expr::ExprError;
use crate::checks::rule_head::RuleHead;
use crate::checks::series::{AxisSeries, Sweep};
use crate::database::catalog::TableFile;
use crate::database::seal::SealFile;
use crate::database::sidecar::Meta;
use crate::database::table::{Column, Keys, Table, TableFault, TableScope};
use crate::findings::{Example, Finding, Reads, Severity};
use crate::specs::system::System;
use crate::specs::{Specs, TableSpec};

/// A table under judgement.
pub struct TableContext<'a> {
    /// The table's file.
    pub file: &'a TableFile,
    /// The table's spec.
    pub spec: &'a TableSpec,
    /// The table's rows, or the reason why they cannot be read.
    pub table: Result<&'a Table, &'a TableFault>,
    /// The machine that the table was measured on.
    pub system: Option<&'a System>,
    /// The table as formulas see it; `None` if the table cannot be read.
    pub scope: Option<&'a TableScope<'a>>,
    /// The loader's keys of the rows; `None` if the table has no rows or the spec has no key.
    pub keys: Option<&'a Keys<'a>>,
    /// The specs of tables and systems.
    pub specs: &'a Specs,
    /// The file's SHA-256 in hex; `None` unless a sidecar or seal states one.
    pub digest: Option<&'a str>,
    /// The sidecar of the table's directory; `None` if it is missing or cannot be read.
    pub meta: Option<&'a Meta>,
    /// The file that seals the table; `None` if the spec names none.
    pub seal: Option<&'a SealFile>,
    /// Values that several rules derive from the table's rows.
    pub derived: Derived,
}

/// Values that several rules derive from a table's rows. Each is computed when a rule first asks for it.
#[derive(Default)]
pub struct Derived {
    /// True if no two rows have the same key; unset while that is not known.
    pub has_distinct_keys: OnceCell<bool>,
    /// The series along the axes of the table's sweep.
    series: OnceCell<Vec<AxisSeries>>,
    /// The longest bound of each row.
    bounds: OnceCell<Result<Vec<f64>, ExprError>>,
    /// The smallest difference between two latencies.
    step: OnceCell<f64>,
}

/// A readable table under judgement by a rule.
pub struct RowContext<'a> {
    /// The table's file and surroundings.
    pub at: &'a TableContext<'a>,
    /// The table's rows.
    pub table: &'a Table,
    /// The table as formulas see it: its columns, its place and its system's figures.
    pub scope: &'a TableScope<'a>,
    /// The rule that judges.
    pub rule: RuleHead<'a>,
    /// The columns and figures that the rule reads.
    pub reads: Reads,
}

impl<'a> RowContext<'a> {
    /// Creates the view of a table for a rule that reads `reads`; `None` if the table cannot be read.
    pub fn of(at: &'a TableContext<'a>, rule: RuleHead<'a>, reads: Reads) -> Option<Self> {
        Some(Self { at, table: at.table.ok()?, scope: at.scope?, rule, reads })
    }

    /// Returns the name and values of the table's first measured column; `None` unless all values are numbers.
    pub fn measured(&self) -> Option<(&'a str, &'a [f64])> {
        let (name, _) = self.at.spec.measures().next()?;
        let Column::Float { values, .. } = self.table.column(name)? else { return None };
        Some((name, values))
    }

    /// Returns the series along the axes of the table's sweep: none for a table without a key or a latency.
    pub fn series(&self) -> &'a [AxisSeries] {
        let taken = || match (self.at.keys, self.measured()) {
            (Some(keys), Some((_, latency))) => {
                Sweep::new(keys, self.table, self.at.spec).series(latency)
            }
            _ => Vec::new(),
        };
        self.at.derived.series.get_or_init(taken)
    }

    /// Returns the smallest difference between two latencies of the table, in ms: what its timer and its writer can tell
    /// apart. Of a large table a sample of the latencies is compared. 0 without a latency.
    pub fn step(&self) -> f64 {
        const SAMPLE: usize = 4096;
        let taken = || {
            let values = self.measured().map_or(&[][..], |(_, values)| values);
            let sample = values.iter().step_by(values.len().div_ceil(SAMPLE).max(1));
            let mut sample: Vec<f64> = sample.copied().filter(|v| *v > 0.0).collect();
            sample.sort_by(f64::total_cmp);
            let steps = sample.array_windows().map(|[a, b]| (b - a, *b));
            // One decimal number, as two sums leave it, is no step.
            let steps = steps.filter(|(step, value)| *step > 1e-9 * value);
            steps.map(|(step, _)| step).min_by(f64::total_cmp).unwrap_or(0.0)
        };
        *self.at.derived.step.get_or_init(taken)
    }

    /// Returns the longest of the table's bounds for each row, as [`TableScope::longest_bounds`] does.
    ///
    /// # Errors
    ///
    /// If a formula of a bound does not fit the table's columns.
    pub fn longest_bounds(&self) -> Result<&'a [f64], ExprError> {
        let bounds = self.at.derived.bounds.get_or_init(|| self.scope.longest_bounds());
        bounds.as_deref().map_err(Clone::clone)
    }

    /// Returns the table's system. The rule must declare that it reads rates.
    pub fn system(&self) -> Option<&'a System> {
        debug_assert!(self.reads.reads_rates(), "{} does not say so", self.rule.id);
        self.at.system
    }

    /// Returns the table's system and globs of the names that its GPU reports. The rule must declare that it reads them.
    pub fn devices(&self) -> Option<(&'a System, &'a [String])> {
        debug_assert!(self.reads.reads_devices(), "{} does not say so", self.rule.id);
        self.at.system.map(|system| (system, &system.devices[..]))
    }

    /// Returns a figure of the table's system. The rule must declare that it reads the figure.
    pub fn figure(&self, path: &str) -> Option<f64> {
        debug_assert!(self.reads.reads_figure(path), "{} does not say so", self.rule.id);
        self.at.system?.figure(path)
    }

    /// Returns a finding of the rule's own severity.
    pub fn finding(&self, message: impl Into<String>) -> Finding {
        self.finding_as(self.rule.severity, message)
    }

    /// Returns a finding of another severity.
    pub fn finding_as(&self, severity: Severity, message: impl Into<String>) -> Finding {
        Finding::on_table(self.rule.id, severity, self.at.file, message)
    }

    /// Returns rows with their keys and the values of some columns, for people.
    pub fn examples(&self, rows: &[usize], columns: &[&str]) -> Vec<Example> {
        rows.iter().map(|row| self.example(*row, columns)).collect()
    }

    fn example(&self, row: usize, columns: &[&str]) -> Example {
        let value = |c: &&str| Some(((*c).to_owned(), self.table.column(c)?.json(row)));
        Example {
            row: row as u64,
            line: self.table.lines.line(row),
            key: self.at.keys.map(|k| k.show(row)).unwrap_or_default(),
            values: columns.iter().filter_map(value).collect(),
        }
    }
}
