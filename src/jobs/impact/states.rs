//! The states that are predicted, as a planner sees them.

use crate::base::error::Result;
use crate::database::served::ServedFormats;
use crate::database::state::State;
use crate::planner::{Snapshot, Store};

/// The states of a comparison, or one.
pub(crate) struct States<'a> {
    pub before: Option<Snapshot<'a>>,
    pub after: Snapshot<'a>,
}

impl<'a> States<'a> {
    /// What a planner sees of states.
    ///
    /// # Errors
    ///
    /// Where what a state says of itself cannot be read.
    pub fn new(
        before: Option<State<'a>>,
        after: State<'a>,
        formats: ServedFormats,
        store: &'a Store,
    ) -> Result<Self> {
        let snapshot = |state: State<'a>| Snapshot::new(state, formats, store);
        Ok(Self { before: before.map(snapshot).transpose()?, after: snapshot(after)? })
    }

    /// Both, or the only one.
    pub fn all(&self) -> impl Iterator<Item = &Snapshot<'a>> {
        self.before.iter().chain([&self.after])
    }
}
