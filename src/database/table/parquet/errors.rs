//! Reasons why a Parquet file, column or page is not decoded.

use std::fmt::Display;

use crate::database::limits::{LONGEST_TEXT, MOST_BYTES, MOST_CELLS, MOST_COLUMNS};

/// The reason why a file is not decoded. Its text is the end of a message that begins with "cannot be read:".
#[derive(Debug, thiserror::Error)]
pub(in crate::database::table) enum FileError {
    #[error("it does not begin as a parquet file does")]
    Beginning,
    #[error("it does not end as a parquet file does; it is cut off or damaged")]
    End,
    #[error("its footer is damaged: {0}")]
    Footer(String),
    #[error("it is encrypted")]
    Encrypted,
    #[error("it has more than {MOST_COLUMNS} columns, which no table has")]
    Columns,
    #[error("it claims {rows} rows of {width} columns, more than a table can have ({} M cells)", MOST_CELLS / 1_000_000)]
    Cells { rows: usize, width: usize },
    #[error("its footer states {stated} rows, but its row groups contain {held}")]
    Rows { stated: usize, held: usize },
    #[error("two of its parts share bytes of the file")]
    Overlap,
    #[error(
        "its bytes {first} to {last} belong to nothing that its footer names; readers may differ in what they read"
    )]
    Unclaimed { first: usize, last: usize },
    #[error("its Arrow schema is damaged: {0}")]
    ArrowSchema(String),
    #[error("its Arrow schema and its Parquet schema do not name the same columns")]
    Schemas,
    #[error("column {column} {why}")]
    Column { column: String, why: ColumnError },
    #[error("the decoder gave up on damaged bytes")]
    Panic,
    #[error("{0}")]
    Decoder(String),
}

/// The result of reading a column or one of its pages.
pub(in crate::database::table) type ColumnResult<T> = Result<T, ColumnError>;

/// The problem of a column or of one of its pages. Its text is the end of a sentence that begins with the column's
/// name.
#[derive(Debug, thiserror::Error, PartialEq)]
pub(in crate::database::table) enum ColumnError {
    #[error("has a page whose header is damaged or too long")]
    Header,
    #[error("has a page that claims more bytes than the column has")]
    BeyondColumn,
    #[error("is not between the beginning of the file and its footer")]
    BeyondFile,
    #[error(
        "has a dictionary or a first page elsewhere than stated; readers differ in where they start to read"
    )]
    Start,
    #[error("has a page index that does not match its pages")]
    PageIndex,
    #[error("has a damaged bloom filter")]
    BloomFilter,
    #[error("is in another file")]
    OtherFile,
    #[error("has another name or type in a row group than in the schema")]
    Chunk,
    #[error("has one type in the Arrow schema and another in the Parquet schema")]
    Nested,
    #[error("has a page of a kind that tables do not have")]
    PageKind,
    #[error("and those before it claim over {} MiB once decompressed, more than a table has", MOST_BYTES >> 20)]
    Bytes,
    #[error("has a page whose sizes contradict each other")]
    Sizes,
    #[error(
        "is compressed with {0}, which is not supported: use zstd, snappy, gzip, brotli or lz4_raw"
    )]
    Codec(String),
    #[error("has a page that does not decompress to the size that it claims")]
    Decompress,
    #[error(
        "uses the encoding {0}, which is not supported: write it plain or with a dictionary, as pyarrow, polars, DuckDB and Spark do by default"
    )]
    Encoding(String),
    #[error("has levels in the encoding {0}, which is not supported: only RLE is")]
    Levels(String),
    #[error("has a page whose levels are damaged")]
    DamagedLevels,
    #[error("has a page that does not contain the values that it claims")]
    Values,
    #[error("has a page that refers to a dictionary that the column lacks")]
    NoDictionary,
    #[error("states {stated} rows, but its pages contain {held}")]
    Rows { stated: usize, held: usize },
    #[error("has arrays of different types")]
    Arrays,
    #[error("has a text cell of {0} bytes; at most {LONGEST_TEXT} are allowed")]
    LongText(usize),
    #[error("has a cell of text with a NUL byte")]
    Nul,
    #[error("cannot be decoded: {0}")]
    Decoder(String),
}

impl ColumnError {
    /// Attributes the error to a column.
    pub(super) fn of(self, column: &str) -> FileError {
        FileError::Column { column: column.to_owned(), why: self }
    }
}

/// Converts an error of the decoder to one line and shortens it.
pub(in crate::database::table) fn one_line(error: impl Display) -> String {
    let text = error.to_string();
    let words: Vec<&str> = text.split_whitespace().take(40).collect();
    words.join(" ")
}
