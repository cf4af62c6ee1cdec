//! Parse, dispatch, map the outcome to an exit code.

mod cli;

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};

use perfdb_gate::baseline::Baseline;
use perfdb_gate::chart::{self, Drawing};
use perfdb_gate::error::Result;
use perfdb_gate::finding::Severity;
use perfdb_gate::report::{self, Format, Outcome, Report};
use perfdb_gate::selection::Selection;
use perfdb_gate::spec::Specs;
use perfdb_gate::{comment, explain, noise, sanity, smoke, validate};

use cli::{Cli, Command, FailOn, FormatName, OutputArgs, Sanity, Validate};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    perfdb_gate::install_panic_hook();
    let cli = Cli::parse();
    let outcome = match cli.command {
        Command::Validate(args) => run_validate(*args),
        Command::Sanity(args) => run_sanity(*args),
        Command::Rules(args) => specs(args.rules_dir.as_deref()).and_then(|specs| {
            report::print(&explain::list(&specs))?;
            Ok(0)
        }),
        Command::Explain(args) => specs(args.rules_dir.as_deref()).and_then(|specs| {
            report::print(&explain::story(specs.rule(&args.rule)?))?;
            Ok(0)
        }),
        Command::Noise(args) => {
            noise::run(&args.root, args.reference.as_deref()).and_then(|noise| {
                write(args.output.as_deref(), &noise.yaml())?;
                Ok(0)
            })
        }
    };
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("perfdb-gate: {}", report::clean(&error.message));
            if !error.hint.is_empty() {
                eprintln!("hint: {}", report::clean(&error.hint));
            }
            ExitCode::from(2)
        }
    }
}

fn specs(overlay: Option<&Path>) -> Result<Specs> {
    let mut specs = Specs::embedded()?;
    if let Some(folder) = overlay {
        specs.overlay(folder)?;
    }
    Ok(specs)
}

fn run_validate(args: Validate) -> Result<u8> {
    let options = validate::Options {
        root: args.root,
        reference: args.reference,
        selection: Selection {
            systems: args.system,
            backends: args.backend,
            versions: args.version,
            tables: args.table,
        },
        since: args.since,
        only: args.rules.only,
        skip: args.rules.skip,
        rules: args.rules.rules_dir,
        baseline: args.gate.baseline,
        ledger: args.ledger,
        threads: args.output.threads,
    };
    let bar = Bar::new();
    let outcome = validate::run(&options, &bar);
    bar.0.finish_and_clear();
    let mut report = outcome?;
    if let Some(path) = &args.gate.write_baseline {
        report::write_whole(path, Baseline::of(&report.findings).text().as_bytes())?;
    }
    let outcome = report.outcome(least(args.gate.fail_on));
    if let Some(n) = args.gate.draw {
        report.draw(n, args.gate.seed);
    }
    write_report(&report, &[], outcome, &args.output)?;
    Ok(outcome.verdict.code())
}

fn run_sanity(args: Sanity) -> Result<u8> {
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
    let bar = Bar::new();
    let outcome = sanity::run(&options, &bar);
    bar.0.finish_and_clear();
    let (report, figures) = outcome?;
    let drawn = args.output_dir.is_some() || args.output.html.is_some();
    let drawings = match drawn {
        true => chart::drawings(&figures, args.output.threads)?,
        false => Vec::new(),
    };
    let smoke = args.smoke_command.as_deref().map(smoke::run).transpose()?;
    let folder = args.output_dir.as_deref();
    let extras = comment::Extras { figures: &figures, folder, smoke: smoke.as_ref() };
    let comment = match &args.output_md_file {
        Some(path) => Some((path, comment::render(&report, extras)?)),
        None => None,
    };
    if let Some(folder) = folder {
        report::write_charts(folder, &drawings)?;
    }
    if let Some((path, text)) = comment {
        report::write_whole(path, text.as_bytes())?;
    }
    let outcome = report.outcome(least(args.fail_on));
    write_report(&report, &drawings, outcome, &args.output)?;
    if let Some(smoke) = smoke.filter(|s| !s.passed) {
        eprintln!("perfdb-gate: the smoke command failed: {}", report::clean(&smoke.ended));
        return Ok(1);
    }
    Ok(outcome.verdict.code())
}

/// `sanity` without a base: charts of what is there.
fn run_overview(args: &Sanity) -> Result<u8> {
    let systems = Selection { systems: args.system.clone(), ..Selection::default() };
    let threads = args.output.threads;
    let figures =
        sanity::overview(&args.root, args.head_ref.as_deref(), &systems, args.charts, threads)?;
    let Some(folder) = &args.output_dir else { return Ok(3) };
    report::write_charts(folder, &chart::drawings(&figures, threads)?)?;
    let names = figures.iter().map(|f| format!("{}.svg\n", folder.join(&f.name).display()));
    report::print(&names.collect::<String>())?;
    Ok(if figures.is_empty() { 3 } else { 0 })
}

/// The least severity that fails a run; none where none does.
fn least(fail_on: FailOn) -> Option<Severity> {
    match fail_on {
        FailOn::Error => Some(Severity::Error),
        FailOn::Warning => Some(Severity::Warning),
        FailOn::Info => Some(Severity::Info),
        FailOn::Never => None,
    }
}

fn write_report(
    report: &Report,
    drawings: &[Drawing],
    outcome: Outcome,
    args: &OutputArgs,
) -> Result<()> {
    let to_terminal = args.output.is_none() && std::io::stdout().is_terminal();
    let format = match args.format {
        FormatName::Human => {
            let says = |name: &str| std::env::var_os(name).unwrap_or_default();
            let colour = to_terminal && says("NO_COLOR").is_empty() && says("TERM") != "dumb";
            Format::Human { colour }
        }
        FormatName::Json => Format::Json,
        FormatName::Sarif => Format::Sarif,
        FormatName::Github => Format::Github,
        FormatName::Junit => Format::Junit,
        FormatName::Markdown => Format::Markdown,
    };
    let text = report::render(report, outcome, format)?;
    if let Some(path) = &args.html {
        write(Some(path), &report::page(report, outcome, drawings)?)?;
    }
    write(args.output.as_deref(), &text)
}

/// Writes to a file, or to standard output where none (or `-`) is named.
fn write(file: Option<&Path>, text: &str) -> Result<()> {
    match file {
        Some(path) if path.as_os_str() != "-" => report::write_whole(path, text.as_bytes()),
        _ => report::print(text),
    }
}

/// A progress bar on a terminal.
struct Bar(ProgressBar);

impl Bar {
    fn new() -> Self {
        if !std::io::stderr().is_terminal() {
            return Self(ProgressBar::hidden());
        }
        let bar = ProgressBar::new(0);
        if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} tables, {eta} left") {
            bar.set_style(style);
        }
        Self(bar)
    }
}

impl validate::Progress for Bar {
    fn tables(&self, done: usize, total: usize) {
        self.0.set_length(total as u64);
        self.0.set_position(done as u64);
    }
}
