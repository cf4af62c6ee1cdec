//! Faults of `reuse.yaml`: donor versions without the table, and reuse of tables that may not be reused.

use crate::base::words::{names, plural_verb};
use crate::checks::{CheckInputs, DirContext, Found, Input, Item, Judge, RuleHead};
use crate::specs::Filling;

/// The check for a `reuse.yaml` that cannot be read, or that takes a table from a version that does not have the table.
pub(crate) struct ReuseInvalid;

impl Judge for ReuseInvalid {
    fn needs(&self) -> CheckInputs {
        CheckInputs::of(&[Input::VersionDirs])
    }

    fn item(&self, rule: RuleHead<'_>, item: &Item<'_>) -> Found {
        let Item::Dir(at) = item else { return Found::new() };
        let (Some(reuse), Some(entry)) = (at.reuse, &at.dir.reuse) else {
            return Vec::new();
        };
        let finding = |message: String, parts: &[String]| {
            let finding = rule.on_path(&entry.path, message);
            vec![finding.at(&at.dir.place).parts(parts)]
        };
        let reuse = match reuse {
            Ok(reuse) => reuse,
            Err(why) => return finding(why.to_string(), &[]),
        };
        let empty: Vec<String> = reuse
            .reuse
            .iter()
            .filter(|donor| !has_table(at, &donor.from_version, &donor.table))
            .map(|donor| format!("{} from {}", donor.table, donor.from_version))
            .collect();
        if empty.is_empty() {
            return Vec::new();
        }
        let named = names(empty.iter().map(String::as_str));
        let donors = plural_verb(empty.len(), "declared donor", ["does", "do"]);
        let message = format!("{donors} not have the table: {named}");
        finding(message, &empty)
    }
}

/// Returns true if another version of the directory's backend has its own file of the table.
fn has_table(at: &DirContext<'_>, version: &str, table: &str) -> bool {
    let parent = at.dir.path.rsplit_once('/').map_or("", |(parent, _)| parent);
    let dir = at.catalog.dirs.get(&format!("{parent}/{version}"));
    let holds = |i: &usize| at.catalog.tables[*i].table == table;
    dir.is_some_and(|d| d.path != at.dir.path && d.tables.iter().any(holds))
}

/// The check for `reuse.yaml` files that name tables which the loader never takes from another version.
pub(crate) struct ReuseForbidden;

impl Judge for ReuseForbidden {
    fn needs(&self) -> CheckInputs {
        CheckInputs::of(&[Input::VersionDirs])
    }

    fn item(&self, rule: RuleHead<'_>, item: &Item<'_>) -> Found {
        let Item::Dir(at) = item else { return Found::new() };
        let (Some(entry), Some(Ok(reuse))) = (&at.dir.reuse, at.reuse) else { return Vec::new() };
        // A family none of whose tables may be reused is forbidden as a whole, even for unknown tables.
        let family = at.dir.place.family.as_deref().unwrap_or_default();
        let mut of_family = at.specs.tables.values().filter(|t| t.family == family).peekable();
        let closed = of_family.peek().is_some() && of_family.all(|t| t.filling != Filling::Always);
        let alone = |table: &str| {
            at.specs.tables.get(table).map_or(closed, |t| t.filling != Filling::Always)
        };
        let mut wrong: Vec<&str> =
            reuse.reuse.iter().map(|d| d.table.as_str()).filter(|t| closed || alone(t)).collect();
        wrong.dedup();
        if wrong.is_empty() {
            return Vec::new();
        }
        let message =
            format!("{} cannot be reused; the loader ignores these declarations", wrong.join(", "));
        let finding = rule.on_path(&entry.path, message);
        vec![finding.at(&at.dir.place).parts(wrong)]
    }
}
