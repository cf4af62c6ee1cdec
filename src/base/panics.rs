//! Panics of a decoder on damaged bytes: they are caught and become findings, and must not be printed.

use std::cell::Cell;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f`, whose panics are caught by the caller and must not be printed.
pub(crate) fn quiet_panics<T>(f: impl FnOnce() -> T) -> T {
    let before = QUIET.replace(true);
    let result = f();
    QUIET.set(before);
    result
}

/// Keeps quiet panics off the terminal. Called once by the binary.
pub fn install_panic_hook() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !QUIET.get() {
            default(info);
        }
    }));
}
