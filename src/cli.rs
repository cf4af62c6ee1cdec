//! The command line: structs only.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// The quality gate for GPU performance databases.
#[derive(Debug, Parser)]
#[command(name = "perfdb-gate", version, max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 clean, 1 findings, 2 the tool could not do its work, 3 nothing was checked or compared"
)]
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
    /// Measure a sample of rows again: does the GPU still say what the table says?
    Remeasure(Box<Remeasure>),
    /// Measure a plan's grid into a table; goes on where it was stopped.
    Measure(Measure),
    /// What there is of a system's tables: the table that a collection run keeps.
    Status(Box<StatusArgs>),
    /// Remove repeated measurements from tables on disk; a dry run unless told otherwise.
    Dedupe(Box<DedupeArgs>),
    /// Convert text tables on disk to parquet, cell for cell; a dry run unless told otherwise.
    Convert(Box<ConvertArgs>),
    /// List the rules.
    Rules(RulesArgs),
    /// Tell the whole story of a rule.
    Explain(Explain),
    /// Plant known faults in a copy of real tables: how many does the gate find?
    Selftest(Selftest),
    /// Learn from repeated rows how far honest reruns differ, as rules/noise.yaml.
    Noise(NoiseArgs),
    /// Print the completions of a shell.
    Completions(Completions),
    /// Print the JSON Schema of a file, for editors.
    Schema(SchemaArgs),
}

/// `perfdb-gate validate`.
#[derive(Debug, Args)]
pub struct Validate {
    /// Repository or folder that holds the database.
    #[arg(long, value_name = "DIR", default_value = ".", help_heading = "What to judge")]
    pub root: PathBuf,
    /// Judge a commit, read without a checkout, instead of the files on disk.
    #[arg(long = "ref", value_name = "REF", help_heading = "What to judge")]
    pub reference: Option<String>,
    /// Only what changed since the merge base with this commit.
    #[arg(long, value_name = "REF", help_heading = "What to judge")]
    pub since: Option<String>,
    /// Judge end-to-end traces below a folder instead: workload cards, experiment configs and metric
    /// files. One thread does it, whatever --threads says.
    #[arg(long, value_name = "DIR", help_heading = "What to judge")]
    #[arg(conflicts_with_all = ["root", "since", "ledger", "system", "backend", "version", "table"])]
    pub traces: Option<PathBuf>,
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// A collector's log directory: what it classified as failed is missing for a reason.
    #[arg(long, value_name = "DIR", help_heading = "What to judge")]
    pub ledger: Option<PathBuf>,
    #[command(flatten)]
    pub rules: RuleArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub gate: GateArgs,
}

/// `perfdb-gate sanity`.
#[derive(Debug, Args)]
pub struct Sanity {
    /// Repository that holds the database, a bare one too where commits are named; or a folder in it.
    #[arg(long, value_name = "DIR", default_value = ".", help_heading = "What to compare")]
    pub root: PathBuf,
    /// The branch to merge into; the comparison starts where the head's history left it. Without
    /// it, charts are drawn of what is there.
    #[arg(long, value_name = "REF", help_heading = "What to compare")]
    #[arg(required_unless_present = "system")]
    pub base_ref: Option<String>,
    /// The commit to compare, read without a checkout; the files on disk without this.
    #[arg(long, value_name = "REF", help_heading = "What to compare")]
    pub head_ref: Option<String>,
    /// Systems to draw, where there is no base; `*` stands for any characters, may be repeated.
    #[arg(long, value_name = "NAME", requires = "output_dir", help_heading = "What to compare")]
    #[arg(conflicts_with_all = ["base_ref", "output_md_file", "detail_dir", "smoke_command", "only", "skip"])]
    #[arg(conflicts_with_all = ["html", "output", "report", "format", "fail_on"])]
    pub system: Vec<String>,
    /// Write a comment for the pull request, in Markdown, of at most 65,536 characters.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub output_md_file: Option<PathBuf>,
    /// Write charts of what changed most to a folder, as SVG and PNG.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub output_dir: Option<PathBuf>,
    /// Charts to draw, at most.
    #[arg(long, value_name = "N", default_value_t = 12, help_heading = "Output")]
    pub charts: usize,
    /// Write the rows that changed to a folder: CSV, a file a table, and summary.csv.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub detail_dir: Option<PathBuf>,
    /// A shell command that tries the database, `aiconfigurator cli default …` for one: the comment
    /// holds how it ended and what it printed, and the run fails where it does.
    #[arg(long, value_name = "CMD", help_heading = "Output")]
    pub smoke_command: Option<String>,
    /// The least severity of a new finding that fails the run.
    #[arg(long, value_enum, default_value_t = FailOn::Error, help_heading = "Output")]
    pub fail_on: FailOn,
    #[command(flatten)]
    pub rules: RuleArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `perfdb-gate remeasure`.
#[derive(Debug, Args)]
pub struct Remeasure {
    /// Repository or folder that holds the database.
    #[arg(long, value_name = "DIR", default_value = ".", help_heading = "What to measure")]
    pub root: PathBuf,
    /// Tables of a commit, read without a checkout, instead of the files on disk.
    #[arg(long = "ref", value_name = "REF", help_heading = "What to measure")]
    pub reference: Option<String>,
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// Only these rows: "gemm_dtype = 'bfloat16' AND m <= 256", or an exact key.
    #[arg(long = "where", value_name = "EXPR", help_heading = "What to measure")]
    pub filter: Option<String>,
    /// Points of each table, drawn from strata of slice and latency.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..), help_heading = "What to measure")]
    pub sample: u32,
    /// Seed of the draw.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "What to measure")]
    pub seed: u64,
    #[command(flatten)]
    pub device: DeviceArgs,
    /// Measure the power of points whose rows have one, a second each.
    #[arg(long, help_heading = "How to measure")]
    pub power: bool,
    /// Write charts of measured over recorded to a folder, as SVG and PNG.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub output_dir: Option<PathBuf>,
    /// Keep what is measured as rows of a table, DIR/TABLE.parquet, with a log and a sidecar beside it.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub record: Option<PathBuf>,
    /// Print a runner for `--device process` that measures GEMM with PyTorch, and measure nothing.
    #[arg(long, help_heading = "How to measure")]
    pub print_runner: bool,
    /// A folder laid out as perfdb-gate's rules/, which adds to them and replaces by id.
    #[arg(long = "rules", value_name = "DIR", help_heading = "How to measure")]
    pub rules_dir: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `perfdb-gate measure`.
#[derive(Debug, Args)]
pub struct Measure {
    /// A plan by its name, as rules/plans/ has it (gemm, mla_bmm, nccl), or a file of one's own, PLAN.yaml.
    #[arg(long, value_name = "PLAN")]
    pub plan: String,
    /// The folder of a database's data: the table is DIR/<system>/<family>/<backend>/<version>/<table>.parquet,
    /// with a log of every sample and a sidecar beside it.
    #[arg(long, value_name = "DIR")]
    pub output_dir: PathBuf,
    /// Begin no further point after so many minutes; the same command goes on later.
    #[arg(long, value_name = "N", value_parser = minutes)]
    pub minutes: Option<f64>,
    #[command(flatten)]
    pub device: DeviceArgs,
    /// A folder laid out as perfdb-gate's rules/, which adds to them and replaces by id.
    #[arg(long = "rules", value_name = "DIR")]
    pub rules_dir: Option<PathBuf>,
}

fn minutes(text: &str) -> Result<f64, String> {
    let minutes: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    let some = (0.0..=100_000.0).contains(&minutes);
    some.then_some(minutes).ok_or_else(|| "from 0 to 100,000".into())
}

/// What measures.
#[derive(Debug, Args)]
pub struct DeviceArgs {
    /// Where to measure: this machine's GPU through CUDA, or a command.
    #[arg(long, value_enum, default_value_t = DeviceName::Cuda, help_heading = "How to measure")]
    pub device: DeviceName,
    /// The command of `--device process`: it reads a point per line as JSON, and answers a line each.
    #[arg(
        long,
        value_name = "CMD",
        required_if_eq("device", "process"),
        help_heading = "How to measure"
    )]
    pub command: Option<String>,
}

/// Where points are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DeviceName {
    /// This machine's GPU, with the kernels built in.
    Cuda,
    /// A command.
    Process,
}

/// Which tables; `*` stands for any characters.
#[derive(Debug, Args)]
pub struct SelectionArgs {
    /// Only these systems; `*` stands for any characters, may be repeated.
    #[arg(long, value_name = "NAME", help_heading = "Which tables")]
    pub system: Vec<String>,
    /// Only these backends.
    #[arg(long, value_name = "NAME", help_heading = "Which tables")]
    pub backend: Vec<String>,
    /// Only these versions.
    #[arg(long, value_name = "VERSION", help_heading = "Which tables")]
    pub version: Vec<String>,
    /// Only these tables, with or without `_perf`.
    #[arg(long, value_name = "NAME", help_heading = "Which tables")]
    pub table: Vec<String>,
}

/// Which rules run.
#[derive(Debug, Args)]
pub struct RuleArgs {
    /// Only these rules; may be repeated.
    #[arg(long, value_name = "RULE", help_heading = "Rules")]
    pub only: Vec<String>,
    /// Not these rules; may be repeated.
    #[arg(long, value_name = "RULE", help_heading = "Rules")]
    pub skip: Vec<String>,
    /// A folder laid out as perfdb-gate's rules/, which adds to them and replaces by id.
    #[arg(long = "rules", value_name = "DIR", help_heading = "Rules")]
    pub rules_dir: Option<PathBuf>,
}

/// What comes out, and how.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// Format of the report.
    #[arg(long, value_enum, default_value_t = FormatName::Human, help_heading = "Output")]
    pub format: FormatName,
    /// Write the report to a file instead of standard output.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Write the report in one more format: `sarif=perfdb.sarif`; may be repeated.
    #[arg(long, value_name = "FORMAT=FILE", value_parser = report_of, help_heading = "Output")]
    pub report: Vec<(FormatName, PathBuf)>,
    /// Write the report as a page that opens in a browser, from disk too: one file, no network.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub html: Option<PathBuf>,
    /// Threads to use; 0 for as many as there are cores.
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Output")]
    pub threads: usize,
}

/// Which findings fail a run.
#[derive(Debug, Args)]
pub struct GateArgs {
    /// The least severity that fails the run.
    #[arg(long, value_enum, default_value_t = FailOn::Error, help_heading = "Output")]
    pub fail_on: FailOn,
    /// Judge against this baseline instead of the repository's `.perfdb-gate/baseline.json`.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub baseline: Option<PathBuf>,
    /// Freeze today's findings into a baseline; later runs report what is new or has grown.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub write_baseline: Option<PathBuf>,
    /// Show only this many findings of each rule and severity, drawn at random, to judge by hand.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    #[arg(help_heading = "Output")]
    pub draw: Option<u32>,
    /// Seed of the draw.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "draw", help_heading = "Output")]
    pub seed: u64,
}

/// A file, where standard output will not do.
fn file_name(text: &str) -> Result<PathBuf, String> {
    match text {
        "" | "-" => Err("it needs the name of a file: what is removed is kept there".to_owned()),
        name => Ok(PathBuf::from(name)),
    }
}

/// `FORMAT=FILE`.
fn report_of(text: &str) -> Result<(FormatName, PathBuf), String> {
    let (format, file) =
        text.split_once('=').ok_or("it is FORMAT=FILE, sarif=perfdb.sarif for one")?;
    if file.is_empty() || file == "-" {
        return Err("it needs the name of a file; --format is what standard output gets".to_owned());
    }
    Ok((FormatName::from_str(format, false)?, PathBuf::from(file)))
}

/// Formats of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FormatName {
    /// For people.
    Human,
    /// For programs, schema perfdb-gate/v1.
    Json,
    /// For code scanning and editors, SARIF 2.1.0.
    Sarif,
    /// Annotations of GitHub Actions.
    Github,
    /// For CI systems that show tests.
    Junit,
    /// For a step's summary.
    Markdown,
}

/// Severities that fail a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    Error,
    Warning,
    Info,
    /// Never fail on findings.
    Never,
}

/// `perfdb-gate rules`.
#[derive(Debug, Args)]
pub struct RulesArgs {
    /// List instead where the table specs and a repository's own operation catalog differ.
    #[arg(long, value_name = "DIR")]
    pub check_root: Option<PathBuf>,
    /// A folder laid out as perfdb-gate's rules/, which adds to them and replaces by id.
    #[arg(long = "rules", value_name = "DIR")]
    pub rules_dir: Option<PathBuf>,
}

/// `perfdb-gate explain`.
#[derive(Debug, Args)]
pub struct Explain {
    /// Rule id.
    pub rule: String,
    /// A folder laid out as perfdb-gate's rules/, which adds to them and replaces by id.
    #[arg(long = "rules", value_name = "DIR")]
    pub rules_dir: Option<PathBuf>,
}

/// `perfdb-gate noise`.
#[derive(Debug, Args)]
pub struct NoiseArgs {
    /// Repository or folder that holds the database.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub root: PathBuf,
    /// Learn from a commit, read without a checkout, instead of the files on disk.
    #[arg(long = "ref", value_name = "REF")]
    pub reference: Option<String>,
    /// Write the profile to a file instead of standard output.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// `perfdb-gate completions`.
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell that reads them.
    #[arg(value_enum)]
    pub shell: ShellName,
}

/// Shells with completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ShellName {
    Bash,
    Zsh,
    Fish,
}

/// `perfdb-gate schema`.
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// The file.
    #[arg(value_enum)]
    pub file: SchemaName,
}

/// Files with a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaName {
    /// A report, `--format json`.
    Report,
    /// `rules/<rule>.yaml`.
    Rule,
    /// `rules/tables/<family>.yaml`.
    Tables,
    /// `.perfdb-gate/waivers.yaml`.
    Waivers,
}

/// `perfdb-gate status`.
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Repository or folder that holds the database.
    #[arg(long, value_name = "DIR", default_value = ".", help_heading = "What to tell of")]
    pub root: PathBuf,
    /// Tables of a commit, read without a checkout, instead of the files on disk.
    #[arg(long = "ref", value_name = "REF", help_heading = "What to tell of")]
    pub reference: Option<String>,
    /// The system.
    #[arg(long, value_name = "NAME", help_heading = "What to tell of")]
    pub system: String,
    /// Only these backends; `*` stands for any characters, may be repeated.
    #[arg(long, value_name = "NAME", help_heading = "What to tell of")]
    pub backend: Vec<String>,
    /// These versions; without this, the version that counts of each table.
    #[arg(long, value_name = "VERSION", help_heading = "What to tell of")]
    pub version: Vec<String>,
    /// A collector's log directory: what it skipped, and why.
    #[arg(long, value_name = "DIR", help_heading = "What to tell of")]
    pub ledger: Option<PathBuf>,
    /// A folder laid out as perfdb-gate's rules/, which adds to them and replaces by id.
    #[arg(long = "rules", value_name = "DIR", help_heading = "What to tell of")]
    pub rules_dir: Option<PathBuf>,
    /// For people, for a pull request's body, for programs.
    #[arg(long, value_enum, default_value_t = StatusFormat::Human, help_heading = "Output")]
    pub format: StatusFormat,
    /// Write it to a file instead of standard output.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Threads to use; 0 for as many as there are cores.
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Output")]
    pub threads: usize,
}

/// Formats of a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StatusFormat {
    /// For people.
    Human,
    /// For a pull request's body.
    Markdown,
    /// For programs, schema perfdb-gate/status/v1.
    Json,
}

/// Which tables on disk a repair is for.
#[derive(Debug, Args)]
pub struct RepairArgs {
    /// Repository or folder that holds the database; its files on disk.
    #[arg(long, value_name = "DIR", default_value = ".", help_heading = "What to change")]
    pub root: PathBuf,
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// A folder laid out as perfdb-gate's rules/, which adds to them and replaces by id.
    #[arg(long = "rules", value_name = "DIR", help_heading = "What to change")]
    pub rules_dir: Option<PathBuf>,
    /// Do it; without this, say what would be done.
    #[arg(long, help_heading = "How to change it")]
    pub write: bool,
    /// Threads to use; 0 for as many as there are cores.
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "How to change it")]
    pub threads: usize,
}

/// `perfdb-gate dedupe`.
#[derive(Debug, Args)]
pub struct DedupeArgs {
    #[command(flatten)]
    pub repair: RepairArgs,
    /// Which copy of a measurement stays.
    #[arg(long, value_enum, default_value_t = KeepName::Last, help_heading = "How to change it")]
    pub keep: KeepName,
    /// Remove copies too that differ by more than reruns do.
    #[arg(long, help_heading = "How to change it")]
    pub disagreeing: bool,
    /// A column whose cells tell no other measurement, a model's name for one; may be repeated.
    #[arg(long, value_name = "COLUMN", help_heading = "How to change it")]
    pub ignore: Vec<String>,
    /// The record of what was removed, a JSON object a line; it must not be there yet.
    #[arg(long, value_name = "FILE", default_value = "dropped.jsonl", value_parser = file_name)]
    #[arg(help_heading = "How to change it")]
    pub dropped: PathBuf,
}

/// Copies of a measurement, of which one stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KeepName {
    /// The first in the file.
    First,
    /// The last in the file.
    Last,
    /// The one in the middle by latency.
    Median,
}

/// `perfdb-gate convert`.
#[derive(Debug, Args)]
pub struct ConvertArgs {
    #[command(flatten)]
    pub repair: RepairArgs,
}

/// `perfdb-gate selftest`.
#[derive(Debug, Args)]
pub struct Selftest {
    /// Repository or folder that holds the database; nothing in it is changed.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub root: PathBuf,
    /// Tables of a commit, read without a checkout, instead of the files on disk.
    #[arg(long = "ref", value_name = "REF")]
    pub reference: Option<String>,
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// Faults of each kind and size.
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..))]
    pub samples: u32,
    /// Seed of the draw of tables and rows.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// A folder laid out as perfdb-gate's rules/, which adds to them and replaces by id.
    #[arg(long = "rules", value_name = "DIR")]
    pub rules_dir: Option<PathBuf>,
    /// Format of the tables.
    #[arg(long, value_enum, default_value_t = SelftestFormat::Human)]
    pub format: SelftestFormat,
    /// Write them to a file instead of standard output.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Threads to use; 0 for as many as there are cores.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
}

/// Formats of a selftest's tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SelftestFormat {
    /// For people.
    Human,
    /// For programs, schema perfdb-gate/selftest/v1.
    Json,
    /// For a page.
    Markdown,
}
