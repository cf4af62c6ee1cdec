//! Progress on the terminal: a bar for countable steps, and the time taken before and after them.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use perfdb_gate::base::escape::clean;
use perfdb_gate::base::progress::Progress;

use crate::cli::terminal::TerminalArgs;

/// The time between two updates of the bar.
const TICK: Duration = Duration::from_millis(200);

/// The time in seconds between two lines of progress, if standard error is not a terminal.
const LINES: u64 = 30;

/// Progress on the terminal.
pub(crate) struct Bar {
    bar: ProgressBar,
    /// True if lines are printed: messages on the work, and lines of progress if standard error is not a terminal.
    lines: bool,
    /// The elapsed time at the last line of progress, as a multiple of [`LINES`] seconds.
    last: AtomicU64,
}

impl Bar {
    /// Creates a bar that counts `what`. It is hidden with `--quiet`, with `--verbose` (log lines
    /// would break it), and if standard error is not a terminal.
    pub(crate) fn of(what: &'static str, terminal: TerminalArgs) -> Self {
        let hidden = terminal.quiet || terminal.verbose || !std::io::stderr().is_terminal();
        let bar = if hidden { ProgressBar::hidden() } else { ProgressBar::new_spinner() };
        if !hidden {
            set(&bar, WAITING);
            bar.enable_steady_tick(TICK);
        }
        Self { bar: bar.with_message(what), lines: !terminal.quiet, last: AtomicU64::new(0) }
    }

    /// Runs work without countable steps, and shows meanwhile how long it has taken.
    pub(crate) fn during<T>(
        what: &'static str,
        terminal: TerminalArgs,
        work: impl FnOnce() -> T,
    ) -> T {
        let _cleared = Self::of(what, terminal);
        work()
    }
}

/// The bar's template while steps are counted.
const COUNTING: &str = "{bar:40} {pos}/{len} {msg}, {eta} left";

/// The bar's template before the first step and after the last one.
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
            let elapsed = self.bar.elapsed().as_secs();
            if self.last.swap(elapsed / LINES, Ordering::Relaxed) < elapsed / LINES {
                self.say(&format!("{done} of {total} {}, {elapsed} s", self.bar.message()));
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

    fn begin(&self, what: &str) {
        self.bar.set_message(clean(what));
    }

    fn say(&self, line: &str) {
        if self.lines {
            self.bar.suspend(|| eprintln!("perfdb-gate: {}", clean(line)));
        }
    }
}
