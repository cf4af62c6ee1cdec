//! Steps: the sum of a list's operations at a point (engine/runtime.rs 427, 471).

use super::evidence::{Provenance, TableLookup};
use super::operations::{Op, Query};
use super::refusal::Refusal;
use super::resolve::OpList;
use super::session::PlannerSession;

/// A phase of inference.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// All tokens of the requests at once.
    Prefill,
    /// One new token of each request.
    Decode,
}

impl Phase {
    /// The word for it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Prefill => "prefill",
            Self::Decode => "decode",
        }
    }
}

/// A step whose time is predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StepPoint {
    /// Phase.
    pub phase: Phase,
    /// Requests.
    pub batch: u64,
    /// Tokens of a request: in prefill those that are computed, in decode those in the cache before.
    pub isl: u64,
}

const fn prefill(isl: u64) -> StepPoint {
    StepPoint { phase: Phase::Prefill, batch: 1, isl }
}

const fn decode(batch: u64, isl: u64) -> StepPoint {
    StepPoint { phase: Phase::Decode, batch, isl }
}

/// The points that are predicted for every model and layout.
pub const POINTS: [StepPoint; 10] = [
    prefill(1024),
    prefill(4096),
    decode(1, 1024),
    decode(1, 4096),
    decode(16, 1024),
    decode(16, 4096),
    decode(64, 1024),
    decode(64, 4096),
    decode(256, 1024),
    decode(256, 4096),
];

impl StepPoint {
    /// The point at which operations are evaluated. A decode step attends to the new token too.
    pub fn query(self) -> Query {
        match self.phase {
            Phase::Prefill => Query {
                batch: self.batch,
                sequence: self.isl,
                tokens: self.batch * self.isl,
                prefix: 0,
            },
            Phase::Decode => {
                Query { batch: self.batch, sequence: self.isl + 1, tokens: self.batch, prefix: 0 }
            }
        }
    }
}

/// The share of a step's time that must stand on rows with power, or the planner calls the step's power
/// unavailable.
const POWER_COVERAGE: f64 = 0.9;

/// A step's time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepTime {
    /// ms.
    pub ms: f64,
    /// The share of it that stands on rows whose power was measured. Operations that a formula answers
    /// have none.
    pub measured_power: f64,
}

impl StepTime {
    /// Returns whether the planner can state the power of the step.
    pub(crate) fn has_power(self) -> bool {
        self.measured_power >= POWER_COVERAGE
    }
}

/// A step's time, or why there is none.
pub type Step = Result<StepTime, Refusal>;

/// The time of an operation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct OpTime {
    /// Over all layers, ms.
    pub ms: f64,
    /// The part of it that stands on rows whose power was measured, ms.
    pub powered_ms: f64,
}

/// The times of a step's operations in their order, up to the first that the planner refuses.
#[derive(Debug, Clone)]
pub(crate) struct OpTimes {
    times: Vec<OpTime>,
    refusal: Option<Refusal>,
}

impl OpTimes {
    /// The time of an operation by its place; none where the planner did not come to it.
    pub(crate) fn get(&self, place: usize) -> Option<OpTime> {
        self.times.get(place).copied()
    }

    /// The time of the step: the plain sum of its operations.
    ///
    /// # Errors
    ///
    /// The first refusal of an operation; the step has no time then.
    pub(crate) fn step(self) -> Step {
        if let Some(why) = self.refusal {
            return Err(why);
        }
        let ms: f64 = self.times.iter().map(|time| time.ms).sum();
        let powered: f64 = self.times.iter().map(|time| time.powered_ms).sum();
        let measured_power = if ms > 0.0 { (powered / ms).min(1.0) } else { 0.0 };
        Ok(StepTime { ms, measured_power })
    }
}

/// An operation's share of a step.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StepPart {
    /// The name in the list.
    pub name: String,
    /// The time over all layers, ms.
    pub ms: Result<f64, Refusal>,
    /// The lookups behind it.
    pub lookups: Vec<TableLookup>,
}

impl OpList {
    /// The operations of a phase.
    pub(crate) fn ops(&self, phase: Phase) -> &[Op] {
        match phase {
            Phase::Prefill => &self.prefill,
            Phase::Decode => &self.decode,
        }
    }

    /// The times of a step's operations; `known` are those that need no evaluation, by place. How much of them
    /// stands on rows with power is known where `evidence` collects that.
    pub(crate) fn times(
        &self,
        session: &PlannerSession<'_, '_>,
        point: StepPoint,
        evidence: &mut Provenance,
        known: impl Fn(usize) -> Option<OpTime>,
    ) -> OpTimes {
        let query = point.query();
        let mut found = OpTimes { times: Vec::new(), refusal: None };
        for (place, op) in self.ops(point.phase).iter().enumerate() {
            let evaluate = || {
                let powered = evidence.powered_ms();
                let ms = op.ms(session, query, evidence)?;
                Ok(OpTime { ms, powered_ms: evidence.powered_ms() - powered })
            };
            match known(place).map_or_else(evaluate, Ok) {
                Ok(time) => found.times.push(time),
                Err(why) => {
                    found.refusal = Some(why);
                    break;
                }
            }
        }
        found
    }

    /// The operations of a step, each with the rows behind it.
    pub(crate) fn parts(
        &self,
        session: &PlannerSession<'_, '_>,
        point: StepPoint,
    ) -> Vec<StepPart> {
        let query = point.query();
        let part = |op: &Op| {
            let mut evidence = Provenance::on();
            let ms = op.ms(session, query, &mut evidence);
            StepPart { name: op.name().to_owned(), ms, lookups: evidence.into_lookups() }
        };
        self.ops(point.phase).iter().map(part).collect()
    }
}
