//! The inputs of checks: facts about tables and databases that are gathered only where a rule of the run needs them.

/// An input of a check beside the rows of one table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// Tables that are judged against each other. If no rule needs them, tables are not sketched.
    Peers,
    /// Version directories with their sidecars.
    VersionDirs,
    /// The YAML of systems.
    Systems,
    /// The waivers of the database.
    Waivers,
    /// Traces; such a check reads nothing of a database.
    Traces,
    /// Two states of a database; such a check finds nothing in a single state.
    Changes,
    /// The planner's answers before and after a pull request.
    Predictions,
    /// The errors that the head would have under the facts of the base.
    Excused,
    /// The origin that rows state: device, framework, version.
    Origin,
    /// The support matrices of systems.
    SupportMatrices,
    /// Files that state facts.
    Facts,
    /// The keys of the points in the sketches of reference tables.
    Keys,
}

/// The inputs that a check, or all checks of a run, need.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CheckInputs {
    /// A bit for each input.
    bits: u16,
    /// Outliers, from this factor over (or under) their neighbours.
    pub outliers: Option<f64>,
    /// The latencies of all keys, and the points that bend at least as far as these terms say.
    pub curves: Option<CurveTerms>,
}

/// The limits from which on a point of a table's curves is kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurveTerms {
    /// Factor over (or under) the line between its neighbours from which on a point is kept.
    pub bends: f64,
    /// Latency in ms below which the timer explains much.
    pub floor_ms: f64,
}

impl CurveTerms {
    /// Returns terms that keep every point that one of two terms keeps.
    fn both(self, other: Self) -> Self {
        Self { bends: self.bends.min(other.bends), floor_ms: self.floor_ms.min(other.floor_ms) }
    }
}

impl CheckInputs {
    /// Returns some inputs.
    pub fn of(inputs: &[Input]) -> Self {
        let bits = inputs.iter().fold(0, |bits, input| bits | 1 << *input as u16);
        Self { bits, ..Self::default() }
    }

    /// Returns these inputs with outliers and curves.
    pub fn with(self, outliers: Option<f64>, curves: Option<CurveTerms>) -> Self {
        Self { outliers, curves, ..self }
    }

    /// Returns true if an input is among these.
    pub fn has(self, input: Input) -> bool {
        self.bits & 1 << input as u16 != 0
    }

    /// Returns the inputs that two checks need together.
    pub fn and(self, other: Self) -> Self {
        Self {
            bits: self.bits | other.bits,
            outliers: [self.outliers, other.outliers].into_iter().flatten().reduce(f64::min),
            curves: [self.curves, other.curves].into_iter().flatten().reduce(CurveTerms::both),
        }
    }
}
