//! Findings: a defect, its place, its severity, and the rows that show it.
//!
//! In reading order:
//!
//! - `hit`: Hits: the matches of a rule in one state of a database, before states are compared.
//! - `severity`: The severity of a finding, and the confidence in the findings of a rule.
//! - `sink`: The only place that waives, sorts and counts findings.
//! - `states`: The novelty of findings, and the changes to a table's rows in a pull request.
//! - `evidence`: The figures behind a finding's message.
//! - `locate`: The real files and lines of findings.
//! - `settle`: Decides which findings on rows are new in a pull request.
//! - `known`: The findings of two states, compared: which the base already has, and which the head has repaired.
//! - `unknown`: Findings that several files have in the same words, merged into one info.
//! - `waiver`: Waivers: findings that a maintainer has accepted until a date.
//! - `waiver_entry`: Adds a waiver to the text of a file of waivers, which keeps its comments and order.
//! - `exceptions`: Exceptions that the owners of a database have signed.
//! - `baseline`: Baselines: findings frozen in a file, so that a gate can be enabled on a database that already has
//!   findings.

pub mod baseline;
mod evidence;
pub mod exceptions;
mod hit;
mod known;
mod locate;
mod settle;
mod severity;
mod sink;
mod states;
mod unknown;
pub mod waiver;
pub(crate) mod waiver_entry;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use sha2::{Digest, Sha256};

pub use self::evidence::{Evidence, Explained, Explanation, ModelReach, SliceEvidence};
pub use self::hit::{Hit, HitPart, Hits, RowHit, wholes};
pub use self::known::Repaired;
pub use self::known::{BaseFindings, Successor};
pub use self::locate::{SOURCE_FILE, assembled_row, locate, number_lines};
pub use self::settle::excused_errors;
pub use self::severity::{Confidence, Severity};
pub use self::sink::{Counts, Sink};
pub use self::states::Novelty;
pub(crate) use self::states::{ComparedRows, NewFacts, RowChange, RowStates};
pub(crate) use self::unknown::{inherit_unknown, unknown_of};
use crate::base::{digest::hex, escape::quoted};
use crate::database::catalog::{Place, TableFile};
pub use crate::database::table::{EXAMPLES, Example};

/// The git revisions of the two states of a database that are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparedStates {
    /// Commit of the base state.
    pub base: String,
    /// Commit of the head. If nothing is compared, the commit of the only state. `None` for files on disk.
    pub head: Option<String>,
    /// The root folder, the base (if there is one) and the head as a text for people, each commit with its date.
    pub description: String,
}

impl Default for ComparedStates {
    /// The default revisions: `origin/HEAD` as base and `HEAD` as head.
    fn default() -> Self {
        Self { base: "origin/HEAD".into(), head: Some("HEAD".into()), description: String::new() }
    }
}

impl ComparedStates {
    /// The option `flag` followed by the head's commit, as a part of a command line. Empty for files on disk.
    fn head(&self, flag: &str) -> String {
        self.head.as_ref().map(|head| format!(" {flag} {}", quoted(head))).unwrap_or_default()
    }
}

/// The kind of data that a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Domain {
    /// A performance database.
    Database,
    /// End-to-end traces: workload cards, experiment configs and metric files.
    Traces,
    /// A change between two states of a database.
    Change,
}

/// A rule's result on one table, file or directory, with a count of rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Id of the rule.
    pub rule: String,
    /// Severity of the finding.
    pub severity: Severity,
    /// Path of the affected file or directory.
    pub path: String,
    /// Place of the affected table or version directory in the database; `None` for a finding on anything else.
    pub place: Option<Place>,
    /// File stem of the affected table; `None` if the finding is not on a table.
    pub table: Option<String>,
    /// The affected slice, by column; empty for the whole table.
    pub slice: BTreeMap<String, Value>,
    /// Number of rows that this finding reports. In a comparison with a base, new rows and old rows are reported by
    /// separate findings.
    pub rows: u64,
    /// Number of affected rows in the table, new and old ones together. `None` if the finding is not on individual
    /// rows.
    pub all_rows: Option<u64>,
    /// Row numbers of the affected rows, from 0. They show whether a finding of the base still exists in the head.
    pub named_rows: Vec<u32>,
    /// Names of what the finding affects, such as columns or models. In a pull request, the finding is new if the
    /// base's finding lacks one of these names.
    pub parts: BTreeSet<String>,
    /// Message, one sentence.
    pub message: String,
    /// Values that support the message, such as counts and ratios.
    pub evidence: Evidence,
    /// Up to [`EXAMPLES`] example rows.
    pub examples: Vec<Example>,
    /// Name of the person who waived the finding.
    pub waived_by: Option<String>,
    /// Whether the finding is new in comparison with the baseline or the base.
    pub novelty: Novelty,
    /// The kind of data that the finding is about.
    pub domain: Domain,
}

impl Finding {
    /// Creates a finding on a file that is not a table.
    pub fn on_path(rule: &str, severity: Severity, path: &str, message: impl Into<String>) -> Self {
        Self {
            rule: rule.to_owned(),
            severity,
            path: path.to_owned(),
            place: None,
            table: None,
            slice: BTreeMap::new(),
            rows: 0,
            all_rows: None,
            named_rows: Vec::new(),
            parts: BTreeSet::new(),
            message: message.into(),
            evidence: Evidence::default(),
            examples: Vec::new(),
            waived_by: None,
            novelty: Novelty::Unjudged,
            domain: Domain::Database,
        }
    }

    /// Creates a finding on a table.
    pub(crate) fn on_table(
        rule: &str,
        severity: Severity,
        file: &TableFile,
        message: impl Into<String>,
    ) -> Self {
        Self {
            place: Some(file.place.clone()),
            table: Some(file.table.clone()),
            ..Self::on_path(rule, severity, &file.entry.path, message)
        }
    }

    /// Sets the finding's place in the database.
    pub fn at(mut self, place: &Place) -> Self {
        self.place = Some(place.clone());
        self
    }

    /// Sets the number of affected rows.
    pub fn rows(mut self, rows: usize) -> Self {
        self.rows = rows as u64;
        self
    }

    /// Sets which rows are affected, by row number.
    pub fn naming(mut self, rows: impl IntoIterator<Item = usize>) -> Self {
        self.named_rows = rows.into_iter().map(|row| row as u32).collect();
        self
    }

    /// Adds names of what the finding affects, such as columns or models.
    pub fn parts(mut self, parts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.parts.extend(parts.into_iter().map(Into::into));
        self
    }

    /// Adds a named value to the finding's evidence.
    pub fn evidence(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.evidence.insert(name.to_owned(), value.into());
        self
    }

    /// Sets the table that the finding's table copies.
    pub(crate) fn copy_of(mut self, other: &TableFile) -> Self {
        self.evidence.other = Some(other.entry.path.clone());
        self
    }

    /// Adds affected slices.
    pub fn slices(mut self, slices: impl IntoIterator<Item = SliceEvidence>) -> Self {
        self.evidence.slices.extend(slices);
        self
    }

    /// Adds numbers of missing keys, each with the reason why the keys are missing.
    pub(crate) fn explained(mut self, explained: impl IntoIterator<Item = Explained>) -> Self {
        self.evidence.explained.extend(explained);
        self
    }

    /// Sets the line of the finding in a text file, from 1. The line 0 counts as `None`.
    pub(crate) fn at_line(mut self, line: Option<u64>) -> Self {
        self.evidence.line = line.filter(|line| *line > 0);
        self
    }

    /// Marks the finding as one about the change between two states. Such a finding is always new.
    pub(crate) fn about_change(mut self) -> Self {
        self.domain = Domain::Change;
        self.novelty = Novelty::New;
        self
    }

    /// Marks the finding as found in traces.
    pub(crate) fn about_traces(mut self) -> Self {
        self.domain = Domain::Traces;
        self
    }

    /// Line in a text file, from 1; `None` for a Parquet table.
    pub fn line(&self) -> Option<u64> {
        self.evidence.line.or_else(|| self.examples.first()?.line)
    }

    /// Sets the example rows.
    pub fn examples(mut self, examples: Vec<Example>) -> Self {
        self.examples = examples;
        self
    }

    /// A hash that identifies the same defect in later runs. It does not depend on row counts, the message, or the
    /// layout of the database.
    pub fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        let mut part = |text: &str| {
            hash.update(text.as_bytes());
            hash.update([0]);
        };
        part(&self.rule);
        match (&self.place, &self.table) {
            (Some(place), Some(table)) => {
                for text in [&place.system, &place.backend, &place.version, table] {
                    part(text);
                }
            }
            _ => part(&self.path),
        }
        for (name, value) in &self.slice {
            part(name);
            part(&value.to_string());
        }
        hex(&hash.finalize()[..8])
    }

    /// Returns the command that reproduces the finding in a checkout. The command names the commits in `states`.
    pub(crate) fn command(&self, states: &ComparedStates) -> String {
        let what = match self.domain {
            Domain::Database => "--root",
            Domain::Traces => "--traces",
            Domain::Change => {
                let sides = format!("--base-ref {}{}", states.base, states.head("--head-ref"));
                return format!("perfdb-gate sanity --root . {sides} --only {}", self.rule);
            }
        };
        let mut words = vec![format!("perfdb-gate validate {what} .{}", states.head("--ref"))];
        let mut choose = |flag: &str, name: &str| words.push(format!("{flag} {}", quoted(name)));
        if let Some(place) = &self.place {
            choose("--system", &place.system);
            choose("--backend", &place.backend);
            choose("--version", &place.version);
        }
        if let Some(table) = &self.table {
            choose("--table", table);
        }
        choose("--only", &self.rule);
        words.join(" ")
    }

    /// The command that plots the finding's table and marks the finding's rows. If `is_compared` is true, the plot also
    /// shows the table of the base. `None` if the finding is not on a table with a place.
    pub(crate) fn explore_command(
        &self,
        states: &ComparedStates,
        is_compared: bool,
    ) -> Option<String> {
        let (place, table) = (self.place.as_ref()?, self.table.as_ref()?);
        let mut command = format!("perfdb-gate explore --root .{}", states.head("--ref"));
        if is_compared {
            command += &format!(" --base-ref {}", quoted(&states.base));
        }
        let names = [
            ("--system", &place.system),
            ("--backend", &place.backend),
            ("--version", &place.version),
            ("--table", table),
        ];
        names.iter().for_each(|(flag, name)| command += &format!(" {flag} {}", quoted(name)));
        Some(command)
    }

    /// Returns true if the finding is new: it was compared, and neither the base nor the baseline has it.
    pub fn is_new(&self) -> bool {
        self.novelty == Novelty::New
    }

    /// Returns true if the finding is an error.
    pub(crate) fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Returns true if the finding is not waived, and is new or was not compared.
    pub(crate) fn counts(&self) -> bool {
        self.waived_by.is_none() && self.novelty.as_new() != Some(false)
    }

    /// Returns true if the finding is not waived, and the base or the baseline has it.
    pub(crate) fn is_old(&self) -> bool {
        self.waived_by.is_none() && self.novelty.as_new() == Some(false)
    }

    /// Sort key of reports: path, severity, rule, slice.
    pub(crate) fn order(&self) -> (&str, Severity, &str, String) {
        let slice = serde_json::to_string(&self.slice).unwrap_or_default();
        (&self.path, self.severity, &self.rule, slice)
    }
}
