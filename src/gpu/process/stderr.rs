//! The standard error of a runner: its errors and warnings are counted, and each distinct error is shown once.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::process::ChildStderr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::base::escape::clean;
use crate::gpu::device::Complaints;

/// Most distinct errors that are shown.
const SHOWN: usize = 20;

/// Longest part of a line that is kept, in characters.
const LONGEST: usize = 300;

/// Number of words at the start of a line that may be its log level.
const LEVEL: usize = 12;

/// Parts of lines that are errors of compilers.
const ERRORS: [&str; 6] =
    [": error:", "): error", ": error #", "fatal error:", "nvcc fatal", "FAILED: "];

/// Parts of lines that are warnings of Python or of compilers.
const WARNINGS: [&str; 3] = ["Warning: ", ": warning:", ": warning #"];

/// What the standard error of a runner contained, over all its restarts.
#[derive(Default)]
pub(super) struct StandardError {
    heard: Arc<Mutex<Heard>>,
    reader: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Heard {
    complaints: Complaints,
    /// Errors that were shown, with a zero for each digit.
    shown: BTreeSet<String>,
    /// The last line that is not empty.
    last: String,
}

impl StandardError {
    /// Reads the lines of a started runner in a thread of their own. `tell` receives each distinct error.
    pub fn listen(&mut self, pipe: Option<ChildStderr>, tell: fn(&str)) {
        let heard = Arc::clone(&self.heard);
        lock(&heard).last.clear();
        self.reader = pipe.map(|pipe| std::thread::spawn(move || read(pipe, &heard, tell)));
    }

    /// The complaints since this was last asked.
    pub fn take(&self) -> Complaints {
        std::mem::take(&mut lock(&self.heard).complaints)
    }

    /// The last line of a runner that has ended, introduced for a sentence; empty if it wrote none.
    pub fn last(&self) -> String {
        // A process that the runner started may keep its standard error open, so the wait is short.
        let is_over = || self.reader.as_ref().is_none_or(JoinHandle::is_finished);
        (0..20)
            .take_while(|_| !is_over())
            .for_each(|_| std::thread::sleep(Duration::from_millis(25)));
        let last = &lock(&self.heard).last;
        if last.is_empty() {
            String::new()
        } else {
            format!("; its standard error ends with: {last}")
        }
    }
}

fn lock(heard: &Mutex<Heard>) -> MutexGuard<'_, Heard> {
    heard.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads lines until the pipe is closed.
fn read(pipe: ChildStderr, heard: &Mutex<Heard>, tell: fn(&str)) {
    let (mut pipe, mut bytes, mut traced) = (BufReader::new(pipe), Vec::new(), false);
    while matches!((&mut pipe).take(1 << 20).read_until(b'\n', &mut bytes), Ok(1..)) {
        let line: String = String::from_utf8_lossy(&bytes).chars().take(LONGEST).collect();
        let line = line.trim_end();
        bytes.clear();
        tracing::debug!("runner: {}", clean(line));
        let mut heard = lock(heard);
        if !line.is_empty() {
            heard.last = clean(line.trim());
        }
        if is_error(line, &mut traced) {
            heard.complaints.add(line, true);
            let alike = line.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
            if heard.shown.len() < SHOWN && heard.shown.insert(alike) {
                tell(&format!("the runner wrote: {}", heard.last));
            }
        } else if has_level(line, &["WARNING", "WARN"]) || has(line, &WARNINGS) {
            heard.complaints.add(line, false);
        }
    }
}

/// Returns true if a line is the last one of a Python traceback, has a log level of errors, or is the error of a
/// compiler. `traced` is true within a traceback.
fn is_error(line: &str, traced: &mut bool) -> bool {
    let begins = line.contains("Traceback (most recent call last)");
    let ends = *traced && !begins && line.starts_with(|c: char| !c.is_whitespace());
    *traced = begins || (*traced && !ends);
    ends || has_level(line, &["ERROR", "CRITICAL", "FATAL"]) || has(line, &ERRORS)
}

fn has(line: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| line.contains(part))
}

/// Returns true if one of the first words is a log level.
fn has_level(line: &str, levels: &[&str]) -> bool {
    let words = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| !word.is_empty()).take(LEVEL).any(|word| levels.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_the_ends_of_tracebacks_log_levels_and_compilers_errors() {
        let errors = |text: &str| -> String {
            let mut traced = false;
            text.lines().map(|line| if is_error(line, &mut traced) { 'E' } else { '-' }).collect()
        };
        let trace = "Traceback (most recent call last):\n  File \"a\", line 1\n\nImportError: tilelang\nend";
        assert_eq!(errors(trace), "---E-");
        for line in [
            "ERROR 11-28 10:00:00 [core.py:12] EngineCore failed",
            "(Worker pid=12) ERROR 11-28 10:00:00 [core.py:12] failed",
            "[2026-11-28 10:00:00,123] [x.py:1] CRITICAL: out",
            "a/b.cuh(12): error: identifier is undefined",
            "x.cu:1:10: fatal error: sgl_kernel/a.h: No such file or directory",
            "nvcc fatal   : Unsupported gpu architecture",
            "FAILED: main.o",
        ] {
            assert_eq!(errors(line), "E", "{line}");
        }
        for line in ["WARNING 11-28 [x.py:1] Failed to load", "no errors, 0 failed", "LAST_ERROR 0"]
        {
            assert_eq!(errors(line), "-", "{line}");
        }
    }
}
