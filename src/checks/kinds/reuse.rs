//! `reuse.yaml`: donors that hold nothing, and reuse where none is allowed.

use crate::base::words::{names, plural};
use crate::checks::DirContext;
use crate::checks::rule::Rule;
use crate::findings::Finding;

/// A `reuse.yaml` that cannot be read, or that names donors without the table.
pub fn invalid(rule: &Rule, at: &DirContext<'_>) -> Vec<Finding> {
    let (Some(reuse), Some(entry)) = (at.reuse, &at.dir.reuse) else {
        return Vec::new();
    };
    let finding = |message: String, parts: &[String]| {
        let finding = Finding::on_path(&rule.id, rule.severity, &entry.path, message);
        vec![finding.at(&at.dir.place).parts(parts)]
    };
    let reuse = match reuse {
        Ok(reuse) => reuse,
        Err(why) => return finding(why.to_string(), &[]),
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
    let told = names(empty.iter().map(String::as_str));
    let message = format!("{} without that table: {told}", plural(empty.len(), "donor"));
    finding(message, &empty)
}

/// Declared reuse of tables that the loader takes from their own version alone.
pub fn forbidden(rule: &Rule, at: &DirContext<'_>) -> Vec<Finding> {
    let (Some(entry), Some(Ok(reuse))) = (&at.dir.reuse, at.reuse) else { return Vec::new() };
    // A family in which no table is shared is one of which nothing is, known table or not.
    let family = at.dir.place.family.as_deref().unwrap_or_default();
    let mut of_family = at.specs.tables.values().filter(|t| t.family == family).peekable();
    let closed = of_family.peek().is_some() && of_family.all(|t| !t.shared);
    let alone = |table: &str| at.specs.tables.get(table).map_or(closed, |t| !t.shared);
    let mut wrong: Vec<&str> =
        reuse.reuse.iter().map(|d| d.table.as_str()).filter(|t| closed || alone(t)).collect();
    wrong.dedup();
    if wrong.is_empty() {
        return Vec::new();
    }
    let message =
        format!("{} is never reused; the loader ignores what is declared here", wrong.join(", "));
    let finding = Finding::on_path(&rule.id, rule.severity, &entry.path, message);
    vec![finding.at(&at.dir.place).parts(wrong)]
}
