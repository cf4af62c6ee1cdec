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
    /// The hint for [`RuleHead::unjudged`] that says that the failing formula is in the file of limits.
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

    /// Creates one finding on a file that lists all faults in `wrong`; `None` if there are no faults.
    pub(crate) fn all_on_path(self, path: &str, wrong: Vec<String>) -> Option<Finding> {
        (!wrong.is_empty()).then(|| self.on_path(path, wrong.join("; ")).parts(wrong))
    }
}

/// A kind of data that a check needs in addition to the rows of one table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// The other tables of the same name. Tables are sketched only if a rule needs this input.
    Peers,
    /// Version directories with their sidecars.
    VersionDirs,
    /// The YAML of systems.
    Systems,
    /// The waivers of the database.
    Waivers,
    /// Traces. A check with this input does not read a database.
    Traces,
    /// The base and the head of a pull request. A check with this input finds nothing in a single state.
    Changes,
    /// The step times that the planner predicts before and after a pull request.
    Predictions,
    /// The errors that the pull request hides by changing facts, such as a system's YAML.
    Excused,
    /// The columns device, framework and version, which state the origin of a row.
    Origin,
    /// The support matrices of systems.
    SupportMatrices,
    /// Files that state facts about the database.
    Facts,
    /// The key values in the sketches of reference tables. They are needed to name keys that a table lacks.
    Keys,
}

/// The inputs that a check needs, or that all checks of a run need together.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CheckInputs {
    /// One bit for each [`Input`].
    bits: u16,
    /// The minimum factor by which an outlier is slower or faster than its neighbours; `None` if no check needs
    /// outliers.
    pub outliers: Option<f64>,
    /// The limits that decide which points of a table's curves a sketch keeps; `None` if no check needs curves. A
    /// sketch with curves also keeps the latencies of all keys.
    pub curves: Option<CurveTerms>,
}

/// The limits beyond which a point of a table's curve deviates from its neighbours. A sketch contains these points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurveTerms {
    /// A point is kept if it is above or below the line between its neighbours by at least this factor.
    pub least_deviation: f64,
    /// The minimum latency of a compared point in ms. Much of the deviation of shorter latencies comes from the timer.
    pub floor_ms: f64,
}

impl CurveTerms {
    /// Returns limits that keep every point that `self` or `other` keeps.
    fn both(self, other: Self) -> Self {
        Self {
            least_deviation: self.least_deviation.min(other.least_deviation),
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
