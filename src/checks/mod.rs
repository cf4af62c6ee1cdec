//! The kinds of check. A rule names one, with its parameters; each has a file here.

mod bounds;
mod copies;
mod decoding;
mod duplicates;
mod header;
mod holes;
mod identity;
mod levels;
mod outliers;
mod parity;
mod placement;
mod power;
mod reuse;
mod sidecars;
mod support;
mod synthetic;
mod systems;
mod values;
mod workflows;

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use schemars::JsonSchema;
use serde::Deserialize;

pub(crate) use self::duplicates::{Spread, copies, repeats};
use self::levels::Levels;
use crate::catalog::{Catalog, Place, SystemFile, TableFile, VersionDir};
use crate::expr::ExprError;
use crate::finding::{Brought, Example, Finding, Half, Severity};
use crate::ledger::Ledger;
use crate::served::Shelf;
use crate::sidecar::{Meta, Reuse, TableMeta};
use crate::sketch::Sketches;
use crate::source::{Entry, EntryKind};
use crate::spec::{Rule, Specs, TableSpec};
use crate::support::{Matrices, Sharing};
use crate::system::System;
use crate::table::{Fault, Keys, Table, TableScope};
use crate::trace::TraceCheck;

/// A kind of check with its parameters, as a rule file gives them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// The table's bytes cannot be decoded.
    Unreadable,
    /// A git-LFS pointer stands for the table.
    LfsPointer,
    /// Rows of a text table are damaged.
    TornRow,
    /// The table has no rows.
    Empty,
    /// Columns are missing, unknown or of the wrong type.
    Header,
    /// The table lies where no loader looks for it.
    Placement,
    /// Rows name a GPU that is not the system's.
    Device,
    /// Rows name a framework that is not the directory's.
    Framework(identity::FrameworkNames),
    /// Rows name a version that is not the directory's.
    Version(identity::VersionNames),
    /// Measurements that are no numbers.
    NotFinite,
    /// Measurements of zero or less.
    NotPositive,
    /// Keys that no sweep has.
    KeyRange(values::KeyRange),
    /// Power that the limit forbids.
    PowerRange(power::Meter),
    /// A power limit that is not the system's.
    PowerLimit(power::LimitTolerance),
    /// The loader's key, more than once.
    DuplicateKey(duplicates::Conflict),
    /// Measurements shorter than physics allows.
    SpeedOfLight(bounds::Margins),
    /// The same measurements in two places.
    Copied(copies::Copies),
    /// Slices that stand apart from their siblings.
    Siblings(levels::Band),
    /// Slices in another unit than their siblings.
    UnitShift(levels::Units),
    /// Points slower than both neighbours along every axis.
    Spike(outliers::Standout),
    /// Points faster than both neighbours along every axis.
    Drop(outliers::Standout),
    /// Rows that no machine measured.
    Synthetic(synthetic::Signs),
    /// Default models that cannot be planned.
    Workflows,
    /// A support matrix that the data contradicts.
    SupportMatrix(support::Needs),
    /// Far fewer rows than elsewhere.
    Parity(parity::Shares),
    /// Slices and blocks of the grid that nearby tables have.
    Coverage(holes::Size),
    /// Tables of which no sidecar tells where they come from.
    SidecarMissing,
    /// A sidecar that cannot be read.
    SidecarInvalid,
    /// A sidecar that its directory or its tables contradict.
    SidecarContradiction(sidecars::Frameworks),
    /// Declared reuse that nothing can be taken from.
    ReuseInvalid,
    /// Declared reuse where reuse is not allowed.
    ReuseForbidden,
    /// Marker files that sidecars replaced.
    LegacyMarker,
    /// Waivers past their date.
    WaiverExpired,
    /// Waivers that match nothing.
    WaiverUnused,
    /// A system YAML that its loader refuses.
    SystemInvalid(systems::Schema),
    /// A system YAML whose figures do not fit.
    SystemSuspicious(systems::Plausible),
    /// Something about traces: cards, configs, metric files.
    Trace(TraceCheck),
}

/// A table under judgement.
pub struct TableContext<'a> {
    /// Its file.
    pub file: &'a TableFile,
    /// What is known of such tables.
    pub spec: &'a TableSpec,
    /// Its rows, or why there are none.
    pub table: Result<&'a Table, &'a Fault>,
    /// Its machine.
    pub system: Option<&'a System>,
    /// The loader's key of its rows, where it has rows and a key.
    pub keys: Option<&'a Keys<'a>>,
    /// What texts of its columns stand for, and how far honest reruns differ.
    pub specs: &'a Specs,
    /// SHA-256 of the file, in hex, where the sidecar states one.
    pub digest: Option<&'a str>,
    /// Its directory's sidecar, where it has one that can be read.
    pub meta: Option<&'a Meta>,
    /// Which of its rows a pull request brings, where one is judged.
    pub brought: Option<&'a Brought>,
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
    pub meta: Option<&'a Result<Meta, String>>,
    /// Its `reuse.yaml`, parsed, or why it cannot be.
    pub reuse: Option<&'a Result<Reuse, String>>,
}

/// A system under judgement.
pub struct SystemContext<'a> {
    /// Its YAML.
    pub file: &'a SystemFile,
    /// All systems of the root.
    pub catalog: &'a Catalog,
    /// Facts about known systems.
    pub specs: &'a Specs,
}

/// All tables against each other.
pub struct CrossContext<'a> {
    /// All files.
    pub catalog: &'a Catalog,
    /// What is known of each table's rows.
    pub sketches: &'a Sketches,
    /// The tables by backend, system and version.
    pub shelf: &'a Shelf<'a>,
    /// Parsed `collection_meta.yaml` by directory.
    pub meta: &'a BTreeMap<String, Result<Meta, String>>,
    /// The support matrices of the systems.
    pub support: &'a Matrices,
    /// What backends take from each other; none where nothing says.
    pub sharing: Option<&'a Sharing>,
    /// What a collector could not measure, where that is known.
    pub ledger: Option<&'a Ledger>,
    /// Paths of the tables under judgement; the others are there to compare with.
    pub judged: &'a BTreeSet<&'a str>,
    /// In how many ways a table's rows name another origin than its place: device, framework,
    /// version. It reads the table again, so it is asked for the few that matter.
    pub foreign: &'a (dyn Fn(&TableFile) -> usize + Sync),
    /// Which of two tables came to its place later: `Greater` for the first, none where nothing
    /// tells. It walks the history, so it is asked for the few that matter.
    pub age: &'a (dyn Fn(&TableFile, &TableFile) -> Option<Ordering> + Sync),
    /// Levels of slices by the points they take, for the rules that share them.
    pub levels: Mutex<BTreeMap<usize, Arc<BTreeMap<String, Levels>>>>,
    /// What is known of tables and models, and how far honest reruns differ.
    pub specs: &'a Specs,
    /// Which rows a pull request brings, where one is judged.
    pub brings: Option<&'a Brings>,
}

/// What a pull request brings.
#[derive(Debug, Default)]
pub struct Brings {
    /// Rows that it adds or changes, by the table's path; none where rows do not tell what is new,
    /// since all of the table may be judged otherwise than before.
    pub rows: BTreeMap<String, Option<Brought>>,
    /// Tables that it adds or changes, by path: of two that are alike, the later.
    pub later: BTreeSet<String>,
    /// Systems and their backends of which it adds, changes or removes tables.
    pub backends: BTreeSet<(String, String)>,
}

/// What a pull request brings to a table that it leaves alone.
static NOTHING: Brought = Brought::Rows(Vec::new());

impl Brings {
    /// Which rows of a table it brings; none where its rows do not tell what is new.
    pub fn of(&self, file: &TableFile) -> Option<&Brought> {
        self.rows.get(&file.entry.path).map_or(Some(&NOTHING), Option::as_ref)
    }
}

impl CrossContext<'_> {
    /// The halves in which findings on a table's rows are told.
    pub fn halves(&self, file: &TableFile) -> impl Iterator<Item = Half<'_>> {
        Half::both(self.brings.and_then(|b| b.of(file)))
    }

    /// Whether the table is the later one: it comes or changes with a pull request.
    pub fn later(&self, file: &TableFile) -> bool {
        self.brings.is_some_and(|b| b.later.contains(&file.entry.path))
    }

    /// Whether findings on the table are asked for.
    pub fn judged(&self, file: &TableFile) -> bool {
        self.judged.contains(file.entry.path.as_str())
    }

    /// The level of each table's slices over their siblings', from `points` shared points up.
    fn levels(&self, points: usize) -> Arc<BTreeMap<String, Levels>> {
        let mut known = self.levels.lock().unwrap_or_else(|e| e.into_inner());
        let compute = || Arc::new(levels::levels(self.catalog, self.sketches, points));
        known.entry(points).or_insert_with(compute).clone()
    }

    /// What a table's sidecar says of it.
    fn sidecar(&self, file: &TableFile) -> Option<&TableMeta> {
        let meta = self.meta.get(&self.catalog.dir_of(file)?.path)?.as_ref().ok()?;
        meta.tables.get(&file.table)
    }

    /// What a table's sidecar says of it beyond the usual: how it was measured otherwise.
    fn declared(&self, file: &TableFile) -> Option<String> {
        let said: Vec<String> = self.sidecar(file)?.notes().collect();
        (!said.is_empty()).then(|| said.join(", "))
    }

    /// Whether a table's sidecar says that its collection is not complete.
    fn partial(&self, file: &TableFile) -> bool {
        self.sidecar(file).is_some_and(|t| t.status == "partial")
    }

    /// Versions that a place declares as donors of a table.
    pub fn donors(&self, place: &Place, table: &str) -> Vec<&str> {
        self.shelf.donors(place, table)
    }
}

impl Check {
    /// Judges a table by itself.
    pub fn table(&self, rule: &Rule, at: &TableContext<'_>) -> Result<Vec<Finding>, ExprError> {
        let table = match at.table {
            Ok(table) => table,
            Err(fault) => return Ok(decoding::check(self, rule, at, fault).into_iter().collect()),
        };
        let rows = RowContext { at, table, rule };
        Ok(match self {
            Self::TornRow => decoding::torn(&rows).into_iter().collect(),
            Self::Unreadable => decoding::digest(&rows).into_iter().collect(),
            Self::Empty => decoding::none_loaded(&rows)?.into_iter().collect(),
            Self::Header => header::check(&rows).into_iter().collect(),
            Self::Device => identity::device(&rows),
            Self::Framework(names) => names.check(&rows),
            Self::Version(names) => names.check(&rows),
            Self::NotFinite => values::not_finite(&rows)?,
            Self::NotPositive => values::not_positive(&rows)?,
            Self::KeyRange(range) => range.check(&rows)?,
            Self::PowerRange(meter) => meter.check(&rows)?,
            Self::PowerLimit(tolerance) => tolerance.check(&rows)?,
            Self::DuplicateKey(conflict) => conflict.check(&rows)?,
            Self::SpeedOfLight(margins) => margins.check(&rows)?,
            Self::Synthetic(signs) => signs.check(&rows),
            Self::SidecarContradiction(_) => sidecars::row_count(&rows).into_iter().collect(),
            _ => Vec::new(),
        })
    }

    /// Whether it compares what rows say of their origin with their table's place.
    pub fn tells_origin(&self) -> bool {
        matches!(self, Self::Device | Self::Framework(_) | Self::Version(_))
    }

    /// Judges a table's place.
    pub fn placement(&self, rule: &Rule, file: &TableFile, spec: &TableSpec) -> Option<Finding> {
        matches!(self, Self::Placement).then(|| placement::check(rule, file, spec)).flatten()
    }

    /// Judges a version directory and its sidecars.
    pub fn dir(&self, rule: &Rule, at: &DirContext<'_>) -> Vec<Finding> {
        match self {
            Self::SidecarMissing => sidecars::missing(rule, at),
            Self::SidecarInvalid => sidecars::invalid(rule, at),
            Self::SidecarContradiction(frameworks) => frameworks.check(rule, at),
            Self::ReuseInvalid => reuse::invalid(rule, at),
            Self::ReuseForbidden => reuse::forbidden(rule, at),
            Self::LegacyMarker => sidecars::legacy(rule, at),
            _ => Vec::new(),
        }
    }

    /// The least factor by which a point stands out that the check looks at.
    pub fn apart(&self) -> Option<f64> {
        match self {
            Self::Spike(standout) | Self::Drop(standout) => Some(standout.recurs),
            _ => None,
        }
    }

    /// Whether it looks at version directories.
    pub fn judges_dirs(&self) -> bool {
        matches!(
            self,
            Self::SidecarMissing
                | Self::SidecarInvalid
                | Self::SidecarContradiction(_)
                | Self::ReuseInvalid
                | Self::ReuseForbidden
                | Self::LegacyMarker
        )
    }

    /// Whether it looks at traces, and at nothing of a database.
    pub fn judges_traces(&self) -> bool {
        matches!(self, Self::Trace(_))
    }

    /// Whether it looks at waivers.
    pub fn judges_waivers(&self) -> bool {
        matches!(self, Self::WaiverExpired | Self::WaiverUnused)
    }

    /// Whether it looks at system YAML.
    pub fn judges_systems(&self) -> bool {
        matches!(self, Self::SystemInvalid(_) | Self::SystemSuspicious(_))
    }

    /// Judges a system's YAML.
    pub fn system(&self, rule: &Rule, at: &SystemContext<'_>) -> Vec<Finding> {
        match self {
            Self::SystemInvalid(schema) => schema.check(rule, at),
            Self::SystemSuspicious(plausible) => plausible.check(rule, at),
            _ => Vec::new(),
        }
    }

    /// Judges the waivers of a file, by what came of applying them.
    pub fn waivers(
        &self,
        rule: &Rule,
        path: &str,
        expired: &[String],
        unused: &[String],
    ) -> Option<Finding> {
        let told = match self {
            Self::WaiverExpired => expired,
            Self::WaiverUnused => unused,
            _ => &[],
        };
        let finding = || Finding::on_path(&rule.id, rule.severity, path, told.join("; "));
        (!told.is_empty()).then(finding)
    }

    /// Whether it asks which rows of the default models' tables hold.
    pub fn plans(&self) -> bool {
        matches!(self, Self::Workflows)
    }

    /// Whether it reads support matrices.
    pub fn reads_support(&self) -> bool {
        matches!(self, Self::SupportMatrix(_))
    }

    /// Whether it names keys that other tables have.
    pub fn names_keys(&self) -> bool {
        matches!(self, Self::Coverage(_))
    }

    /// Judges all tables against each other.
    pub fn cross(&self, rule: &Rule, at: &CrossContext<'_>) -> Result<Vec<Finding>, ExprError> {
        Ok(match self {
            Self::Parity(shares) => shares.check(rule, at),
            Self::Coverage(size) => size.check(rule, at)?,
            Self::Copied(copies) => copies.check(rule, at),
            Self::Siblings(band) => band.check(rule, at),
            Self::UnitShift(units) => units.check(rule, at),
            Self::Spike(standout) => standout.check(rule, at, true),
            Self::Drop(standout) => standout.check(rule, at, false),
            Self::Workflows => workflows::check(rule, at),
            Self::SupportMatrix(needs) => needs.check(rule, at)?,
            _ => Vec::new(),
        })
    }

    /// Judges what lies below a system's data and is no table in its place.
    pub fn stray(&self, rule: &Rule, entry: &Entry) -> Option<Finding> {
        match (self, &entry.kind) {
            (Self::Unreadable, EntryKind::Link(to)) => Some(decoding::link(rule, entry, to)),
            (Self::Unreadable, _) | (_, EntryKind::Link(_)) => None,
            (Self::Placement, _) => Some(placement::stray(rule, &entry.path)),
            _ => None,
        }
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

    /// The halves in which findings on rows are told.
    pub fn halves(&self) -> impl Iterator<Item = Half<'a>> + use<'a> {
        Half::both(self.at.brought)
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
        rows.iter()
            .map(|&row| Example {
                row: row as u64,
                key: self.at.keys.map(|k| k.show(row)).unwrap_or_default(),
                values: columns
                    .iter()
                    .filter_map(|c| Some(((*c).to_owned(), self.table.column(c)?.json(row))))
                    .collect(),
            })
            .collect()
    }
}

/// Names for a sentence: the first few, each in quotes where it is empty, cut where it is no name.
pub(crate) fn names<'a>(all: impl Iterator<Item = &'a str>) -> String {
    const SHOWN: usize = 5;
    const LONGEST: usize = 200;
    let name = |name: &'a str| match name.char_indices().nth(LONGEST) {
        None if name.is_empty() => "''".to_owned(),
        None => name.to_owned(),
        Some((at, _)) => format!("{}…", &name[..at]),
    };
    let all: Vec<String> = all.map(name).collect();
    match all.len() {
        0..=SHOWN => all.join(", "),
        n => format!("{} and {} more", all[..SHOWN].join(", "), n - SHOWN),
    }
}

/// A count for people: `8,505`.
pub(crate) fn count(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 row`, `2 rows`.
pub(crate) fn plural(n: usize, what: &str) -> String {
    let end = if n == 1 { "" } else { "s" };
    format!("{} {what}{end}", count(n))
}
