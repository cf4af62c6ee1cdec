//! Slices that a plan lacks: an operation needs them, but none of their rows is served.

use super::keys::SliceSource;
use super::operations::Op;
use super::refusal::Refusal;
use super::resolve::OpList;

/// A slice that an operation needs and no file serves.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Lack {
    /// The planner's refusal. For an operation with alternatives, it contains the refusals of all.
    pub why: String,
    op: Op,
}

impl Lack {
    /// Returns true if another source serves the slice.
    pub(crate) fn is_met_by(&self, source: &dyn SliceSource) -> bool {
        self.op.check(source).is_ok()
    }
}

impl OpList {
    /// The slices that the operations lack, each once, in the order of the list. Tables that were not
    /// read are ignored.
    ///
    /// # Errors
    ///
    /// [`Refusal::Machine`] if the machine lacks a figure that an operation needs; rows would not help
    /// then.
    pub(crate) fn lacks(&self, source: &dyn SliceSource) -> Result<Vec<Lack>, Refusal> {
        let mut lacks = Vec::new();
        for op in self.prefill.iter().chain(&self.decode) {
            collect(op, source, &mut lacks)?;
        }
        Ok(lacks)
    }
}

fn collect(op: &Op, source: &dyn SliceSource, lacks: &mut Vec<Lack>) -> Result<(), Refusal> {
    let why = match op {
        Op::Max(max) => {
            return max.of.iter().flatten().try_for_each(|op| collect(op, source, lacks));
        }
        Op::First(first) => match missing(first.attempt.check(source))? {
            None => return Ok(()),
            Some(why) => {
                let mut others = Vec::new();
                first.otherwise.iter().try_for_each(|op| collect(op, source, &mut others))?;
                others.first().map(|other| format!("{why}, and {}", other.why))
            }
        },
        op => missing(op.check(source))?,
    };
    if let Some(why) = why
        && lacks.iter().all(|known| known.why != why)
    {
        lacks.push(Lack { why, op: op.clone() });
    }
    Ok(())
}

/// The reason if rows are missing; `Ok(None)` if the operation has a time or a table was not read.
fn missing(checked: Result<(), Refusal>) -> Result<Option<String>, Refusal> {
    match checked {
        Ok(()) | Err(Refusal::Unread(_)) => Ok(None),
        Err(Refusal::Missing(why)) => Ok(Some(why)),
        Err(machine @ Refusal::Machine(_)) => Err(machine),
    }
}
