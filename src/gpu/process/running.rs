//! A command that runs: its pipes, and its end.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

#[cfg(unix)]
use rustix::process::{Pid, Signal, kill_process_group};

use super::ProcessError;
use crate::base::interrupt::{Leftover, RemovedOnSignal};

/// The longest answer in bytes; one of five samples has some hundred.
const LONGEST_LINE: u64 = 1 << 20;

/// A started command.
pub(super) struct Running {
    child: Child,
    pub requests: Option<ChildStdin>,
    pub answers: Receiver<std::io::Result<String>>,
    _removed: RemovedOnSignal,
}

impl Running {
    /// Starts a command through the shell.
    pub fn start(command: &str) -> Result<Self, ProcessError> {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).stdin(Stdio::piped()).stdout(Stdio::piped());
        #[cfg(unix)]
        {
            // A group of its own, so that what it starts ends with it, and Ctrl-C lets it finish its point.
            use std::os::unix::process::CommandExt;
            shell.process_group(0);
        }
        let mut child = shell.spawn().map_err(ProcessError::Start)?;
        let _removed = RemovedOnSignal::new(Leftover::Group(child.id()));
        let requests = child.stdin.take();
        let lines = child.stdout.take();
        // One answer waits at most: a command that talks on waits until it is asked.
        let (send, answers) = sync_channel(1);
        std::thread::spawn(move || pass_on(lines, &send));
        Ok(Self { child, requests, answers, _removed })
    }

    /// How the command ended, where it does within a second.
    pub fn ended(&mut self) -> Option<ExitStatus> {
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

impl Drop for Running {
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
            Some(Err(std::io::Error::other("a line that is too long")))
        }
        Ok(_) => Some(Ok(line.trim_end_matches(['\n', '\r']).to_owned())),
        Err(e) => Some(Err(e)),
    }
}
