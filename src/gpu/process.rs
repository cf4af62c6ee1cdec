//! A device that is a command: it reads a request per line and answers a line each.
//!
//! So rows of a framework are measured again inside its own container. Requests and answers are JSON:
//!
//! ```text
//! → {"hello": "perfdb-gate/measure/v1"}
//! ← {"device": "NVIDIA H200", "memory_bytes": 150000000000, "versions": {"torch": "2.11.0"}}
//! → {"id": 0, "table": "gemm_perf", "key": {"gemm_dtype": "bfloat16", "m": 1, …}, "samples": 5, "work": {…}}
//! ← {"id": 0, "samples_ms": [0.011, …], "power_w": 310.5, "clocks_mhz": 1980, "throttled": []}
//! ← {"id": 0, "error": "out of memory"}
//! ```
//!
//! `work` is the recipe with the row's figures in it; tables without a recipe have none, and the
//! command knows by the key what to run. Of an answer only `id` and `samples_ms` are required;
//! `proxy` says why what ran is not the recorded kernel. What the command writes to standard error
//! is shown as it comes.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

#[cfg(unix)]
use rustix::process::{Pid, Signal, kill_process_group};
use serde::Deserialize;
use serde_json::{Value, json};

use super::device::{About, Answer, Device, MeasureError, Point, SAMPLES, Unmeasured, Work};
use crate::base::error::{Error, Result};

/// A runner for GEMM with PyTorch, to start from and to check others against.
pub const PYTORCH: &str = include_str!("pytorch.py");

/// The longest answer in bytes; one of five samples has some hundred.
const LONGEST_LINE: u64 = 1 << 20;

/// How long a command may take over one answer: the largest point takes seconds, loading a
/// framework minutes.
const PATIENCE: Duration = Duration::from_secs(600);

/// What a command does that no runner should.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The shell could not be started.
    #[error("does not start: {0}")]
    Start(#[source] std::io::Error),
    /// Its first answer is not an [`About`].
    #[error("does not say what device it is: {0}")]
    About(#[source] serde_json::Error),
    /// It took no request.
    #[error("takes no request: {0}")]
    Request(#[source] std::io::Error),
    /// It has no standard input any more.
    #[error("is gone")]
    Gone,
    /// Its answer is not a line of UTF-8.
    #[error("answered with bytes that are not text: {0}")]
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
    #[error("answered {got} when asked {asked}")]
    OtherRequest { got: u64, asked: u64 },
    /// Its samples are not positive numbers.
    #[error("answered with samples that are not times")]
    Times,
}

/// A running command.
pub struct Process {
    child: Child,
    requests: Option<ChildStdin>,
    answers: Receiver<std::io::Result<String>>,
    about: About,
    next: u64,
    patience: Duration,
}

#[derive(Deserialize)]
struct Reply {
    id: u64,
    #[serde(default)]
    error: Option<String>,
    #[serde(flatten)]
    answer: Value,
}

impl Process {
    /// Starts a command through the shell and asks what it is.
    ///
    /// # Errors
    ///
    /// When it does not start, or its first line says nothing of a device.
    pub fn start(command: &str) -> Result<Self> {
        Self::start_with(command, PATIENCE)
    }

    fn start_with(command: &str, patience: Duration) -> Result<Self> {
        let hint =
            "it reads a request per line and answers a line each; --print-runner writes an example";
        let failed =
            |why: ProcessError| Error::new(format!("`{command}` {why}"), hint).because(why);
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).stdin(Stdio::piped()).stdout(Stdio::piped());
        #[cfg(unix)]
        {
            // A group of its own, so that what it starts ends with it.
            use std::os::unix::process::CommandExt;
            shell.process_group(0);
        }
        let mut child = shell.spawn().map_err(|e| failed(ProcessError::Start(e)))?;
        let requests = child.stdin.take();
        let lines = child.stdout.take();
        // One answer waits at most: a command that talks on waits until it is asked.
        let (send, answers) = sync_channel(1);
        std::thread::spawn(move || pass_on(lines, &send));
        let mut process =
            Self { child, requests, answers, about: About::default(), next: 0, patience };
        let line = process.ask(&json!({"hello": "perfdb-gate/measure/v1"})).map_err(&failed)?;
        process.about = serde_json::from_str(&line).map_err(|e| failed(ProcessError::About(e)))?;
        Ok(process)
    }

    /// Sends a line and waits for the next.
    fn ask(&mut self, request: &Value) -> Result<String, ProcessError> {
        let line = format!("{request}\n");
        let sent = match &mut self.requests {
            Some(pipe) => pipe.write_all(line.as_bytes()).and_then(|()| pipe.flush()),
            None => return Err(ProcessError::Gone),
        };
        let line = match self.answers.recv_timeout(self.patience) {
            Ok(line) => line.map_err(ProcessError::Text)?,
            Err(RecvTimeoutError::Timeout) => {
                return Err(ProcessError::Silent(self.patience.as_secs()));
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(self.ended().map_or(ProcessError::Closed, ProcessError::Ended));
            }
        };
        sent.map_err(ProcessError::Request)?;
        Ok(line)
    }
}

impl Device for Process {
    fn about(&self) -> &About {
        &self.about
    }

    fn takes(&self, _: Option<&Work>) -> bool {
        true
    }

    /// A command may well run the recorded kernel; its answers tell.
    fn stands_in(&self, _: &Work) -> bool {
        false
    }

    fn measure(&mut self, point: &Point) -> Result<Answer, MeasureError> {
        let id = self.next;
        self.next += 1;
        let table = point.path.rsplit('/').next().unwrap_or(&point.path);
        let key: serde_json::Map<_, _> = point.key.iter().cloned().collect();
        let request = json!({
            "id": id,
            "table": table.split('.').next(),
            "key": key,
            "samples": SAMPLES,
            "power": point.power,
            "work": point.work,
        });
        let hint = "the request was for a point of the table; try it by hand";
        let broken =
            |why: ProcessError| Error::new(format!("the command {why}"), hint).because(why);
        let line = self.ask(&request).map_err(broken)?;
        let reply: Reply =
            serde_json::from_str(&line).map_err(|e| broken(ProcessError::Measurement(e)))?;
        if reply.id != id {
            return Err(broken(ProcessError::OtherRequest { got: reply.id, asked: id }).into());
        }
        if let Some(why) = reply.error {
            return Err(Unmeasured::new(why).into());
        }
        let answer: Answer = serde_json::from_value(reply.answer)
            .map_err(|e| broken(ProcessError::Measurement(e)))?;
        if answer.samples_ms.is_empty() || answer.samples_ms.iter().any(|s| s.is_nan() || *s <= 0.0)
        {
            return Err(broken(ProcessError::Times).into());
        }
        Ok(answer)
    }
}

impl Process {
    /// How the command ended, where it does within a second.
    fn ended(&mut self) -> Option<ExitStatus> {
        for _ in 0..20 {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) => std::thread::sleep(Duration::from_millis(50)),
                Err(_) => return None,
            }
        }
        None
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The end of its input tells it to stop; one that does not is stopped, and all that it started.
        self.requests.take();
        let ended = self.ended();
        #[cfg(unix)]
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // A group that is gone already needs no signal.
            let _ = kill_process_group(group, Signal::KILL);
        }
        if ended.is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Passes on a command's lines as they come, until nobody waits for them.
fn pass_on(lines: Option<ChildStdout>, to: &SyncSender<std::io::Result<String>>) {
    let mut lines = lines.map(BufReader::new);
    while let Some(line) = lines.as_mut().and_then(next_line) {
        if to.send(line).is_err() {
            break;
        }
    }
}

/// The next line, without its end; none where there is none. One that has no end is an error.
fn next_line(lines: &mut BufReader<ChildStdout>) -> Option<std::io::Result<String>> {
    let mut line = String::new();
    match lines.take(LONGEST_LINE).read_line(&mut line) {
        Ok(0) => None,
        Ok(_) if line.len() as u64 == LONGEST_LINE && !line.ends_with('\n') => {
            Some(Err(std::io::Error::other("a line without an end")))
        }
        Ok(_) => Some(Ok(line.trim_end_matches(['\n', '\r']).to_owned())),
        Err(e) => Some(Err(e)),
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use rustix::process::test_kill_process;

    use super::*;

    const HELLO: &str = r#"read l; echo '{"device": "mock"}'; "#;

    fn point() -> Point {
        Point {
            path: "a/gemm_perf.parquet".into(),
            row: 0,
            key: vec![("m".into(), 1.into())],
            slice: String::new(),
            decile: 1,
            recorded_ms: 1.0,
            recorded_w: None,
            power: false,
            work: None,
        }
    }

    fn ask(script: &str) -> Result<Answer, MeasureError> {
        let mut process =
            Process::start_with(&format!("{HELLO}{script}"), Duration::from_secs(2)).unwrap();
        assert_eq!(process.about().name, "mock");
        process.measure(&point())
    }

    #[test]
    fn a_line_is_answered_by_a_line() {
        let answer = ask(r#"read l; echo '{"id": 0, "samples_ms": [1.5, 2], "power_w": 300}'"#);
        let answer = answer.unwrap();
        assert_eq!((answer.samples_ms, answer.power_w), (vec![1.5, 2.0], Some(300.0)));
        let fault = ask(r#"read l; echo '{"id": 0, "error": "out of memory"}'"#);
        assert!(
            matches!(fault, Err(MeasureError::Point(why)) if why.to_string() == "out of memory")
        );
    }

    #[test]
    fn whatever_a_command_does_is_an_error_of_one_line() {
        for (script, why) in [
            ("exit 3", "ended"),
            ("read l; echo nonsense", "no measurement"),
            (r#"read l; echo '{"id": 9, "samples_ms": [1]}'"#, "answered 9 when asked 0"),
            (r#"read l; echo '{"id": 0, "samples_ms": [-1]}'"#, "no times"),
            ("sleep 5", "did not answer"),
            ("read l; exec 1>&-; sleep 60", "closed its output"),
            ("read l; cat /dev/zero", "without an end"),
        ] {
            match ask(script) {
                Err(MeasureError::Device(e)) => assert!(e.message.contains(why), "{script}: {e}"),
                other => panic!("{script}: {other:?}"),
            }
        }
        // What a command started ends with it.
        let started = tempfile::NamedTempFile::new().unwrap();
        let path = started.path().display();
        let _ = ask(&format!("read l; sleep 60 & echo $! > {path}; echo nonsense; wait"));
        let pid: i32 = std::fs::read_to_string(started.path()).unwrap().trim().parse().unwrap();
        let gone = |_| {
            std::thread::sleep(Duration::from_millis(50));
            // A process that ended and was not waited for yet is one too.
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.contains(") Z ")
                || Pid::from_raw(pid).is_none_or(|p| test_kill_process(p).is_err())
        };
        assert!((0..40).any(gone), "{pid} lives");
        let none = Process::start("exit 1").err().unwrap();
        assert!(none.message.contains("exit 1"), "{none}");
    }
}
