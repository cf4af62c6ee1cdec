//! The options of `new`.

use std::path::PathBuf;

/// The options of `new`.
#[derive(Debug, Default, Clone)]
pub struct NewOptions {
    /// The repository or folder that contains the database, or will contain it.
    pub root: PathBuf,
    /// The system's name.
    pub system: String,
    /// The table's name, with or without `_perf`.
    pub table: String,
    /// The backend, which is the framework's name.
    pub backend: String,
    /// The version of the framework.
    pub version: String,
    /// A CSV file with the table's rows. `None` prepares the other files and prints the header of such a CSV.
    pub from: Option<PathBuf>,
    /// True if the files are written.
    pub write: bool,
}
