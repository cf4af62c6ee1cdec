//! The trait of a kind of check. A kind implements the hooks that it needs; the default of every
//! other hook finds nothing.

use super::{ChangeContext, CheckInputs, CrossContext, Item, RowContext, RuleHead, TableContext};
use crate::base::error;
use crate::base::expr::ExprError;
use crate::database::table::TableFault;
use crate::findings::{Finding, Hits};

/// The findings that a method of [`Judge`] returns.
pub(crate) type Found = Vec<Finding>;

/// The hits that a method of [`Judge`] returns, or the reason why a formula fails.
pub(crate) type Judged<'v> = Result<Hits<'v>, ExprError>;

/// A kind of check with its parameters.
pub(crate) trait Judge {
    /// Returns the inputs that the check needs.
    fn needs(&self) -> CheckInputs {
        CheckInputs::default()
    }

    /// Returns true if the check also judges tables without a spec. The result of such a check must not depend on what
    /// the columns mean.
    fn judges_unknown_tables(&self) -> bool {
        false
    }

    /// Returns a finding on a table that cannot be read, if the check reports faults of this kind.
    fn unreadable(&self, _: RuleHead<'_>, _: &TableContext<'_>, _: &TableFault) -> Option<Finding> {
        None
    }

    /// Judges the rows of one table.
    ///
    /// # Errors
    ///
    /// When a formula of the table's spec fails.
    fn table<'v>(&'v self, _: &'v RowContext<'v>) -> Judged<'v> {
        Ok(Hits::new())
    }

    /// Judges the tables of one name against each other. The check must declare `Input::Peers`.
    ///
    /// # Errors
    ///
    /// When a formula of a limit or of the rule fails.
    fn cross<'v>(&'v self, _: RuleHead<'v>, _: &'v CrossContext<'v>) -> Judged<'v> {
        Ok(Hits::new())
    }

    /// Judges a database as a whole, after all tables were read. At this time, the sketches of the tables have no
    /// points. The check must declare `Input::Peers`.
    ///
    /// # Errors
    ///
    /// When a formula of the rule fails.
    fn whole(&self, _: RuleHead<'_>, _: &CrossContext<'_>) -> error::Result<Found> {
        Ok(Found::new())
    }

    /// Judges a thing other than the rows of a table: a directory, a system, a file of facts or the waivers.
    fn item(&self, _: RuleHead<'_>, _: &Item<'_>) -> Found {
        Found::new()
    }

    /// Judges the change that a pull request makes to a database.
    ///
    /// # Errors
    ///
    /// When a formula of a table's spec fails.
    fn change(&self, _: RuleHead<'_>, _: &ChangeContext<'_>) -> Result<Found, ExprError> {
        Ok(Found::new())
    }
}
