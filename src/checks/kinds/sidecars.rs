//! `collection_meta.yaml` against its directory and its tables.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::identity::same_version;
use crate::base::words::plural;
use crate::checks::rule::Rule;
use crate::checks::{DirContext, RowContext};
use crate::database::sidecar::Meta;
use crate::findings::Finding;

/// Tables of the family layout without a word on where they come from.
pub fn missing(rule: &Rule, at: &DirContext<'_>) -> Vec<Finding> {
    let dir = at.dir;
    // The flat layout had no sidecars.
    if dir.place.family.is_none() || dir.tables.is_empty() {
        return Vec::new();
    }
    let Some(meta) = at.meta else {
        let message =
            format!("{} without a collection_meta.yaml", plural(dir.tables.len(), "table"));
        let finding = Finding::on_path(&rule.id, rule.severity, &dir.path, message);
        let tables = dir.tables.iter().map(|i| &at.catalog.tables[*i].table);
        return vec![finding.at(&dir.place).parts(tables)];
    };
    let Ok(meta) = meta else { return Vec::new() };
    let files = dir.tables.iter().map(|i| &at.catalog.tables[*i]);
    files
        .filter(|file| !meta.tables.contains_key(&file.table))
        .map(|file| {
            let message = "its directory's collection_meta.yaml does not mention it";
            Finding::on_table(&rule.id, rule.severity, file, message)
        })
        .collect()
}

/// A `collection_meta.yaml` that cannot be read as one.
pub fn invalid(rule: &Rule, at: &DirContext<'_>) -> Vec<Finding> {
    let (Some(Err(why)), Some(entry)) = (at.meta, &at.dir.meta) else {
        return Vec::new();
    };
    vec![Finding::on_path(&rule.id, rule.severity, &entry.path, why.to_string()).at(&at.dir.place)]
}

/// Markers of the scheme before sidecars, in the layout that has sidecars.
pub fn legacy(rule: &Rule, at: &DirContext<'_>) -> Vec<Finding> {
    if at.dir.place.family.is_none() {
        return Vec::new();
    }
    let message = "a marker of the scheme that sidecars replaced";
    let finding =
        |path: &str| Finding::on_path(&rule.id, rule.severity, path, message).at(&at.dir.place);
    at.dir.markers.iter().map(|m| finding(&m.path)).collect()
}

/// What a run may call itself in a backend's directory, beside the backend's own name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Frameworks {
    backends: BTreeMap<String, Vec<String>>,
}

impl Frameworks {
    /// A sidecar that says another framework, version or set of tables than its directory.
    pub fn check(&self, rule: &Rule, at: &DirContext<'_>) -> Vec<Finding> {
        let (Some(Ok(meta)), Some(entry)) = (at.meta, &at.dir.meta) else {
            return Vec::new();
        };
        let wrong = self.contradictions(meta, at);
        if wrong.is_empty() {
            return Vec::new();
        }
        let finding = Finding::on_path(&rule.id, rule.severity, &entry.path, wrong.join("; "));
        vec![finding.at(&at.dir.place).parts(wrong)]
    }

    fn contradictions(&self, meta: &Meta, at: &DirContext<'_>) -> Vec<String> {
        let place = &at.dir.place;
        let mut wrong = Vec::new();
        let framework = &meta.runtime.framework;
        let names = self.backends.get(&place.backend).map_or(&[][..], Vec::as_slice);
        let own = std::iter::once(&place.backend).chain(names);
        if !own.into_iter().any(|n| n.eq_ignore_ascii_case(framework)) {
            wrong
                .push(format!("it says framework {framework}, its directory is {}", place.backend));
        }
        let version = &meta.runtime.version;
        if !same_version(version, &place.version) {
            wrong.push(format!("it says version {version}, its directory is {}", place.version));
        }
        let has =
            |table: &String| at.dir.tables.iter().any(|i| &at.catalog.tables[*i].table == table);
        let absent: Vec<&str> =
            meta.tables.keys().filter(|t| !has(t)).map(String::as_str).collect();
        if !absent.is_empty() {
            wrong.push(format!("it describes {}, of which there is no file", absent.join(", ")));
        }
        wrong
    }
}

/// A table that has not the rows its sidecar says.
pub fn row_count(rows: &RowContext<'_>) -> Option<Finding> {
    let stated = rows.at.meta?.tables.get(&rows.at.file.table)?.rows?;
    let found = rows.table.rows as u64;
    (stated != found).then(|| {
        rows.finding(format!("its sidecar says {stated} rows, it has {found}"))
            .rows(rows.table.rows)
            .parts([format!("{stated} {found}")])
            .evidence("stated", stated)
            .evidence("found", found)
    })
}
