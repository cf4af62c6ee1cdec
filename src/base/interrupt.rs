//! Ctrl-C and SIGTERM: unfinished work is removed when the process ends.
//!
//! Temporary files, temporary folders and started commands are registered as [`Leftover`]s and removed when a
//! signal ends the process. A job that can end early with a report registers [`Finishing`]. Then the first
//! Ctrl-C only makes [`is_requested`] return true, and the second one ends the process.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

static REQUESTED: AtomicBool = AtomicBool::new(false);
static FINISHING: AtomicUsize = AtomicUsize::new(0);
static NEXT: AtomicU64 = AtomicU64::new(0);
static LEFT: Mutex<Vec<(u64, Leftover)>> = Mutex::new(Vec::new());

/// Something to remove or kill if a signal ends the process.
#[derive(Debug, Clone)]
pub(crate) enum Leftover {
    /// A temporary file.
    File(PathBuf),
    /// A temporary folder.
    Folder(PathBuf),
    /// A process group, by the id of its first process.
    Group(u32),
}

/// A guard of a temporary file, a temporary folder or a started process group. While the guard exists, a signal that
/// ends this program also deletes the file or folder, or kills the process group.
#[derive(Debug)]
pub(crate) struct RemovedOnSignal(u64);

impl RemovedOnSignal {
    /// Registers a leftover until the returned guard is dropped.
    pub(crate) fn new(leftover: Leftover) -> Self {
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

/// A guard of a job that can finish early. While the guard exists, the first Ctrl-C does not end the process but asks
/// the job to finish. The field is the job's deadline, after which no further step starts; `None` without a deadline.
#[derive(Debug)]
pub(crate) struct Finishing(Option<Instant>);

impl Finishing {
    /// Creates the guard of a job that checks [`Self::is_over`] between its steps. `limit` is the time from now until
    /// the job's deadline; `None` without a deadline.
    pub(crate) fn on_request(limit: Option<Duration>) -> Self {
        FINISHING.fetch_add(1, Ordering::SeqCst);
        Self(limit.and_then(|limit| Instant::now().checked_add(limit)))
    }

    /// Returns true if no further step may start: the user asked for an end, or the time is over.
    pub(crate) fn is_over(&self) -> bool {
        is_requested() || self.0.is_some_and(|end| Instant::now() >= end)
    }
}

impl Drop for Finishing {
    fn drop(&mut self) {
        FINISHING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Parses a number of minutes from the command line, such as `90` or `0.5`.
///
/// # Errors
///
/// Returns a message if the text is not a number from 0 to 100,000.
pub(crate) fn minutes(text: &str) -> Result<Duration, String> {
    let minutes: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    let some = (0.0..=100_000.0).contains(&minutes);
    some.then(|| Duration::from_secs(60).mul_f64(minutes)).ok_or_else(|| "from 0 to 100,000".into())
}

/// Returns true if the user has asked the job to end.
pub(crate) fn is_requested() -> bool {
    REQUESTED.load(Ordering::SeqCst)
}

fn left() -> MutexGuard<'static, Vec<(u64, Leftover)>> {
    // A panicking thread cannot leave a half-made change, so a poisoned lock is safe to use.
    LEFT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a thread that waits for signals. The binary calls this once. If signals cannot be caught, they keep their
/// default effect.
#[cfg(unix)]
pub fn watch() {
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    // SIGHUP is not caught: a job started with nohup continues when its terminal closes.
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
            // The default handler ends the process, so that the shell sees which signal it was.
            if signal_hook::low_level::emulate_default_handler(signal).is_err() {
                std::process::abort();
            }
        }
    });
}

/// Does nothing: signals have their default effect on this platform.
#[cfg(not(unix))]
pub(crate) fn watch() {}

impl Leftover {
    /// Deletes the temporary file or folder, or kills the process group. A file or folder that cannot be deleted is
    /// left to the next run.
    #[cfg(unix)]
    fn remove(&self) {
        match self {
            Self::File(path) => drop(std::fs::remove_file(path)),
            Self::Folder(path) => {
                // Another thread may still write a file into the folder.
                for _ in 0..5 {
                    if std::fs::remove_dir_all(path).is_ok() || !path.exists() {
                        break;
                    }
                }
            }
            Self::Group(first) => {
                use rustix::process::{Pid, Signal, kill_process_group};
                if let Some(group) = i32::try_from(*first).ok().and_then(Pid::from_raw) {
                    // The group may already be gone.
                    let _ = kill_process_group(group, Signal::KILL);
                }
            }
        }
    }
}
