//! The command line: structs, and what they mean to the library; a file a job.

pub mod bar;
pub mod compare;
pub mod explore;
pub mod generate;
pub mod impact;
pub mod init;
pub mod measure;
pub mod merge;
pub mod output;
pub mod outputs;
pub mod plan;
pub mod reach;
pub mod repair;
pub mod rules;
pub mod sanity;
pub mod selection;
pub mod selftest;
pub mod status;
pub mod validate;
pub mod watch;

use clap::{Args, Parser, Subcommand, ValueEnum};

use self::compare::CompareArgs;
use self::explore::ExploreArgs;
use self::generate::{Completions, SchemaArgs};
use self::impact::ImpactArgs;
use self::init::InitArgs;
use self::measure::{Measure, Remeasure};
use self::merge::MergeArgs;
use self::plan::PlanArgs;
use self::reach::ReachArgs;
use self::repair::{ConvertArgs, DedupeArgs};
use self::rules::{Explain, NoiseArgs, RulesArgs, SuggestArgs};
use self::sanity::Sanity;
use self::selftest::Selftest;
use self::status::StatusArgs;
use self::validate::Validate;

/// How every job ends, with what to do about it.
const EXIT_CODES: &str = "\
Exit codes, the same for every job and format:
  0  clean: everything was checked, and nothing found that fails the run
       perfdb-gate validate && git push
  1  findings of the severity that --fail-on names, or worse; --fail-on never only tells of them
       perfdb-gate validate --fail-on warning || less report.txt
  2  the tool could not do its work: no report, but a line and a hint on standard error
       perfdb-gate validate --system h20_sxm       no system matches 'h20_sxm'
  3  nothing was checked or compared, or it was too noisy to say; --inconclusive pass makes it 0
       perfdb-gate sanity --base-ref main          on a branch that changes no data";

/// The quality gate for GPU performance databases.
#[derive(Debug, Parser)]
#[command(name = "perfdb-gate", version, max_term_width = 100)]
#[command(after_help = EXIT_CODES)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub terminal: TerminalArgs,
}

/// What shows on the terminal, whatever the job.
#[derive(Debug, Clone, Copy, Args)]
pub struct TerminalArgs {
    /// Colour in reports for people: on a terminal (NO_COLOR is heeded), always or never.
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = ColorName::Auto)]
    #[arg(help_heading = "Terminal")]
    pub color: ColorName,
    /// No progress, and of a report for people only the line that sums it up.
    #[arg(long, short, global = true, help_heading = "Terminal")]
    pub quiet: bool,
    /// Tell on standard error what is read and how long each stage takes.
    #[arg(long, short, global = true, conflicts_with = "quiet", help_heading = "Terminal")]
    pub verbose: bool,
}

/// When reports for people have colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColorName {
    /// On a terminal.
    Auto,
    Always,
    Never,
}

/// The jobs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Judge a perf database: is this data right?
    Validate(Box<Validate>),
    /// Compare a pull request with its base: what does it change, and is that right?
    Sanity(Box<Sanity>),
    /// Predict step times of default models before and after a change, with the rows behind each move.
    Impact(Box<ImpactArgs>),
    /// Which rows answer queries, and where the lookups of default models find their answers.
    Reach(Box<ReachArgs>),
    /// Measure a sample of rows again: does the GPU still say what the table says?
    Remeasure(Box<Remeasure>),
    /// Measure a plan's grid into a table; goes on where it was stopped.
    Measure(Measure),
    /// Compare two collections key by key: same, faster, slower or mixed?
    Compare(Box<CompareArgs>),
    /// What there is of a system's tables: the table that a collection run keeps.
    Status(Box<StatusArgs>),
    /// Write a page to look into a table: its curves by columns, beside its peers, findings ringed.
    Explore(Box<ExploreArgs>),
    /// List what to measure again: from a report, holes, predictions or coverage.
    Plan(Box<PlanArgs>),
    /// Put a run's rows into a table key by key; a dry run unless told otherwise.
    Merge(Box<MergeArgs>),
    /// Remove repeated measurements from tables on disk; a dry run unless told otherwise.
    Dedupe(Box<DedupeArgs>),
    /// Convert text tables on disk to parquet, cell for cell; a dry run unless told otherwise.
    Convert(Box<ConvertArgs>),
    /// Set a repository up: workflows, a hook and a baseline; what is there stays as it is.
    Init(InitArgs),
    /// List the rules.
    Rules(RulesArgs),
    /// Tell the whole story of a rule.
    Explain(Explain),
    /// Print a spec to begin with for a table that none is written for, as YAML to be edited.
    Suggest(SuggestArgs),
    /// Plant known faults in a copy of real tables: how many does the gate find?
    Selftest(Selftest),
    /// Learn from repeated rows how far honest reruns differ, as rules/noise.yaml.
    Noise(NoiseArgs),
    /// Print the completions of a shell.
    Completions(Completions),
    /// Print the JSON Schema of a file, for editors.
    Schema(SchemaArgs),
}
