//! Progress on the terminal: a bar for countable steps, and the time taken before and after them.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use perfdb_gate::base::escape::clean;
use perfdb_gate::base::progress::Progress;

use crate::cli::terminal::TerminalArgs;

/// The time between two updates.
const TICK: Duration = Duration::from_millis(200);

/// Progress on the terminal.
pub struct Bar(ProgressBar, TerminalArgs);

impl Bar {
    /// Creates a bar that counts `what`. It is hidden with `--quiet`, with `--verbose` (log lines
    /// would break it), and if standard error is not a terminal.
    pub fn of(what: &'static str, terminal: TerminalArgs) -> Self {
        if terminal.quiet || terminal.verbose || !std::io::stderr().is_terminal() {
            return Self(ProgressBar::hidden(), terminal);
        }
        let bar = ProgressBar::new_spinner().with_message(what);
        set(&bar, WAITING);
        bar.enable_steady_tick(TICK);
        Self(bar, terminal)
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
        self.0.finish_and_clear();
    }
}

impl Progress for Bar {
    fn step(&self, done: usize, total: usize) {
        if self.0.is_hidden() {
            return;
        }
        if done >= total {
            set(&self.0, WAITING);
        } else if self.0.length() != Some(total as u64) {
            set(&self.0, COUNTING);
        }
        self.0.set_length(total as u64);
        self.0.set_position(done as u64);
    }

    fn say(&self, sentence: &str) {
        if !self.1.quiet {
            self.0.suspend(|| eprintln!("perfdb-gate: {}", clean(sentence)));
        }
    }
}
