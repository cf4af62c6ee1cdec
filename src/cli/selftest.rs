//! `perfdb-gate selftest`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use perfdb_gate::base::error::Result;
use perfdb_gate::base::exit::Exit;
use perfdb_gate::jobs::{DocumentFormat, selftest};

use super::TerminalArgs;
use super::bar::Bar;
use super::outputs::{self, write_text};
use super::selection::SelectionArgs;

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
    /// Draw recall over the size of faults, as SVG.
    #[arg(long, value_name = "FILE")]
    pub curves: Option<PathBuf>,
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

impl From<&Selftest> for selftest::Options {
    fn from(args: &Selftest) -> Self {
        Self {
            root: args.root.clone(),
            reference: args.reference.clone(),
            selection: args.selection.clone().into(),
            rules: args.rules_dir.clone(),
            samples: args.samples as usize,
            seed: args.seed,
            threads: args.threads,
        }
    }
}

impl SelftestFormat {
    fn format(self, terminal: TerminalArgs) -> DocumentFormat {
        match self {
            Self::Human => DocumentFormat::Human { brief: terminal.quiet },
            Self::Json => DocumentFormat::Json,
            Self::Markdown => DocumentFormat::Markdown,
        }
    }
}

impl Selftest {
    pub fn run(&self, terminal: TerminalArgs) -> Result<Exit> {
        outputs::check(self.output.iter().chain(&self.curves), [])?;
        let scores = selftest::run(&self.into(), &Bar::of("faults", terminal))?;
        if let Some(file) = &self.curves {
            write_text(Some(file), selftest::recall_curves(&scores)?)?;
        }
        let text = selftest::render(&scores, self.format.format(terminal));
        write_text(self.output.as_deref(), text)?;
        Ok(scores.exit())
    }
}
