//! A process of the runner: requests and replies, one line each.

use std::io::Write;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::base::child::{Child, PythonFolder};

/// The Python source of the runner, a small program that calls the planner's package.
pub const RUNNER: &str = include_str!("runner.py");

/// Environment variables that the runner's process inherits; all others are removed.
const INHERITED: [&str; 5] = ["PATH", "HOME", "TMPDIR", "TEMP", "SYSTEMROOT"];

/// The number of bytes at the end of a process's standard error that are read to find out why the process ended.
const EXPLAINED: usize = 4096;

/// The maximum length of a request in bytes. A request of this length fits into a pipe's buffer, so writing it does not
/// block.
const LONGEST: usize = 60_000;

/// A running Python process that calls the planner's package. It runs in an empty temporary folder.
pub(super) struct RunnerSession {
    child: Child,
    folder: PythonFolder,
}

/// The reason why a request to the planner's process failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionFailure {
    /// The process does not start.
    #[error("it does not start: {0}")]
    Start(#[source] std::io::Error),
    /// The process did not answer within the limit, which is given in seconds.
    #[error("no answer in {0} s")]
    Silent(u64),
    /// The process ended; contains its exit status and the last line of its standard error.
    #[error("it ended{}{}", status(.0.as_ref()), after_colon(.1))]
    Ended(Option<ExitStatus>, String),
    /// A reply does not follow the protocol; contains the problem.
    #[error("a reply that is not understood: {0}")]
    Malformed(String),
    /// The request is too long to be sent; contains its length in bytes.
    #[error("a request of {0} bytes is too long: name fewer steps or systems")]
    TooLong(usize),
    /// The planner's package answered with an error.
    #[error("{0}")]
    Refused(PlannerError),
}

/// An error that the planner's Python package raised.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, thiserror::Error)]
#[error("{class}: {text}")]
pub struct PlannerError {
    /// The name of the Python class of the error.
    pub class: String,
    /// The start of the error's message.
    pub text: String,
}

fn status(status: Option<&ExitStatus>) -> String {
    status.map(|status| format!(" ({status})")).unwrap_or_default()
}

fn after_colon(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!(": {words}") }
}

impl RunnerSession {
    /// Starts the runner as a process of the given Python interpreter. The process runs in an empty folder and inherits
    /// only few of the caller's environment variables.
    pub(crate) fn start(python: &Path) -> Result<Self, SessionFailure> {
        let folder = PythonFolder::new().map_err(SessionFailure::Start)?;
        let log =
            std::fs::File::create(folder.path().join("stderr")).map_err(SessionFailure::Start)?;
        let mut command = folder.command(python, RUNNER);
        command.stderr(Stdio::from(log)).env_clear();
        let inherited =
            INHERITED.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        command.envs(inherited);
        let child = Child::start(&mut command).map_err(SessionFailure::Start)?;
        Ok(Self { child, folder })
    }

    /// Sends a request and waits for the reply. Output lines of the process that are not a reply are skipped.
    ///
    /// # Errors
    ///
    /// If there is no reply within `limit`, or the package refuses the request.
    pub(crate) fn ask<R: DeserializeOwned>(
        &mut self,
        request: &Value,
        limit: Duration,
    ) -> Result<R, SessionFailure> {
        let start = Instant::now();
        let line = format!("{request}\n");
        if line.len() > LONGEST {
            return Err(SessionFailure::TooLong(line.len()));
        }
        let sent = match self.child.requests.as_mut() {
            Some(pipe) => pipe.write_all(line.as_bytes()).and_then(|()| pipe.flush()),
            None => Ok(()),
        };
        loop {
            let left = limit.saturating_sub(start.elapsed());
            let line = match self.child.answers.recv_timeout(left) {
                Ok(line) => line.map_err(|e| SessionFailure::Malformed(e.to_string()))?,
                Err(RecvTimeoutError::Timeout) => {
                    return Err(SessionFailure::Silent(limit.as_secs()));
                }
                Err(RecvTimeoutError::Disconnected) => break,
            };
            if line.starts_with('{') {
                return reply(&line);
            }
        }
        // A failed write is not reported: the exit status and the last words say more about the end.
        drop(sent);
        Err(SessionFailure::Ended(self.child.ended(), self.last_words()))
    }

    /// Returns the last line that the process wrote to its standard error.
    fn last_words(&self) -> String {
        let log = std::fs::read(self.folder.path().join("stderr")).unwrap_or_default();
        let end = String::from_utf8_lossy(&log[log.len().saturating_sub(EXPLAINED)..]).into_owned();
        end.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned()
    }
}

/// Parses a line of the process's output as a reply. If the line reports an error of the planner's package, returns
/// this error.
fn reply<R: DeserializeOwned>(line: &str) -> Result<R, SessionFailure> {
    let malformed = |e: serde_json::Error| SessionFailure::Malformed(e.to_string());
    let reply: Value = serde_json::from_str(line).map_err(malformed)?;
    match reply.get("error") {
        Some(error) => {
            let error = PlannerError::deserialize(error).map_err(malformed)?;
            Err(SessionFailure::Refused(error))
        }
        None => serde_json::from_value(reply).map_err(malformed),
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use serde_json::json;
    use tempfile::TempDir;

    use super::*;

    /// A session with a script in place of Python.
    fn session(script: &str) -> (TempDir, RunnerSession) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("python");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let session = RunnerSession::start(&path).unwrap();
        (folder, session)
    }

    fn asked(script: &str) -> Result<Value, SessionFailure> {
        session(script).1.ask(&json!({"do": "hello"}), Duration::from_secs(2))
    }

    #[test]
    fn a_planner_that_does_not_answer_in_time_is_abandoned() {
        let why = session("sleep 60").1.ask::<Value>(&json!({}), Duration::from_millis(50));
        assert!(matches!(why, Err(SessionFailure::Silent(_))), "{why:?}");
    }

    #[test]
    fn the_planner_s_reply_is_the_next_line_of_json() {
        let reply = asked("read line; echo a word; echo '{\"ok\": 1}'").unwrap();
        assert_eq!(reply, json!({"ok": 1}));
        let why = asked("read line; echo '{\"ms\": NaN}'");
        assert!(matches!(why, Err(SessionFailure::Malformed(_))), "{why:?}");
        let why = asked("read line; echo '{\"error\": {\"class\": \"A\", \"text\": \"b\"}}'");
        assert_eq!(why.unwrap_err().to_string(), "A: b");
    }

    #[test]
    fn the_planner_runs_isolated_in_an_empty_folder() {
        let script = "read line; printf '{\"args\": \"%s\", \"files\": \"%s\", \"env\": \"%s\"}\\n' \"$1\" \"$(ls)\" \
                      \"$(env | cut -d= -f1 | sort | tr '\\n' ' ')\"";
        let reply = asked(script).unwrap();
        assert_eq!((&reply["args"], &reply["files"]), (&json!("-I"), &json!("")));
        let known = ["HOME", "OLDPWD", "PATH", "PWD", "SHLVL", "TMPDIR", "_"];
        let names = reply["env"].as_str().unwrap().split_whitespace();
        assert!(names.clone().all(|name| known.contains(&name)), "{reply}");
    }
}
