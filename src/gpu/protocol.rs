//! What a runner reads and writes, a JSON object on a line each. `docs/runner-protocol.md` explains it, and
//! `perfdb-gate schema runner` prints its schema from these types.
//!
//! ```text
//! → {"hello": "perfdb-gate/measure/v1"}
//! ← {"device": "NVIDIA H200", "memory_bytes": 150000000000, "versions": {"torch": "2.11.0"}}
//! → {"id": 0, "table": "gemm_perf", "key": {"gemm_dtype": "bfloat16", "m": 1, …}, "samples": 5, "work": {…}}
//! ← {"id": 0, "alive": "compiling"}
//! ← {"id": 0, "samples_ms": [0.011, …], "power_w": 310.5, "clocks_mhz": 1980, "throttled": []}
//! → {"id": 1, …}
//! ← {"id": 1, "error": "out of memory"}
//! ```

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::device::{About, Answer, Work};

/// The first request: what are you?
#[derive(Debug, Serialize, JsonSchema)]
pub struct Hello {
    /// `perfdb-gate/measure/v1`.
    pub hello: &'static str,
}

impl Hello {
    /// Of this version of the protocol.
    pub const NOW: Self = Self { hello: "perfdb-gate/measure/v1" };
}

/// A request for a point.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PointRequest<'a> {
    /// Its number: the answer repeats it.
    pub id: u64,
    /// The table's file stem.
    pub table: &'a str,
    /// Every column of its row that is not measured.
    pub key: Map<String, Value>,
    /// How many samples are wanted.
    pub samples: u32,
    /// Whether its power is wanted: the mean over a second of it.
    pub power: bool,
    /// What to run, by the table's recipe; null for a table without one, where the key says it.
    pub work: Option<&'a Work>,
}

/// A line that a runner writes for a point. One of `samples_ms`, `error` and `alive` is there.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Reply {
    /// The point cannot be measured; others may.
    Failed(FailedPoint),
    /// It is being worked on: the time that a point may take begins anew.
    Alive(SignOfLife),
    /// It was measured.
    Measured(MeasuredPoint),
}

/// A point that cannot be measured.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct FailedPoint {
    /// The request's.
    pub id: u64,
    /// Why, in a line.
    pub error: String,
}

/// A point that takes its time.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct SignOfLife {
    /// The request's.
    pub id: u64,
    /// What it is at, in a word or two.
    pub alive: String,
}

/// A point that was measured.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct MeasuredPoint {
    /// The request's.
    pub id: u64,
    /// What was measured.
    #[serde(flatten)]
    pub answer: Answer,
}

impl Reply {
    /// The number of the request that it answers.
    pub fn id(&self) -> u64 {
        match self {
            Self::Failed(reply) => reply.id,
            Self::Alive(reply) => reply.id,
            Self::Measured(reply) => reply.id,
        }
    }
}

/// The lines of a run, for the schema.
#[derive(JsonSchema)]
#[schemars(rename = "RunnerProtocol")]
#[serde(untagged)]
#[expect(dead_code, reason = "the schema is made of it, and nothing else")]
pub(crate) enum RunnerLine<'a> {
    Hello(Hello),
    About(About),
    Request(PointRequest<'a>),
    Reply(Reply),
}

/// Whether a line is meant for us at all: an object that names a request, or, of the first answer, a device.
/// Frameworks print to standard output what they please.
pub(super) fn is_answer(line: &str, field: &str) -> bool {
    let value: Result<Value, _> = serde_json::from_str(line);
    value.is_ok_and(|value| value.get(field).is_some())
}
