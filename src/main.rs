//! Parse, dispatch, map the outcome to an exit code.

mod cli;

use std::io::{self, Write as _};
use std::process::{self, ExitCode};

use clap::Parser;

use perfdb_gate::base::error::{Error, Result};
use perfdb_gate::base::escape::clean;
use perfdb_gate::base::exit::Exit;
use perfdb_gate::base::interrupt;
use perfdb_gate::base::panics::install_panic_hook;
use perfdb_gate::base::processor;

use cli::{Cli, Command, TerminalArgs};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The allocator's option `purge_delay`, by its number: the bindings name few.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;
/// For how many ms freed memory is kept before the system gets it back; 10 without this. What one table leaves the
/// next takes, and pages that the system gives again it clears first.
const KEPT_MS: std::ffi::c_long = 100;

fn main() -> ExitCode {
    if processor::is_new_enough() {
        return start();
    }
    // Nothing is left to do about an error of writing this.
    let _ = io::stderr().write_all(processor::TOO_OLD.as_bytes());
    // At once, and with a number that is known by now: what else could run here was built as the rest was.
    const FAILED: u8 = Exit::Failed.code();
    process::exit(FAILED.into())
}

/// The program, on a processor that can run it. Never a part of `main`, which any processor has to be able to run.
#[inline(never)]
fn start() -> ExitCode {
    keep_freed_memory();
    install_panic_hook();
    interrupt::watch();
    let cli = Cli::parse();
    if cli.terminal.verbose {
        log();
    }
    let exit = run(cli.command, cli.terminal).unwrap_or_else(|error| {
        report(&error);
        Exit::Failed
    });
    leave_memory();
    exit.into()
}

fn run(command: Command, terminal: TerminalArgs) -> Result<Exit> {
    match command {
        Command::Validate(args) => args.run(terminal),
        Command::Sanity(args) => args.run(terminal),
        Command::Impact(args) => args.run(terminal),
        Command::Reach(args) => args.run(terminal),
        Command::Remeasure(args) => args.run(terminal),
        Command::Measure(args) => args.run(terminal),
        Command::Compare(args) => args.run(terminal),
        Command::Status(args) => args.run(terminal),
        Command::Explore(args) => args.run(terminal),
        Command::Plan(args) => args.run(terminal),
        Command::Merge(args) => args.run(),
        Command::Dedupe(args) => args.run(),
        Command::Convert(args) => args.run(),
        Command::Init(args) => args.run(terminal),
        Command::Rules(args) => args.run(),
        Command::Explain(args) => args.run(),
        Command::Suggest(args) => args.run(),
        Command::Selftest(args) => args.run(terminal),
        Command::Noise(args) => args.run(),
        Command::Completions(args) => args.run(),
        Command::Schema(args) => args.run(),
    }
}

/// Sets how long the allocator keeps freed memory, where `MIMALLOC_PURGE_DELAY` does not say.
#[allow(unsafe_code, reason = "the allocator is C, and its options have no safe binding")]
fn keep_freed_memory() {
    // SAFETY: the number is that of an option, and no other thread runs yet.
    unsafe { libmimalloc_sys::mi_option_set_default(PURGE_DELAY, KEPT_MS) }
}

/// Lets the system take all memory at once with the process, and not piece by piece before.
#[allow(unsafe_code, reason = "the allocator is C, and its options have no safe binding")]
fn leave_memory() {
    // SAFETY: the number is that of an option. A thread that still runs, as the one that waits for signals or the one
    // that takes the program's digest, reads the aligned word as it was or as it is; either will do.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, -1) }
}

/// `--verbose` logs to standard error, so that standard output holds reports alone.
fn log() {
    tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_max_level(tracing::Level::DEBUG)
        .with_ansi(false)
        .with_target(false)
        .with_timer(tracing_subscriber::fmt::time::uptime())
        .init();
}

/// Says on standard error why the program could not do its work, and what to try.
fn report(error: &Error) {
    eprintln!("perfdb-gate: {}", clean(&error.message));
    if !error.hint.is_empty() {
        eprintln!("hint: {}", clean(&error.hint));
    }
}

#[cfg(test)]
mod tests {
    #[test]
    #[allow(unsafe_code, reason = "the allocator is C, and its options have no safe binding")]
    fn the_number_of_the_option_is_that_of_the_purge_delay() {
        // SAFETY: an option is read.
        let default = unsafe { libmimalloc_sys::mi_option_get(super::PURGE_DELAY) };
        // In ms, unlike all of its neighbours.
        assert_eq!(default, 10);
    }
}
