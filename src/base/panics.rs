//! Silences panics of decoders on damaged bytes. Such panics are caught and become findings, so they must not
//! be printed.

use std::cell::Cell;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f` without printing its panics. The caller catches them.
pub(crate) fn quiet_panics<T>(f: impl FnOnce() -> T) -> T {
    let before = QUIET.replace(true);
    let result = f();
    QUIET.set(before);
    result
}

/// Installs a panic hook that does not print the panics inside [`quiet_panics`]. The binary calls this once.
pub fn install_panic_hook() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !QUIET.get() {
            default(info);
        }
    }));
}
