//! The commands of the crate. Each prints its result or writes it to a file.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use perfdb_gate::base::error::{Exit, Result};
use perfdb_gate::base::escape::{clean, clean_lines};
use perfdb_gate::base::files::{check_targets, write_whole};
use perfdb_gate::base::threads;
use perfdb_gate::database::selection::Selection;
use perfdb_gate::report;
use perfdb_gate_selftest::faults::{self, Format, SelftestOptions};
use perfdb_gate_selftest::{catalog, noise};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measures the rules of perfdb-gate and keeps their data up to date.
#[derive(Debug, Parser)]
#[command(name = "selftest", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Number of threads; 0 means one per core.
    #[arg(long, global = true, value_name = "N", default_value_t = 0)]
    threads: u16,
}

/// The commands.
#[derive(Debug, Subcommand)]
enum Command {
    /// Plant known faults in a copy of real tables and count how many are found.
    Faults(FaultsArgs),
    /// Learn from repeated rows how far honest reruns differ, and print it as rules/noise.yaml.
    Noise(NoiseArgs),
    /// Compare the table specs with a repository's own operation catalog.
    Catalog(CatalogArgs),
}

/// The database to read.
#[derive(Debug, Args)]
struct DatabaseArgs {
    /// Repository or folder that contains the database; it is not changed.
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
    /// Read the tables of a commit, without a checkout, instead of the files on disk.
    #[arg(long = "ref", value_name = "REF")]
    reference: Option<String>,
    /// Write to a file instead of standard output.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// The arguments of the command `faults`.
#[derive(Debug, Args)]
struct FaultsArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    /// Plant only in these systems, e.g. `h200_sxm` or `b*`; may be repeated.
    #[arg(long, value_name = "NAME")]
    system: Vec<String>,
    /// Plant only in these backends, e.g. `vllm`; may be repeated.
    #[arg(long, value_name = "NAME")]
    backend: Vec<String>,
    /// Plant only in these versions, e.g. `0.24.0`; may be repeated.
    #[arg(long, value_name = "VERSION")]
    version: Vec<String>,
    /// Plant only in these tables, e.g. `gemm` or `gemm_perf`; may be repeated.
    #[arg(long, value_name = "NAME")]
    table: Vec<String>,
    /// Number of faults per kind and size.
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..))]
    samples: u32,
    /// Seed of the random choice of tables and rows.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// A folder laid out like perfdb-gate's rules/; its files are added, or replace the ones with
    /// the same id.
    #[arg(long = "rules", value_name = "DIR")]
    rules_dir: Option<PathBuf>,
    /// A file of faults to plant instead of the built-in ones.
    #[arg(long, value_name = "FILE")]
    faults: Option<PathBuf>,
    /// The format of the scores.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    /// Draw recall over the size of faults, as SVG.
    #[arg(long, value_name = "FILE")]
    curves: Option<PathBuf>,
}

/// The arguments of the command `noise`.
#[derive(Debug, Args)]
struct NoiseArgs {
    #[command(flatten)]
    database: DatabaseArgs,
}

/// The arguments of the command `catalog`.
#[derive(Debug, Args)]
struct CatalogArgs {
    /// The repository with the operation catalog and the database.
    #[arg(value_name = "DIR")]
    root: PathBuf,
    /// A folder laid out like perfdb-gate's rules/; its files are added, or replace the ones with
    /// the same id.
    #[arg(long = "rules", value_name = "DIR")]
    rules_dir: Option<PathBuf>,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    threads::start(cli.threads.into());
    let ended = match cli.command {
        Command::Faults(args) => args.run(),
        Command::Noise(args) => args.run(),
        Command::Catalog(args) => args.run(),
    };
    let failed = |error: perfdb_gate::base::error::Error| {
        eprintln!("selftest: {}", clean(&error.message));
        if !error.hint.is_empty() {
            eprintln!("hint: {}", clean(&error.hint));
        }
        Exit::Failed
    };
    ended.unwrap_or_else(failed).into()
}

impl FaultsArgs {
    fn run(self) -> Result<Exit> {
        let outputs = self.database.output.iter().chain(&self.curves);
        check_targets(&outputs.map(PathBuf::as_path).collect::<Vec<_>>(), &[])?;
        let options = SelftestOptions {
            root: self.database.root,
            reference: self.database.reference,
            selection: Selection {
                systems: self.system,
                backends: self.backend,
                versions: self.version,
                tables: self.table,
                layout: None,
            },
            rules: self.rules_dir,
            faults: self.faults,
            samples: self.samples as usize,
            seed: self.seed,
        };
        let scores = faults::run(&options, &())?;
        if let Some(file) = &self.curves {
            write_whole(file, faults::recall_curves(&scores)?.as_bytes())?;
        }
        write(self.database.output.as_deref(), &faults::render(&scores, self.format))?;
        Ok(scores.exit())
    }
}

impl NoiseArgs {
    fn run(self) -> Result<Exit> {
        let DatabaseArgs { root, reference, output } = self.database;
        let learned = noise::run(&root, reference.as_deref())?;
        write(output.as_deref(), &noise::yaml(&learned))?;
        Ok(Exit::Clean)
    }
}

impl CatalogArgs {
    fn run(self) -> Result<Exit> {
        let compared = catalog::compare(&self.root, self.rules_dir.as_deref())?;
        report::print(&clean_lines(&compared.text()))?;
        Ok(compared.exit())
    }
}

/// Writes a text to a file, or to standard output if `file` is `None`.
fn write(file: Option<&Path>, text: &str) -> Result<()> {
    match file {
        Some(file) => write_whole(file, text.as_bytes()),
        None => report::print(text),
    }
}
