//! The states to predict, as a planner sees them.

use crate::base::error::Result;
use crate::database::served::ServedFormats;
use crate::database::state::State;
use crate::planner::{Snapshot, Store};

/// The two states of a comparison, or a single state.
pub(crate) struct States<'a> {
    pub before: Option<Snapshot<'a>>,
    pub after: Snapshot<'a>,
}

impl<'a> States<'a> {
    /// Wraps states for the planner.
    ///
    /// # Errors
    ///
    /// Returns an error if a manifest or `query_versions.yaml` of a state cannot be read.
    pub fn new(
        before: Option<State<'a>>,
        after: State<'a>,
        formats: ServedFormats,
        store: &'a Store,
    ) -> Result<Self> {
        let snapshot = |state: State<'a>| Snapshot::new(state, formats, store);
        Ok(Self { before: before.map(snapshot).transpose()?, after: snapshot(after)? })
    }

    /// Iterates over the states; the later state comes last.
    pub fn all(&self) -> impl Iterator<Item = &Snapshot<'a>> {
        self.before.iter().chain([&self.after])
    }
}
