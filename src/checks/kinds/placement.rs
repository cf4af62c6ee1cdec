//! Tables that lie where no loader looks for them.

use crate::checks::{Found, Item, Judge, RuleHead};
use crate::database::catalog::{TableFile, is_misspelt, is_passed_over};
use crate::database::source::Entry;
use crate::findings::{Finding, Severity};
use crate::specs::Specs;

/// The check for tables in folders where no loader looks for them.
pub(crate) struct PlacementCheck;

impl Judge for PlacementCheck {
    fn judges_unknown_tables(&self) -> bool {
        true
    }

    /// Reports a table in the folder of a wrong family.
    fn item(&self, rule: RuleHead<'_>, item: &Item<'_>) -> Found {
        let found = match item {
            Item::Place(file, specs) => placement(rule, file, specs),
            Item::Stray(entry) => stray(rule, entry),
            Item::Dir(_)
            | Item::System(_)
            | Item::Report(_)
            | Item::Profile(_)
            | Item::Facts(_)
            | Item::InLfs(_)
            | Item::Waivers(_)
            | Item::Catalogs { .. } => None,
        };
        found.into_iter().collect()
    }
}

/// The finding on a table in the folder of a wrong family; `None` if the family is right or not known.
fn placement(rule: RuleHead<'_>, file: &TableFile, specs: &Specs) -> Option<Finding> {
    let found = file.place.family.as_deref()?;
    let listed = specs.families.get(&file.table);
    let own = listed.or_else(|| specs.tables.get(&file.table).map(|spec| &spec.family))?;
    if found == own {
        return None;
    }
    let message = if own.is_empty() {
        format!("{} has no family, but it is in {found}/", file.table)
    } else {
        format!("{} belongs in {own}/, but it is in {found}/", file.table)
    };
    // Only the database's own catalog states for certain which family a table has.
    let finding = if listed.is_some() {
        rule.on_table(file, message)
    } else {
        let message = format!("{message}; another family is {}", specs.shipped.not_known());
        let is_family = |family: &String| family == found;
        let is_known = specs.families.values().any(is_family)
            || specs.tables.values().any(|spec| is_family(&spec.family));
        let of_table = if is_known { format!(" of {}", file.table) } else { String::new() };
        let what = format!("the family {found}{of_table}");
        let severity = rule.severity.at_most(Severity::Warning);
        Finding::on_table(rule.id, severity, file, message).unknown(&what)
    };
    let finding =
        finding.parts([found]).evidence("family", found).evidence("own_family", own.as_str());
    Some(finding)
}

/// The finding on a file that no loader reads: a table too deep or too shallow below its system's data, in an ignored
/// folder, or with another spelling. `None` for other files.
fn stray(rule: RuleHead<'_>, entry: &Entry) -> Option<Finding> {
    if entry.kind.leads_away().is_some() {
        return None;
    }
    let mut severity = rule.severity;
    let message = if is_passed_over(&entry.path) {
        severity = severity.at_most(Severity::Warning);
        "loaders pass over folders whose names begin with . and versions whose names begin with _, so this table \
             is not read and was not checked"
    } else if is_misspelt(&entry.path) {
        "no loader reads a file of this name: table names end in .parquet, _perf.txt or _perf.csv, in \
             lower case"
    } else {
        "no loader looks for a file at this depth: tables are <family>/<backend>/<version>/<table>"
    };
    Some(Finding::on_path(rule.id, severity, &entry.path, message))
}
