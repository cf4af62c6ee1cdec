//! Finds the operations that changed a step's time.

use crate::planner::{StepPart, TableLookup};

/// An operation whose time changed.
#[derive(Debug, Clone, PartialEq)]
pub struct OpMove {
    /// The operation's name in the model's operation list.
    pub name: String,
    /// Time before the change, in ms over all layers.
    pub before: f64,
    /// Time after the change, in ms over all layers.
    pub after: f64,
    /// Lookups before the change that are not among the lookups after it.
    pub lookups_before: Vec<TableLookup>,
    /// Lookups after the change that are not among the lookups before it.
    pub lookups_after: Vec<TableLookup>,
}

impl OpMove {
    /// Returns the time after the change minus the time before, in ms.
    pub fn delta(&self) -> f64 {
        self.after - self.before
    }
}

/// Returns the operations of a step whose time changed, largest change first. Operations are
/// matched by name: the lists can differ, since data decides on the precision of attention.
pub fn moves(before: Vec<StepPart>, after: Vec<StepPart>) -> Vec<OpMove> {
    let mut moves: Vec<OpMove> = Vec::new();
    for now in after {
        let Some(then) = before.iter().find(|part| part.name == now.name) else { continue };
        let (Ok(a), Ok(b)) = (&then.ms, &now.ms) else { continue };
        if a == b {
            continue;
        }
        let gone = then.lookups.iter().filter(|l| !now.lookups.contains(l)).cloned().collect();
        let new = now.lookups.iter().filter(|l| !then.lookups.contains(l)).cloned().collect();
        moves.push(OpMove {
            name: now.name,
            before: *a,
            after: *b,
            lookups_before: gone,
            lookups_after: new,
        });
    }
    moves.sort_by(|a, b| b.delta().abs().total_cmp(&a.delta().abs()));
    moves
}
