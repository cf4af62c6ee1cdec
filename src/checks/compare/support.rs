//! Support matrices that contradict the data.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use pep440_rs::Version;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::error;
use crate::base::expr::{Expr, ExprError, Scope, Vals, Value};
use crate::base::words::{names, plural};
use crate::checks::{CheckInputs, CrossContext, Found, Input, Judge, RuleHead};
use crate::database::catalog::{Place, SystemFile, TableFile, VersionDir};
use crate::database::support::{Claim, Matrix};
use crate::findings::{Finding, Severity};
use crate::specs::Filling;
use crate::specs::system::System;

/// The largest number of contradictions in the message; the evidence lists all.
const SHOWN: usize = 10;

/// The tables that are needed to plan an architecture from measured rows.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Needs")]
pub struct SupportNeeds {
    needs: Vec<TableNeed>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Need")]
struct TableNeed {
    /// The architectures that need the tables; all architectures if the list is empty.
    #[serde(default)]
    architectures: Vec<String>,
    /// An expression over table names that is true if the needed tables are served.
    tables: Expr,
}

/// A backend and one of its versions.
type Release<'a> = (&'a str, &'a str);

/// One contradiction between a support matrix and the data: a message, and the identifiers of the matrix lines or
/// versions that it concerns.
struct MatrixContradiction {
    message: String,
    parts: Vec<String>,
}

/// A system whose support matrix is compared with its data.
struct MatrixCase<'a> {
    at: &'a CrossContext<'a>,
    system: &'a SystemFile,
    matrix: &'a Matrix,
    /// The backends and versions that have tables or declare reuse on the system.
    there: BTreeSet<Release<'a>>,
}

impl Judge for SupportNeeds {
    fn needs(&self) -> CheckInputs {
        CheckInputs::of(&[Input::Peers, Input::SupportMatrices])
    }

    /// Returns one finding for each matrix that contradicts the data of its system.
    fn whole(&self, rule: RuleHead<'_>, at: &CrossContext<'_>) -> error::Result<Found> {
        let mut found = Vec::new();
        for (name, (entry, matrix)) in at.support {
            let Some(system) = at.state.catalog.systems.get(name).filter(|_| whole(at, name))
            else {
                continue;
            };
            // The rule facts-invalid reports a matrix that cannot be read.
            let Ok(matrix) = matrix else { continue };
            let case = MatrixCase::new(at, system, matrix);
            let mut contradictions = case.without_data();
            let lacking = self.without_tables(&case);
            contradictions.extend(lacking.map_err(|why| rule.unjudged(RuleHead::IN_LIMITS, why))?);
            found.extend(support_finding(rule.severity, rule.id, &entry.path, &contradictions));
            // The matrix is generated after the data was added, so a version without a line is only an info.
            let info = rule.severity.at_most(Severity::Info);
            let unlisted = support_finding(info, rule.id, &entry.path, &case.without_entry());
            found.extend(unlisted.map(|mut finding| {
                finding.slice.insert("about".into(), "versions without a line".into());
                finding
            }));
        }
        Ok(found)
    }
}

/// Returns one finding with all contradictions; `None` if there are no contradictions.
fn support_finding(
    severity: Severity,
    rule: &str,
    path: &str,
    contradictions: &[MatrixContradiction],
) -> Option<Finding> {
    let messages: Vec<&str> = contradictions.iter().map(|c| c.message.as_str()).collect();
    let mut message = messages[..messages.len().min(SHOWN)].join("; ");
    if messages.len() > SHOWN {
        message += &format!("; and {} more", messages.len() - SHOWN);
    }
    let finding = Finding::on_path(rule, severity, path, message)
        .parts(contradictions.iter().flat_map(|c| &c.parts));
    // The same on another system has the same cause.
    let finding = finding.evidence("cause", messages.join("; "));
    (!messages.is_empty()).then(|| finding.evidence("contradictions", messages))
}

impl SupportNeeds {
    /// Finds lines of the support matrix that claim support by measured data (PASS from silicon) although the tables
    /// that the model needs are not served.
    fn without_tables(&self, case: &MatrixCase<'_>) -> Result<Vec<MatrixContradiction>, ExprError> {
        // The needed tables depend only on the architecture, and many models of a matrix have the same one.
        let mut models: BTreeMap<(Release<'_>, &str), BTreeSet<&str>> = BTreeMap::new();
        for claim in case.silicon().filter(|c| case.there.contains(&release(c))) {
            let of = (release(claim), claim.architecture.as_str());
            models.entry(of).or_default().insert(&claim.model);
        }
        let mut lacks: BTreeMap<(Release<'_>, String), BTreeSet<&str>> = BTreeMap::new();
        for ((release, architecture), models) in models {
            let serves = |table: &str| {
                let known = case.at.state.specs.tables.contains_key(table);
                known.then(|| case.serves(release, table))
            };
            let system = case.at.state.catalog.system(&case.system.name, case.at.state.specs);
            let here = ServingBackend { system, backend: release.0, serves: &serves };
            for need in self.needs.iter().filter(|n| n.concerns(architecture)) {
                if !need.tables.mask(&here)?.get(0) {
                    let tables = need.tables.columns().into_iter();
                    let lacking: BTreeSet<&str> =
                        tables.filter(|t| !case.serves(release, t)).collect();
                    let lacking = lacking.into_iter().collect::<Vec<_>>().join(", ");
                    lacks.entry((release, lacking)).or_default().extend(&models);
                }
            }
        }
        let contradiction = |((release, tables), models): (
            (Release<'_>, String),
            BTreeSet<&str>,
        )| {
            let (backend, version) = release;
            let named = names(models.iter().copied());
            let tables = if tables.is_empty() { "the tables that they need" } else { &tables };
            let part = |model: &&str| format!("{backend} {version} {model} without {tables}");
            MatrixContradiction {
                message: format!(
                    "{named}: the matrix says PASS from silicon at {backend} {version}, which does not serve {tables}"
                ),
                parts: models.iter().map(part).collect(),
            }
        };
        Ok(lacks.into_iter().map(contradiction).collect())
    }
}

impl TableNeed {
    fn concerns(&self, architecture: &str) -> bool {
        self.architectures.is_empty() || self.architectures.iter().any(|a| a == architecture)
    }
}

/// Returns true if all tables of a system are judged. Otherwise, nothing can be reported as missing on the system.
fn whole(at: &CrossContext<'_>, system: &str) -> bool {
    match at.history {
        Some(history) => history.systems.contains(system),
        None => {
            let mut tables =
                at.state.catalog.tables.iter().filter(|t| t.place.system == system).peekable();
            tables.peek().is_some() && tables.all(|t| at.judged(t))
        }
    }
}

fn release(claim: &Claim) -> Release<'_> {
    (&claim.backend, &claim.version)
}

impl<'a> MatrixCase<'a> {
    fn new(at: &'a CrossContext<'a>, system: &'a SystemFile, matrix: &'a Matrix) -> Self {
        let dirs = at.state.catalog.dirs.values();
        // A version that only declares reuse counts as present, even by a marker file: its loader reads the donors.
        let reuses = |d: &VersionDir| d.reuse.is_some() || d.reuses_all();
        let there = dirs
            .filter(|d| d.place.system == system.name)
            .filter(|d| !d.tables.is_empty() || reuses(d));
        let there = there.map(|d| (d.place.backend.as_str(), d.place.version.as_str())).collect();
        Self { at, system, matrix, there }
    }

    fn silicon(&self) -> impl Iterator<Item = &'a Claim> {
        self.matrix.claims.iter().filter(|c| c.silicon)
    }

    /// Finds versions without data for which lines of the support matrix claim support by measured data (PASS from
    /// silicon).
    fn without_data(&self) -> Vec<MatrixContradiction> {
        let mut absent: BTreeMap<Release<'_>, usize> = BTreeMap::new();
        for claim in self.silicon().filter(|c| !self.there.contains(&release(c))) {
            *absent.entry(release(claim)).or_default() += 1;
        }
        let contradiction = |((backend, version), lines): (Release<'_>, usize)| {
            let lines = plural(lines, "line");
            MatrixContradiction {
                message: format!(
                    "the matrix says PASS from silicon in {lines} at {backend} {version}, which has no data"
                ),
                parts: vec![format!("{backend} {version} without data")],
            }
        };
        absent.into_iter().map(contradiction).collect()
    }

    /// Finds versions that have tables but no line in the matrix. Versions older than all listed ones are left out,
    /// since a matrix may begin later than the data. Versions of libraries, such as NCCL, are never listed.
    fn without_entry(&self) -> Vec<MatrixContradiction> {
        let mut listed: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for claim in &self.matrix.claims {
            listed.entry(&claim.backend).or_default().insert(&claim.version);
        }
        let tables =
            self.at.state.catalog.tables.iter().filter(|t| t.place.system == self.system.name);
        let with_tables: BTreeSet<Release<'_>> =
            tables.map(|t| (t.place.backend.as_str(), t.place.version.as_str())).collect();
        let mut gaps: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (backend, version) in with_tables {
            let is_gap = match listed.get(backend) {
                None => !self.is_library(backend),
                Some(versions) => !versions.contains(version) && is_after_oldest(version, versions),
            };
            // A version that no query can name only fills other versions, and needs no line.
            if is_gap && self.at.shelf.is_reached(&self.system.name, backend, version) {
                gaps.entry(backend).or_default().push(version);
            }
        }
        let contradiction = |(backend, versions): (&str, Vec<&str>)| {
            let named = names(versions.iter().copied());
            MatrixContradiction {
                message: format!("the matrix has no line for {backend} {named}, which has data"),
                parts: versions.iter().map(|v| format!("{backend} {v} without a line")).collect(),
            }
        };
        gaps.into_iter().map(contradiction).collect()
    }

    /// Returns true if a backend is a library whose version some system's YAML names.
    fn is_library(&self, backend: &str) -> bool {
        let field = format!("misc.{backend}_version");
        let mut systems =
            self.at.state.catalog.systems.values().filter_map(|s| s.system.as_ref().ok());
        systems.any(|s| s.texts.contains_key(&field) || s.figure(&field).is_some())
    }

    /// Returns true if the loader finds rows of a table for a version: rows of the version's own backend, or of another
    /// backend that lends its tables.
    fn serves(&self, (backend, version): Release<'_>, table: &str) -> bool {
        let filling = self.at.state.specs.filling(table);
        let place = Place {
            system: self.system.name.clone(),
            family: None,
            backend: backend.to_owned(),
            version: version.to_owned(),
        };
        let tables = &self.at.state.catalog.tables;
        self.at.shelf.sources(&place, table, filling).files().next().is_some()
            || filling == Filling::Always
                && tables.iter().any(|file| self.is_lent(file, table, backend))
    }

    /// Returns true if `file` is a table of another backend that `backend` may use as its own table named `table`.
    fn is_lent(&self, file: &TableFile, table: &str, backend: &str) -> bool {
        let from = &file.place.backend;
        file.table == table
            && file.place.system == self.system.name
            && from != backend
            // Without a readable manifest, every table counts as lent.
            && self.at.state.facts.sharing.as_ref().is_none_or(|s| s.lends(table, from, backend))
    }
}

/// Returns true if `version` is later than the oldest of `versions`.
fn is_after_oldest(version: &str, versions: &BTreeSet<&str>) -> bool {
    let oldest = versions.iter().filter_map(|v| Version::from_str(v).ok()).min();
    Version::from_str(version).is_ok_and(|v| oldest.is_some_and(|oldest| v > oldest))
}

/// The values that an expression over table names can read: the system, the backend, and whether a table is served.
struct ServingBackend<'a> {
    system: Option<&'a System>,
    backend: &'a str,
    /// Returns whether a table is served, by its name; `None` for a name that is not a table.
    serves: &'a dyn Fn(&str) -> Option<bool>,
}

impl Scope for ServingBackend<'_> {
    fn column(&self, name: &str) -> Option<Value<'_>> {
        match name {
            "backend" => Some(Value::text(self.backend)),
            "system" => Some(Value::text(self.system.map_or("", |s| &s.name))),
            table => (self.serves)(table).map(|serves| Value::Bool(Vals::One(serves))),
        }
    }

    fn field(&self, path: &str) -> Option<f64> {
        self.system?.figure(path)
    }
}
