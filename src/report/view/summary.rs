//! Sums up a pull request's changes in a few lines, which reviewers read first.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::finding::below_data;
use crate::base::escape::clean;
use crate::base::words::{first_of, names, plural};
use crate::database::catalog::Role;
use crate::database::diff::{Diff, DiffSide, FaultReason, FileDiff, TableDiff, VersionChanges};
use crate::findings::{Repaired, Severity};
use crate::report::headline::by_rule;

/// The maximum number of items in the list of changed attributes, and in a list of changed versions.
const MOVED: usize = 3;

/// The maximum number of files in a list of changed files, and the maximum number of changed fields listed per file.
const FACTS: usize = 5;

/// Returns lines about four kinds of changes: attributes of rows, files of facts, settings of this program, and
/// versions that a query can select. The lines are escaped.
pub(super) fn remarks(diff: &Diff) -> Vec<String> {
    let lines = [attributes(diff), facts(diff), settings(diff), versions(diff)];
    lines.into_iter().flatten().map(|line| clean(&line)).collect()
}

/// Sums up the change in a sentence: its class (such as `append-only`), the numbers of changed tables and files, and
/// the changed columns. `None` if no table changed.
pub(super) fn changes(diff: &Diff) -> Option<String> {
    let mut line = format!("Change: {}; {}", diff.class().into_str(), diff.headline());
    let columns = diff.columns_changed();
    if !columns.is_empty() {
        line += &format!("; columns changed: {}", names(columns.into_iter()));
    }
    (!diff.tables.is_empty()).then_some(line)
}

/// Describes the changed attributes of rows, such as `device: NVIDIA GB300 → NVIDIA B300 SXM6 AC in 6 tables`.
fn attributes(diff: &Diff) -> Option<String> {
    let mut changes: BTreeMap<(&str, String, String), usize> = BTreeMap::new();
    let served = diff.tables.iter().filter_map(|t| t.served.as_ref());
    for change in served.flat_map(|served| &served.attributes) {
        let side = |values: &[String]| names(values.iter().map(String::as_str));
        let change = (change.column.as_str(), side(&change.before), side(&change.after));
        *changes.entry(change).or_default() += 1;
    }
    let mut changes: Vec<_> = changes.into_iter().collect();
    changes.sort_by_key(|(change, tables)| (Reverse(*tables), change.clone()));
    let said = changes.into_iter().map(|((column, was, is), tables)| {
        format!("{column}: {was} → {is} in {}", plural(tables, "table"))
    });
    with_list("Attributes changed", said.collect(), MOVED)
}

/// Returns `what`, a colon and the first `most` texts of `said`; `None` if `said` is empty.
fn with_list(what: &str, said: Vec<String>, most: usize) -> Option<String> {
    (!said.is_empty()).then(|| format!("{what}: {}", first_of(&said, most, "; ")))
}

/// Lists the changed files that describe the database: YAML files of systems with their changed fields, other files of
/// facts (such as the operation catalog), and marker files of version directories.
fn facts(diff: &Diff) -> Option<String> {
    let states_facts = |file: &&FileDiff| match file.role {
        Role::System | Role::Facts => true,
        Role::Sidecar => file.path.ends_with(".txt"),
        Role::Other | Role::Settings | Role::Trace => false,
    };
    let said = diff.files.iter().filter(states_facts).map(|file| {
        let fields = match first_of(&file.changes, FACTS, ", ") {
            fields if fields.is_empty() => fields,
            fields => format!(" ({fields})"),
        };
        format!("{} {}{fields}", below_data(&file.path), file.status.into_str())
    });
    with_list("Facts changed", said.collect(), FACTS)
}

/// Lists the changed settings files of this program. Once the change is merged, they affect the verdicts of later runs.
fn settings(diff: &Diff) -> Option<String> {
    let files = diff.files.iter().filter(|file| file.role == Role::Settings);
    let said = files.map(|file| format!("{} {}", file.path, file.status.into_str())).collect();
    with_list("This changes how later runs judge, once it is merged", said, FACTS)
}

/// Lists the versions that a query can select only after the change, and the versions that the loader no longer reads
/// after the change.
fn versions(diff: &Diff) -> Option<String> {
    let VersionChanges { selectable, hidden } = &diff.versions;
    let named = [(selectable, "new to select"), (hidden, "no longer read")].map(|(all, what)| {
        (!all.is_empty()).then(|| format!("{what}: {}", first_of(all, MOVED, ", ")))
    });
    let said: Vec<String> = named.into_iter().flatten().collect();
    (!said.is_empty()).then(|| format!("Versions {}", said.join("; ")))
}

/// Describes the findings of the base that the head no longer has; `None` without such findings.
pub(super) fn repaired(repaired: &[Repaired]) -> Option<String> {
    let counted = repaired.iter().filter(|r| r.finding.severity != Severity::Info);
    let (with_tables, alone): (Vec<_>, Vec<_>) = counted.partition(|r| r.with_table);
    let (all, rules) = by_rule(alone.into_iter().map(|r| &r.finding));
    let mut parts = Vec::new();
    if all > 0 {
        parts.push(format!("{} ({rules})", plural(all, "finding")));
    }
    let with_tables = with_tables.len();
    if with_tables > 0 {
        parts.push(format!("{} deleted with their tables", plural(with_tables, "finding")));
    }
    (!parts.is_empty()).then(|| clean(&format!("Repaired: {}", parts.join("; "))))
}

/// Counts the tables that were not compared because their file in the base or the head is not in the local clone.
/// `None` without such tables.
pub(super) fn unread(diff: &Diff) -> Option<String> {
    let sides = [
        (DiffSide::Base, "before"),
        (DiffSide::Head, "after"),
        (DiffSide::Both, "before and after"),
    ];
    let reasons = [
        (
            FaultReason::Pointer,
            "These are git-LFS pointers without their objects; run git lfs fetch --all",
        ),
        (
            FaultReason::Missing,
            "Their objects are not in this clone; run git fetch --refetch --no-filter",
        ),
    ];
    let mut lines = Vec::new();
    for (reason, advice) in reasons {
        let absent = |side: DiffSide| {
            let faults = diff.tables.iter().filter_map(TableDiff::absence);
            faults.filter(|fault| fault.side == side && fault.why == reason).count()
        };
        let said: Vec<String> = sides
            .into_iter()
            .map(|(side, when)| (absent(side), when))
            .filter(|(tables, _)| *tables > 0)
            .map(|(tables, when)| format!("{} ({when})", plural(tables, "table")))
            .collect();
        if !said.is_empty() {
            lines.push(format!("Not compared: {}. {advice}", said.join(", ")));
        }
    }
    (!lines.is_empty()).then(|| lines.join(". "))
}
