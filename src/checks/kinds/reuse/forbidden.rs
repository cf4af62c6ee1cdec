//! Declared reuse of tables that may not be reused.

use crate::checks::{CheckInputs, Found, Input, Item, Judge, RuleHead};
use crate::specs::Filling;

/// The check for declared reuse of tables that the loader takes only from their own version.
pub struct ReuseForbidden;

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
