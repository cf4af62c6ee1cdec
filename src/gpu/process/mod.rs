//! A device that is a command, called a runner. It answers each request line with one line
//! ([`protocol`](super::protocol)).
//!
//! A runner can measure rows of a framework inside the framework's own container. The field `work` of a request is the
//! recipe evaluated for the row. Without a recipe, `work` is absent, and the runner derives the measurement from the
//! key. Each distinct error in the runner's standard error is shown once. Lines of its standard output that are not
//! answers are skipped. If a runner ends or hangs, only the current point is lost.

mod error;
mod program;
mod stderr;
#[cfg(test)]
#[cfg(unix)]
mod tests;

use std::io::Write;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use serde::Serialize;

pub(crate) use self::error::ProcessError;
use self::program::Running;
pub use self::program::{COLLECTORS, Program};
use self::stderr::StandardError;
use super::device::{About, Answer, Complaints, Device, MeasureError, Point, SAMPLES, own_kernel};
use super::protocol::{Hello, PointRequest, Reply, is_answer};
use super::work::Work;
use crate::base::error::{Error, Reason, Result};
use crate::base::escape::{clean, clean_lines};
use crate::base::words::plural;

/// The source of a runner for GEMM with PyTorch, which is an example, and a reference for checking other runners.
pub const PYTORCH: &str = include_str!("../pytorch.py");

/// The number of samples requested of a collector; each is the mean of several runs.
const CALLS: u32 = 3;

/// The longest time that a command may take to describe its device. Loading a framework takes minutes.
const STARTING: Duration = Duration::from_secs(600);

/// The time after which a message names the point for which the program waits.
const QUIET: Duration = Duration::from_secs(60);

/// The number of successive points at which a command may end or hang before the run stops.
const LOST: usize = 3;

const HINT: &str = "docs/runner-protocol.md describes what a runner reads and writes; --print-runner writes an example";

/// A runner, which is started again if it ends.
pub struct Process {
    program: Program,
    running: Option<Running>,
    about: About,
    next: u64,
    /// The longest time that the runner may take for a point without a sign of life.
    patience: Duration,
    /// A function that receives messages about the progress, one line each.
    tell: fn(&str),
    /// Number of skipped lines of standard output.
    skipped: usize,
    /// Number of restarts.
    restarts: usize,
    /// Number of successive points at which the runner ended or hung.
    lost: usize,
    errors: StandardError,
}

impl Process {
    /// Starts a program and requests its device's description. `patience` is the longest time for a point, and `tell`
    /// receives messages about the progress.
    ///
    /// # Errors
    ///
    /// If the program does not start, or does not describe its device.
    pub fn start(program: Program, patience: Duration, tell: fn(&str)) -> Result<Self> {
        let mut process = Self {
            program,
            running: None,
            about: About::default(),
            next: 0,
            patience,
            tell,
            skipped: 0,
            restarts: 0,
            lost: 0,
            errors: StandardError::default(),
        };
        process.about = process.begin(STARTING)?;
        Ok(process)
    }

    /// Starts the program and requests its device's description.
    fn begin(&mut self, patience: Duration) -> Result<About> {
        let program = self.program.to_string();
        let failed =
            |why: ProcessError| Error::new(format!("`{program}` {why}"), HINT).because(why);
        let running = self.program.start().map_err(|why| failed(ProcessError::Start(why)))?;
        self.running = Some(running);
        let line = self.ask(&Hello::NOW, "device", patience, "starting").map_err(failed)?;
        serde_json::from_str(&line).map_err(|e| failed(ProcessError::About(e)))
    }

    /// Starts the command again after it ended. Fails if its device is not the same as before.
    fn begin_again(&mut self) -> Result<()> {
        self.restarts += 1;
        (self.tell)("the runner is started again");
        let about = self.begin(STARTING)?;
        if about.name != self.about.name {
            let message = format!(
                "`{}` was on {} and is on {} after a restart",
                self.program, self.about.name, about.name
            );
            return Err(Error::new(message, "measure all points of a table on one GPU"));
        }
        Ok(())
    }

    /// Sends a request, and waits for the next line with a given field, which marks an answer.
    fn ask(
        &mut self,
        request: &impl Serialize,
        field: &str,
        patience: Duration,
        about: &str,
    ) -> Result<String, ProcessError> {
        let line = serde_json::to_string(request).unwrap_or_default() + "\n";
        let running = &mut self.running.as_mut().ok_or(ProcessError::Gone)?.child;
        let pipe = running.requests.as_mut().ok_or(ProcessError::Gone)?;
        let sent = pipe.write_all(line.as_bytes()).and_then(|()| pipe.flush());
        let answer = self.answer(field, patience, about)?;
        sent.map_err(ProcessError::Request)?;
        Ok(answer)
    }

    /// Waits for the next line with a given field, which marks an answer.
    fn answer(
        &mut self,
        field: &str,
        patience: Duration,
        about: &str,
    ) -> Result<String, ProcessError> {
        let start = Instant::now();
        loop {
            let running = &mut self.running.as_mut().ok_or(ProcessError::Gone)?.child;
            let left = patience.saturating_sub(start.elapsed());
            let answer = running.answers.recv_timeout(left.min(QUIET));
            self.errors.read(&running.errors, self.tell);
            match answer {
                Ok(line) => {
                    let line = line.map_err(ProcessError::Text)?;
                    if is_answer(&line, field) {
                        return Ok(line);
                    }
                    self.skip(&line);
                }
                Err(RecvTimeoutError::Timeout) if start.elapsed() < patience => {
                    let waited = start.elapsed().as_secs();
                    (self.tell)(&format!("the runner has been working on {about} for {waited} s"));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let Some(status) = running.ended() else { return Err(ProcessError::Closed) };
                    let said = self.errors.last(&running.errors, self.tell);
                    return Err(ProcessError::Ended { status, said });
                }
            }
            if start.elapsed() >= patience {
                return Err(ProcessError::Silent(patience.as_secs()));
            }
        }
    }

    /// Counts a line that is not an answer, and shows the first such line.
    fn skip(&mut self, line: &str) {
        self.skipped += 1;
        if self.skipped == 1 {
            let shown: String = line.chars().take(100).collect();
            (self.tell)(&format!(
                "skipped a line of the runner's standard output that is not an answer: {}",
                clean(&shown)
            ));
        }
    }

    /// Requests a point from the running command.
    fn try_point(&mut self, point: &Point) -> Result<Result<Answer, Reason>, ProcessError> {
        let id = self.next;
        self.next += 1;
        let request = PointRequest {
            id,
            table: point.table(),
            key: point.key.iter().cloned().collect(),
            samples: if point.call.is_some() { CALLS } else { SAMPLES },
            power: point.power,
            work: point.work.as_ref(),
            call: point.call.as_ref(),
        };
        let about = format!("row {} of {}", point.row, clean(request.table));
        let mut line = self.ask(&request, "id", self.patience, &about)?;
        loop {
            let reply: Reply = serde_json::from_str(&line).map_err(ProcessError::Measurement)?;
            if reply.id() != id {
                return Err(ProcessError::OtherRequest { got: reply.id(), asked: id });
            }
            match reply {
                Reply::Failed(reply) => {
                    tracing::debug!("{}", clean_lines(&reply.traceback.unwrap_or_default()));
                    return Ok(Err(reply.error.into()));
                }
                Reply::Alive(_) => line = self.answer("id", self.patience, &about)?,
                Reply::Measured(reply) => {
                    let samples = &reply.answer.samples_ms;
                    let is_time = |ms: &f64| ms.is_finite() && *ms > 0.0;
                    if samples.is_empty() || !samples.iter().all(is_time) {
                        return Err(ProcessError::Times);
                    }
                    return Ok(Ok(own_kernel(reply.answer, point)));
                }
            }
        }
    }

    /// Counts a point at which the command ended or hung. Fails at the last of [`LOST`] such successive points.
    fn lose(&mut self, why: &ProcessError) -> Result<Reason> {
        self.lost += 1;
        if self.lost == LOST {
            let message =
                format!("the command {why}; this was the last of {LOST} failed points in a row");
            return Err(Error::new(message, HINT));
        }
        Ok(format!("the command {why}").into())
    }
}

impl Device for Process {
    fn about(&self) -> &About {
        &self.about
    }

    /// Always false: a command may run the recorded kernel, and its answers state any difference.
    fn is_proxy_for(&self, _: &Work) -> bool {
        false
    }

    fn measure(&mut self, point: &Point) -> Result<Answer, MeasureError> {
        let mut is_second = false;
        loop {
            if self.running.is_none() {
                self.begin_again()?;
            }
            let why = match self.try_point(point) {
                Ok(answer) => {
                    self.lost = 0;
                    return Ok(answer?);
                }
                Err(why) => why,
            };
            let is_silent = matches!(why, ProcessError::Silent(_));
            if !why.is_end() && !is_silent {
                let hint = "run the command by hand and send it this request";
                return Err(Error::new(format!("the command {why}"), hint).because(why).into());
            }
            // The command is stopped with all processes that it started, and starts again for the next request.
            self.running = None;
            // A point that took too long would take too long again.
            if is_silent || is_second {
                return Err(self.lose(&why)?.into());
            }
            (self.tell)(&format!(
                "the runner {why}, at row {} of {}",
                point.row,
                clean(&point.path)
            ));
            is_second = true;
        }
    }

    fn complaints(&mut self) -> Complaints {
        std::mem::take(&mut self.errors.complaints)
    }

    fn notes(&self) -> Vec<String> {
        let (restarts, skipped) = (plural(self.restarts, "time"), plural(self.skipped, "line"));
        let restarts = format!("the runner was started again {restarts}");
        let skipped = format!(
            "{skipped} of the runner's standard output skipped, because they are not answers"
        );
        let notes = [(self.restarts, restarts), (self.skipped, skipped)];
        notes.into_iter().filter(|(count, _)| *count > 0).map(|(_, note)| note).collect()
    }
}
