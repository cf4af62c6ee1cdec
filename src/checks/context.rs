//! What a check sees: a table, a version directory, a system, or all tables against each other.

use std::cell::OnceCell;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use crate::base::reason::Reason;
use crate::checks::compare::curves::{CurveScores, KeyLatencies};
use crate::checks::compare::kin::Kin;
use crate::checks::compare::losing::LosingTables;
use crate::checks::compare::relative_latency::NamedPeers;
use crate::checks::compare::sketch::{Sketched, Sketches, Slice};
use crate::checks::rule::Rule;
use crate::checks::sweeps::AxisSeries;
use crate::database::catalog::{Catalog, Place, SystemFile, TableFile, VersionDir};
use crate::database::diff::Diff;
use crate::database::ledger::Ledger;
use crate::database::seal::SealFile;
use crate::database::served::{ReuseManifest, Shelf};
use crate::database::sidecar::{Meta, Reuse, TableMeta};
use crate::database::source::{Dated, DatedBy, Entry};
use crate::database::state::State;
use crate::database::support::Matrices;
use crate::database::table::{Column, Keys, Table, TableFault, TableScope};
use crate::findings::{Example, Finding, Half, Reads, RowChange, Severity};
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
    /// The loader's key of its rows, where it has rows and a key.
    pub keys: Option<&'a Keys<'a>>,
    /// Whether it is known already that each of its rows has a key of its own.
    pub has_distinct_keys: bool,
    /// What texts of its columns stand for, and how far honest reruns differ.
    pub specs: &'a Specs,
    /// SHA-256 of the file, in hex, where a sidecar or seal states one.
    pub digest: Option<&'a str>,
    /// Its directory's sidecar, where it has one that can be read.
    pub meta: Option<&'a Meta>,
    /// The file that seals it, where its spec has one.
    pub seal: Option<&'a SealFile>,
    /// Which of its rows a pull request adds or changes.
    pub change: &'a RowChange,
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
    /// The tables that lose keys or measurements, where a rule asks for them.
    pub losing: Option<&'a LosingTables<'a>>,
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
    /// All files.
    pub catalog: &'a Catalog,
    /// The tables of the name; all where the database is judged as a whole.
    pub tables: &'a [&'a TableFile],
    /// What is known of the rows of each of these tables; of the whole without their points.
    pub sketches: &'a Sketches,
    /// The tables by backend, system and version.
    pub shelf: &'a Shelf<'a>,
    /// Parsed `collection_meta.yaml` by directory.
    pub meta: &'a BTreeMap<String, Result<Meta, Reason>>,
    /// The support matrices of the systems.
    pub support: &'a Matrices,
    /// What backends take from each other; none where nothing says.
    pub sharing: Option<&'a ReuseManifest>,
    /// What a collector could not measure, where that is known.
    pub ledger: Option<&'a Ledger>,
    /// Paths of the tables under judgement; the others are there to compare with.
    pub judged: &'a BTreeSet<&'a str>,
    /// In how many ways a table's rows name another origin than its place: device, framework,
    /// version. It reads the table again, so it is asked for the few that matter.
    pub foreign: &'a (dyn Fn(&TableFile) -> usize + Sync),
    /// The smallest latency of each slice of a table over what the machine needs at least. It reads the table again,
    /// so it is asked for the few that matter.
    pub over_bound: &'a (dyn Fn(&TableFile) -> BTreeMap<Slice, f64> + Sync),
    /// Which of two tables came to its place later: `Greater` for the first, none where nothing
    /// shows. It walks the history, so it is asked for the few that matter.
    pub age: &'a (dyn for<'f> Fn(Dated<'f>, Dated<'f>) -> Option<Ordering> + Sync),
    /// What rules kept of the tables of each name, by rule; of the tables of a name nothing yet.
    pub peers: &'a BTreeMap<String, Vec<NamedPeers>>,
    /// What other tables say of the curves of those under judgement, for the rules that share it.
    pub curves: OnceLock<CurveScores>,
    /// The tables that can be read, by system and backend.
    pub kin: &'a Kin<'a>,
    /// What is known of tables, and how far honest reruns differ.
    pub specs: &'a Specs,
    /// The operation lists of default models; none where no rule needs them.
    pub models: &'a Models,
    /// What a pull request changes, where one is judged.
    pub pr: Option<&'a PrChange>,
}

/// What a pull request changes of a database.
#[derive(Debug, Default)]
pub struct PrChange {
    /// Rows that it adds or changes, by the table's path; tables that are not here are untouched.
    pub rows: BTreeMap<String, RowChange>,
    /// Tables that it adds or changes, by path: of two that are alike, the later.
    pub tables: BTreeSet<String>,
    /// Systems and their backends of which it adds, changes or removes tables.
    pub backends: BTreeSet<(String, String)>,
    /// The latencies that changed tables had before, by the path that they have now.
    pub latencies: BTreeMap<String, Arc<KeyLatencies>>,
}

impl PrChange {
    /// Which rows of a table a pull request adds or changes; unknown where none is judged.
    pub fn of_table<'a>(pr: Option<&'a Self>, file: &TableFile) -> &'a RowChange {
        let Some(pr) = pr else { return &RowChange::Unknown };
        pr.rows.get(&file.entry.path).unwrap_or(&RowChange::Untouched)
    }
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

    /// The halves in which findings of a rule on a table's rows are reported.
    pub fn halves(&self, rule: &Rule, file: &TableFile) -> impl Iterator<Item = Half<'_>> {
        let spec = self.specs.tables.get(&file.table);
        let reads = spec.map_or_else(Reads::all, |spec| rule.check.judge().reads(spec));
        Half::both(PrChange::of_table(self.pr, file).seen_by(&rule.id, &reads))
    }

    /// Whether the table is the later one: it comes or changes with a pull request.
    pub fn later(&self, file: &TableFile) -> bool {
        self.pr.is_some_and(|pr| pr.tables.contains(&file.entry.path))
    }

    /// Whether a pull request makes a table what it is: adds it, or most of what the loader reads of it.
    pub fn remade(&self, file: &TableFile) -> bool {
        let path = &file.entry.path;
        let rows = self.sketches.by_path.get(path).map_or(0, |sketch| sketch.rows);
        let spec = self.specs.tables.get(&file.table);
        let reads = spec.map_or_else(Reads::all, |spec| Reads::loaded(spec));
        let changed = self.pr.and_then(|pr| pr.rows.get(path));
        self.later(file) && changed.is_none_or(|rows_changed| rows_changed.is_most(rows, &reads))
    }

    /// A table as its age counts: by its bytes, but by those that it had where a pull request changes a few
    /// rows of it and leaves it what it was.
    pub fn dated<'f>(&self, file: &'f TableFile) -> Dated<'f> {
        let is_touched = self.later(file) && !self.remade(file);
        Dated {
            entry: &file.entry,
            by: if is_touched { DatedBy::BytesBefore } else { DatedBy::Bytes },
        }
    }

    /// Whether findings on the table are asked for.
    pub fn judged(&self, file: &TableFile) -> bool {
        self.judged.contains(file.entry.path.as_str())
    }

    /// What other tables say of the curves of those under judgement.
    pub fn curve_scores(&self) -> &CurveScores {
        self.curves.get_or_init(|| CurveScores::of(self))
    }

    /// What a table's sidecar says of it.
    pub(super) fn sidecar(&self, file: &TableFile) -> Option<&TableMeta> {
        let meta = self.meta.get(&self.catalog.dir_of(file)?.path)?.as_ref().ok()?;
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
    /// The rule that judges.
    pub rule: &'a Rule,
}

impl<'a> RowContext<'a> {
    /// The table as formulas see it.
    pub fn scope(&self) -> TableScope<'a> {
        TableScope::new(
            self.table,
            self.at.spec,
            &self.at.file.place,
            self.at.system,
            &self.at.specs.lookups,
        )
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

    /// The halves in which findings on rows are reported.
    pub fn halves(&self) -> impl Iterator<Item = Half<'a>> + use<'a> {
        Half::both(self.at.change.seen_by(&self.rule.id, &self.reads()))
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
