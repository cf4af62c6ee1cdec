//! Parses the command line, runs the command, and exits with its code.

mod cli;

use std::io;
use std::process::ExitCode;

use clap::FromArgMatches;

use perfdb_gate::base::error::{Error, Exit, Result};
use perfdb_gate::base::escape::clean;
use perfdb_gate::base::panics::install_panic_hook;
use perfdb_gate::base::{interrupt, threads};

use cli::{Cli, Command, TerminalArgs, groups, mistake};

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
    run(cli.command, cli.terminal).unwrap_or_else(|error| failed(&error)).into()
}

fn run(command: Command, terminal: TerminalArgs) -> Result<Exit> {
    match command {
        Command::Validate(args) => args.run(terminal),
        Command::New(options) => cli::new::run(&options, terminal),
        Command::Sanity(args) => args.run(terminal),
        Command::Impact(args) => args.run(terminal),
        Command::Remeasure(args) => args.run(terminal),
        Command::Measure(args) => args.run(terminal),
        Command::Status(args) => args.run(terminal),
        Command::Explore(args) => args.run(terminal),
        Command::Plan(args) => args.run(terminal),
        Command::Merge(args) => args.run(terminal),
        Command::Dedupe(args) => args.run(terminal),
        Command::Convert(args) => args.convert(terminal),
        Command::Init(options) => cli::init::run(&options, terminal),
        Command::Waive(options) => cli::waive::run(&options, terminal),
        Command::Explain(args) => args.run(),
        Command::Suggest(args) => args.run(terminal),
        Command::Completions(args) => args.run(groups::command()),
        Command::Schema(args) => args.run(),
    }
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
