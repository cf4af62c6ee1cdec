//! Progress on the terminal: a bar for countable steps, and the time taken before and after them.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use perfdb_gate::base::escape::clean;
use perfdb_gate::base::progress::Progress;

use crate::cli::terminal::TerminalArgs;

/// The time between two redraws of the progress bar.
const TICK: Duration = Duration::from_millis(200);

/// The minimum time in seconds between two printed lines of progress. Lines are printed if standard error is not a
/// terminal.
const LINES: u64 = 30;

/// The progress of a run, which standard error shows as a bar on a terminal, and otherwise as printed lines.
pub(crate) struct Bar {
    bar: ProgressBar,
    /// True if messages and lines of progress are printed. False with `--quiet`.
    lines: bool,
    /// The time at which the last line of progress was printed, in units of [`LINES`] seconds from the start.
    last: AtomicU64,
}

impl Bar {
    /// Creates a progress bar with the text `what`, such as `reading tables`. The bar is hidden with `--quiet` and with
    /// `--verbose`, and if standard error is not a terminal.
    pub(crate) fn of(what: &'static str, terminal: TerminalArgs) -> Self {
        let hidden = terminal.quiet || terminal.verbose || !std::io::stderr().is_terminal();
        let bar = if hidden { ProgressBar::hidden() } else { ProgressBar::new_spinner() };
        if !hidden {
            set(&bar, WAITING);
            bar.enable_steady_tick(TICK);
        }
        Self { bar: bar.with_message(what), lines: !terminal.quiet, last: AtomicU64::new(0) }
    }

    /// Runs `work` while the terminal shows the text `what` and the elapsed time. Returns the result of `work`.
    pub(crate) fn during<T>(
        what: &'static str,
        terminal: TerminalArgs,
        work: impl FnOnce() -> T,
    ) -> T {
        let _cleared = Self::of(what, terminal);
        work()
    }
}

/// The template of the progress bar while steps are counted.
const COUNTING: &str = "{bar:40} {pos}/{len} {msg}, {eta} left";

/// The template of the progress bar before the first step and after the last one.
const WAITING: &str = "{spinner} {msg}, {elapsed}";

fn set(bar: &ProgressBar, template: &str) {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
}

impl Drop for Bar {
    /// Removes the progress bar, so that later output starts on a clean line.
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
