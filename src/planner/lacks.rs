//! What a plan lacks: the slices that its operations ask for and no row is served of.

use super::keys::SliceSource;
use super::models::OpList;
use super::operations::Op;
use super::refusal::Refusal;

/// What an operation asks for in vain.
#[derive(Debug, Clone, PartialEq)]
pub struct Lack {
    /// The planner's refusal, those of all alternatives where it has some.
    pub why: String,
    op: Op,
}

impl Lack {
    /// Whether others serve what is lacking.
    pub fn is_met_by(&self, source: &dyn SliceSource) -> bool {
        self.op.check(source).is_ok()
    }
}

impl OpList {
    /// What its operations lack, each thing once, in the order of the list. Tables that were not read lack
    /// nothing.
    ///
    /// # Errors
    ///
    /// [`Refusal::Machine`] where the machine has no figure that an operation needs, so that no rows would
    /// help.
    pub fn lacks(&self, source: &dyn SliceSource) -> Result<Vec<Lack>, Refusal> {
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

/// Why rows are missing, where that is what is wrong.
fn missing(checked: Result<(), Refusal>) -> Result<Option<String>, Refusal> {
    match checked {
        Ok(()) | Err(Refusal::Unread(_)) => Ok(None),
        Err(Refusal::Missing(why)) => Ok(Some(why)),
        Err(machine @ Refusal::Machine(_)) => Err(machine),
    }
}
