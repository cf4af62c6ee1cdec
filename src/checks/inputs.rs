//! The arguments of a check besides its own parameters: the head of its rule, which creates findings, and its inputs.
//! Inputs are facts about tables and databases, which are gathered only if a rule of the run needs them.

use crate::base::error::Error;
use crate::base::expr::ExprError;
use crate::database::catalog::TableFile;
use crate::findings::{Finding, Severity};

/// A rule's id and severity.
#[derive(Debug, Clone, Copy)]
pub struct RuleHead<'a> {
    /// The rule's id.
    pub id: &'a str,
    /// The severity of the rule's findings, unless the check chooses another.
    pub severity: Severity,
}

impl RuleHead<'_> {
    /// The hint to pass to [`RuleHead::unjudged`] if the formula is part of a limit.
    pub(crate) const IN_LIMITS: &'static str = "the formula is in rules/limits.yaml";

    /// Creates the error for a rule whose formula fails. `hint` names the file that contains the formula.
    pub(crate) fn unjudged(self, hint: &str, why: ExprError) -> Error {
        Error::caused(format!("cannot check the rule {}", self.id), hint, why)
    }

    /// Returns a finding of the rule's own severity on a table.
    pub(crate) fn on_table(self, file: &TableFile, message: impl Into<String>) -> Finding {
        Finding::on_table(self.id, self.severity, file, message)
    }

    /// Returns a finding of the rule's own severity on a file or a folder.
    pub(crate) fn on_path(self, path: &str, message: impl Into<String>) -> Finding {
        Finding::on_path(self.id, self.severity, path, message)
    }

    /// Creates one finding on a file from a list of faults; `None` if the list is empty.
    pub(crate) fn all_on_path(self, path: &str, wrong: Vec<String>) -> Option<Finding> {
        (!wrong.is_empty()).then(|| self.on_path(path, wrong.join("; ")).parts(wrong))
    }
}

/// An input of a check, other than the rows of one table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// The other tables of the same name. If no rule needs them, tables are not sketched.
    Peers,
    /// Version directories with their sidecars.
    VersionDirs,
    /// The YAML of systems.
    Systems,
    /// The waivers of the database.
    Waivers,
    /// Traces. A check with this input does not read a database.
    Traces,
    /// Two states of a database; such a check finds nothing in a single state.
    Changes,
    /// The planner's answers before and after a pull request.
    Predictions,
    /// The errors that the head would have under the facts of the base.
    Excused,
    /// The origin in the rows of a table: device, framework, version.
    Origin,
    /// The support matrices of systems.
    SupportMatrices,
    /// Files that state facts about the database.
    Facts,
    /// The key values of the points in the sketches of reference tables.
    Keys,
}

/// The inputs that a check, or all checks of a run, need.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CheckInputs {
    /// One bit for each [`Input`].
    bits: u16,
    /// The minimum factor, up or down, between an outlier and its neighbours; `None` if outliers are not needed.
    pub outliers: Option<f64>,
    /// The limits that select which points of curves are kept. With curves, the latencies of all keys are kept, too.
    /// `None` if curves are not needed.
    pub curves: Option<CurveTerms>,
}

/// The limits that select which points of a table's curves are kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurveTerms {
    /// The minimum factor, up or down, between a kept point and the line between its neighbours.
    pub deviations: f64,
    /// The latency in ms below which points are not compared, because the timer causes much of their deviation.
    pub floor_ms: f64,
}

impl CurveTerms {
    /// Returns limits that keep every point that `self` or `other` keeps.
    fn both(self, other: Self) -> Self {
        Self {
            deviations: self.deviations.min(other.deviations),
            floor_ms: self.floor_ms.min(other.floor_ms),
        }
    }
}

impl CheckInputs {
    /// Creates a set of inputs, without outliers and curves.
    pub(crate) fn of(inputs: &[Input]) -> Self {
        let bits = inputs.iter().fold(0, |bits, input| bits | 1 << *input as u16);
        Self { bits, ..Self::default() }
    }

    /// Returns the same inputs with the given limits for outliers and curves.
    pub(crate) fn with(self, outliers: Option<f64>, curves: Option<CurveTerms>) -> Self {
        Self { outliers, curves, ..self }
    }

    /// Returns true if the set contains `input`.
    pub fn has(self, input: Input) -> bool {
        self.bits & 1 << input as u16 != 0
    }

    /// The union of the inputs of two checks.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            bits: self.bits | other.bits,
            outliers: [self.outliers, other.outliers].into_iter().flatten().reduce(f64::min),
            curves: [self.curves, other.curves].into_iter().flatten().reduce(CurveTerms::both),
        }
    }
}
