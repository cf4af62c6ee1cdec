//! The commands `perfdb-gate remeasure` and `perfdb-gate measure`, with the device that both use.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use perfdb_gate::base::error::{Error, Exit, Result};
use perfdb_gate::gpu::cuda::Cuda;
use perfdb_gate::gpu::device::Device;
use perfdb_gate::gpu::process::{COLLECTORS, PYTORCH, Process, Program};
use perfdb_gate::gpu::replay::Replay;
use perfdb_gate::jobs::measure::{self, MeasureOptions};
use perfdb_gate::jobs::remeasure::{self, RemeasureOptions};
use perfdb_gate::report::{self, Report, ReportView, chart};
use perfdb_gate::specs::Specs;

use super::bar::Bar;
use super::output::OutputArgs;
use super::outputs::{self, Outputs, write_text};
use super::terminal::TerminalArgs;

/// The arguments of `perfdb-gate remeasure`.
#[derive(Debug, Args)]
pub(crate) struct Remeasure {
    #[command(flatten)]
    options: RemeasureOptions,
    #[command(flatten)]
    pub device: DeviceArgs,
    /// Write SVG charts of measured over recorded latencies to a folder.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub output_dir: Option<PathBuf>,
    /// Judge the replies of a log again, without a GPU. `--system` names the GPU of a log without one.
    #[arg(long, value_name = "FILE", help_heading = "What to measure")]
    #[arg(conflicts_with_all = ["sample", "seed", "points", "device", "runner", "command", "power", "log", "minutes", "base_ref"])]
    pub replay: Option<PathBuf>,
    /// Print a runner, and exit: an example that measures GEMM with PyTorch, or with `--runner
    /// collectors` the one that calls collectors.
    #[arg(long, help_heading = "How to measure")]
    pub print_runner: bool,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// The arguments of `perfdb-gate measure`.
#[derive(Debug, Args)]
pub(crate) struct Measure {
    #[command(flatten)]
    options: MeasureOptions,
    #[command(flatten)]
    pub device: DeviceArgs,
}

/// Arguments that select the device. Their display order puts them before the other ones on how to measure.
#[derive(Debug, Args)]
pub(crate) struct DeviceArgs {
    /// What measures: this machine's GPU through CUDA, or a command.
    #[arg(long, value_enum, default_value_t = DeviceName::Cuda, conflicts_with = "runner")]
    #[arg(display_order = 1, help_heading = "How to measure")]
    pub device: DeviceName,
    /// Measure with the collectors of the database, called by a runner in Python.
    #[arg(long, value_enum, display_order = 2, help_heading = "How to measure")]
    pub runner: Option<RunnerName>,
    /// Clone of the repository with the folder `collector`, for `--runner collectors`.
    #[arg(long, value_name = "DIR", requires = "runner")]
    #[arg(display_order = 3, help_heading = "How to measure")]
    pub collectors: Option<PathBuf>,
    /// The command for `--device process`: it reads one point per line as JSON and answers each
    /// with one line. With `--runner collectors` it replaces python3 with the built-in runner.
    #[arg(long, value_name = "CMD", required_if_eq("device", "process"))]
    #[arg(display_order = 4, help_heading = "How to measure")]
    pub command: Option<String>,
    /// Seconds that the command of `--device process` may take for a point, or until its next sign of
    /// life. A point that takes longer is left out, and the command is started again.
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    #[arg(display_order = 5, help_heading = "How to measure")]
    pub point_timeout: u64,
}

/// The runners that are built in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunnerName {
    /// Calls the functions of the database's collectors, by rules/runners.yaml.
    Collectors,
}

/// The kinds of device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeviceName {
    /// This machine's GPU, with the built-in kernels.
    Cuda,
    /// A command of yours.
    Process,
}

impl DeviceArgs {
    /// Returns the folder of the collectors to call; `None` without `--runner`.
    fn collectors(&self) -> Result<Option<&Path>> {
        match (self.runner, self.collectors.as_deref()) {
            (None, _) => Ok(None),
            (Some(RunnerName::Collectors), Some(folder)) => Ok(Some(folder)),
            (Some(RunnerName::Collectors), None) => Err(Error::new(
                "--runner collectors needs --collectors DIR",
                "a clone of the repository that measured the database",
            )),
        }
    }

    /// Opens the device that measures. Collectors are started for the database that contains the folder `judged`.
    fn open(&self, judged: &Path, terminal: TerminalArgs) -> Result<Box<dyn Device>> {
        let patience = Duration::from_secs(self.point_timeout);
        let tell = if terminal.quiet { |_: &str| {} } else { tell };
        let command = self.command.as_deref();
        let program = match (self.collectors()?, self.device) {
            (Some(folder), _) => Program::of_collectors(folder, command, judged, tell)?,
            (None, DeviceName::Cuda) => return Ok(Box::new(Cuda::open()?)),
            (None, DeviceName::Process) => Program::Command(command.unwrap_or_default().to_owned()),
        };
        Ok(Box::new(Process::start(program, patience, tell)?))
    }
}

/// Prints a runner's message to standard error.
fn tell(line: &str) {
    eprintln!("perfdb-gate: {line}");
}

impl Remeasure {
    pub(crate) fn run(&self, terminal: TerminalArgs) -> Result<Exit> {
        if self.print_runner {
            let source = match self.device.runner {
                Some(RunnerName::Collectors) => COLLECTORS,
                None => PYTORCH,
            };
            write_text(self.output.output.as_deref(), source.to_owned())?;
            return Ok(Exit::Clean);
        }
        self.output.check_one_state()?;
        let options = RemeasureOptions {
            collectors: self.device.runner.and(self.device.collectors.clone()),
            ..self.options.clone()
        };
        outputs::check(self.output.files().chain(&options.log), &self.output_dir)?;
        let report = match &self.replay {
            Some(log) => {
                let replay =
                    Replay::read(log, options.selection.systems.first().map(String::as_str))?;
                remeasure::judge_again(&options, &replay)?
            }
            None => {
                options.check()?;
                let mut device = self.device.open(&options.root, terminal)?;
                let bar = Bar::of("points", terminal);
                let each = |report: &Report| self.outputs(report, terminal)?.write_files();
                remeasure::run(&options, device.as_mut(), &bar, &each)?
            }
        };
        let outcome = report.outcome(None);
        self.outputs(&report, terminal)?.write()?;
        Ok(self.output.inconclusive.exit(outcome.verdict, &report))
    }

    /// Renders the report in all requested formats, with its charts.
    fn outputs(&self, report: &Report, terminal: TerminalArgs) -> Result<Outputs> {
        let outcome = report.outcome(None);
        let drawn = self.output_dir.is_some() || self.output.html.is_some();
        let drawings = match report.remeasured.as_ref().filter(|_| drawn) {
            Some(remeasured) => chart::drawings(&remeasure::figures(remeasured))?,
            None => Vec::new(),
        };
        let mut outputs = Outputs::default();
        if let Some(folder) = &self.output_dir {
            outputs.charts(folder, &drawings);
        }
        outputs.report(&ReportView::new(report, outcome), &drawings, &self.output, terminal)?;
        Ok(outputs)
    }
}

impl Measure {
    pub(crate) fn run(&self, terminal: TerminalArgs) -> Result<Exit> {
        let options =
            MeasureOptions { collectors: self.device.runner.is_some(), ..self.options.clone() };
        let specs = Specs::overlaid(options.rules.as_deref())?;
        // A wrong plan is reported before a GPU is opened.
        let plan = measure::PlannedPoints::find(&specs.library, &options.plan)?;
        let mut device = self.device.open(&options.output_dir, terminal)?;
        let bar = Bar::of("points", terminal);
        let collected = measure::run(&specs, &plan, &options, device.as_mut(), &bar)?;
        drop(bar);
        device.notes().iter().for_each(|note| tell(note));
        collected.iter().try_for_each(|table| report::print(&table.text()))?;
        Ok(collected.iter().map(measure::CollectedTable::exit).max().unwrap_or(Exit::Inconclusive))
    }
}
