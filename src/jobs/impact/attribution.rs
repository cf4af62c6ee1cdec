//! Which operations moved a step, and which rows moved those.

use crate::planner::{StepPart, TableLookup};

/// An operation whose time moved.
#[derive(Debug, Clone, PartialEq)]
pub struct OpMove {
    /// Its name in the list.
    pub name: String,
    /// Its time before, ms over all layers.
    pub before: f64,
    /// Its time after, ms over all layers.
    pub after: f64,
    /// Lookups before that are not the same after.
    pub lookups_before: Vec<TableLookup>,
    /// Lookups after that are not the same before.
    pub lookups_after: Vec<TableLookup>,
}

impl OpMove {
    /// How much its time grew, ms.
    pub fn delta(&self) -> f64 {
        self.after - self.before
    }
}

/// The operations of a step whose time moved, the largest move first. Lists can differ between the
/// states, where data decides on the precision of attention; operations are matched by name.
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
