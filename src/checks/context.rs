//! What a check sees: a table, a version directory, a system, or all tables against each other.

use std::cell::OnceCell;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use crate::base::reason::Reason;
use crate::checks::compare::curves::{CurveScores, KeyLatencies};
use crate::checks::compare::kin::Kin;
use crate::checks::compare::relative_latency::NamedPeers;
use crate::checks::compare::sketch::{Sketched, Sketches, Slice};
use crate::checks::rule::Rule;
use crate::checks::sweeps::AxisSeries;
use crate::database::catalog::{Catalog, Place, SystemFile, TableFile, VersionDir};
use crate::database::diff::Diff;
use crate::database::ledger::Ledger;
use crate::database::seal::SealFile;
use crate::database::served::Shelf;
use crate::database::sidecar::{Meta, Reuse, TableMeta};
use crate::database::source::{Dated, DatedBy, Entry};
use crate::database::state::State;
use crate::database::support::Matrices;
use crate::database::table::{Column, Keys, Table, TableFault, TableScope};
use crate::findings::{Example, Finding, Reads, Severity};
use crate::planner::Models;
use crate::specs::system::System;
use crate::specs::{Specs, TableSpec};

/// A table under judgement.
pub struct TableContext<'a> {
    /// Its file.
    pub file: &'a TableFile,
    /// What is known of such tables.
    pub spec: &'a TableSpec,
    /// Its rows, or why there are none.
    pub table: Result<&'a Table, &'a TableFault>,
    /// Its machine.
    pub system: Option<&'a System>,
    /// The table as formulas see it; `None` if it cannot be read.
    pub scope: Option<&'a TableScope<'a>>,
    /// The loader's key of its rows, where it has rows and a key.
    pub keys: Option<&'a Keys<'a>>,
    /// Set to true where it is known already that each of its rows has a key of its own.
    pub has_distinct_keys: OnceCell<bool>,
    /// What texts of its columns stand for, and how far honest reruns differ.
    pub specs: &'a Specs,
    /// SHA-256 of the file, in hex, where a sidecar or seal states one.
    pub digest: Option<&'a str>,
    /// Its directory's sidecar, where it has one that can be read.
    pub meta: Option<&'a Meta>,
    /// The file that seals it, where its spec has one.
    pub seal: Option<&'a SealFile>,
    /// Its series along the axes of its sweep, once a rule has asked for them.
    pub series: OnceCell<Vec<AxisSeries>>,
}

/// A version directory under judgement.
pub struct DirContext<'a> {
    /// The directory.
    pub dir: &'a VersionDir,
    /// Everything else.
    pub catalog: &'a Catalog,
    /// What is known of tables.
    pub specs: &'a Specs,
    /// Its `collection_meta.yaml`, parsed, or why it cannot be.
    pub meta: Option<&'a Result<Meta, Reason>>,
    /// Its `reuse.yaml`, parsed, or why it cannot be.
    pub reuse: Option<&'a Result<Reuse, Reason>>,
}

/// What a pull request does to a database.
pub struct ChangeContext<'a> {
    /// Before.
    pub base: State<'a>,
    /// After.
    pub head: State<'a>,
    /// What changed between them.
    pub diff: &'a Diff,
    /// Errors on rows that the pull request adds or changes, which the head would have if the pull request did not change
    /// what the database states.
    pub excused: &'a [Finding],
    /// What is known of tables.
    pub specs: &'a Specs,
}

/// A system under judgement.
pub struct SystemContext<'a> {
    /// Its YAML.
    pub file: &'a SystemFile,
    /// Systems of the root by their data directory, by name.
    pub by_data_dir: &'a BTreeMap<&'a str, Vec<&'a str>>,
    /// Facts about known systems.
    pub specs: &'a Specs,
}

/// A file under judgement that states facts and cannot be read.
pub struct FactsContext<'a> {
    /// The file.
    pub entry: &'a Entry,
    /// True for a file of the loader's code. The code may be rewritten, so a list that is missing from it is not an error.
    pub is_code: bool,
    /// Why it cannot be read.
    pub faults: Vec<String>,
}

/// The waivers of a file under judgement.
pub struct WaiverContext<'a> {
    /// Their file.
    pub path: &'a str,
    /// Those past their date, in words.
    pub expired: &'a [String],
    /// Those that match nothing, in words.
    pub unused: &'a [String],
}

/// The tables of one name against each other, or the database as a whole.
pub struct CrossContext<'a> {
    /// The state that is judged.
    pub state: State<'a>,
    /// The tables of the name; all where the database is judged as a whole.
    pub tables: &'a [&'a TableFile],
    /// What is known of the rows of each of these tables; of the whole without their points.
    pub sketches: &'a Sketches,
    /// The tables by backend, system and version.
    pub shelf: &'a Shelf<'a>,
    /// The support matrices of the systems.
    pub support: &'a Matrices,
    /// What a collector could not measure, where that is known.
    pub ledger: Option<&'a Ledger>,
    /// Paths of the tables under judgement; the others are there to compare with.
    pub judged: &'a BTreeSet<&'a str>,
    /// Answers that need a table once more.
    pub reread: &'a dyn Reread,
    /// What rules kept of the tables of each name, by rule; of the tables of a name nothing yet.
    pub peers: &'a BTreeMap<String, Vec<NamedPeers>>,
    /// What other tables say of the curves of those under judgement, for the rules that share it.
    pub curves: OnceLock<CurveScores>,
    /// The tables that can be read, by system and backend.
    pub kin: &'a Kin<'a>,
    /// The operation lists of default models; none where no rule needs them.
    pub models: &'a Models,
    /// What a pull request changes, where one is judged.
    pub history: Option<&'a History>,
}

/// Answers about a table that need its rows once more, so rules ask only for the few tables that matter.
pub trait Reread: Sync {
    /// Counts the ways in which a table's rows name another origin than its place: device, framework, version.
    fn origin_mismatches(&self, file: &TableFile) -> usize;

    /// The smallest latency of each slice of a table divided by what the machine needs at least; nothing if the table
    /// cannot be read.
    fn over_bound(&self, file: &TableFile) -> BTreeMap<Slice, f64>;
}

/// The tables and systems that a pull request changes. Rules on the base and on the head see the same history.
#[derive(Debug, Default)]
pub struct History {
    /// Systems and their backends of which it adds, changes or removes tables.
    pub backends: BTreeSet<(String, String)>,
    /// Systems of which it changes tables or the support matrix.
    pub systems: BTreeSet<String>,
    /// Paths of the tables that it adds or changes.
    pub came: BTreeSet<String>,
    /// Paths of the tables that it adds, or of which it changes most of the rows that the loader reads.
    pub remade: BTreeSet<String>,
    /// The latencies that tables of the names at hand had before, by the path that they have now.
    pub latencies: BTreeMap<String, Arc<KeyLatencies>>,
}

impl<'a> CrossContext<'a> {
    /// The tables with what is known of their rows, without those that cannot be read.
    pub(super) fn sketched(&self) -> impl Iterator<Item = Sketched<'a>> {
        self.kin.tables.iter().copied()
    }

    /// Those of the tables on which findings are asked for.
    pub(super) fn judged_tables(&self) -> impl Iterator<Item = &'a TableFile> {
        self.tables.iter().copied().filter(|file| self.judged(file))
    }

    /// Whether the table is the later one: it comes or changes with a pull request.
    pub fn later(&self, file: &TableFile) -> bool {
        self.history.is_some_and(|history| history.came.contains(&file.entry.path))
    }

    /// Whether a pull request makes a table what it is: adds it, or most of what the loader reads of it.
    pub fn remade(&self, file: &TableFile) -> bool {
        self.history.is_some_and(|history| history.remade.contains(&file.entry.path))
    }

    /// Which of two tables came to its place later: `Greater` for the first, `None` where nothing shows. A table of which
    /// a pull request changes a few rows is as old as it was. It walks the history, so it is asked for the few that
    /// matter.
    pub fn age(&self, a: &TableFile, b: &TableFile) -> Option<Ordering> {
        fn dated(file: &TableFile, is_touched: bool) -> Dated<'_> {
            let by = if is_touched { DatedBy::BytesBefore } else { DatedBy::Bytes };
            Dated { entry: &file.entry, by }
        }
        let is_touched = |file: &TableFile| self.later(file) && !self.remade(file);
        self.state.source.age(dated(a, is_touched(a)), dated(b, is_touched(b)))
    }

    /// Whether findings on the table are asked for.
    pub fn judged(&self, file: &TableFile) -> bool {
        self.judged.contains(file.entry.path.as_str())
    }

    /// Returns false for a finding on a table without a spec.
    pub(super) fn knows(&self, finding: &Finding) -> bool {
        let has_spec = |name: &String| self.state.specs.tables.contains_key(name);
        finding.table.as_ref().is_none_or(has_spec)
    }

    /// What other tables say of the curves of those under judgement.
    pub fn curve_scores(&self) -> &CurveScores {
        self.curves.get_or_init(|| CurveScores::of(self))
    }

    /// What a table's sidecar says of it.
    pub(super) fn sidecar(&self, file: &TableFile) -> Option<&'a TableMeta> {
        let dir = self.state.catalog.dir_of(file)?;
        let meta = self.state.facts.sidecars.meta.get(&dir.path)?.as_ref().ok()?;
        meta.tables.get(&file.table)
    }

    /// What a table's sidecar says of it beyond the usual: how it was measured otherwise.
    pub(super) fn declared(&self, file: &TableFile) -> Option<String> {
        let said: Vec<String> = self.sidecar(file)?.notes().collect();
        (!said.is_empty()).then(|| said.join(", "))
    }

    /// Whether a table's sidecar says that its collection is not complete.
    pub(super) fn partial(&self, file: &TableFile) -> bool {
        self.sidecar(file).is_some_and(|t| t.status == "partial")
    }

    /// Whether a table of this many rows is all that was planned of it, the rest being a declared donor's.
    pub(super) fn planned_so(&self, file: &TableFile, rows: u64) -> bool {
        let whole = |t: &TableMeta| {
            t.status == "complete" && t.case_plan_hash.is_some() && t.rows == Some(rows)
        };
        self.sidecar(file).is_some_and(whole) && !self.donors(&file.place, &file.table).is_empty()
    }

    /// Versions that a place declares as donors of a table.
    pub fn donors(&self, place: &Place, table: &str) -> Vec<&str> {
        self.shelf.donors(place, table)
    }
}

/// A readable table under judgement by a rule.
pub struct RowContext<'a> {
    /// The table's surroundings.
    pub at: &'a TableContext<'a>,
    /// Its rows.
    pub table: &'a Table,
    /// The table as formulas see it: its columns, its place and its system's figures.
    pub scope: &'a TableScope<'a>,
    /// The rule that judges.
    pub rule: &'a Rule,
}

impl<'a> RowContext<'a> {
    /// A table under judgement by a rule; `None` if it cannot be read.
    pub fn of(at: &'a TableContext<'a>, rule: &'a Rule) -> Option<Self> {
        Some(Self { at, table: at.table.ok()?, scope: at.scope?, rule })
    }

    /// The first of its measured columns, with its name; none where it holds anything but numbers.
    pub fn measured(&self) -> Option<(&'a str, &'a [f64])> {
        let (name, _) = self.at.spec.measures().next()?;
        match self.table.column(name)? {
            Column::Float { values, .. } => Some((name, values)),
            _ => None,
        }
    }

    /// Its series along the axes of its sweep: none of a table without a key or a latency.
    pub fn series(&self) -> &'a [AxisSeries] {
        let taken = || match (self.at.keys, self.measured()) {
            (Some(keys), Some((_, latency))) => {
                AxisSeries::all(keys, self.table, self.at.spec, latency)
            }
            _ => Vec::new(),
        };
        self.at.series.get_or_init(taken)
    }

    /// By what the rule judges a row.
    fn reads(&self) -> Reads {
        self.rule.check.judge().reads(self.at.spec)
    }

    /// The table's system, for a rule that says that it looks up its rates.
    pub fn system(&self) -> Option<&'a System> {
        debug_assert!(self.reads().reads_rates(), "{} does not say so", self.rule.id);
        self.at.system
    }

    /// What the GPU of the table's system calls itself, as globs, with the system; for a rule that says that
    /// it reads it.
    pub fn devices(&self) -> Option<(&'a System, &'a [String])> {
        debug_assert!(self.reads().reads_devices(), "{} does not say so", self.rule.id);
        self.at.system.map(|system| (system, &system.devices[..]))
    }

    /// A figure of the table's system, for a rule that says that it reads it.
    pub fn figure(&self, path: &str) -> Option<f64> {
        debug_assert!(self.reads().reads_figure(path), "{} does not say so", self.rule.id);
        self.at.system?.figure(path)
    }

    /// A finding of the rule's own severity.
    pub fn finding(&self, message: impl Into<String>) -> Finding {
        self.finding_as(self.rule.severity, message)
    }

    /// A finding of another severity.
    pub fn finding_as(&self, severity: Severity, message: impl Into<String>) -> Finding {
        Finding::on_table(&self.rule.id, severity, self.at.file, message)
    }

    /// Shows rows with their keys and the columns named.
    pub fn examples(&self, rows: &[usize], columns: &[&str]) -> Vec<Example> {
        rows.iter().map(|row| self.example(*row, columns)).collect()
    }

    fn example(&self, row: usize, columns: &[&str]) -> Example {
        let value = |c: &&str| Some(((*c).to_owned(), self.table.column(c)?.json(row)));
        Example {
            row: row as u64,
            key: self.at.keys.map(|k| k.show(row)).unwrap_or_default(),
            values: columns.iter().filter_map(value).collect(),
        }
    }
}
