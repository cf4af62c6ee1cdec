//! Progress on the terminal: a bar for countable steps, and the time taken before and after them.

use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
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
    /// The lines that replace the bar where there is no terminal; `None` for none.
    lines: Option<Mutex<Lines>>,
}

/// Lines of progress.
struct Lines {
    start: Instant,
    /// Time of the last line.
    last: Instant,
    /// Name of the current part of the work.
    part: String,
}

impl Bar {
    /// Creates a bar that counts `what`. It is hidden with `--quiet`, with `--verbose` (log lines
    /// would break it), and if standard error is not a terminal.
    pub fn of(what: &'static str, terminal: TerminalArgs) -> Self {
        if terminal.quiet || terminal.verbose || !std::io::stderr().is_terminal() {
            return Self { bar: ProgressBar::hidden(), what, lines: None };
        }
        let bar = ProgressBar::new_spinner().with_message(what);
        set(&bar, WAITING);
        bar.enable_steady_tick(TICK);
        Self { bar, what, lines: None }
    }

    /// Creates a bar that is replaced by a line every 30 s where there is no terminal.
    pub fn with_lines(what: &'static str, terminal: TerminalArgs) -> Self {
        let now = Instant::now();
        let lines = Lines { start: now, last: now, part: String::new() };
        let mut bar = Self::of(what, terminal);
        bar.lines = (!terminal.quiet && bar.bar.is_hidden()).then(|| Mutex::new(lines));
        bar
    }

    /// Names the part of the work that begins.
    pub fn begin(&self, part: &str) {
        self.bar.set_message(format!("{}, {part}", self.what));
        if let Some(lines) = &self.lines {
            lines.lock().unwrap_or_else(PoisonError::into_inner).part = format!(", {part}");
        }
    }

    /// Prints a line to standard error, above the bar.
    pub fn say(&self, line: &str) {
        self.bar.suspend(|| eprintln!("perfdb-gate: {line}"));
    }

    /// Prints a line if the last one was printed long ago.
    fn step_in_lines(&self, lines: &Mutex<Lines>, done: usize, total: usize) {
        let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.last.elapsed() >= LINES {
            lines.last = Instant::now();
            let (part, elapsed) = (&lines.part, lines.start.elapsed().as_secs());
            self.say(&format!("{done} of {total} {}{part}, {elapsed} s", self.what));
        }
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
        if let Some(lines) = &self.lines {
            self.step_in_lines(lines, done, total);
        }
        if self.bar.is_hidden() {
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
}
