//! The view of one table: its file, its rows and what is known about its columns.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use crate::base::expr::ExprError;
use crate::base::stats::least_positive;
use crate::checks::inputs::RuleHead;
use crate::checks::series::{AxisSeries, Sweep};
use crate::database::catalog::TableFile;
use crate::database::seal::SealFile;
use crate::database::sidecar::Meta;
use crate::database::state::State;
use crate::database::table::{Column, Keys, ReadsRecord, RowLines, Table, TableFault, TableScope};
use crate::findings::{Example, Finding, Hit, Hits, Severity};
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
    /// The system that the table was measured on; `None` if its YAML cannot be read.
    pub system: Option<&'a System>,
    /// The values that formulas can read: the table's columns, its system, backend and version, and figures of the
    /// system such as `gpu.power`. `None` if the table cannot be read.
    pub scope: Option<&'a TableScope<'a>>,
    /// The keys by which the loader finds the rows; `None` if the table cannot be read or the spec has no key.
    pub keys: Option<&'a Keys<'a>>,
    /// The state of the database that contains the table, such as the base or the head of a change.
    pub state: State<'a>,
    /// The SHA-256 of the table's file in hex. It is computed only if a sidecar states the digest or the spec asks for
    /// a seal; otherwise it is `None`.
    pub digest: Option<&'a str>,
    /// The sidecar of the table's directory; `None` if it is missing or cannot be read.
    pub meta: Option<&'a Meta>,
    /// The seal: a file with the table's row count, digest and place. `None` if the spec asks for no seal.
    pub seal: Option<&'a SealFile>,
    /// How the loader uses the table: whether it adds rows of other files, and whether queries reach the table.
    pub serving: Serving,
    /// Values that several rules derive from the table's rows.
    pub derived: RowCache,
}

/// How the loader uses a table in its lookups.
#[derive(Clone, Copy, Default)]
pub struct Serving {
    /// True if the loader adds rows of other files to this table's rows: of donors or of earlier versions.
    pub is_filled: bool,
    /// True if a query can ask for the table's version.
    pub is_reached: bool,
}

/// Values that several rules derive from a table's rows. Each is computed when a rule first asks for it.
#[derive(Default)]
pub struct RowCache {
    /// True if all rows are known to have different keys. Unset until the table's sketch is made.
    pub has_distinct_keys: OnceCell<bool>,
    /// The series along the axes of the table's sweep.
    series: OnceCell<Vec<AxisSeries>>,
    /// The longest of each row's bounds, in ms; an error if the formula of a bound fails.
    bounds: OnceCell<Result<Vec<f64>, ExprError>>,
    /// The resolution of the table's latencies in ms, such as 0.001 if most latencies are multiples of 0.001. It is 0
    /// if no resolution is found.
    step: OnceCell<f64>,
}

/// A readable table that one rule judges. The context records which columns and facts the rule reads.
pub struct RowContext<'a> {
    at: &'a TableContext<'a>,
    table: &'a Table,
    scope: TableScope<'a>,
    record: &'a ReadsRecord,
    /// The table's file.
    pub file: &'a TableFile,
    /// The table's spec.
    pub spec: &'a TableSpec,
    /// The specs of tables and systems.
    pub specs: &'a Specs,
    /// The number of rows of the table.
    pub count: usize,
    /// The rule that judges the table.
    pub rule: RuleHead<'a>,
}

impl<'a> RowContext<'a> {
    /// Creates the context of a table for a rule; `None` if the table cannot be read. The columns and facts that the
    /// rule reads are written into `record`.
    pub(crate) fn of(
        at: &'a TableContext<'a>,
        rule: RuleHead<'a>,
        record: &'a ReadsRecord,
    ) -> Option<Self> {
        let (table, scope) = (at.table.ok()?, at.scope?.recording(record));
        let TableContext { file, spec, state, .. } = *at;
        let specs = state.specs;
        Some(Self { at, table, scope, record, file, spec, specs, count: table.rows, rule })
    }

    /// Returns the sidecar of the table's directory; `None` if the sidecar is missing or cannot be read.
    pub(crate) fn meta(&self) -> Option<&'a Meta> {
        self.at.meta
    }

    /// Returns the table's seal, a file with its row count, digest and place. `None` if the spec asks for no seal.
    pub(crate) fn seal(&self) -> Option<&'a SealFile> {
        self.at.seal
    }

    /// Returns the SHA-256 of the table's file in hex; `None` if neither a sidecar states the digest nor the spec asks
    /// for a seal.
    pub(crate) fn digest(&self) -> Option<&'a str> {
        self.at.digest
    }

    /// Returns true if the loader adds rows of other files to this table's rows: of donors or of earlier versions.
    pub(crate) fn is_filled(&self) -> bool {
        self.at.serving.is_filled
    }

    /// Returns true if a query can ask for the table's version.
    pub(crate) fn is_reached(&self) -> bool {
        self.at.serving.is_reached
    }

    /// Returns the line number of each row, if the table is a text file.
    pub(crate) fn lines(&self) -> &'a RowLines {
        &self.table.lines
    }

    /// Returns the whole table, and records all of its columns as read.
    pub(crate) fn whole(&self) -> &'a Table {
        self.record.all();
        self.table
    }

    /// Returns a column by its name, and records it as read; `None` if the table does not have the column.
    pub(crate) fn column(&self, name: &str) -> Option<&'a Column> {
        self.record.column(name);
        self.table.column(name)
    }

    /// Returns true if another table of the same name in this state has the column.
    pub(crate) fn is_elsewhere(&self, column: &str) -> bool {
        self.some_other_has(column, |_| true)
    }

    /// Returns true if another table of the same name contains `text` in its column `column`.
    pub(crate) fn is_text_elsewhere(&self, column: &str, text: &str) -> bool {
        let contains = |found: &Column| matches!(found, Column::Text { dict, .. } if dict.iter().any(|t| **t == *text));
        self.some_other_has(column, contains)
    }

    /// Iterates over the first 64 other tables of the same name.
    fn others(&self) -> impl Iterator<Item = &'a TableFile> {
        const LOOKED_AT: usize = 64;
        let own = self.file;
        let is_other = move |f: &&TableFile| f.table == own.table && f.entry.path != own.entry.path;
        self.at.state.catalog.tables.iter().filter(is_other).take(LOOKED_AT)
    }

    /// Returns true if `is_met` is true for the `column` of another table of the same name. Reads at most 64 tables.
    fn some_other_has(&self, column: &str, is_met: impl Fn(&Column) -> bool) -> bool {
        let (state, names) = (self.at.state, BTreeSet::from([column]));
        let has = |table: Table| table.column(column).is_some_and(&is_met);
        self.others().any(|f| state.columns(f, &names).is_ok_and(has))
    }

    /// Returns the smallest latency in ms that other tables of the same name have on this system, and the backend and
    /// version of the table with this latency. Considers only the first 64 tables of the name. `None` if none of them
    /// has a latency.
    pub(crate) fn fastest_of_others(&self) -> Option<(String, f64)> {
        let (measured, _) = self.measured()?;
        let (state, names) = (self.at.state, BTreeSet::from([measured]));
        let fastest = |f: &TableFile| {
            let table = state.columns(f, &names).ok()?;
            let Column::Float { values, .. } = table.column(measured)? else { return None };
            let least = least_positive(values)?;
            Some((format!("{} {}", f.place.backend, f.place.version), least))
        };
        let here = self.others().filter(|f| f.place.system == self.file.place.system);
        here.filter_map(fastest).min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Returns the values that formulas can read: the table's columns, its system, backend and version, and figures of
    /// the system such as `gpu.power`.
    pub(crate) fn scope(&self) -> &TableScope<'a> {
        &self.scope
    }

    /// Returns the keys by which the loader finds the rows; `None` if the spec has no key.
    pub(crate) fn keys(&self) -> Option<&'a Keys<'a>> {
        self.record.loaded(self.spec);
        self.at.keys
    }

    /// Returns true if it is known that all rows have different keys.
    pub(crate) fn has_distinct_keys(&self) -> bool {
        self.record.loaded(self.spec);
        self.at.derived.has_distinct_keys.get() == Some(&true)
    }

    /// Returns the name and values of the table's first measured column; `None` unless all values are numbers.
    pub(crate) fn measured(&self) -> Option<(&'a str, &'a [f64])> {
        let (name, _) = self.spec.measures().next()?;
        let Column::Float { values, .. } = self.column(name)? else { return None };
        Some((name, values))
    }

    /// Returns the series along the axes of the table's sweep; empty for a table without a key or a latency.
    pub(crate) fn series(&self) -> &'a [AxisSeries] {
        let (keys, measured) = (self.keys(), self.measured());
        let taken = || match (keys, measured) {
            (Some(keys), Some((_, latency))) => {
                Sweep::new(keys, self.table, self.spec).series(latency)
            }
            _ => Vec::new(),
        };
        self.at.derived.series.get_or_init(taken)
    }

    /// Returns the resolution of the table's latencies in ms, such as 0.001 if at least 90 % of sampled latencies are
    /// multiples of 0.001. It is a power of ten, or 0 if the latencies have more than 8 decimals.
    pub(crate) fn step(&self) -> f64 {
        const SAMPLE: usize = 256;
        const DECIMALS: i32 = 8;
        let values = self.measured().map_or(&[][..], |(_, values)| values);
        let taken = || {
            let sample = values.iter().step_by(values.len().div_ceil(SAMPLE).max(1));
            let sample: Vec<f64> = sample.copied().filter(|value| *value > 0.0).collect();
            let is_multiple = |value: f64, decimals: i32| {
                let times = value * 10_f64.powi(decimals);
                (times - times.round()).abs() <= 1e-9 * times
            };
            let are_most = |decimals: &i32| {
                let multiples = sample.iter().filter(|value| is_multiple(**value, *decimals));
                10 * multiples.count() >= 9 * sample.len()
            };
            (0..=DECIMALS).find(are_most).map_or(0.0, |decimals| 10_f64.powi(-decimals))
        };
        *self.at.derived.step.get_or_init(taken)
    }

    /// Returns the longest of the table's bounds for each row, as [`TableScope::longest_bounds`] does.
    ///
    /// # Errors
    ///
    /// If a formula of a bound does not fit the table's columns.
    pub(crate) fn longest_bounds(&self) -> Result<&'a [f64], ExprError> {
        self.spec.bounds.iter().for_each(|bound| self.record.formula(&bound.seconds));
        let bounds = self.at.derived.bounds.get_or_init(|| self.scope.longest_bounds());
        bounds.as_deref().map_err(Clone::clone)
    }

    /// Returns the table's system, with its figures, rates and GPU names; `None` if the system is not known.
    pub(crate) fn system(&self) -> Option<&'a System> {
        self.record.system();
        self.at.system
    }

    /// Returns a figure of the table's system by its dotted path, such as `gpu.power`; `None` if the system does not
    /// state it.
    pub(crate) fn figure(&self, path: &str) -> Option<f64> {
        self.system()?.figure(path)
    }

    /// Creates a finding of the rule's own severity on the table.
    pub(crate) fn finding(&self, message: impl Into<String>) -> Finding {
        self.finding_as(self.rule.severity, message)
    }

    /// Creates a finding on the table with the given severity instead of the rule's.
    pub(crate) fn finding_as(&self, severity: Severity, message: impl Into<String>) -> Finding {
        Finding::on_table(self.rule.id, severity, self.file, message)
    }

    /// Creates one hit on `rows`; empty without rows. `message` returns the text for the given rows. The hit's examples
    /// show the values in `columns`.
    pub(crate) fn hit<'v>(
        &'v self,
        severity: Severity,
        rows: impl IntoIterator<Item = usize>,
        columns: impl Into<Vec<&'v str>>,
        message: impl Fn(&[usize]) -> String + 'v,
    ) -> Hits<'v> {
        let columns = columns.into();
        let hit = Hit::rows(self.file, rows, severity, move |part| {
            let finding = self.finding_as(severity, message(part.rows)).rows(part.rows.len());
            Some(finding.examples(self.examples(part.shown(), &columns)))
        });
        hit.into_iter().collect()
    }

    /// Creates a warning about something that this program does not know, such as a new column. `says` is the first
    /// part of the message, such as `the dtype fp3 is`; "not known to perfdb-gate" follows. `what` names the unknown
    /// thing in the same words for every file, so that the warnings of several files can be merged.
    pub(crate) fn novelty(&self, what: &str, says: &str) -> Finding {
        let message = format!("{says} {}", self.specs.shipped.not_known());
        self.finding_as(self.rule.severity.at_most(Severity::Warning), message).unknown(what)
    }

    /// Returns an example for each of the `rows`, with the row's key and its values in `columns`.
    pub(crate) fn examples(&self, rows: &[usize], columns: &[&str]) -> Vec<Example> {
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
