//! Sidecars that their directory or their tables contradict.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{profile, report, seal};
use crate::checks::judge::Judged;
use crate::checks::kinds::identity::{in_directory_of, names_backend, same_version};
use crate::checks::{CheckInputs, DirContext, Found, Input, Item, Judge, RowContext, RuleHead};
use crate::database::sidecar::Meta;
use crate::findings::{Finding, Severity, wholes};

/// The check for sidecars that contradict their directory. It has lists of known frameworks and libraries.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Frameworks {
    /// Names of frameworks. A sidecar in the directory of a listed framework is a contradiction if it names another
    /// known framework.
    frameworks: Vec<String>,
    /// Libraries, such as NCCL, which any framework may measure.
    libraries: Vec<String>,
}

impl Judge for Frameworks {
    fn needs(&self) -> CheckInputs {
        CheckInputs::of(&[Input::VersionDirs])
    }

    /// Reports a sidecar that states another framework, version or set of tables than its directory has.
    fn item(&self, rule: RuleHead<'_>, item: &Item<'_>) -> Found {
        if let Item::Report(at) = item {
            return report::contradiction(rule, at);
        }
        if let Item::Profile(at) = item {
            return profile::contradiction(rule, at);
        }
        let Item::Dir(at) = item else { return Found::new() };
        let (Some(Ok(meta)), Some(entry)) = (at.meta, &at.dir.meta) else {
            return Vec::new();
        };
        let mut wrong = contradictions(meta, at);
        let (framework, backend) = (&meta.runtime.framework, &at.dir.place.backend);
        let is_own = names_backend(framework, backend);
        // Only the directory of a framework contradicts the name and the version of another one.
        let is_framework = self.frameworks.contains(backend);
        if is_own || is_framework {
            wrong.extend(other_version(meta, at));
        }
        let other =
            format!("it names the framework {framework}, but its directory is of {backend}");
        let mut new = None;
        if is_framework && !is_own && self.is_known(framework, at) {
            wrong.insert(0, other);
        } else if !is_own && !self.libraries.contains(backend) {
            let place = if is_framework { String::new() } else { in_directory_of(backend) };
            let what = format!("the framework {framework}{place}");
            let message = format!("{other}; {what} is {}", at.specs.shipped.not_known());
            let severity = rule.severity.at_most(Severity::Warning);
            let rule = RuleHead { severity, ..rule };
            new = Some(rule.on_path(&entry.path, message).unknown(&what));
        }
        let found = rule.all_on_path(&entry.path, wrong).into_iter().chain(new);
        found.map(|finding| finding.at(&at.dir.place)).collect()
    }

    /// Reports a table whose number of rows differs from the sidecar's.
    fn table<'v>(&'v self, rows: &'v RowContext<'v>) -> Judged<'v> {
        Ok(wholes(row_count(rows).into_iter().chain(seal::contradiction(rows))))
    }
}

impl Frameworks {
    /// Returns true if a framework's name is that of a listed framework, or of a backend in the database.
    fn is_known(&self, framework: &str, at: &DirContext<'_>) -> bool {
        let backends = at.catalog.dirs.values().map(|dir| &dir.place.backend);
        self.frameworks.iter().chain(backends).any(|backend| names_backend(framework, backend))
    }
}

/// Returns a clause on the sidecar's version if it is not the directory's version; `None` otherwise.
fn other_version(meta: &Meta, at: &DirContext<'_>) -> Option<String> {
    let (version, dir) = (&meta.runtime.version, &at.dir.place.version);
    let is_own = same_version(version, dir) || meta.runtime.is_build(dir);
    (!is_own).then(|| format!("it names the version {version}, but its directory is {dir}"))
}

/// Returns clauses on the tables of a sidecar that have no file, or whose row counts in the sidecar contradict each
/// other.
fn contradictions(meta: &Meta, at: &DirContext<'_>) -> Vec<String> {
    let mut wrong = Vec::new();
    let has = |table: &String| at.dir.tables.iter().any(|i| &at.catalog.tables[*i].table == table);
    let absent: Vec<&str> = meta.tables.keys().filter(|t| !has(t)).map(String::as_str).collect();
    for (table, entry) in &meta.tables {
        // A later collection may replace rows of an earlier one, so the sum may exceed the rows, but not fall below.
        if let (Some(rows), Some(events)) = (entry.rows, entry.event_rows())
            && events < rows
        {
            wrong.push(format!(
                "it states {rows} rows of {table}, but its collections add up to {events}"
            ));
        }
    }
    if !absent.is_empty() {
        let has = if absent.len() == 1 { "has" } else { "have" };
        wrong.push(format!("it describes {}, which {has} no file", absent.join(", ")));
    }
    wrong
}

/// Returns a finding if a table's number of rows differs from the number in the sidecar; `None` otherwise.
fn row_count(rows: &RowContext<'_>) -> Option<Finding> {
    let meta = rows.meta()?;
    let table = rows.file.table.as_str();
    let stated = meta.tables.get(table)?.rows?;
    let found = rows.count as u64;
    if stated == found {
        return None;
    }
    // The numbers of a run's rows stay as they are if other rows are added to the table later.
    let explained = meta.explains(table, found);
    let severity = if explained { Severity::Info } else { rows.rule.severity };
    let why = if explained { "; its runs or comments explain the difference" } else { "" };
    let message = format!("the sidecar states {stated} rows, but the table has {found}{why}");
    let finding = rows.finding_as(severity, message).rows(rows.count);
    let finding = finding.parts([format!("{stated} {found}")]);
    Some(finding.evidence("stated", stated).evidence("found", found))
}
