//! A device that is a command: a runner, which reads a request per line and answers it by a line
//! ([`protocol`](super::protocol)).
//!
//! So rows of a framework are measured again inside its own container. `work` is the recipe with the row's
//! figures in it; tables without a recipe have none, and the command knows by the key what to run. What the
//! command writes to standard error is shown as it comes. What it writes to standard output and is not an
//! answer is skipped. A runner that ends or hangs at a point costs that point, not the run.

mod running;
#[cfg(test)]
#[cfg(unix)]
mod tests;

use std::io::Write;
use std::process::ExitStatus;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use serde::Serialize;

use self::running::Running;
use super::device::{About, Answer, Device, MeasureError, Point, SAMPLES, Unmeasured, Work};
use super::protocol::{Hello, PointRequest, Reply, is_answer};
use crate::base::error::{Error, Result};
use crate::base::escape::clean;
use crate::base::words::plural;

/// A runner for GEMM with PyTorch, to start from and to check others against.
pub const PYTORCH: &str = include_str!("../pytorch.py");

/// How long a command may take to say what it is: loading a framework takes minutes.
const STARTING: Duration = Duration::from_secs(600);

/// After how long a wait it is said what is waited for.
const QUIET: Duration = Duration::from_secs(60);

/// Points in a row that a command may end or hang at.
const LOST: usize = 3;

const HINT: &str = "docs/runner-protocol.md describes what a runner reads and writes; --print-runner writes an example";

/// What a command does that no runner should.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The shell could not be started.
    #[error("does not start: {0}")]
    Start(#[source] std::io::Error),
    /// Its first answer is not an [`About`].
    #[error("does not name its device: {0}")]
    About(#[source] serde_json::Error),
    /// It took no request.
    #[error("does not read requests: {0}")]
    Request(#[source] std::io::Error),
    /// It has no standard input any more.
    #[error("has ended")]
    Gone,
    /// Its answer is not a line of UTF-8.
    #[error("gave an answer that cannot be read: {0}")]
    Text(#[source] std::io::Error),
    /// It did not answer in time.
    #[error("did not answer within {0} s")]
    Silent(u64),
    /// It ended before it answered.
    #[error("ended ({0}) without an answer")]
    Ended(ExitStatus),
    /// It runs on, and its standard output is closed.
    #[error("closed its output without an answer")]
    Closed,
    /// Its answer is not a measurement.
    #[error("answered with a line that is not a measurement: {0}")]
    Measurement(#[source] serde_json::Error),
    /// It answered another request.
    #[error("answered request {got} instead of request {asked}")]
    OtherRequest { got: u64, asked: u64 },
    /// Its samples are not positive numbers.
    #[error("answered with samples that are not positive times")]
    Times,
}

/// A runner, started again where it ends.
pub struct Process {
    command: String,
    running: Option<Running>,
    about: About,
    next: u64,
    /// How long it may take over a point without a sign of life.
    patience: Duration,
    /// Receives messages on the progress, one line at a time.
    tell: fn(&str),
    /// Lines of standard output that were skipped.
    skipped: usize,
    /// Times that it was started again.
    restarts: usize,
    /// Points in a row that it ended or hung at.
    lost: usize,
}

impl Process {
    /// Starts a command through the shell and asks what it is. `patience` is how long it may take over a
    /// point, and `tell` receives messages on the progress.
    ///
    /// # Errors
    ///
    /// When it does not start, or does not say what device it is.
    pub fn start(command: &str, patience: Duration, tell: fn(&str)) -> Result<Self> {
        let mut process = Self {
            command: command.to_owned(),
            running: None,
            about: About::default(),
            next: 0,
            patience,
            tell,
            skipped: 0,
            restarts: 0,
            lost: 0,
        };
        process.about = process.begin(STARTING)?;
        Ok(process)
    }

    /// Starts the command, and asks what it is.
    fn begin(&mut self, patience: Duration) -> Result<About> {
        let command = self.command.clone();
        let failed =
            |why: ProcessError| Error::new(format!("`{command}` {why}"), HINT).because(why);
        self.running = Some(Running::start(&command).map_err(failed)?);
        let line = self.ask(&Hello::NOW, "device", patience, "starting").map_err(failed)?;
        serde_json::from_str(&line).map_err(|e| failed(ProcessError::About(e)))
    }

    /// Starts the command again after it ended.
    fn begin_again(&mut self) -> Result<()> {
        self.restarts += 1;
        (self.tell)("the runner is started again");
        let about = self.begin(STARTING)?;
        if about.name != self.about.name {
            let message = format!(
                "`{}` was on {} and is on {} after a restart",
                self.command, self.about.name, about.name
            );
            return Err(Error::new(message, "measure all points of a table on one GPU"));
        }
        Ok(())
    }

    /// Sends a line and waits for the next that has a field of an answer.
    fn ask(
        &mut self,
        request: &impl Serialize,
        field: &str,
        patience: Duration,
        about: &str,
    ) -> Result<String, ProcessError> {
        let line = serde_json::to_string(request).unwrap_or_default() + "\n";
        let running = self.running.as_mut().ok_or(ProcessError::Gone)?;
        let sent = match &mut running.requests {
            Some(pipe) => pipe.write_all(line.as_bytes()).and_then(|()| pipe.flush()),
            None => return Err(ProcessError::Gone),
        };
        let answer = self.answer(field, patience, about)?;
        sent.map_err(ProcessError::Request)?;
        Ok(answer)
    }

    /// The next line that has a field of an answer.
    fn answer(
        &mut self,
        field: &str,
        patience: Duration,
        about: &str,
    ) -> Result<String, ProcessError> {
        let start = Instant::now();
        loop {
            let running = self.running.as_mut().ok_or(ProcessError::Gone)?;
            let left = patience.saturating_sub(start.elapsed());
            match running.answers.recv_timeout(left.min(QUIET)) {
                Ok(line) => {
                    let line = line.map_err(ProcessError::Text)?;
                    if is_answer(&line, field) {
                        return Ok(line);
                    }
                    self.skip(&line);
                    if start.elapsed() < patience {
                        continue;
                    }
                }
                Err(RecvTimeoutError::Timeout) if start.elapsed() < patience => {
                    let waited = start.elapsed().as_secs();
                    (self.tell)(&format!("the runner has been working on {about} for {waited} s"));
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(running.ended().map_or(ProcessError::Closed, ProcessError::Ended));
                }
            }
            return Err(ProcessError::Silent(patience.as_secs()));
        }
    }

    /// Passes over a line that is not an answer; the first one is shown.
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

    /// Asks for a point of the command that runs.
    fn try_point(&mut self, point: &Point) -> Result<Result<Answer, Unmeasured>, ProcessError> {
        let id = self.next;
        self.next += 1;
        let name = point.path.rsplit('/').next().unwrap_or(&point.path);
        let request = PointRequest {
            id,
            table: name.split('.').next().unwrap_or(name),
            key: point.key.iter().cloned().collect(),
            samples: SAMPLES,
            power: point.power,
            work: point.work.as_ref(),
        };
        let about = format!("row {} of {}", point.row, clean(request.table));
        let mut line = self.ask(&request, "id", self.patience, &about)?;
        loop {
            let reply: Reply = serde_json::from_str(&line).map_err(ProcessError::Measurement)?;
            if reply.id() != id {
                return Err(ProcessError::OtherRequest { got: reply.id(), asked: id });
            }
            match reply {
                Reply::Failed(reply) => return Ok(Err(Unmeasured::new(reply.error))),
                Reply::Alive(_) => line = self.answer("id", self.patience, &about)?,
                Reply::Measured(reply) => {
                    let samples = &reply.answer.samples_ms;
                    let is_time = |ms: &f64| ms.is_finite() && *ms > 0.0;
                    if samples.is_empty() || !samples.iter().all(is_time) {
                        return Err(ProcessError::Times);
                    }
                    return Ok(Ok(reply.answer));
                }
            }
        }
    }

    /// A point that the command ended or hung at.
    fn lose(&mut self, why: &ProcessError) -> Result<Unmeasured> {
        self.lost += 1;
        if self.lost == LOST {
            let message =
                format!("the command {why}; this was the last of {LOST} failed points in a row");
            return Err(Error::new(message, HINT));
        }
        Ok(Unmeasured::new(format!("the command {why}")))
    }
}

impl ProcessError {
    /// Whether the command is gone: started again, it may do better.
    fn is_end(&self) -> bool {
        matches!(self, Self::Gone | Self::Request(_) | Self::Ended(_) | Self::Closed)
    }
}

impl Device for Process {
    fn about(&self) -> &About {
        &self.about
    }

    fn takes(&self, _: Option<&Work>) -> bool {
        true
    }

    /// A command may well run the recorded kernel; its answers state it.
    fn stands_in(&self, _: &Work) -> bool {
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
            // It is stopped with all that it started, and started again for the next request.
            self.running = None;
            // What takes too long once takes too long again.
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

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.restarts > 0 {
            notes.push(format!("the runner was started again {}", plural(self.restarts, "time")));
        }
        if self.skipped > 0 {
            let skipped = plural(self.skipped, "line");
            notes.push(format!(
                "{skipped} of the runner's standard output skipped, because they are not answers"
            ));
        }
        notes
    }
}
