//! Faults of runners.

use std::process::ExitStatus;

/// An error of a runner, the program that measures points.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProcessError {
    /// The shell could not be started.
    #[error("does not start: {0}")]
    Start(#[source] std::io::Error),
    /// The first answer is not an [`About`](crate::gpu::device::About).
    #[error("does not name its device: {0}")]
    About(#[source] serde_json::Error),
    /// The runner did not read a request.
    #[error("does not read requests: {0}")]
    Request(#[source] std::io::Error),
    /// The runner's standard input is closed.
    #[error("has ended")]
    Gone,
    /// The answer is not a line of UTF-8.
    #[error("gave an answer that cannot be read: {0}")]
    Text(#[source] std::io::Error),
    /// The runner did not answer within this number of seconds.
    #[error("did not answer within {0} s")]
    Silent(u64),
    /// The runner ended before it answered. `said` quotes the last line of its standard error.
    #[error("ended ({status}) without an answer{said}")]
    Ended { status: ExitStatus, said: String },
    /// The runner still runs, but its standard output is closed.
    #[error("closed its output without an answer")]
    Closed,
    /// The answer is not a measurement.
    #[error("answered with a line that is not a measurement: {0}")]
    Measurement(#[source] serde_json::Error),
    /// The answer is to the request with the identifier `got`, but the answer to the request `asked` was expected.
    #[error("answered request {got} instead of request {asked}")]
    OtherRequest { got: u64, asked: u64 },
    /// The samples in the answer are not positive numbers.
    #[error("answered with samples that are not positive times")]
    Times,
}

impl ProcessError {
    /// Returns true if the runner has ended, so that a restart may help.
    pub(super) fn is_end(&self) -> bool {
        matches!(self, Self::Gone | Self::Request(_) | Self::Ended { .. } | Self::Closed)
    }
}
