//! A progress bar on the terminal.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use perfdb_gate::base::progress::Progress;

use crate::cli::terminal::TerminalArgs;

/// A progress bar on the terminal.
pub struct Bar(ProgressBar);

impl Bar {
    /// Creates a bar that counts `what`. It is hidden with `--quiet`, with `--verbose` (log lines
    /// would break it), and if standard error is not a terminal.
    pub fn of(what: &str, terminal: TerminalArgs) -> Self {
        if is_hidden(terminal) {
            return Self(ProgressBar::hidden());
        }
        let bar = ProgressBar::new(0);
        if let Ok(style) = ProgressStyle::with_template(&format!(
            "{{bar:40}} {{pos}}/{{len}} {what}, {{eta}} left"
        )) {
            bar.set_style(style);
        }
        Self(bar)
    }

    /// Runs work without countable steps, and shows meanwhile how long it has taken.
    pub fn during<T>(what: &'static str, terminal: TerminalArgs, work: impl FnOnce() -> T) -> T {
        let bar = if is_hidden(terminal) {
            ProgressBar::hidden()
        } else {
            let bar = ProgressBar::new_spinner().with_message(what);
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}, {elapsed}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(TICK);
            bar
        };
        let _cleared = Self(bar);
        work()
    }
}

/// The time between two updates of a spinner.
const TICK: Duration = Duration::from_millis(200);

/// Returns true if no progress is shown.
fn is_hidden(terminal: TerminalArgs) -> bool {
    terminal.quiet || terminal.verbose || !std::io::stderr().is_terminal()
}

impl Drop for Bar {
    /// Removes the bar, so that later output starts on a clean line.
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

impl Progress for Bar {
    fn step(&self, done: usize, total: usize) {
        self.0.set_length(total as u64);
        self.0.set_position(done as u64);
    }
}
