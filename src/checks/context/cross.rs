//! The context of checks that compare the tables of one name, or judge a whole database.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use crate::checks::compare::curves::CurveScores;
use crate::checks::compare::peers::Peers;
use crate::checks::compare::series::KeyLatencies;
use crate::checks::compare::sketch::{SketchedTable, Sketches, Slice};
use crate::database::catalog::{Place, TableFile};
use crate::database::ledger::Ledger;
use crate::database::served::TableIndex;
use crate::database::sidecar::TableMeta;
use crate::database::source::{AgeBasis, AgedFile};
use crate::database::state::State;
use crate::database::support::Matrices;
use crate::findings::Finding;

/// The context in which the tables of one name, or all tables of a database, are judged.
pub struct CrossContext<'a> {
    /// The state of the database that is judged, such as the base or the head of a pull request.
    pub state: State<'a>,
    /// The tables of one name, or all tables of the database.
    pub tables: &'a [&'a TableFile],
    /// The sketches of the tables.
    pub sketches: &'a Sketches,
    /// An index of the tables by backend, system and version.
    pub shelf: &'a TableIndex<'a>,
    /// The support matrices of the systems.
    pub support: &'a Matrices,
    /// The failures that a collector logged, if its log was given.
    pub ledger: Option<&'a Ledger>,
    /// Paths of the judged tables. All other tables only serve as references.
    pub judged: &'a BTreeSet<&'a str>,
    /// Reads the rows of a table again, if a rule needs more than the table's sketch.
    pub reread: &'a dyn Reread,
    /// How far the series of the judged tables deviate from those of other tables. These scores are computed when a
    /// rule first asks for them.
    pub curves: OnceLock<CurveScores>,
    /// The readable tables.
    pub peers: &'a Peers<'a>,
    /// The tables and systems that a pull request changes; `None` if a single state is judged.
    pub history: Option<&'a History>,
}

/// Reads the rows of a table again to answer a question that the table's sketch does not answer. Rules ask only about
/// few tables, since reading is slow.
pub trait Reread: Sync {
    /// Returns how many of a table's columns device, framework and version contradict the table's path.
    fn origin_mismatches(&self, file: &TableFile) -> usize;

    /// Returns the smallest ratio of a latency to its bound in each slice; empty if the table cannot be read.
    fn over_bound(&self, file: &TableFile) -> BTreeMap<Slice, f64>;
}

/// The tables and systems that a pull request changes, and the latencies of the base.
#[derive(Debug, Default)]
pub struct History {
    /// Names of the systems of which the pull request changes a table or the support matrix.
    pub systems: BTreeSet<String>,
    /// Paths of the tables that the pull request adds or changes.
    pub changed: BTreeSet<String>,
    /// Paths of the tables that the pull request adds or mostly rewrites. Only rows that the loader reads count.
    pub mostly_changed: BTreeSet<String>,
    /// The latencies in the base of each table that both the base and the head have, by the table's path in the head.
    pub latencies: BTreeMap<String, Arc<KeyLatencies>>,
}

impl<'a> CrossContext<'a> {
    /// Iterates over the readable tables with their sketches.
    pub(crate) fn sketched(&self) -> impl Iterator<Item = SketchedTable<'a>> {
        self.peers.tables.iter().copied()
    }

    /// Iterates over the tables under judgement.
    pub(crate) fn judged_tables(&self) -> impl Iterator<Item = &'a TableFile> {
        self.tables.iter().copied().filter(|file| self.judged(file))
    }

    /// Iterates over the judged tables, except sparse ones, in which a missing key is not a defect.
    pub(crate) fn judged_grids(&self) -> impl Iterator<Item = &'a TableFile> {
        let specs = self.state.specs;
        let is_sparse = move |file: &&TableFile| {
            specs.tables.get(&file.table).is_some_and(|spec| spec.is_sparse)
        };
        self.judged_tables().filter(move |file| !is_sparse(file))
    }

    /// Returns true if a pull request adds or changes the table.
    pub(crate) fn is_changed(&self, file: &TableFile) -> bool {
        self.history.is_some_and(|history| history.changed.contains(&file.entry.path))
    }

    /// Returns true if a pull request adds the table or mostly rewrites it. Only rows that the loader reads count.
    pub(crate) fn is_mostly_changed(&self, file: &TableFile) -> bool {
        self.history.is_some_and(|history| history.mostly_changed.contains(&file.entry.path))
    }

    /// Compares the dates of the commits in which two tables got their content: `Greater` if `a` is younger, `None` if
    /// the git history does not show it. A pull request that changes only a few rows of a table does not make the table
    /// younger. Rules compare only few tables, since each comparison walks the git history.
    pub(crate) fn age(&self, a: &TableFile, b: &TableFile) -> Option<Ordering> {
        fn dated(file: &TableFile, is_touched: bool) -> AgedFile<'_> {
            let by = if is_touched { AgeBasis::BytesBefore } else { AgeBasis::Bytes };
            AgedFile { entry: &file.entry, by }
        }
        let is_touched = |file: &TableFile| self.is_changed(file) && !self.is_mostly_changed(file);
        self.state.source.age(dated(a, is_touched(a)), dated(b, is_touched(b)))
    }

    /// Returns true if the table is under judgement.
    pub(crate) fn judged(&self, file: &TableFile) -> bool {
        self.judged.contains(file.entry.path.as_str())
    }

    /// Returns false for a finding on a table without a spec, and true for any other finding.
    pub(crate) fn is_on_known_table(&self, finding: &Finding) -> bool {
        finding.table.as_ref().is_none_or(|name| self.state.specs.tables.contains_key(name))
    }

    /// Returns how far the series of the judged tables deviate from those of other tables. In a pull request, only
    /// changed tables have scores.
    pub(crate) fn curve_scores(&self) -> &CurveScores {
        self.curves.get_or_init(|| {
            let before = self.history.map(|history| &history.latencies);
            let is_scored =
                |path: &&str| self.history.is_none_or(|history| history.changed.contains(*path));
            let scored = self.judged.iter().copied().filter(is_scored).collect();
            CurveScores::of(self.peers, &scored, before)
        })
    }

    /// Returns the table's entry in the sidecar of its directory; `None` without a sidecar or an entry.
    pub(crate) fn sidecar(&self, file: &TableFile) -> Option<&'a TableMeta> {
        self.state.meta(file)?.tables.get(&file.table)
    }

    /// The notes in a table's sidecar on an unusual way of measuring, joined with commas; `None` without notes.
    pub(crate) fn declared(&self, file: &TableFile) -> Option<String> {
        let said: Vec<String> = self.sidecar(file)?.notes().collect();
        (!said.is_empty()).then(|| said.join(", "))
    }

    /// Returns true if a table's sidecar states that the collection is not complete.
    pub(crate) fn partial(&self, file: &TableFile) -> bool {
        self.sidecar(file).is_some_and(|t| t.status == "partial")
    }

    /// Returns the donor versions from which a version directory takes the rows of a table.
    pub(crate) fn donors(&self, place: &Place, table: &str) -> Vec<&str> {
        self.shelf.donors(place, table)
    }
}
