//! A process that answers lines: its pipes, and its end; and a folder for Python programs of ours, which import nothing
//! of the caller's working folder.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

#[cfg(unix)]
use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

use super::interrupt::{Leftover, RemovedOnSignal};

/// The maximum length in bytes of a line that a child process writes; most lines have a few hundred.
const LONGEST_LINE: u64 = 1 << 20;

/// The maximum number of lines of standard error that are buffered. A process that writes more lines is blocked until
/// some of them are read.
const ERRORS: usize = 10_000;

/// A started process with its pipes. When the value is dropped, the process's standard input is closed. At most one
/// second later, the process and all processes that it started are killed.
pub(crate) struct Child {
    process: std::process::Child,
    pub requests: Option<ChildStdin>,
    pub answers: Receiver<std::io::Result<String>>,
    /// Lines of the process's standard error. There are none unless the command pipes standard error.
    pub errors: Receiver<std::io::Result<String>>,
    _removed: RemovedOnSignal,
}

impl Child {
    /// Starts a command whose standard input and output become pipes.
    ///
    /// # Errors
    ///
    /// If the command cannot be started.
    pub(crate) fn start(command: &mut Command) -> std::io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        #[cfg(unix)]
        {
            // A separate process group: its processes end together, and Ctrl-C lets the process finish
            // its answer.
            use std::os::unix::process::CommandExt;
            command.process_group(0);
        }
        let mut process = command.spawn()?;
        let _removed = RemovedOnSignal::new(Leftover::Group(process.id()));
        let requests = process.stdin.take();
        // At most one answer waits, so a process that writes more blocks until the next request.
        let answers = lines_of(process.stdout.take(), 1);
        let errors = lines_of(process.stderr.take(), ERRORS);
        Ok(Self { process, requests, answers, errors, _removed })
    }

    /// Waits at most one second for the process to end. Returns the exit status, or `None` if the process is still
    /// running.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        for _ in 0..20 {
            match self.process.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) => std::thread::sleep(Duration::from_millis(50)),
                Err(_) => return None,
            }
        }
        None
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // The end of its input asks the command to stop. A command that runs on is killed with all its
        // processes.
        self.requests.take();
        let ended = self.ended();
        #[cfg(unix)]
        if let Some(group) = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw) {
            // A group that has already ended needs no signal.
            let _ = kill_process_group(group, Signal::KILL);
        }
        if ended.is_none() {
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
    }
}

/// Reads a pipe's lines in a thread and sends them to the returned receiver until the receiver is dropped. At most
/// `most` lines wait unread.
fn lines_of(
    pipe: Option<impl Read + Send + 'static>,
    most: usize,
) -> Receiver<std::io::Result<String>> {
    let (send, lines) = sync_channel(most);
    std::thread::spawn(move || {
        let mut pipe = pipe.map(BufReader::new);
        while let Some(line) = pipe.as_mut().and_then(next_line) {
            if send.send(line).is_err() {
                break;
            }
        }
    });
    lines
}

/// Reads the next line without its line ending; `None` at the end of the output. A line that is too long
/// is an error.
fn next_line(lines: &mut BufReader<impl Read>) -> Option<std::io::Result<String>> {
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

/// The temporary folder of a Python program. It is removed when the value is dropped.
#[derive(Debug)]
pub(crate) struct PythonFolder {
    folder: TempDir,
    _removed: RemovedOnSignal,
}

impl PythonFolder {
    /// Creates a temporary folder with an empty subfolder, in which the program later runs.
    ///
    /// # Errors
    ///
    /// If the temporary folder cannot be written.
    pub(crate) fn new() -> std::io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let _removed = RemovedOnSignal::new(Leftover::Folder(folder.path().to_owned()));
        std::fs::create_dir(folder.path().join("empty"))?;
        Ok(Self { folder, _removed })
    }

    /// Returns the path of the temporary folder, for files of the caller. The program itself runs in a subfolder.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the command that runs the Python program whose source code is `source`. Python is isolated (`-I`): it
    /// imports nothing from the working folder, from `PYTHONPATH` or from the user's own packages.
    pub(crate) fn command(&self, python: &Path, source: &str) -> Command {
        let mut command = Command::new(python);
        command.args(["-I", "-c", source]).current_dir(self.path().join("empty"));
        command
    }
}
