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
    /// The table's columns, place and system figures, which formulas read; `None` if the table cannot be read.
    pub scope: Option<&'a TableScope<'a>>,
    /// The loader's keys of the rows; `None` if the table has no rows or the spec has no key.
    pub keys: Option<&'a Keys<'a>>,
    /// The state that has the table.
    pub state: State<'a>,
    /// The file's SHA-256 in hex; `None` unless a sidecar or seal states one.
    pub digest: Option<&'a str>,
    /// The sidecar of the table's directory; `None` if it is missing or cannot be read.
    pub meta: Option<&'a Meta>,
    /// The file that seals the table; `None` if the spec names none.
    pub seal: Option<&'a SealFile>,
    /// The role of the table in the loader's lookups.
    pub serving: Serving,
    /// Values that several rules derive from the table's rows.
    pub derived: RowCache,
}

/// The role of a table in the loader's lookups.
#[derive(Clone, Copy, Default)]
pub struct Serving {
    /// True if the loader reads other files for the table, too: donors or earlier versions.
    pub is_filled: bool,
    /// True if a query can ask for the table's version.
    pub is_reached: bool,
}

/// Values that several rules derive from a table's rows. Each is computed when a rule first asks for it.
#[derive(Default)]
pub struct RowCache {
    /// True if no two rows have the same key, false if that is not known; unset until the table is sketched.
    pub has_distinct_keys: OnceCell<bool>,
    /// The series along the axes of the table's sweep.
    series: OnceCell<Vec<AxisSeries>>,
    /// The longest bound of each row.
    bounds: OnceCell<Result<Vec<f64>, ExprError>>,
    /// The power of ten in ms of which most latencies are multiples; 0 if there is none.
    step: OnceCell<f64>,
}

/// A readable table under judgement by a rule. It records what the rule reads.
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
    /// The number of rows.
    pub count: usize,
    /// The rule that judges.
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

    /// Returns the sidecar of the table's directory; `None` if it is missing or cannot be read.
    pub(crate) fn meta(&self) -> Option<&'a Meta> {
        self.at.meta
    }

    /// Returns the file that seals the table; `None` if the spec names none.
    pub(crate) fn seal(&self) -> Option<&'a SealFile> {
        self.at.seal
    }

    /// Returns the file's SHA-256 in hex; `None` unless a sidecar or seal states one.
    pub(crate) fn digest(&self) -> Option<&'a str> {
        self.at.digest
    }

    /// Returns true if the loader reads other files for the table, too: donors or earlier versions.
    pub(crate) fn is_filled(&self) -> bool {
        self.at.serving.is_filled
    }

    /// Returns true if a query can ask for the table's version.
    pub(crate) fn is_reached(&self) -> bool {
        self.at.serving.is_reached
    }

    /// The line of each row in a text file.
    pub(crate) fn lines(&self) -> &'a RowLines {
        &self.table.lines
    }

    /// The table with all of its columns, which are recorded as read.
    pub(crate) fn whole(&self) -> &'a Table {
        self.record.all();
        self.table
    }

    /// A column by its name, which is recorded as read; `None` if the table does not have it.
    pub(crate) fn column(&self, name: &str) -> Option<&'a Column> {
        self.record.column(name);
        self.table.column(name)
    }

    /// Returns true if another table of the same name in this state has the column.
    pub(crate) fn is_elsewhere(&self, column: &str) -> bool {
        self.some_other_has(column, |_| true)
    }

    /// Returns true if a text column of another table of this name contains a text.
    pub(crate) fn is_text_elsewhere(&self, column: &str, text: &str) -> bool {
        let contains = |found: &Column| matches!(found, Column::Text { dict, .. } if dict.iter().any(|t| **t == *text));
        self.some_other_has(column, contains)
    }

    /// Iterates over other tables of the same name, at most 64.
    fn others(&self) -> impl Iterator<Item = &'a TableFile> {
        const LOOKED_AT: usize = 64;
        let own = self.file;
        let is_other = move |f: &&TableFile| f.table == own.table && f.entry.path != own.entry.path;
        self.at.state.catalog.tables.iter().filter(is_other).take(LOOKED_AT)
    }

    /// Returns true if one of these other tables has a column for which `is_met` is true.
    fn some_other_has(&self, column: &str, is_met: impl Fn(&Column) -> bool) -> bool {
        let (state, names) = (self.at.state, BTreeSet::from([column]));
        let has = |table: Table| table.column(column).is_some_and(&is_met);
        self.others().any(|f| state.columns(f, &names).is_ok_and(has))
    }

    /// The smallest latency in ms of other tables of this name on this system, with the backend and version of its
    /// table. Only the first 64 tables are compared; `None` if there is none.
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

    /// The table's columns, place and system figures, which formulas read.
    pub(crate) fn scope(&self) -> &TableScope<'a> {
        &self.scope
    }

    /// Returns the loader's keys of the rows; `None` if the table has no rows or the spec has no key.
    pub(crate) fn keys(&self) -> Option<&'a Keys<'a>> {
        self.record.loaded(self.spec);
        self.at.keys
    }

    /// Returns true if no two rows are known to have the same key.
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

    /// Returns the series along the axes of the table's sweep: none for a table without a key or a latency.
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

    /// The resolution of the table's latencies: the power of ten in ms of which at least 90 % of a sample are
    /// multiples, because a timer counts or a writer rounds. 0 if even 1e-8 ms is too coarse.
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

    /// The table's system, with its figures, its rates and the names that its GPU reports; `None` if it is not known.
    pub(crate) fn system(&self) -> Option<&'a System> {
        self.record.system();
        self.at.system
    }

    /// A figure of the table's system by dotted path; `None` if it is not stated.
    pub(crate) fn figure(&self, path: &str) -> Option<f64> {
        self.system()?.figure(path)
    }

    /// Creates a finding of the rule's own severity on the table.
    pub(crate) fn finding(&self, message: impl Into<String>) -> Finding {
        self.finding_as(self.rule.severity, message)
    }

    /// Creates a finding of another severity on the table.
    pub(crate) fn finding_as(&self, severity: Severity, message: impl Into<String>) -> Finding {
        Finding::on_table(self.rule.id, severity, self.file, message)
    }

    /// Creates a hit on rows that `message` describes; its examples show `columns`. Empty without rows.
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

    /// Creates a warning on something that this program does not know, to be merged over files. `what` names it in
    /// the same words in every file. `says` is a sentence that ends with "is", which this function completes.
    pub(crate) fn novelty(&self, what: &str, says: &str) -> Finding {
        let message = format!("{says} {}", self.specs.shipped.not_known());
        self.finding_as(self.rule.severity.at_most(Severity::Warning), message).unknown(what)
    }

    /// The examples of a finding: rows with their keys and the values of `columns`.
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
