//! Parses the command line, runs the command, and exits with its code.

mod cli;

use std::io;
use std::process::ExitCode;

use clap::FromArgMatches;

use perfdb_gate::base::error::{Error, Exit};
use perfdb_gate::base::escape::clean;
use perfdb_gate::base::panics::install_panic_hook;
use perfdb_gate::base::{interrupt, threads};

use cli::{Cli, groups, mistake};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    install_panic_hook();
    interrupt::watch();
    let parsed = groups::command().try_get_matches();
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => return failed(&mistake::of(error, &groups::command())).into(),
    };
    if cli.terminal.verbose {
        log();
    }
    threads::start(cli.threads.into());
    cli.run(groups::command).unwrap_or_else(|error| failed(&error)).into()
}

/// Sends the log of `--verbose` to standard error, so that standard output contains only reports.
fn log() {
    tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_max_level(tracing::Level::DEBUG)
        .with_ansi(false)
        .with_target(false)
        .with_timer(tracing_subscriber::fmt::time::uptime())
        .init();
}

/// Prints an error and its hint to standard error.
fn failed(error: &Error) -> Exit {
    eprintln!("perfdb-gate: {}", clean(&error.message));
    if !error.hint.is_empty() {
        eprintln!("hint: {}", clean(&error.hint));
    }
    Exit::Failed
}
