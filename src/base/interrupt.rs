//! Ctrl-C and SIGTERM: what is unfinished goes with the process.
//!
//! Files and folders without a name yet, and commands that were started, are [`Leftover`]s: they are gone
//! when a signal ends the process. A job that can end early with a report asks for that with [`Finishing`]:
//! then the first signal is a request, which [`is_requested`] returns, and the second one ends the process.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

static REQUESTED: AtomicBool = AtomicBool::new(false);
static FINISHING: AtomicUsize = AtomicUsize::new(0);
static NEXT: AtomicU64 = AtomicU64::new(0);
static LEFT: Mutex<Vec<(u64, Leftover)>> = Mutex::new(Vec::new());

/// What must not stay behind.
#[derive(Debug, Clone)]
pub enum Leftover {
    /// A file that has no name of its own yet.
    File(PathBuf),
    /// A folder likewise.
    Folder(PathBuf),
    /// A group of processes, by its first one.
    Group(u32),
}

/// While it lives, a leftover is removed when a signal ends the process.
#[derive(Debug)]
pub struct RemovedOnSignal(u64);

impl RemovedOnSignal {
    /// Takes care of a leftover until the value is dropped.
    pub fn new(leftover: Leftover) -> Self {
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        left().push((id, leftover));
        Self(id)
    }
}

impl Drop for RemovedOnSignal {
    fn drop(&mut self) {
        left().retain(|(id, _)| *id != self.0);
    }
}

/// While it lives, the first signal asks the job to finish.
#[derive(Debug)]
pub struct Finishing(());

impl Finishing {
    /// Says that the job looks at [`is_requested`] between its steps.
    pub fn on_request() -> Self {
        FINISHING.fetch_add(1, Ordering::SeqCst);
        Self(())
    }
}

impl Drop for Finishing {
    fn drop(&mut self) {
        FINISHING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Whether the user has asked the job to end.
pub fn is_requested() -> bool {
    REQUESTED.load(Ordering::SeqCst)
}

fn left() -> MutexGuard<'static, Vec<(u64, Leftover)>> {
    // A thread that panicked left either all of a change or none.
    LEFT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for signals in a thread of its own. Called once by the binary; where it fails, signals do what they
/// do to any process.
#[cfg(unix)]
pub fn watch() {
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    // Not SIGHUP: what nohup started goes on when its terminal closes.
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else { return };
    std::thread::spawn(move || {
        for signal in signals.forever() {
            let first = !REQUESTED.swap(true, Ordering::SeqCst);
            if first && signal == SIGINT && FINISHING.load(Ordering::SeqCst) > 0 {
                eprintln!(
                    "perfdb-gate: stopping after this point; press Ctrl-C again to stop at once"
                );
                continue;
            }
            left().iter().for_each(|(_, leftover)| leftover.remove());
            // As if nobody had listened: the shell sees which signal it was.
            if signal_hook::low_level::emulate_default_handler(signal).is_err() {
                std::process::abort();
            }
        }
    });
}

/// Signals do what they do to any process.
#[cfg(not(unix))]
pub fn watch() {}

impl Leftover {
    /// Removes it. What fails is left to the next run, which sweeps the folder.
    #[cfg(unix)]
    fn remove(&self) {
        match self {
            Self::File(path) => drop(std::fs::remove_file(path)),
            Self::Folder(path) => {
                // Another thread may still write a file into it.
                for _ in 0..5 {
                    if std::fs::remove_dir_all(path).is_ok() || !path.exists() {
                        break;
                    }
                }
            }
            Self::Group(first) => {
                use rustix::process::{Pid, Signal, kill_process_group};
                if let Some(group) = i32::try_from(*first).ok().and_then(Pid::from_raw) {
                    // A group that is gone already needs no signal.
                    let _ = kill_process_group(group, Signal::KILL);
                }
            }
        }
    }
}
