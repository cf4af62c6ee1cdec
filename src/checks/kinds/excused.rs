//! Errors that a pull request excuses by changing what the database states.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::expr::ExprError;
use crate::base::words::names;
use crate::checks::{ChangeContext, CheckInputs, Found, Input, Judge, RuleHead};
use crate::database::catalog::{Place, Role};
use crate::findings::{Finding, Severity};

/// The check for pull requests that hide an error by changing facts, such as a system's YAML. With the facts of the
/// base, a rule would report the error.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Excuses {
    /// Names of rules. If the hidden error is of one of these rules, the finding is only an info, since there usually
    /// is a good reason for the changed facts, such as a new model.
    info: Vec<String>,
}

impl Judge for Excuses {
    fn needs(&self) -> CheckInputs {
        CheckInputs::of(&[Input::Changes, Input::Excused])
    }

    /// Returns one finding for each error that changed facts hide.
    fn change(&self, rule: RuleHead<'_>, at: &ChangeContext<'_>) -> Result<Found, ExprError> {
        Ok(at.excused.iter().map(|error| self.finding(rule, at, error)).collect())
    }
}

impl Excuses {
    fn finding(&self, rule: RuleHead<'_>, at: &ChangeContext<'_>, error: &Finding) -> Finding {
        let is_usual = self.info.contains(&error.rule);
        let severity = if is_usual { rule.severity.at_most(Severity::Info) } else { rule.severity };
        let facts = facts(at, error);
        let message = format!(
            "this change also changes {}; without that, {} would report an error here: {}",
            names(facts.iter().copied()),
            error.rule,
            error.message,
        );
        let mut finding = Finding::on_path(rule.id, severity, &error.path, message);
        (finding.place, finding.table) = (error.place.clone(), error.table.clone());
        finding.slice.insert("rule".into(), error.rule.clone().into());
        let finding = finding.rows(error.rows as usize).examples(error.examples.clone());
        finding
            .evidence("rule", error.rule.clone())
            .evidence("facts", facts)
            .evidence("rows", error.rows)
            .about_change()
    }
}

/// Returns the paths of the changed files that may hide an error: the YAML of the table's system, files of facts, and
/// the `reuse.yaml` of the table's directory.
fn facts<'a>(at: &ChangeContext<'a>, error: &Finding) -> Vec<&'a str> {
    let place = error.place.as_ref();
    let system = place.and_then(|place| at.head.catalog.systems.get(&place.system));
    let is_own = |path: &str| {
        place.is_some_and(|Place { system, backend, version, .. }| {
            path.contains(&format!("/{system}/"))
                && path.ends_with(&format!("/{backend}/{version}/reuse.yaml"))
        })
    };
    let files = at.diff.files.iter().filter(|file| match file.role {
        Role::System => system.is_some_and(|system| system.yaml == file.path),
        // The file that maps kernels to backends decides on warnings only, so it cannot excuse an error.
        Role::Facts => !file.path.ends_with(&at.head.specs.facts.kernel_sources.file),
        Role::Sidecar => is_own(&file.path),
        Role::Other | Role::Settings | Role::Trace => false,
    });
    files.map(|file| file.path.as_str()).collect()
}
