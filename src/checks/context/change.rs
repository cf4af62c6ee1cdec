//! The view of a pull request: both states and their difference.

use crate::database::diff::Diff;
use crate::database::state::State;
use crate::findings::Finding;
use crate::specs::Specs;

/// The change that a pull request makes to a database.
pub struct ChangeContext<'a> {
    /// The state before the change.
    pub base: State<'a>,
    /// The state after the change.
    pub head: State<'a>,
    /// The difference between the two states.
    pub diff: &'a Diff,
    /// Errors on rows that the pull request adds or changes, which the head would have if the pull request did not
    /// change what the database states.
    pub excused: &'a [Finding],
    /// The specs of tables and systems.
    pub specs: &'a Specs,
}
