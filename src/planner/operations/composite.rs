//! Operations made of others (operators/op.rs 459, 486).

use serde::Deserialize;

use super::super::{PlannerSession, Provenance, Refusal};
use super::{Op, Query};

/// Two groups of operations that overlap in time; the planner calls it Overlap.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Max {
    pub name: String,
    /// The groups. Operations carry their own layers, so the sums over all layers are compared.
    pub of: [Vec<Op>; 2],
}

/// An operation and what stands in for it where the data does not answer; the planner calls it
/// Fallback. It is decided anew at every point.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct First {
    pub name: String,
    /// The operation.
    #[serde(rename = "try")]
    pub attempt: Box<Op>,
    /// The sum that stands in for it.
    #[serde(rename = "else")]
    pub otherwise: Vec<Op>,
}

/// The sum of operations, ms, in their order.
fn sum(
    ops: &[Op],
    session: &PlannerSession<'_, '_>,
    query: Query,
    evidence: &mut Provenance,
) -> Result<f64, Refusal> {
    ops.iter().try_fold(0.0, |total, op| Ok(total + op.ms(session, query, evidence)?))
}

impl Max {
    pub(super) fn ms(
        &self,
        session: &PlannerSession<'_, '_>,
        query: Query,
        evidence: &mut Provenance,
    ) -> Result<f64, Refusal> {
        let [a, b] = &self.of;
        let before = evidence.moment();
        let a = sum(a, session, query, evidence)?;
        let between = evidence.moment();
        let b = sum(b, session, query, evidence)?;
        evidence.keep_one([before, between], a >= b);
        Ok(a.max(b).max(0.0))
    }
}

impl First {
    pub(super) fn ms(
        &self,
        session: &PlannerSession<'_, '_>,
        query: Query,
        evidence: &mut Provenance,
    ) -> Result<f64, Refusal> {
        let before = evidence.moment();
        match self.attempt.ms(session, query, evidence) {
            Err(Refusal::Missing(_)) => {
                evidence.back_to(before);
                Ok(sum(&self.otherwise, session, query, evidence)?.max(0.0))
            }
            // A figure that the machine lacks would be lacking there too.
            other => other,
        }
    }
}
