//! The references' keys by the values of their parts, and the state of each in the judged table.

use std::collections::{BTreeMap, BTreeSet};

use crate::database::coverage::{CoveredPoints, PartRole};

/// The state of a reference's key in the judged table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyState {
    /// The table would serve the key.
    Served,
    /// The key is missing.
    Missing,
    /// The key is missing for a known reason, such as a failure of the collector. The search for holes ignores the key.
    Explained,
}

/// The references' keys with the values of their parts, and whether the judged table serves each key.
pub(crate) struct KeyGrid {
    /// The keys with the values of their parts.
    pub points: CoveredPoints,
    /// The state of each key.
    pub states: Vec<KeyState>,
}

/// The allowed values of key parts: for each restricted key part (by its index), the codes of its allowed values. A
/// code is an index into the part's sorted values.
pub(crate) type Conditions = BTreeMap<usize, BTreeSet<u32>>;

impl KeyGrid {
    /// The indices of the keys in a state.
    pub(crate) fn in_state(&self, state: KeyState) -> impl Iterator<Item = usize> {
        (0..self.states.len()).filter(move |key| self.states[*key] == state)
    }

    /// Returns the code of a key's value in the key part with the index `part`. The code is an index into the part's
    /// sorted values.
    pub(crate) fn code(&self, part: usize, key: usize) -> u32 {
        self.points.parts[part].codes[key]
    }

    /// Returns true if the part with this index is an axis of the sweep.
    pub(crate) fn is_axis(&self, part: usize) -> bool {
        self.points.parts[part].kind == PartRole::Grid
    }

    /// Returns true if a key meets the conditions.
    pub(crate) fn meets(&self, conditions: &Conditions, key: usize) -> bool {
        conditions.iter().all(|(part, values)| values.contains(&self.code(*part, key)))
    }

    /// Returns true if a key is at least as large as `other` along every axis of the sweep.
    pub(crate) fn is_as_large(&self, key: usize, other: usize) -> bool {
        let mut axes = (0..self.points.parts.len()).filter(|part| self.is_axis(*part));
        axes.all(|axis| self.code(axis, key) >= self.code(axis, other))
    }

    /// Returns the codes of all values that `keys` have in a key part.
    pub(crate) fn values(&self, part: usize, keys: &[usize]) -> BTreeSet<u32> {
        keys.iter().map(|key| self.code(part, *key)).collect()
    }
}
