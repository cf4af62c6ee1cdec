//! The part of a rule that its check needs to write findings.

use crate::base::error::Error;
use crate::base::expr::ExprError;
use crate::database::catalog::TableFile;
use crate::findings::{Finding, Severity};

/// A rule's id and severity.
#[derive(Debug, Clone, Copy)]
pub struct RuleHead<'a> {
    /// The rule's id.
    pub id: &'a str,
    /// The severity of a finding unless the check states another.
    pub severity: Severity,
}

impl RuleHead<'_> {
    /// The hint of [`RuleHead::unjudged`] for a formula of a limit.
    pub const IN_LIMITS: &'static str = "the formula is in rules/limits.yaml";

    /// The error of a rule whose formula fails; `hint` names the file of the formula.
    pub fn unjudged(self, hint: &str, why: ExprError) -> Error {
        Error::caused(format!("cannot check the rule {}", self.id), hint, why)
    }

    /// Returns a finding of the rule's own severity on a table.
    pub fn on_table(self, file: &TableFile, message: impl Into<String>) -> Finding {
        Finding::on_table(self.id, self.severity, file, message)
    }

    /// Returns a finding of the rule's own severity on a file or a folder.
    pub fn on_path(self, path: &str, message: impl Into<String>) -> Finding {
        Finding::on_path(self.id, self.severity, path, message)
    }

    /// Creates one finding on a file from a list of faults; `None` if the list is empty.
    pub fn all_on_path(self, path: &str, wrong: Vec<String>) -> Option<Finding> {
        (!wrong.is_empty()).then(|| self.on_path(path, wrong.join("; ")).parts(wrong))
    }
}
