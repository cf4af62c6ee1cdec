//! `perfdb-gate remeasure` and `perfdb-gate measure`, and what both measure with.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use perfdb_gate::base::error::Result;
use perfdb_gate::base::exit::Exit;
use perfdb_gate::gpu::cuda::Cuda;
use perfdb_gate::gpu::device::Device;
use perfdb_gate::gpu::process::{PYTORCH, Process};
use perfdb_gate::jobs::{measure, remeasure};
use perfdb_gate::report::{self, chart};
use perfdb_gate::specs::Specs;

use super::TerminalArgs;
use super::bar::Bar;
use super::output::OutputArgs;
use super::outputs::{self, Outputs, write_text};
use super::selection::SelectionArgs;

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
    /// The points of a rerun list, instead of a draw; `plan` writes one.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["sample", "seed"], help_heading = "What to measure")]
    pub points: Option<PathBuf>,
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
    /// Write charts of measured over recorded to a folder, as SVG.
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
    /// A plan by its name, as rules/plans/ has it (gemm, mla_bmm, nccl), a file of one's own, PLAN.yaml, or
    /// a rerun list.
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
    /// Seconds that the command of `--device process` may take over a point, or until its next sign of life;
    /// a point that takes longer is left out, and the command is started again.
    #[arg(long, value_name = "SECONDS", default_value_t = 600, help_heading = "How to measure")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub point_timeout: u64,
}

/// Where points are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DeviceName {
    /// This machine's GPU, with the kernels built in.
    Cuda,
    /// A command.
    Process,
}

impl DeviceArgs {
    fn open(&self, terminal: TerminalArgs) -> Result<Box<dyn Device>> {
        Ok(match self.device {
            DeviceName::Cuda => Box::new(Cuda::open()?),
            DeviceName::Process => {
                let command = self.command.as_deref().unwrap_or_default();
                let patience = Duration::from_secs(self.point_timeout);
                let tell = if terminal.quiet { |_: &str| {} } else { tell };
                Box::new(Process::start(command, patience, tell)?)
            }
        })
    }
}

/// Says on standard error what a runner is at.
fn tell(line: &str) {
    eprintln!("perfdb-gate: {line}");
}

impl From<&Remeasure> for remeasure::Options {
    fn from(args: &Remeasure) -> Self {
        Self {
            root: args.root.clone(),
            reference: args.reference.clone(),
            selection: args.selection.clone().into(),
            filter: args.filter.clone(),
            points: args.points.clone(),
            sample: args.sample as usize,
            seed: args.seed,
            rules: args.rules_dir.clone(),
            power: args.power,
            record: args.record.clone(),
        }
    }
}

impl Remeasure {
    pub fn run(&self, terminal: TerminalArgs) -> Result<Exit> {
        if self.print_runner {
            write_text(self.output.output.as_deref(), PYTORCH.to_owned())?;
            return Ok(Exit::Clean);
        }
        outputs::check(self.output.files(), &self.output_dir)?;
        let mut device = self.device.open(terminal)?;
        let bar = Bar::of("points", terminal);
        let report = remeasure::run(&self.into(), device.as_mut(), &bar)?;
        drop(bar);
        let outcome = report.outcome(None);
        let drawn = self.output_dir.is_some() || self.output.html.is_some();
        let drawings = match report.remeasured.as_ref().filter(|_| drawn) {
            Some(remeasured) => {
                chart::drawings(&remeasure::figures(remeasured), self.output.threads)?
            }
            None => Vec::new(),
        };
        let mut outputs = Outputs::default();
        if let Some(folder) = &self.output_dir {
            outputs.charts(folder, &drawings);
        }
        outputs.report(&report.view(outcome), &drawings, &self.output, terminal)?;
        outputs.write()?;
        Ok(self.output.inconclusive.exit(outcome.verdict))
    }
}

impl From<&Measure> for measure::Options {
    fn from(args: &Measure) -> Self {
        Self {
            plan: args.plan.clone(),
            folder: args.output_dir.clone(),
            until: args.minutes.map(|minutes| Duration::from_secs(60).mul_f64(minutes)),
        }
    }
}

impl Measure {
    pub fn run(&self, terminal: TerminalArgs) -> Result<Exit> {
        let specs = Specs::overlaid(self.rules_dir.as_deref())?;
        let options: measure::Options = self.into();
        // A wrong name is reported before a GPU is looked for.
        let plan = measure::PlannedPoints::find(&specs.library, &options.plan)?;
        let mut device = self.device.open(terminal)?;
        let bar = Bar::of("points", terminal);
        let collected = measure::run(&specs, &plan, &options, device.as_mut(), &bar)?;
        drop(bar);
        device.notes().iter().for_each(|note| tell(note));
        collected.iter().try_for_each(|table| report::print(&table.told()))?;
        Ok(collected.iter().map(measure::Collected::exit).max().unwrap_or(Exit::Inconclusive))
    }
}
