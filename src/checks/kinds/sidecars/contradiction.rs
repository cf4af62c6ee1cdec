//! Sidecars that their directory or their tables contradict.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{profile, report, seal};
use crate::checks::context::{DirContext, Item, RowContext};
use crate::checks::inputs::{CheckInputs, Input};
use crate::checks::judge::{Found, Judge, Judged};
use crate::checks::kinds::identity::same_version;
use crate::checks::rule_head::RuleHead;
use crate::database::sidecar::Meta;
use crate::findings::{Finding, Severity, wholes};

/// What a run may call itself in a backend's directory, beside the backend's own name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Frameworks {
    backends: BTreeMap<String, Vec<String>>,
}

impl Judge for Frameworks {
    fn needs(&self) -> CheckInputs {
        CheckInputs::of(&[Input::VersionDirs])
    }

    /// A sidecar that says another framework, version or set of tables than its directory.
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
        let finding = rule.all_on_path(&entry.path, self.contradictions(meta, at));
        finding.map(|finding| finding.at(&at.dir.place)).into_iter().collect()
    }

    /// A table that does not have the number of rows that its sidecar says.
    fn table<'v>(&'v self, rows: &'v RowContext<'v>) -> Judged<'v> {
        Ok(wholes(row_count(rows).into_iter().chain(seal::contradiction(rows))))
    }
}

impl Frameworks {
    fn contradictions(&self, meta: &Meta, at: &DirContext<'_>) -> Vec<String> {
        let place = &at.dir.place;
        let mut wrong = Vec::new();
        let framework = &meta.runtime.framework;
        let names = self.backends.get(&place.backend).map_or(&[][..], Vec::as_slice);
        let own = std::iter::once(&place.backend).chain(names);
        if !own.into_iter().any(|n| n.eq_ignore_ascii_case(framework)) {
            wrong.push(format!(
                "it names the framework {framework}, but its directory is of {}",
                place.backend
            ));
        }
        let version = &meta.runtime.version;
        if !same_version(version, &place.version) {
            wrong.push(format!(
                "it names the version {version}, but its directory is {}",
                place.version
            ));
        }
        let has =
            |table: &String| at.dir.tables.iter().any(|i| &at.catalog.tables[*i].table == table);
        let absent: Vec<&str> =
            meta.tables.keys().filter(|t| !has(t)).map(String::as_str).collect();
        for (table, entry) in &meta.tables {
            // A later event may replace rows of an earlier one, but no row is of none.
            if let (Some(rows), Some(events)) = (entry.rows, entry.event_rows())
                && events < rows
            {
                wrong.push(format!(
                    "it states {rows} rows of {table}, but its collections add up to {events}"
                ));
            }
        }
        if !absent.is_empty() {
            wrong.push(format!("it describes {}, which has no file", absent.join(", ")));
        }
        wrong
    }
}

/// A table that has not the rows that its sidecar says.
fn row_count(rows: &RowContext<'_>) -> Option<Finding> {
    let meta = rows.meta()?;
    let table = rows.file.table.as_str();
    let stated = meta.tables.get(table)?.rows?;
    let found = rows.count as u64;
    if stated == found {
        return None;
    }
    // Rows of a run stay the run's where others are added to the table.
    let explained = meta.explains(table, found);
    let severity = if explained { Severity::Info } else { rows.rule.severity };
    let why = if explained { "; its runs or comments explain the difference" } else { "" };
    let message = format!("the sidecar states {stated} rows, but the table has {found}{why}");
    let finding = rows.finding_as(severity, message).rows(rows.count);
    let finding = finding.parts([format!("{stated} {found}")]);
    Some(finding.evidence("stated", stated).evidence("found", found))
}
