//! The hooks of a kind of check. A kind implements those that it needs, in a file of its own; the
//! others find nothing.

use crate::base::expr::ExprError;
use crate::checks::compare::relative_latency::NamedPeers;
use crate::checks::rule::Rule;
use crate::checks::{
    ChangeContext, CrossContext, DirContext, FactsContext, RowContext, SystemContext, TableContext,
    WaiverContext,
};
use crate::database::catalog::{Catalog, TableFile};
use crate::database::source::Entry;
use crate::database::table::TableFault;
use crate::findings::{Finding, Hits, Reads};
use crate::specs::{Specs, TableSpec};

/// Findings of one hook.
pub type Found = Vec<Finding>;

/// A kind of check with its parameters.
pub trait Judge {
    /// What has to be gathered for it.
    fn needs(&self) -> CheckInputs {
        CheckInputs::default()
    }

    /// Whether it asks for the operation lists of default models where it judges such a database as a whole.
    fn asks_for_models(&self, _: &Catalog, _: &Specs) -> bool {
        false
    }

    /// By what it judges a row: columns, and what is known of the table's system where it says so. A pull
    /// request that changes nothing of it makes no finding of it new.
    fn reads(&self, _: &TableSpec) -> Reads {
        Reads::all()
    }

    /// Judges a table that cannot be read, by why it cannot.
    fn unreadable(&self, _: &Rule, _: &TableContext<'_>, _: &TableFault) -> Option<Finding> {
        None
    }

    /// Whether what it says of a table is right whatever its columns mean, so that it judges tables
    /// without a spec.
    fn judges_unknown_tables(&self) -> bool {
        false
    }

    /// Judges the rows of a table by themselves.
    ///
    /// # Errors
    ///
    /// When a formula of the table's spec fails.
    fn table<'v>(&'v self, _: &'v RowContext<'v>) -> Result<Hits<'v>, ExprError> {
        Ok(Hits::new())
    }

    /// Judges where a table is stored.
    fn placement(&self, _: &Rule, _: &TableFile, _: &Specs) -> Option<Finding> {
        None
    }

    /// Judges a version directory and its sidecars.
    fn dir(&self, _: &Rule, _: &DirContext<'_>) -> Found {
        Found::new()
    }

    /// Judges a system's YAML.
    fn system(&self, _: &Rule, _: &SystemContext<'_>) -> Found {
        Found::new()
    }

    /// Whether it holds tables against each other, those of a name or all: whether [`cross`](Self::cross),
    /// [`peers`](Self::peers) or [`whole`](Self::whole) is to be asked. Where no rule does, tables are not
    /// sketched.
    fn compares(&self) -> bool {
        false
    }

    /// Judges the tables of one name against each other.
    ///
    /// # Errors
    ///
    /// When a formula of a limit or of the rule fails.
    fn cross<'v>(&'v self, _: &'v Rule, _: &'v CrossContext<'v>) -> Result<Hits<'v>, ExprError> {
        Ok(Hits::new())
    }

    /// What it needs of the tables of a name to judge the database as a whole, where they are there by then.
    fn peers(&self, _: &CrossContext<'_>) -> Option<NamedPeers> {
        None
    }

    /// Judges the database as a whole, once all tables were read. What their sketches hold of single points
    /// is gone by then.
    ///
    /// # Errors
    ///
    /// When a formula of a limit or of the rule fails.
    fn whole(&self, _: &Rule, _: &CrossContext<'_>) -> Result<Found, ExprError> {
        Ok(Found::new())
    }

    /// Judges a file below a system's data that is not a table in its place.
    fn stray(&self, _: &Rule, _: &Entry) -> Option<Finding> {
        None
    }

    /// Judges a file that states facts and cannot be read.
    fn facts(&self, _: &Rule, _: &FactsContext<'_>) -> Option<Finding> {
        None
    }

    /// Judges the tables, by their paths, that `.gitattributes` keeps in git-LFS and that were not fetched.
    fn tables_in_lfs(&self, _: &Rule, _: &[String]) -> Option<Finding> {
        None
    }

    /// Judges what a pull request does to the database as a whole.
    ///
    /// # Errors
    ///
    /// When a formula of a table's spec fails.
    fn change(&self, _: &Rule, _: &ChangeContext<'_>) -> Result<Found, ExprError> {
        Ok(Found::new())
    }

    /// Judges what a later state of a database lacks as a whole, by what both hold alone.
    fn deletions(&self, _: &Rule, _base: &Catalog, _head: &Catalog) -> Found {
        Found::new()
    }

    /// Judges the waivers of a file, by how they matched.
    fn waivers(&self, _: &Rule, _: &WaiverContext<'_>) -> Option<Finding> {
        None
    }
}

/// What checks look at, beside the tables themselves, and what has to be gathered for them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CheckInputs {
    /// Version directories with their sidecars.
    pub version_dirs: bool,
    /// System YAML.
    pub systems: bool,
    /// Waivers.
    pub waivers: bool,
    /// Traces, and nothing of a database.
    pub traces: bool,
    /// Two states of a database, and nothing of one state.
    pub changes: bool,
    /// What a pull request does to predicted step times.
    pub predictions: bool,
    /// Errors that the head would have under what the base states.
    pub excused: bool,
    /// Where rows say that they were measured: device, framework, version.
    pub origin: bool,
    /// Support matrices.
    pub support_matrices: bool,
    /// Files that state facts.
    pub facts: bool,
    /// The operation lists of default models, and which slices tables have for their lookups.
    pub plans: bool,
    /// The keys of the points in the sketches of reference tables.
    pub keys: bool,
    /// Outliers, from this factor over (or under) their neighbours.
    pub outliers: Option<f64>,
    /// The latencies of all keys, and the points that bend by this factor or more.
    pub curves: Option<CurveTerms>,
}

/// What is kept of a table's curves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurveTerms {
    /// Factor over (or under) the line between its neighbours from which on a point is kept.
    pub bends: f64,
    /// Latency in ms below which the timer explains much.
    pub floor_ms: f64,
}

impl CurveTerms {
    /// Terms that keep what either keeps.
    fn both(self, other: Self) -> Self {
        Self { bends: self.bends.min(other.bends), floor_ms: self.floor_ms.min(other.floor_ms) }
    }
}

impl CheckInputs {
    /// What two checks need together.
    pub fn and(self, other: Self) -> Self {
        Self {
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
