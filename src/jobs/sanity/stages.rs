//! Determines whether queries reach the rows of a change, for the stages of its report.

use std::collections::BTreeSet;

use super::roots::Root;
use crate::base::error::Result;
use crate::base::words::{plural, plural_verb};
use crate::checks::settings::Settings;
use crate::database::catalog::Role;
use crate::database::diff::Diff;
use crate::jobs::impact::ImpactOptions;
use crate::jobs::reach::{self, FileReach, FileRows, Reach, ReachOptions, StateCounts};
use crate::report::below_data;
use crate::report::stages::{ChangedReach, StageInput, StageSpecs};

/// Returns the input of the stages: their rules, and the reach of the changed tables. `select` names the states.
///
/// # Errors
///
/// If `rules/stages.yaml` is malformed. A reach that cannot be determined is a gap.
pub(super) fn input(
    select: ImpactOptions,
    settings: &Settings,
    (roots, diffs): (&[Root], &[Diff]),
) -> Result<StageInput> {
    let specs = StageSpecs::read(&settings.specs.library)?;
    let mut reach = ChangedReach::default();
    if let Some(((root, diff), others)) = roots.iter().zip(diffs).next().zip(diffs.get(1..)) {
        if let Some(asked) = asked(select, root, diff) {
            match reach::run(&asked) {
                Ok(found) => reach = changed(&found, diff),
                Err(why) => {
                    reach.gaps.push(format!("the reach cannot be determined: {}", why.message));
                }
            }
        }
        // Queries read the main root.
        let others = others.iter().map(|diff| diff.tables.len()).sum();
        if others > 0 {
            let tables = plural_verb(others, "changed table", ["is", "are"]);
            reach.gaps.push(format!("{tables} in another root, where no reach is determined"));
        }
    }
    Ok(StageInput { specs, reach, unanswered: 0 })
}

/// Returns the options of the reach of a change; `None` if it changes no file that queries read.
fn asked(select: ImpactOptions, root: &Root, diff: &Diff) -> Option<ReachOptions> {
    let decides = |role| match role {
        Role::System | Role::Facts | Role::Sidecar => true,
        Role::Trace | Role::Other => false,
    };
    let files: Vec<_> = diff.files.iter().filter(|file| decides(file.role)).collect();
    if diff.tables.is_empty() && files.is_empty() {
        return None;
    }
    let known: BTreeSet<&str> = root.systems().collect();
    let system_of = |path: &str| {
        let parts = path.split('/').map(|part| part.strip_suffix(".yaml").unwrap_or(part));
        parts.into_iter().find_map(|part| known.get(part).copied())
    };
    let mut systems: BTreeSet<&str> =
        diff.tables.iter().map(|table| table.place.system.as_str()).collect();
    let of_files: Vec<Option<&str>> = files.iter().map(|file| system_of(&file.path)).collect();
    systems.extend(of_files.iter().flatten());
    // A file of facts may concern every system.
    let concerns_all = of_files.contains(&None);
    let names = |names: BTreeSet<&str>| names.into_iter().map(globset::escape).collect();
    let tables = diff.tables.iter().map(|table| table.table.as_str()).collect();
    let systems = if concerns_all { Vec::new() } else { names(systems) };
    let select = ImpactOptions { systems, ..select };
    Some(ReachOptions { select, tables: if files.is_empty() { names(tables) } else { Vec::new() } })
}

/// Sums up the reach of the changed tables, or of all examined tables if no table changed.
fn changed(reach: &Reach, diff: &Diff) -> ChangedReach {
    let paths: BTreeSet<&str> = diff.tables.iter().map(|table| table.path.as_str()).collect();
    let is_changed = |file: &&FileReach| paths.is_empty() || paths.contains(file.path.as_str());
    let files = reach.files.iter().filter(is_changed);
    let files: Vec<(&str, &FileRows)> =
        files.filter_map(|file| Some((file.path.as_str(), file.after.as_ref()?))).collect();
    let rows = StateCounts::of(files.iter().flat_map(|(_, rows)| &rows.runs));
    let lookups = reach.lookups()[1].unwrap_or_default();
    let checked = vec![
        ("tables", files.len() as u64),
        ("rows", rows.rows),
        ("served", rows.served),
        ("shadowed", rows.shadowed),
        ("filtered", rows.filtered),
        ("refused", rows.refused),
        ("not_queryable", rows.not_queryable),
        ("lookups", lookups.all() as u64),
        ("lookups_missing", lookups.missing as u64),
    ];
    let is_unserved = |rows: &FileRows| {
        rows.states.rows > 0 && rows.states.served == 0 && rows.read_by.is_empty()
    };
    let unserved = files.iter().filter(|(_, rows)| is_unserved(rows)).map(|(path, rows)| {
        let why = rows.why.as_deref().unwrap_or("the loader skips every row");
        format!("{}: {why}", below_data(path))
    });
    let unread = files.iter().filter_map(|(path, rows)| Some((path, rows.unread.as_deref()?)));
    let unread: Vec<_> = unread.collect();
    let gap = unread.first().map(|(path, why)| {
        let tables = plural(unread.len(), "changed table");
        format!("{tables} cannot be read, for example {}: {why}", below_data(path))
    });
    ChangedReach {
        checked,
        tables: files.iter().filter(|(_, rows)| rows.states.rows > 0).count(),
        unserved: unserved.collect(),
        gaps: gap.into_iter().collect(),
    }
}
