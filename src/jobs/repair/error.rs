//! Why a repair leaves a table as it is.

use crate::base::error::Error;
use crate::base::expr::ExprError;
use crate::base::reason::Reason;
use crate::database::source::ReadError;
use crate::database::table::{TableFault, Torn};

/// Why a table is left as it is, in a line that follows its path.
#[derive(Debug, thiserror::Error)]
pub enum RepairError {
    /// Its bytes cannot be had.
    #[error("cannot be read: {0}")]
    Bytes(#[from] ReadError),
    /// Its bytes are not a table.
    #[error(transparent)]
    Table(#[from] TableFault),
    /// Some of its rows are damaged, and would be lost.
    #[error("{0}")]
    Torn(Torn),
    /// It is not a regular file.
    #[error("it is not a file on disk")]
    NotOnDisk,
    /// Its new bytes cannot be made, or read back otherwise.
    #[error(transparent)]
    Encode(#[from] Error),
    /// Its lines cannot be separated, or not compared with the new file's cells.
    #[error(transparent)]
    Text(#[from] Reason),
    /// The sidecar beside it would be wrong.
    #[error("its collection_meta.yaml cannot be updated: {0}")]
    Sidecar(#[from] SidecarError),
    /// A formula of its spec fails.
    #[error("cannot be checked: {0}")]
    Formula(#[from] ExprError),
    /// A column to ignore is one that the loader reads.
    #[error("{0} cannot be ignored, because its loader reads it")]
    Loaded(String),
    /// A column's cells cannot be compared.
    #[error("its column {0} has a type that tables cannot have")]
    ColumnType(String),
    /// Without a measured column every row is a measurement of its own.
    #[error("it has no measured column, so repeated measurements cannot be found")]
    NothingMeasured,
    /// Rows cannot be removed line by line.
    #[error("its lines cannot be separated")]
    Lines,
    /// The file that it would become cannot be read.
    #[error("{name} in the same folder: {}", .source.kind())]
    Target {
        /// The file's name.
        name: String,
        source: std::io::Error,
    },
    /// The file that it would become is there, and is not a table.
    #[error("{name} exists in the same folder, but {fault}")]
    BrokenTarget { name: String, fault: TableFault },
    /// The file that it would become is there, with other cells.
    #[error(
        "{0} exists in the same folder with other cells; decide which of the two is right, or merge \
         them"
    )]
    OtherTarget(String),
    /// Two text tables would become one file.
    #[error("another text table would become {0}, too")]
    SameTarget(String),
}

/// Why a sidecar cannot be kept true.
#[derive(Debug, thiserror::Error)]
pub enum SidecarError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] std::io::Error),
    /// It is not a sidecar.
    #[error(transparent)]
    Invalid(#[from] Reason),
    /// What it states of a table stands elsewhere, behind an alias for example.
    #[error("its rows or sha256 are behind an alias")]
    Elsewhere,
    /// Replacing the value would change something else that it says.
    #[error("its rows or sha256 cannot be replaced without changing another value")]
    NotAlone,
}
