//! Findings: what is wrong, where, how bad, and by which rows it shows.

pub mod baseline;
mod evidence;
mod hit;
mod known;
mod reads;
mod settle;
mod sink;
mod states;
pub mod waiver;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

pub use self::evidence::{Evidence, Explained, Explanation, ModelReach, SliceEvidence};
pub use self::hit::{Hit, Hits, Part, RowHit, wholes};
pub use self::known::Repaired;
pub(crate) use self::known::{BaseFindings, Successor};
pub use self::reads::Reads;
pub use self::sink::{Counts, Sink};
pub use self::states::Novelty;
pub(crate) use self::states::{ComparedRows, NewFacts, RowChange, RowStates};
use crate::base::digest::hex;
use crate::database::catalog::{Place, TableFile};
pub use crate::database::table::{EXAMPLES, Example};

/// How bad a finding is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A defect that a maintainer would fix.
    Error,
    /// Something to look at.
    Warning,
    /// Something to know.
    Info,
}

impl Severity {
    /// This severity, or `most` where that is less bad: what a rule calls an info stays one.
    pub fn at_most(self, most: Self) -> Self {
        self.max(most)
    }

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

/// The states that a finding was found in, as a command names them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparedStates {
    /// Before: a commit.
    pub base: String,
    /// After, or the only state: a commit, or none of files on disk.
    pub head: Option<String>,
}

impl Default for ComparedStates {
    /// What a checkout holds.
    fn default() -> Self {
        Self { base: "origin/HEAD".into(), head: Some("HEAD".into()) }
    }
}

impl ComparedStates {
    /// The flag that names the head; nothing for files on disk.
    fn head(&self, flag: &str) -> String {
        self.head.as_ref().map(|head| format!(" {flag} {}", quoted(head))).unwrap_or_default()
    }
}

/// What a finding was found in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Domain {
    /// A perf database.
    Database,
    /// Traces: cards, configs, metric files.
    Traces,
    /// Two states of a database, compared.
    Change,
}

/// Something a rule found: one a rule and table, with a count.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Rule id.
    pub rule: String,
    /// How bad.
    pub severity: Severity,
    /// File or directory concerned.
    pub path: String,
    /// The place, as far as there is one.
    pub place: Option<Place>,
    /// Table, where one is concerned.
    pub table: Option<String>,
    /// The slice concerned, by column; empty for the whole table.
    pub slice: BTreeMap<String, Value>,
    /// Rows concerned.
    pub rows: u64,
    /// Where each row is reported: all of them, new ones and others. None of a
    /// finding on a file as a whole, whose count says nothing of its growth.
    pub all_rows: Option<u64>,
    /// Those rows, where a finding of a base is recognised by them.
    pub named_rows: Vec<u32>,
    /// What a finding is made of, other than rows: columns, donors, slices. In a pull
    /// request it is new where one of them was not there before.
    pub parts: BTreeSet<String>,
    /// One sentence.
    pub message: String,
    /// Figures behind the sentence.
    pub evidence: Evidence,
    /// Up to [`EXAMPLES`] rows.
    pub examples: Vec<Example>,
    /// Who waived it.
    pub waived_by: Option<String>,
    /// Whether it is new against a baseline or a base.
    pub novelty: Novelty,
    /// What it was found in.
    pub domain: Domain,
}

impl Finding {
    /// A finding on a file that is not a table.
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

    /// A finding on a table.
    pub fn on_table(
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

    /// Says which place it is about.
    pub fn at(mut self, place: &Place) -> Self {
        self.place = Some(place.clone());
        self
    }

    /// Counts the rows concerned.
    pub fn rows(mut self, rows: usize) -> Self {
        self.rows = rows as u64;
        self
    }

    /// Names the rows concerned.
    pub fn naming(mut self, rows: impl IntoIterator<Item = usize>) -> Self {
        self.named_rows = rows.into_iter().map(|row| row as u32).collect();
        self
    }

    /// Names what it is made of.
    pub fn parts(mut self, parts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.parts.extend(parts.into_iter().map(Into::into));
        self
    }

    /// Adds a figure behind the sentence.
    pub fn evidence(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.evidence.insert(name.to_owned(), value.into());
        self
    }

    /// Names the table that its own is a copy of.
    pub fn copy_of(mut self, other: &TableFile) -> Self {
        self.evidence.other = Some(other.entry.path.clone());
        self
    }

    /// Adds the slices concerned.
    pub fn slices(mut self, slices: impl IntoIterator<Item = SliceEvidence>) -> Self {
        self.evidence.slices.extend(slices);
        self
    }

    /// Adds missing keys that something explains.
    pub fn explained(mut self, explained: impl IntoIterator<Item = Explained>) -> Self {
        self.evidence.explained.extend(explained);
        self
    }

    /// Says where in a text file it is.
    pub fn at_line(mut self, line: Option<u64>) -> Self {
        self.evidence.line = line.filter(|line| *line > 0);
        self
    }

    /// Says that it is about what a pull request does, so that it was not there before.
    pub fn of_change(mut self) -> Self {
        self.domain = Domain::Change;
        self.novelty = Novelty::New;
        self
    }

    /// Says that it was found in traces.
    pub fn of_traces(mut self) -> Self {
        self.domain = Domain::Traces;
        self
    }

    /// Where in a text file it is; a table has no lines.
    pub fn line(&self) -> Option<u64> {
        self.evidence.line
    }

    /// Shows rows.
    pub fn examples(mut self, examples: Vec<Example>) -> Self {
        self.examples = examples;
        self
    }

    /// Names the same defect in the next run: it does not change with row counts, the wording or
    /// a move of the file to another layout.
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

    /// The command that finds it again in a checkout, in the states that were compared.
    pub fn command(&self, states: &ComparedStates) -> String {
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

    /// The command that draws its table with its rows ringed, of a comparison beside what the table was;
    /// none of a finding that is not on a table of a place.
    pub fn explore_command(&self, states: &ComparedStates, is_compared: bool) -> Option<String> {
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

    /// Whether it was not there before.
    pub fn is_new(&self) -> bool {
        self.novelty == Novelty::New
    }

    /// Whether it is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Whether it counts: neither waived nor known nor there before.
    pub fn counts(&self) -> bool {
        self.waived_by.is_none() && self.novelty.as_new() != Some(false)
    }

    /// Whether it was there before, or is known to a baseline.
    pub fn is_old(&self) -> bool {
        self.waived_by.is_none() && self.novelty.as_new() == Some(false)
    }

    /// Order of reports: by path, then by how bad, then by rule.
    pub(crate) fn order(&self) -> (&str, Severity, &str, String) {
        let slice = serde_json::to_string(&self.slice).unwrap_or_default();
        (&self.path, self.severity, &self.rule, slice)
    }
}

/// A word of a command, quoted where a shell would read more into it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._+-/=".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
