//! `reuse.yaml`: donors that hold nothing, and reuse where none is allowed.

use serde::Deserialize;

use super::{DirContext, plural};
use crate::finding::Finding;
use crate::spec::Rule;

/// A `reuse.yaml` that cannot be read, or that names donors without the table.
pub fn invalid(rule: &Rule, at: &DirContext<'_>) -> Vec<Finding> {
    let (Some(reuse), Some(entry)) = (at.reuse, &at.dir.reuse) else {
        return Vec::new();
    };
    let finding = |message: String| {
        vec![Finding::on_path(&rule.id, rule.severity, &entry.path, message).at(&at.dir.place)]
    };
    let reuse = match reuse {
        Ok(reuse) => reuse,
        Err(why) => return finding(why.clone()),
    };
    let parent = at.dir.path.rsplit_once('/').map_or("", |(parent, _)| parent);
    let empty: Vec<String> = reuse
        .reuse
        .iter()
        .filter(|donor| {
            let dir = at.catalog.dirs.get(&format!("{parent}/{}", donor.from_version));
            let holds = |i: &usize| at.catalog.tables[*i].table == donor.table;
            !dir.is_some_and(|d| d.path != at.dir.path && d.tables.iter().any(holds))
        })
        .map(|donor| format!("{} from {}", donor.table, donor.from_version))
        .collect();
    if empty.is_empty() {
        return Vec::new();
    }
    finding(format!("{} without that table: {}", plural(empty.len(), "donor"), empty.join(", ")))
}

/// Where reuse is not allowed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forbidden {
    families: Vec<String>,
}

impl Forbidden {
    /// Declared reuse in a family whose data is never reused.
    pub fn check(&self, rule: &Rule, at: &DirContext<'_>) -> Vec<Finding> {
        let (Some(entry), Some(family)) = (&at.dir.reuse, &at.dir.place.family) else {
            return Vec::new();
        };
        let declares = at.reuse.is_some_and(|r| r.as_ref().map_or(true, |r| !r.reuse.is_empty()));
        if !declares || !self.families.contains(family) {
            return Vec::new();
        }
        let message =
            format!("{family} data is never reused; the loader ignores what is declared here");
        vec![Finding::on_path(&rule.id, rule.severity, &entry.path, message).at(&at.dir.place)]
    }
}
