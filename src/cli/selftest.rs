//! The command `perfdb-gate selftest`.

use std::path::PathBuf;

use clap::Args;
use perfdb_gate::base::error::Result;
use perfdb_gate::base::exit::Exit;
use perfdb_gate::jobs::selftest;

use super::bar::Bar;
use super::output::DocumentFormatName;
use super::outputs::{self, write_text};
use super::selection::SelectionArgs;
use super::terminal::TerminalArgs;

/// The arguments of `perfdb-gate selftest`.
#[derive(Debug, Args)]
pub struct Selftest {
    /// Repository or folder that contains the database; it is not changed.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub root: PathBuf,
    /// Read the tables of a commit, without a checkout, instead of the files on disk.
    #[arg(long = "ref", value_name = "REF")]
    pub reference: Option<String>,
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// Number of faults per kind and size.
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..))]
    pub samples: u32,
    /// Seed of the random choice of tables and rows.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// A folder laid out like perfdb-gate's rules/; its files are added, or replace the ones with
    /// the same id.
    #[arg(long = "rules", value_name = "DIR")]
    pub rules_dir: Option<PathBuf>,
    /// For people, for a pull request or a page, or JSON of schema perfdb-gate/selftest/v1.
    #[arg(long, value_enum, default_value_t = DocumentFormatName::Human)]
    pub format: DocumentFormatName,
    /// Write to a file instead of standard output.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Draw recall over the size of faults, as SVG.
    #[arg(long, value_name = "FILE")]
    pub curves: Option<PathBuf>,
}

impl From<&Selftest> for selftest::SelftestOptions {
    fn from(args: &Selftest) -> Self {
        Self {
            root: args.root.clone(),
            reference: args.reference.clone(),
            selection: args.selection.clone().into(),
            rules: args.rules_dir.clone(),
            samples: args.samples as usize,
            seed: args.seed,
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
        let text = selftest::render(&scores, self.format.of(terminal));
        write_text(self.output.as_deref(), text)?;
        Ok(scores.exit())
    }
}
