//! Reasons why a repair does not change a table.

use crate::base::error::{Error, Reason};
use crate::base::expr::ExprError;
use crate::database::source::ReadError;
use crate::database::table::{TableFault, Torn};

/// The reason why a command that repairs tables, such as `dedupe`, leaves a table unchanged. In messages, the reason
/// follows the table's path.
#[derive(Debug, thiserror::Error)]
pub enum RepairError {
    /// The bytes of the table cannot be read.
    #[error("cannot be read: {0}")]
    Bytes(#[from] ReadError),
    /// The bytes are not a table.
    #[error(transparent)]
    Table(#[from] TableFault),
    /// Some rows are damaged and would be lost.
    #[error("{0}")]
    Torn(Torn),
    /// The table is not a regular file.
    #[error("it is not a file on disk")]
    NotOnDisk,
    /// The new file cannot be encoded, or decoding it does not return the same rows, or another file that is needed
    /// cannot be read.
    #[error(transparent)]
    Failed(#[from] Error),
    /// The text table cannot be split into rows, or its cells differ from those of the new file.
    #[error(transparent)]
    Text(#[from] Reason),
    /// The sidecar of the table cannot be updated.
    #[error("its collection_meta.yaml cannot be updated: {0}")]
    Sidecar(#[from] SidecarError),
    /// A formula of the table's spec fails.
    #[error("cannot be checked: {0}")]
    Formula(#[from] ExprError),
    /// The user wants to ignore a column that the loader reads.
    #[error("{0} cannot be ignored, because its loader reads it")]
    Loaded(String),
    /// The cells of a column cannot be compared.
    #[error("its column {0} has a type that tables cannot have")]
    ColumnType(String),
    /// The table has no measured column, so that repeated measurements cannot be recognised.
    #[error("it has no measured column, so repeated measurements cannot be found")]
    NothingMeasured,
    /// No row can be removed from the text table, because its lines do not match its rows one to one.
    #[error("its lines cannot be separated")]
    Lines,
    /// The Parquet file to which the text table would be converted already exists, but it is not a valid table.
    #[error("{name} exists in the same folder, but {fault}")]
    BrokenTarget { name: String, fault: TableFault },
    /// The Parquet file to which the text table would be converted already exists, and its cells differ from those of
    /// the text table.
    #[error(
        "{0} exists in the same folder with other cells; decide which of the two is right, or merge \
         them"
    )]
    OtherTarget(String),
    /// Two text tables would be converted to the same file.
    #[error("another text table would become {0}, too")]
    SameTarget(String),
}

/// The reason why a sidecar cannot be updated.
#[derive(Debug, thiserror::Error)]
pub enum SidecarError {
    /// The sidecar cannot be read.
    #[error(transparent)]
    Read(#[from] Error),
    /// The file is not a valid sidecar.
    #[error(transparent)]
    Invalid(#[from] Reason),
    /// The row count or digest is not stated in the table's own entry of the sidecar, for example because of a YAML
    /// alias.
    #[error("its rows or sha256 are behind an alias")]
    Elsewhere,
    /// Replacing the row count or digest would also change another value.
    #[error("its rows or sha256 cannot be replaced without changing another value")]
    NotAlone,
}
