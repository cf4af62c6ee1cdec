//! The options of `new`.

use std::path::PathBuf;

/// The options of `new`.
#[derive(Debug, Default, Clone, clap::Args)]
pub struct NewOptions {
    /// Repository or folder that contains the database, or will contain it.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub root: PathBuf,
    /// Name of the system, such as h200_sxm. A known name brings the machine's figures; any other name
    /// takes those of the GPU at hand.
    #[arg(long, value_name = "NAME")]
    pub system: String,
    /// Name of the table, such as gemm; a table that no spec describes gets one, learned from the rows.
    #[arg(long, value_name = "NAME")]
    pub table: String,
    /// Backend that was measured, such as vllm.
    #[arg(long, value_name = "NAME")]
    pub backend: String,
    /// Version of the backend.
    #[arg(long, value_name = "VERSION")]
    pub version: String,
    /// CSV file with the rows; without it, the header of such a file is printed.
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// Write the files if none of them has an error; existing files are kept.
    #[arg(long, requires = "from")]
    pub write: bool,
}
