//! Data that a pull request deletes as a whole: a system, all of its tables, or the database.
//!
//! The deletion of a single table is part of the diff and not reported here. The deletions reported here leave the
//! users of a system without any data, as does a folder of systems that moves.

use std::collections::BTreeMap;

use crate::base::words::plural;
use crate::checks::{CheckInputs, Found, Input, Item, Judge, RuleHead};
use crate::database::catalog::{Catalog, SystemFile};
use crate::database::source::Entry;
use crate::findings::{Finding, Severity};

/// The check for systems and databases that a pull request deletes as a whole.
pub(crate) struct DeletedCheck;

impl Judge for DeletedCheck {
    fn needs(&self) -> CheckInputs {
        CheckInputs::of(&[Input::Changes])
    }

    fn item(&self, rule: RuleHead<'_>, item: &Item<'_>) -> Found {
        let Item::Catalogs { before, after } = item else { return Found::new() };
        check(rule, before, after)
    }
}

/// Returns one finding if the whole database was deleted. Otherwise returns one for each system that lost its YAML or
/// all of its tables, and one for each link or submodule that replaces a folder of systems.
fn check(rule: RuleHead<'_>, base: &Catalog, head: &Catalog) -> Found {
    let mut found = replaced_folders(rule, base, head);
    if base.systems.is_empty() {
        return found;
    }
    found.extend(moved_folder(rule, base, head));
    let (had, has) = (tables_by_system(base), tables_by_system(head));
    if head.systems.is_empty() {
        let first = base.systems.values().next();
        let folder = first.map_or("", |s| s.yaml.rsplit_once('/').map_or("", |(folder, _)| folder));
        let message = format!(
            "the whole database is deleted: {} and {}",
            plural(base.systems.len(), "system"),
            plural(base.tables.len(), "table")
        );
        found.push(finding(rule, folder, message, base.tables.len()));
        return found;
    }
    for system in base.systems.values() {
        let name = system.name.as_str();
        let count = |of: &BTreeMap<&str, usize>| of.get(name).copied().unwrap_or(0);
        let (had, has) = (count(&had), count(&has));
        let lost_yaml = has_yaml(system) && !head.systems.get(name).is_some_and(has_yaml);
        let tables = plural(had, "table");
        let (path, message) = match (lost_yaml, had > 0 && has == 0) {
            (true, false) if had == 0 => (&system.yaml, format!("the YAML of {name} is deleted")),
            (true, false) => (
                &system.yaml,
                format!(
                    "the YAML of {name} is deleted, so the remaining tables of {name} cannot be loaded"
                ),
            ),
            (true, true) => {
                (&system.yaml, format!("{name} is deleted completely: its YAML and its {tables}"))
            }
            (false, true) => {
                (&system.data_dir, format!("all tables of {name} are deleted ({tables})"))
            }
            (false, false) => continue,
        };
        let lost = if has == 0 { had } else { 0 };
        found.push(finding(rule, path, message, lost).evidence("system", name));
    }
    found
}

/// Returns a warning if the folder of the systems moved and left no link at its old path. Programs that read the old
/// path, such as the planner's package, then find no data. `None` if there is nothing to report.
fn moved_folder(rule: RuleHead<'_>, base: &Catalog, head: &Catalog) -> Option<Finding> {
    let is_link = |entry: &Entry| {
        let above = base.folder.strip_prefix(&entry.path);
        let is_there = above.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        is_there && entry.kind.leads_away().is_some()
    };
    let is_moved = base.folder != head.folder
        && !head.systems.is_empty()
        && !head
            .outside_files
            .iter()
            .chain(head.other_files.iter().map(|(entry, _)| entry))
            .any(is_link);
    let message = format!(
        "the systems' folder moved here from {}; whatever reads the old path finds no data any more",
        base.folder
    );
    let severity = rule.severity.at_most(Severity::Warning);
    let finding = Finding::on_path(rule.id, severity, &head.folder, message).about_change();
    is_moved.then(|| finding.evidence("tables", head.tables.len()))
}

fn finding(rule: RuleHead<'_>, path: &str, message: String, tables: usize) -> Finding {
    let finding = rule.on_path(path, message);
    finding.about_change().evidence("tables", tables)
}

/// Returns true if a system has a YAML file, not only a data directory.
fn has_yaml(system: &SystemFile) -> bool {
    system.path == system.yaml
}

fn tables_by_system(catalog: &Catalog) -> BTreeMap<&str, usize> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for table in &catalog.tables {
        *counts.entry(&table.place.system).or_default() += 1;
    }
    counts
}

/// Returns one finding for each link or submodule of the head that replaces a folder of systems of the base. The files
/// to which a link or submodule leads are not in the repository.
fn replaced_folders(rule: RuleHead<'_>, base: &Catalog, head: &Catalog) -> Vec<Finding> {
    let mut found = Vec::new();
    for entry in head.outside_files.iter() {
        let Some(what) = entry.kind.leads_away() else { continue };
        let below = |s: &&SystemFile| {
            s.yaml.strip_prefix(&entry.path).is_some_and(|rest| rest.starts_with('/'))
        };
        let hidden = base.systems.values().filter(below).count();
        if hidden > 0 {
            let systems = plural(hidden, "system");
            let message = format!("{what} replaces the folder that contained {systems}");
            found.push(finding(rule, &entry.path, message, 0));
        }
    }
    found
}
