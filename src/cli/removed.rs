//! The command `perfdb-gate reach`, which older versions had.

use std::ffi::OsString;

use clap::Args;
use perfdb_gate::base::error::{Error, Result};
use perfdb_gate::base::exit::Exit;

/// The arguments of a removed command; none is read.
#[derive(Debug, Args)]
pub struct Removed {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub ignored: Vec<OsString>,
}

impl Removed {
    /// Returns an error that names the command to use instead.
    pub fn run(&self) -> Result<Exit> {
        Err(Error::new(
            "the command `reach` was removed",
            "`perfdb-gate impact` shows the steps that a change moves, with the tables behind each move",
        ))
    }
}
