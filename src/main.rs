//! Parse, dispatch, map the outcome to an exit code.

mod cli;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory, Parser};
use clap_complete::Shell;

use perfdb_gate::base::error::Result;
use perfdb_gate::base::escape::{clean, clean_lines};
use perfdb_gate::base::panics::install_panic_hook;
use perfdb_gate::checks::rule::Rules;
use perfdb_gate::database::selection::Selection;
use perfdb_gate::findings::baseline::Baseline;
use perfdb_gate::gpu::cuda::Cuda;
use perfdb_gate::gpu::device::Device;
use perfdb_gate::gpu::plan::Plan;
use perfdb_gate::gpu::process::{PYTORCH, Process};
use perfdb_gate::jobs::repair::convert;
use perfdb_gate::jobs::repair::dedupe::{self, Keep, Policy};
use perfdb_gate::jobs::{
    explain, measure, noise, operations, remeasure, sanity, schema, selftest, smoke, status,
    validate,
};
use perfdb_gate::report::{self, Report, RunVerdict, chart, comment};
use perfdb_gate::specs::{Library, Specs};
use perfdb_gate::traces;

use cli::bar::Bar;
use cli::generate::{SchemaName, ShellName};
use cli::measure::{DeviceArgs, DeviceName, Measure, Remeasure};
use cli::output::OutputArgs;
use cli::outputs::Outputs;
use cli::repair::{DedupeArgs, KeepName, RepairArgs};
use cli::rules::RulesArgs;
use cli::sanity::Sanity;
use cli::selftest::{Selftest, SelftestFormat};
use cli::status::{StatusArgs, StatusFormat};
use cli::validate::{GateArgs, Validate};
use cli::{Cli, Command, TerminalArgs};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    install_panic_hook();
    let cli = Cli::parse();
    let terminal = cli.terminal;
    if terminal.verbose {
        log();
    }
    let outcome = match cli.command {
        Command::Validate(args) => run_validate(*args, terminal),
        Command::Sanity(args) => run_sanity(*args, terminal),
        Command::Remeasure(args) => run_remeasure(*args, terminal),
        Command::Measure(args) => run_measure(&args, terminal),
        Command::Status(args) => run_status(*args, terminal),
        Command::Dedupe(args) => run_dedupe(*args),
        Command::Convert(args) => run_convert(args.repair),
        Command::Rules(args) => run_rules(&args),
        Command::Explain(args) => rules(args.rules_dir.as_deref()).and_then(|rules| {
            report::print(&explain::story(rules.get(&args.rule)?))?;
            Ok(0)
        }),
        Command::Selftest(args) => run_selftest(args, terminal),
        Command::Noise(args) => noise::run(&args.root, args.reference.as_deref())
            .and_then(|noise| print(args.output.as_deref(), noise.yaml())),
        Command::Completions(args) => print(None, completions(args.shell)),
        Command::Schema(args) => print(None, schema_of(args.file)),
    };
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("perfdb-gate: {}", clean(&error.message));
            if !error.hint.is_empty() {
                eprintln!("hint: {}", clean(&error.hint));
            }
            ExitCode::from(2)
        }
    }
}

/// What `--verbose` tells goes to standard error, so that reports stay reports.
fn log() {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_max_level(tracing::Level::DEBUG)
        .with_ansi(false)
        .with_target(false)
        .with_timer(tracing_subscriber::fmt::time::uptime())
        .init();
}

fn completions(shell: ShellName) -> String {
    let shell = match shell {
        ShellName::Bash => Shell::Bash,
        ShellName::Zsh => Shell::Zsh,
        ShellName::Fish => Shell::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "perfdb-gate", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

fn schema_of(file: SchemaName) -> String {
    match file {
        SchemaName::Report => schema::report(),
        SchemaName::Rule => schema::rule(),
        SchemaName::Tables => schema::tables(),
        SchemaName::Waivers => schema::waivers(),
    }
}

fn run_rules(args: &RulesArgs) -> Result<u8> {
    let overlay = args.rules_dir.as_deref();
    if let Some(root) = &args.check_root {
        let compared = operations::compare(root, overlay)?;
        report::print(&clean_lines(&compared.text()))?;
        return Ok(compared.code());
    }
    report::print(&explain::list(&rules(overlay)?))?;
    Ok(0)
}

fn rules(overlay: Option<&Path>) -> Result<Rules> {
    let mut library = Library::embedded();
    overlay.map_or(Ok(()), |folder| library.overlay(folder))?;
    Rules::read(&library)
}

fn run_validate(mut args: Validate, terminal: TerminalArgs) -> Result<u8> {
    if let Some(root) = args.traces.take() {
        let options = traces::Options {
            root,
            reference: args.reference.take(),
            only: std::mem::take(&mut args.rules.only),
            skip: std::mem::take(&mut args.rules.skip),
            rules: args.rules.rules_dir.take(),
            baseline: args.gate.baseline.take(),
        };
        return finish_validate(traces::run(&options)?, args.gate, args.output, terminal);
    }
    let options = validate::Options {
        root: args.root,
        reference: args.reference,
        selection: args.selection.into(),
        since: args.since,
        only: args.rules.only,
        skip: args.rules.skip,
        rules: args.rules.rules_dir,
        baseline: args.gate.baseline.take(),
        ledger: args.ledger,
        threads: args.output.threads,
    };
    let outcome = validate::run(&options, &Bar::of("tables", terminal));
    finish_validate(outcome?, args.gate, args.output, terminal)
}

fn finish_validate(
    mut report: Report,
    gate: GateArgs,
    output: OutputArgs,
    terminal: TerminalArgs,
) -> Result<u8> {
    let mut outputs = Outputs::default();
    if let Some(path) = &gate.write_baseline {
        outputs.add(path, Baseline::of(&report.findings).text());
    }
    let outcome = report.outcome(gate.fail_on.least());
    if let Some(n) = gate.draw {
        report.draw(n as usize, gate.seed);
    }
    outputs.report(&report.view(outcome), &[], &output, terminal)?;
    outputs.write()?;
    Ok(outcome.verdict.code())
}

fn run_sanity(args: Sanity, terminal: TerminalArgs) -> Result<u8> {
    let Some(base) = args.base_ref else { return run_overview(&args) };
    let options = sanity::Options {
        root: args.root,
        base,
        head: args.head_ref,
        only: args.rules.only,
        skip: args.rules.skip,
        rules: args.rules.rules_dir,
        detail_dir: args.detail_dir,
        charts: match (&args.output_dir, &args.output.html, &args.output_md_file) {
            (None, None, None) => 0,
            (None, None, Some(_)) => args.charts.min(comment::SKETCHES),
            _ => args.charts,
        },
        threads: args.output.threads,
    };
    let outcome = sanity::run(&options, &Bar::of("tables", terminal));
    let (report, figures) = outcome?;
    let drawn = args.output_dir.is_some() || args.output.html.is_some();
    let drawings = match drawn {
        true => chart::drawings(&figures, args.output.threads)?,
        false => Vec::new(),
    };
    let smoke = args.smoke_command.as_deref().map(smoke::run).transpose()?;
    let mut outcome = report.outcome(args.fail_on.least());
    if let Some(smoke) = smoke.as_ref().filter(|s| !s.passed) {
        eprintln!("perfdb-gate: the smoke command failed: {}", clean(&smoke.ended));
        outcome.verdict = RunVerdict::Failed;
    }
    let view = report.view(outcome);
    let folder = args.output_dir.as_deref();
    let mut outputs = Outputs::default();
    if let Some(path) = &args.output_md_file {
        let extras = comment::Extras { figures: &figures, folder, smoke: smoke.as_ref() };
        outputs.add(path, comment::render(&view, extras)?);
    }
    if let Some(folder) = folder {
        outputs.charts(folder, &drawings);
    }
    outputs.report(&view, &drawings, &args.output, terminal)?;
    outputs.write()?;
    Ok(outcome.verdict.code())
}

/// `sanity` without a base: charts of what is there.
fn run_overview(args: &Sanity) -> Result<u8> {
    let systems = Selection { systems: args.system.clone(), ..Selection::default() };
    let rules = args.rules.rules_dir.as_deref();
    let threads = args.output.threads;
    let figures = sanity::overview(
        &args.root,
        args.head_ref.as_deref(),
        rules,
        &systems,
        args.charts,
        threads,
    )?;
    let Some(folder) = &args.output_dir else { return Ok(3) };
    let mut outputs = Outputs::default();
    outputs.charts(folder, &chart::drawings(&figures, threads)?);
    outputs.write()?;
    let names = figures.iter().map(|f| format!("{}.svg\n", folder.join(&f.name).display()));
    report::print(&names.collect::<String>())?;
    Ok(if figures.is_empty() { 3 } else { 0 })
}

fn run_remeasure(args: Remeasure, terminal: TerminalArgs) -> Result<u8> {
    if args.print_runner {
        return print(args.output.output.as_deref(), PYTORCH.to_owned());
    }
    let options = remeasure::Options {
        root: args.root,
        reference: args.reference,
        selection: args.selection.into(),
        filter: args.filter,
        sample: args.sample as usize,
        seed: args.seed,
        rules: args.rules_dir,
        power: args.power,
        record: args.record,
    };
    let mut device = open(&args.device)?;
    let report = remeasure::run(&options, device.as_mut(), &Bar::of("points", terminal))?;
    let outcome = report.outcome(None);
    let drawn = args.output_dir.is_some() || args.output.html.is_some();
    let drawings = match report.remeasured.as_ref().filter(|_| drawn) {
        Some(remeasured) => chart::drawings(&remeasure::figures(remeasured), args.output.threads)?,
        None => Vec::new(),
    };
    let mut outputs = Outputs::default();
    if let Some(folder) = &args.output_dir {
        outputs.charts(folder, &drawings);
    }
    outputs.report(&report.view(outcome), &drawings, &args.output, terminal)?;
    outputs.write()?;
    Ok(outcome.verdict.code())
}

fn open(args: &DeviceArgs) -> Result<Box<dyn Device>> {
    Ok(match args.device {
        DeviceName::Cuda => Box::new(Cuda::open()?),
        DeviceName::Process => {
            Box::new(Process::start(args.command.as_deref().unwrap_or_default())?)
        }
    })
}

fn run_measure(args: &Measure, terminal: TerminalArgs) -> Result<u8> {
    let specs = Specs::overlaid(args.rules_dir.as_deref())?;
    let options = measure::Options {
        plan: args.plan.clone(),
        folder: args.output_dir.clone(),
        until: args.minutes.map(|minutes| Duration::from_secs(60).mul_f64(minutes)),
    };
    // A wrong name is told before a GPU is looked for.
    Plan::find(&specs.library, &options.plan)?;
    let mut device = open(&args.device)?;
    let collected = measure::run(&specs, &options, device.as_mut(), &Bar::of("points", terminal))?;
    report::print(&collected.told())?;
    Ok(collected.code())
}

fn run_status(args: StatusArgs, terminal: TerminalArgs) -> Result<u8> {
    let format = match args.format {
        StatusFormat::Human => status::Format::Human { brief: terminal.quiet },
        StatusFormat::Markdown => status::Format::Markdown,
        StatusFormat::Json => status::Format::Json,
    };
    let options = status::Options {
        root: args.root,
        reference: args.reference,
        system: args.system,
        backends: args.backend,
        versions: args.version,
        ledger: args.ledger,
        rules: args.rules_dir,
        threads: args.threads,
    };
    let status = status::run(&options, &Bar::of("tables", terminal))?;
    print(args.output.as_deref(), status::render(&status, format)?)?;
    Ok(status.code())
}

fn run_dedupe(args: DedupeArgs) -> Result<u8> {
    let keep = match args.keep {
        KeepName::First => Keep::First,
        KeepName::Last => Keep::Last,
        KeepName::Median => Keep::Median,
    };
    let (write, ledger) = (args.repair.write, args.dropped);
    let policy = Policy { keep, disagreeing: args.disagreeing, ignore: args.ignore };
    let done = dedupe::run(&args.repair.into(), policy)?;
    let (text, code) = (done.text(write.then_some(&ledger)), done.code());
    if write {
        done.write(&ledger)?;
    }
    report::print(&clean_lines(&text))?;
    Ok(code)
}

fn run_convert(args: RepairArgs) -> Result<u8> {
    let write = args.write;
    let done = convert::run(&args.into())?;
    let (text, code) = (done.text(write), done.code());
    if write {
        done.write()?;
    }
    report::print(&clean_lines(&text))?;
    Ok(code)
}

fn run_selftest(args: Selftest, terminal: TerminalArgs) -> Result<u8> {
    let options = selftest::Options {
        root: args.root,
        reference: args.reference,
        selection: args.selection.into(),
        rules: args.rules_dir,
        samples: args.samples as usize,
        seed: args.seed,
        threads: args.threads,
    };
    let format = match args.format {
        SelftestFormat::Human => selftest::Format::Human { brief: terminal.quiet },
        SelftestFormat::Json => selftest::Format::Json,
        SelftestFormat::Markdown => selftest::Format::Markdown,
    };
    let scores = selftest::run(&options, &Bar::of("faults", terminal))?;
    print(args.output.as_deref(), selftest::render(&scores, format))?;
    Ok(scores.code())
}

/// Writes a text to a file, or to standard output where none is named.
fn print(file: Option<&Path>, text: String) -> Result<u8> {
    let mut outputs = Outputs::default();
    outputs.add(file.unwrap_or(Path::new("-")), text);
    outputs.write()?;
    Ok(0)
}
