//! Reads the standard error of a runner: counts errors and warnings, and shows each distinct error once.

use std::collections::BTreeSet;
use std::io;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use crate::base::escape::clean;
use crate::gpu::device::Complaints;

/// The maximum number of distinct error messages of a runner that are shown.
const SHOWN: usize = 20;

/// The maximum number of characters that are kept of a line of standard error.
const LONGEST: usize = 300;

/// Texts that mark a line of standard error as an error, separated by vertical bars.
const ERRORS: &str = "ERROR |ERROR:|ERROR]|CRITICAL|FATAL|): error|: error:|: error #|fatal error:|nvcc fatal|FAILED: ";

/// Texts that mark a line of standard error as a warning.
const WARNINGS: [&str; 4] = ["WARN", "Warning: ", ": warning:", ": warning #"];

/// The errors and warnings in a runner's standard error. A restart of the runner does not reset them.
#[derive(Default)]
pub(super) struct StandardError {
    /// The errors and warnings since the last call of the device's method `complaints`, which takes them.
    pub complaints: Complaints,
    /// The error lines that were already shown. Digits are replaced by zeros, so that similar lines count as equal.
    shown: BTreeSet<String>,
    /// The last line that was not empty.
    last: String,
    /// True while a Python traceback is being read: its first line has arrived, its last line has not.
    traced: bool,
}

impl StandardError {
    /// Reads the lines that have arrived so far, and passes each distinct error to `tell` once.
    pub(crate) fn read(&mut self, lines: &Receiver<io::Result<String>>, tell: fn(&str)) {
        lines.try_iter().flatten().for_each(|line| self.hear(&line, tell));
    }

    /// Reads the remaining lines of a runner that has ended. Returns a text that quotes the last line, to be appended
    /// to an error message. Returns an empty text if the runner wrote no line.
    pub(crate) fn last(&mut self, lines: &Receiver<io::Result<String>>, tell: fn(&str)) -> String {
        // A process that the runner started may keep its standard error open.
        while let Ok(line) = lines.recv_timeout(Duration::from_millis(300)) {
            line.iter().for_each(|line| self.hear(line, tell));
        }
        match std::mem::take(&mut self.last) {
            last if last.is_empty() => last,
            last => format!("; its standard error ends with: {last}"),
        }
    }

    fn hear(&mut self, line: &str, tell: fn(&str)) {
        let line = clean(line.chars().take(LONGEST).collect::<String>().trim_end());
        tracing::debug!("runner: {line}");
        let has = |parts: &[&str]| parts.iter().any(|part| line.contains(part));
        let (is_error, is_warning) = (is_error(&line, &mut self.traced), has(&WARNINGS));
        if is_error && self.complaints.errors == 0 || is_warning && self.complaints.first.is_empty()
        {
            line.clone_into(&mut self.complaints.first);
        }
        self.complaints.errors += usize::from(is_error);
        self.complaints.warnings += usize::from(is_warning && !is_error);
        let alike = line.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
        if is_error && self.shown.len() < SHOWN && self.shown.insert(alike) {
            tell(&format!("the runner wrote: {line}"));
        }
        if !line.is_empty() {
            self.last = line;
        }
    }
}

/// Returns true if a line reports an error: the last line of a Python traceback, an error in a log, or a compiler's
/// error. `traced` is true while the lines belong to a traceback.
fn is_error(line: &str, traced: &mut bool) -> bool {
    let begins = line.contains("Traceback (most recent call last)");
    let ends = *traced && !begins && line.starts_with(|c: char| !c.is_whitespace());
    *traced = begins || (*traced && !ends);
    ends || ERRORS.split('|').any(|part| line.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_lines_are_ends_of_tracebacks_error_logs_and_compiler_errors() {
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
        for line in
            ["WARNING 11-28 [x.py:1] Failed to load", "no errors, 0 failed", "INFO: error 0"]
        {
            assert_eq!(errors(line), "-", "{line}");
        }
    }
}
