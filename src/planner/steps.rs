//! Predicts steps: the sum of a list's operations at a point (engine/runtime.rs 427, 471).

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
    /// Computes all tokens of the requests at once.
    Prefill,
    /// Computes one new token of each request.
    Decode,
}

impl Phase {
    /// The phase's name in texts.
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
    /// Phase of inference.
    pub phase: Phase,
    /// Number of requests.
    pub batch: u64,
    /// Tokens per request: in prefill the computed tokens, in decode those already in the cache.
    pub isl: u64,
}

const fn prefill(isl: u64) -> StepPoint {
    StepPoint { phase: Phase::Prefill, batch: 1, isl }
}

const fn decode(batch: u64, isl: u64) -> StepPoint {
    StepPoint { phase: Phase::Decode, batch, isl }
}

/// The points at which every model and layout is predicted.
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
    /// The point for evaluating operations. A decode step also attends to the new token.
    pub fn query(self) -> Query {
        let (sequence, tokens) = match self.phase {
            Phase::Prefill => (self.isl, self.batch * self.isl),
            Phase::Decode => (self.isl + 1, self.batch),
        };
        Query { batch: self.batch, sequence, tokens, prefix: 0 }
    }
}

/// Share of a step's time that must come from rows with measured power; below it, the planner treats the
/// step's power as unavailable.
const POWER_COVERAGE: f64 = 0.9;

/// The predicted time of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepTime {
    /// Time of the step in ms.
    pub ms: f64,
    /// Share of the time from rows whose power was measured. Operations computed by a formula count as
    /// not measured.
    pub measured_power: f64,
}

impl StepTime {
    /// Returns true if the planner can state the power of the step.
    pub(crate) fn has_power(self) -> bool {
        self.measured_power >= POWER_COVERAGE
    }
}

/// The predicted time of a step, or the reason why there is none.
pub type Step = Result<StepTime, Refusal>;

/// The predicted time of an operation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct OpTime {
    /// Time over all layers in ms.
    pub ms: f64,
    /// Part of the time in ms from rows whose power was measured.
    pub powered_ms: f64,
}

/// The times of a step's operations in their order, up to the first refused operation.
#[derive(Debug, Clone)]
pub(crate) struct OpTimes {
    times: Vec<OpTime>,
    refusal: Option<Refusal>,
}

impl OpTimes {
    /// The time of the operation at an index; `None` if an earlier operation was refused.
    pub(crate) fn get(&self, place: usize) -> Option<OpTime> {
        self.times.get(place).copied()
    }

    /// The time of the step: the sum of its operations' times.
    ///
    /// # Errors
    ///
    /// The first refusal of an operation.
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

/// An operation's part of a step.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StepPart {
    /// Name of the operation in the list.
    pub name: String,
    /// Time over all layers in ms.
    pub ms: Result<f64, Refusal>,
    /// The lookups behind the time.
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

    /// Evaluates a step's operations. `known` gives the times, by index, that need no evaluation.
    /// Measured power is included if `evidence` collects it.
    pub(crate) fn times(
        &self,
        session: &PlannerSession<'_, '_>,
        point: StepPoint,
        evidence: &mut Provenance,
        known: impl Fn(usize) -> Option<OpTime>,
    ) -> OpTimes {
        let query = point.query();
        let mut times = Vec::new();
        for (place, op) in self.ops(point.phase).iter().enumerate() {
            let evaluate = || {
                let powered = evidence.powered_ms();
                let ms = op.ms(session, query, evidence)?;
                Ok(OpTime { ms, powered_ms: evidence.powered_ms() - powered })
            };
            match known(place).map_or_else(evaluate, Ok) {
                Ok(time) => times.push(time),
                Err(why) => return OpTimes { times, refusal: Some(why) },
            }
        }
        OpTimes { times, refusal: None }
    }

    /// Evaluates the operations of a step, each with the lookups and rows behind its time.
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
