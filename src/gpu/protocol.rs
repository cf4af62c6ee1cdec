//! The lines that the program and a runner exchange, each a JSON object. `docs/runner-protocol.md` explains them, and
//! `perfdb-gate schema runner` prints their schema from these types.
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

use super::calls::Call;
use super::device::{About, Answer};
use super::work::Work;

/// The first request to a runner, which asks for a description of its device.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Hello {
    /// Protocol version: `perfdb-gate/measure/v1`.
    pub hello: &'static str,
}

impl Hello {
    /// The first request, with the current version of the protocol.
    pub(crate) const NOW: Self = Self { hello: "perfdb-gate/measure/v1" };
}

/// A request to a runner to measure a point.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PointRequest<'a> {
    /// Identifier of the request, which the reply repeats.
    pub id: u64,
    /// File stem of the table.
    pub table: &'a str,
    /// The row's columns that are not measurements, by name.
    pub key: Map<String, Value>,
    /// Number of requested samples.
    pub samples: u32,
    /// True if the mean power over one second is requested.
    pub power: bool,
    /// What to measure, according to the row's recipe. Null if no recipe matches the row; the runner then determines
    /// from the key what to measure.
    pub work: Option<&'a Work>,
    /// The call of a collector's function that measures the row; absent without `--runner collectors`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<&'a Call>,
}

/// A line that a runner writes about a requested point.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Reply {
    /// The point cannot be measured. The runner can still measure other points.
    Failed(FailedPoint),
    /// The measurement takes long but is in progress. The time limit starts again.
    Alive(SignOfLife),
    /// The point was measured.
    Measured(MeasuredPoint),
}

/// A point that cannot be measured.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct FailedPoint {
    /// Identifier of the request that failed.
    pub id: u64,
    /// The reason why the point cannot be measured, in one line.
    pub error: String,
    /// Details such as a traceback, which `--verbose` shows.
    #[serde(default)]
    pub traceback: Option<String>,
}

/// A message that a long measurement is still in progress.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct SignOfLife {
    /// Identifier of the request in progress.
    pub id: u64,
    /// What the runner is doing, in one or two words, such as `compiling`.
    #[allow(dead_code, reason = "the schema names it")]
    pub alive: String,
}

/// A point that was measured.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct MeasuredPoint {
    /// Identifier of the request that the measurement answers.
    pub id: u64,
    /// The measured times, and further values such as power and clocks.
    #[serde(flatten)]
    pub answer: Answer,
}

impl Reply {
    /// Returns the identifier of the request that the runner's line is about.
    pub(crate) fn id(&self) -> u64 {
        match self {
            Self::Failed(reply) => reply.id,
            Self::Alive(reply) => reply.id,
            Self::Measured(reply) => reply.id,
        }
    }
}

/// All kinds of lines in the runner protocol, for its JSON schema.
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

/// Returns true if a line is a JSON object with the field `field`. Frameworks also print other lines to standard
/// output.
pub(super) fn is_answer(line: &str, field: &str) -> bool {
    let value: Result<Value, _> = serde_json::from_str(line);
    value.is_ok_and(|value| value.get(field).is_some())
}
