//! The command line: the arguments of the commands, and [`Cli::run`], which runs them. A command's options are the
//! library's own, with the arguments for its output beside them.

pub(crate) mod bar;
pub(crate) mod explore;
pub(crate) mod generate;
pub(crate) mod groups;
pub(crate) mod impact;
pub(crate) mod measure;
pub(crate) mod merge;
pub(crate) mod mistake;
pub(crate) mod new;
pub(crate) mod output;
pub(crate) mod outputs;
pub(crate) mod plan;
pub(crate) mod repair;
pub(crate) mod rules;
pub(crate) mod sanity;
pub(crate) mod status;
pub(crate) mod terminal;
pub(crate) mod validate;

use clap::{Parser, Subcommand};
use perfdb_gate::base::error::{Exit, Result};
use perfdb_gate::base::escape::clean_lines;
use perfdb_gate::jobs::init::{self, InitOptions};
use perfdb_gate::jobs::new::NewOptions;
use perfdb_gate::jobs::waive::{self, WaiveOptions};
use perfdb_gate::report;

use self::bar::Bar;
use self::explore::ExploreArgs;
use self::generate::{Completions, SchemaArgs};
use self::impact::ImpactArgs;
use self::measure::{Measure, Remeasure};
use self::merge::MergeArgs;
use self::plan::PlanArgs;
use self::repair::{DedupeArgs, RepairArgs};
use self::rules::{Explain, SuggestArgs};
use self::sanity::Sanity;
use self::status::StatusArgs;
use self::terminal::MOST_COLUMNS;
pub(crate) use self::terminal::TerminalArgs;
use self::validate::Validate;

/// The exit codes of every command, with an example of each.
const EXIT_CODES: &str = include_str!("exit_codes.txt");

/// The quality gate for GPU performance databases.
#[derive(Debug, Parser)]
#[command(name = "perfdb-gate", version, max_term_width = MOST_COLUMNS)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub terminal: TerminalArgs,
    /// Number of threads; 0 means one per core.
    #[arg(long, global = true, value_name = "N", default_value_t = 0, help_heading = "Terminal")]
    #[arg(allow_negative_numbers = true)]
    pub threads: u16,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check a perf database: is this data right?
    Validate(Box<Validate>),
    /// Start a table of your own: the system's YAML, rows from a CSV, a sidecar; a dry run without
    /// --write.
    New(NewOptions),
    /// Compare a pull request with its base: what does it change, and is that right?
    Sanity(Box<Sanity>),
    /// Ask the planner for step times before and after a change, with the tables behind each move.
    Impact(Box<ImpactArgs>),
    /// Measure a sample of rows again: does this GPU confirm the table?
    Remeasure(Box<Remeasure>),
    /// Measure a plan's grid into a table; an interrupted run continues.
    Measure(Measure),
    /// Show a map of tables by systems with the number of findings.
    Status(Box<StatusArgs>),
    /// Write a page to look into a table: its curves by columns, beside its peers, findings ringed.
    Explore(Box<ExploreArgs>),
    /// List what to measure again: from a report, or from holes.
    Plan(Box<PlanArgs>),
    /// Merge a run's rows into a table key by key; a dry run without --write.
    Merge(Box<MergeArgs>),
    /// Remove repeated measurements from tables on disk; a dry run without --write.
    Dedupe(Box<DedupeArgs>),
    /// Convert text tables on disk to Parquet, cell for cell; a dry run without --write.
    Convert(Box<RepairArgs>),
    /// Set up a repository: workflows, a hook and a baseline; existing files are kept.
    Init(InitOptions),
    /// Accept a finding until a date: write its waiver. Without a fingerprint, list the findings.
    Waive(WaiveOptions),
    /// Explain a rule: what it reports, why, what to do, with examples. Without a rule, list all.
    Explain(Explain),
    /// Print a first spec for a table that has none, as YAML to edit.
    Suggest(SuggestArgs),
    /// Print completions for a shell.
    Completions(Completions),
    /// Print the JSON Schema of a file format, for editors.
    Schema(SchemaArgs),
}

impl Cli {
    /// Runs the command and returns the exit code of the process. The command `completions` generates its output from
    /// the command-line parser that `parser` builds.
    pub(crate) fn run(self, parser: fn() -> clap::Command) -> Result<Exit> {
        let terminal = self.terminal;
        match self.command {
            Command::Validate(args) => args.run(terminal),
            Command::New(options) => new::run(&options, terminal),
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
            Command::Init(options) => {
                let setup = init::run(&options, &Bar::of("tables", terminal))?;
                report::print(&setup.text()).map(|()| Exit::Clean)
            }
            Command::Waive(options) => {
                let text = waive::run(&options, &Bar::of("tables", terminal))?;
                report::print(&clean_lines(&text)).map(|()| Exit::Clean)
            }
            Command::Explain(args) => args.run(),
            Command::Suggest(args) => args.run(terminal),
            Command::Completions(args) => args.run(parser()),
            Command::Schema(args) => args.run(),
        }
    }
}
