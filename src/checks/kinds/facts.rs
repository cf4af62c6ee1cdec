//! Files in which a database states facts about itself.

use std::collections::BTreeSet;

use crate::base::expr::ExprError;
use crate::checks::{ChangeContext, CheckInputs, Found, Input, Item, Judge, RuleHead};
use crate::database::state::State;
use crate::findings::{Finding, Severity};

/// The check for files of facts that cannot be read, have an unexpected structure, or are deleted.
pub(crate) struct FactsInvalid;

impl Judge for FactsInvalid {
    fn needs(&self) -> CheckInputs {
        CheckInputs::of(&[Input::Facts, Input::SupportMatrices])
    }

    fn item(&self, rule: RuleHead<'_>, item: &Item<'_>) -> Found {
        let Item::Facts(at) = item else { return Found::new() };
        let why = at.faults.join("; ");
        // Rewritten code is not a defect, but the facts in it are no longer known.
        let (severity, message) = if at.is_code {
            let message = format!("{why}, so the values of rules/facts.yaml are used");
            (rule.severity.at_most(Severity::Info), message)
        } else {
            (rule.severity, format!("cannot be read: {why}"))
        };
        vec![Finding::on_path(rule.id, severity, &at.entry.path, message)]
    }

    /// Reports files of facts that the change deletes.
    fn change(&self, rule: RuleHead<'_>, at: &ChangeContext<'_>) -> Result<Found, ExprError> {
        if at.head.catalog.systems.is_empty() {
            return Ok(Found::new());
        }
        let still: BTreeSet<&str> = stated(at.head).map(|(name, ..)| name).collect();
        let gone = stated(at.base).filter(|(name, ..)| !still.contains(name));
        let finding = |(_, path, is_code): (&str, &str, bool)| {
            let most = if is_code { Severity::Info } else { Severity::Warning };
            let message =
                "the file is deleted, so nothing in the database states these facts any more";
            Finding::on_path(rule.id, rule.severity.at_most(most), path, message).about_change()
        };
        Ok(gone.map(finding).collect())
    }
}

/// Lists the files in which a database states facts about itself. Each item is the name of the facts, the path of the
/// file, and whether the file is source code. A support matrix has the name of its system.
fn stated<'a>(state: State<'a>) -> impl Iterator<Item = (&'a str, &'a str, bool)> {
    let files = state.facts.files();
    let files = files.map(|file| (file.name.as_str(), file.entry.path.as_str(), file.is_code));
    let matrices = state.catalog.support.iter();
    files.chain(matrices.map(|(system, entry)| (system.as_str(), entry.path.as_str(), false)))
}
