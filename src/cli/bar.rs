//! Progress on the terminal: a bar for countable steps, and the time taken before and after them.

use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use perfdb_gate::base::escape::clean;
use perfdb_gate::base::progress::Progress;

use crate::cli::terminal::TerminalArgs;

/// The time between two updates.
const TICK: Duration = Duration::from_millis(200);

/// The time between two lines where there is no terminal.
const LINES: Duration = Duration::from_secs(30);

/// Progress on the terminal.
pub struct Bar {
    bar: ProgressBar,
    what: &'static str,
    start: Instant,
    /// Name of the current part of the work, and the time of the last line about it.
    part: Mutex<(String, Instant)>,
    /// True if lines are shown: about the work, and of its progress where there is no terminal.
    lines: bool,
}

impl Bar {
    /// Creates a bar that counts `what`. It is hidden with `--quiet`, with `--verbose` (log lines
    /// would break it), and if standard error is not a terminal.
    pub fn of(what: &'static str, terminal: TerminalArgs) -> Self {
        let hidden = terminal.quiet || terminal.verbose || !std::io::stderr().is_terminal();
        let bar = if hidden { ProgressBar::hidden() } else { ProgressBar::new_spinner() };
        if !hidden {
            set(&bar, WAITING);
            bar.enable_steady_tick(TICK);
        }
        let (start, bar) = (Instant::now(), bar.with_message(what));
        Self { bar, what, start, part: Mutex::new((String::new(), start)), lines: false }
    }

    /// Creates a bar with lines about the work.
    pub fn with_lines(what: &'static str, terminal: TerminalArgs) -> Self {
        let mut bar = Self::of(what, terminal);
        bar.lines = !terminal.quiet;
        bar
    }

    /// Runs work without countable steps, and shows meanwhile how long it has taken.
    pub fn during<T>(what: &'static str, terminal: TerminalArgs, work: impl FnOnce() -> T) -> T {
        let _cleared = Self::of(what, terminal);
        work()
    }
}

/// The line while steps are counted.
const COUNTING: &str = "{bar:40} {pos}/{len} {msg}, {eta} left";

/// The line before the first step and after the last one.
const WAITING: &str = "{spinner} {msg}, {elapsed}";

fn set(bar: &ProgressBar, template: &str) {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
}

impl Drop for Bar {
    /// Removes the bar, so that later output starts on a clean line.
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for Bar {
    fn step(&self, done: usize, total: usize) {
        if self.bar.is_hidden() {
            let mut part = self.part.lock().unwrap_or_else(PoisonError::into_inner);
            if part.1.elapsed() >= LINES {
                part.1 = Instant::now();
                let elapsed = self.start.elapsed().as_secs();
                self.say(&format!("{done} of {total} {}{}, {elapsed} s", self.what, part.0));
            }
            return;
        }
        if done >= total {
            set(&self.bar, WAITING);
        } else if self.bar.length() != Some(total as u64) {
            set(&self.bar, COUNTING);
        }
        self.bar.set_length(total as u64);
        self.bar.set_position(done as u64);
    }

    fn begin(&self, part: &str) {
        self.bar.set_message(format!("{}, {}", self.what, clean(part)));
        self.part.lock().unwrap_or_else(PoisonError::into_inner).0 = format!(", {part}");
    }

    fn say(&self, line: &str) {
        if self.lines {
            self.bar.suspend(|| eprintln!("perfdb-gate: {}", clean(line)));
        }
    }
}
