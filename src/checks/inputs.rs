//! The inputs of checks: facts about tables and databases that are gathered only where a rule of the run needs them.

/// The inputs of a check beside the rows of one table. They are gathered only if a rule of the run needs them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CheckInputs {
    /// True for checks that judge tables against each other. If no rule does, tables are not sketched.
    pub compares: bool,
    /// Version directories with their sidecars.
    pub version_dirs: bool,
    /// The YAML of systems.
    pub systems: bool,
    /// The waivers of the database.
    pub waivers: bool,
    /// Traces; such a check reads nothing of a database.
    pub traces: bool,
    /// Two states of a database; such a check finds nothing in a single state.
    pub changes: bool,
    /// The effect of a pull request on predicted step times.
    pub predictions: bool,
    /// The errors that the head would have under the facts of the base.
    pub excused: bool,
    /// The origin that rows state: device, framework, version.
    pub origin: bool,
    /// The support matrices of systems.
    pub support_matrices: bool,
    /// Files that state facts.
    pub facts: bool,
    /// The operation lists of default models, and the slices of tables that their lookups read.
    pub plans: bool,
    /// The keys of the points in the sketches of reference tables.
    pub keys: bool,
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
    /// Returns the inputs that two checks need together.
    pub fn and(self, other: Self) -> Self {
        Self {
            compares: self.compares || other.compares,
            version_dirs: self.version_dirs || other.version_dirs,
            systems: self.systems || other.systems,
            waivers: self.waivers || other.waivers,
            traces: self.traces || other.traces,
            changes: self.changes || other.changes,
            predictions: self.predictions || other.predictions,
            excused: self.excused || other.excused,
            origin: self.origin || other.origin,
            support_matrices: self.support_matrices || other.support_matrices,
            facts: self.facts || other.facts,
            plans: self.plans || other.plans,
            keys: self.keys || other.keys,
            outliers: [self.outliers, other.outliers].into_iter().flatten().reduce(f64::min),
            curves: [self.curves, other.curves].into_iter().flatten().reduce(CurveTerms::both),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CheckInputs;

    #[test]
    fn the_least_factor_of_an_outlier_serves_all() {
        let from = |factor| CheckInputs { outliers: factor, ..CheckInputs::default() };
        let keys = CheckInputs { keys: true, ..CheckInputs::default() };
        let both = from(Some(3.0)).and(keys).and(from(Some(2.0)));
        assert_eq!(both, CheckInputs { keys: true, outliers: Some(2.0), ..CheckInputs::default() });
        assert_eq!(from(None).and(from(None)), CheckInputs::default());
    }
}
