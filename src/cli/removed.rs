//! Commands that older versions had; each is an error that names what to use instead.

use std::ffi::OsString;

use clap::{Args, Subcommand};
use perfdb_gate::base::error::{Error, Result};
use perfdb_gate::base::exit::Exit;

/// The removed commands.
#[derive(Debug, Subcommand)]
pub enum Removed {
    /// Removed; `impact` takes its place.
    #[command(hide = true, disable_help_flag = true)]
    Reach(Ignored),
    /// Removed; the crate `selftest/` takes its place.
    #[command(hide = true, disable_help_flag = true)]
    Selftest(Ignored),
    /// Removed; the crate `selftest/` takes its place.
    #[command(hide = true, disable_help_flag = true)]
    Noise(Ignored),
}

/// The arguments of a removed command; none is read.
#[derive(Debug, Args)]
pub struct Ignored {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub ignored: Vec<OsString>,
}

impl Removed {
    /// Returns an error that names the command to use instead.
    pub fn run(&self) -> Result<Exit> {
        Err(match self {
            Self::Reach(_) => removed(
                "command `reach`",
                "`perfdb-gate impact` shows the steps that a change moves, with the tables behind each move",
            ),
            Self::Selftest(_) => removed("command `selftest`", &in_selftest("faults")),
            Self::Noise(_) => removed("command `noise`", &in_selftest("noise")),
        })
    }
}

/// The error for a removed command or flag.
pub fn removed(what: &str, instead: &str) -> Error {
    Error::new(format!("the {what} was removed"), instead)
}

/// Names a command of the crate `selftest/` as the one to use instead.
pub fn in_selftest(command: &str) -> String {
    format!(
        "in a clone of perfdb-gate: `cargo run --manifest-path selftest/Cargo.toml -- {command} --help`"
    )
}
