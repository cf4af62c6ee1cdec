//! The standard error of a runner: its errors and warnings are counted, and each distinct error is shown once.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::process::ChildStderr;
use std::sync::{Arc, Mutex, PoisonError};
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
    last: String,
}

impl StandardError {
    /// Reads the lines of a started runner in a thread of their own. `tell` receives each distinct error.
    pub fn listen(&mut self, pipe: Option<ChildStderr>, tell: fn(&str)) {
        let heard = Arc::clone(&self.heard);
        heard.lock().unwrap_or_else(PoisonError::into_inner).last.clear();
        self.reader = pipe.map(|pipe| std::thread::spawn(move || read(pipe, &heard, tell)));
    }

    /// The complaints since this was last asked.
    pub fn take(&self) -> Complaints {
        std::mem::take(&mut self.heard.lock().unwrap_or_else(PoisonError::into_inner).complaints)
    }

    /// The last line of a runner that has ended, introduced for a sentence; empty if it wrote none.
    pub fn last(&self) -> String {
        // A process that the runner started may keep its standard error open.
        for _ in 0..20 {
            if self.reader.as_ref().is_none_or(JoinHandle::is_finished) {
                break;
            }
            std::thread::sleep(Duration::from_millis(25));
        }
        let last = self.heard.lock().unwrap_or_else(PoisonError::into_inner).last.clone();
        if last.is_empty() {
            last
        } else {
            format!("; the last line of its standard error: {last}")
        }
    }
}

/// Reads lines until the pipe is closed.
fn read(pipe: ChildStderr, heard: &Mutex<Heard>, tell: fn(&str)) {
    let (mut pipe, mut bytes, mut traced) = (BufReader::new(pipe), Vec::new(), false);
    while matches!((&mut pipe).take(1 << 20).read_until(b'\n', &mut bytes), Ok(1..)) {
        let line: String =
            String::from_utf8_lossy(&bytes).trim_end().chars().take(LONGEST).collect();
        bytes.clear();
        tracing::debug!("runner: {}", clean(&line));
        let is_error = is_error(&line, &mut traced);
        let is_warning = !is_error && is_warning(&line);
        let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
        let complaints = &mut heard.complaints;
        if (is_error && complaints.errors == 0) || (is_warning && complaints.first.is_empty()) {
            complaints.first = line.trim().to_owned();
        }
        complaints.errors += usize::from(is_error);
        complaints.warnings += usize::from(is_warning);
        let alike = line.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
        if is_error && heard.shown.len() < SHOWN && heard.shown.insert(alike) {
            tell(&format!("the runner wrote: {}", clean(line.trim())));
        }
        if !line.trim().is_empty() {
            heard.last = line.trim().to_owned();
        }
    }
}

/// Returns true if a line is the last one of a Python traceback, has a log level of errors, or is the error of a
/// compiler. `traced` is true within a traceback.
fn is_error(line: &str, traced: &mut bool) -> bool {
    if line.contains("Traceback (most recent call last)") {
        *traced = true;
        return false;
    }
    if *traced && !line.is_empty() && !line.starts_with(char::is_whitespace) {
        *traced = false;
        return true;
    }
    let compiler = ["error: ", "fatal error: ", "nvcc fatal", "FAILED: "];
    has_level(line, &["ERROR", "CRITICAL", "FATAL"])
        || compiler.iter().any(|start| line.starts_with(start))
        || [": error: ", ": error #", ": fatal error: ", "): error"]
            .iter()
            .any(|part| line.contains(part))
}

/// Returns true if a line has the log level of warnings, or is a warning of Python or a compiler.
fn is_warning(line: &str) -> bool {
    has_level(line, &["WARNING", "WARN"])
        || ["Warning: ", ": warning: ", ": warning #"].iter().any(|part| line.contains(part))
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
    fn errors_are_told_from_warnings_and_other_lines() {
        let kinds = |text: &str| -> String {
            let mut traced = false;
            let kind = |line| match (is_error(line, &mut traced), is_warning(line)) {
                (true, _) => 'E',
                (false, true) => 'W',
                (false, false) => '-',
            };
            text.lines().map(kind).collect()
        };
        let trace = "Traceback (most recent call last):\n  File \"a\", line 1\n\nImportError: tilelang\nend";
        assert_eq!(kinds(trace), "---E-");
        for (line, kind) in [
            ("ERROR 11-28 10:00:00 [core.py:12] EngineCore failed", "E"),
            ("(Worker pid=12) ERROR 11-28 10:00:00 [core.py:12] failed", "E"),
            ("[2026-11-28 10:00:00,123] [x.py:1] CRITICAL: out", "E"),
            ("a/b.cuh(12): error: identifier is undefined", "E"),
            ("x.cu:1:10: fatal error: sgl_kernel/a.h: No such file or directory", "E"),
            ("nvcc fatal   : Unsupported gpu architecture", "E"),
            ("FAILED: main.o", "E"),
            ("WARNING 11-28 10:00:00 [x.py:1] Failed to load", "W"),
            ("/usr/x.py:3: UserWarning: The given NumPy array", "W"),
            ("no errors found, 0 failed", "-"),
            ("INFO LAST_ERROR is 0", "-"),
        ] {
            assert_eq!(kinds(line), kind, "{line}");
        }
    }
}
