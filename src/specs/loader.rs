//! What the planner's loader can open: `rules/loader.yaml`.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::column::ColumnKind;

/// The facts of `rules/loader.yaml`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoaderFacts {
    /// The library that reads the files; for people only.
    #[serde(rename = "reader")]
    _reader: String,
    /// Codecs that it decompresses.
    pub codecs: Vec<Codec>,
    /// Types that it reads.
    types: LoaderTypes,
    /// Whether it reads text tables.
    pub text_tables: bool,
}

/// Types that the loader reads, by what a column holds.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct LoaderTypes {
    int: Vec<StoredType>,
    number: Vec<StoredType>,
    measure: Vec<StoredType>,
    text: Vec<StoredType>,
    bool: Vec<StoredType>,
}

impl LoaderFacts {
    /// The types that the loader reads a column of this kind as.
    pub fn types(&self, kind: ColumnKind) -> &[StoredType] {
        match kind {
            ColumnKind::Text => &self.types.text,
            ColumnKind::Int => &self.types.int,
            ColumnKind::Bool => &self.types.bool,
            ColumnKind::Number => &self.types.number,
            ColumnKind::Measure(_) => &self.types.measure,
        }
    }
}

/// How the pages of a Parquet column are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Codec {
    /// Not at all.
    Uncompressed,
    /// Snappy.
    Snappy,
    /// Gzip.
    Gzip,
    /// Brotli.
    Brotli,
    /// Zstandard.
    Zstd,
    /// LZ4 blocks without a frame.
    Lz4Raw,
}

/// The type that a Parquet file states for a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StoredType {
    /// Flags.
    Boolean,
    /// Signed integers of 8 bits.
    Int8,
    /// Signed integers of 16 bits.
    Int16,
    /// Signed integers of 32 bits.
    Int32,
    /// Signed integers of 64 bits.
    Int64,
    /// Unsigned integers of 8 bits.
    Uint8,
    /// Unsigned integers of 16 bits.
    Uint16,
    /// Unsigned integers of 32 bits.
    Uint32,
    /// Unsigned integers of 64 bits.
    Uint64,
    /// Times of 96 bits, which are deprecated.
    Int96,
    /// Numbers of 16 bits.
    Float16,
    /// Numbers of 32 bits.
    Float32,
    /// Numbers of 64 bits.
    Float64,
    /// Text in UTF-8.
    String,
    /// Names of an enumeration.
    Enum,
    /// JSON as text.
    Json,
    /// JSON in its binary form.
    Bson,
    /// Bytes.
    Binary,
    /// Decimal numbers.
    Decimal,
    /// Days.
    Date,
    /// Times of a day.
    Time,
    /// Points in time.
    Timestamp,
    /// Lengths of time.
    Interval,
    /// UUIDs.
    Uuid,
    /// No values at all.
    Null,
    /// Two types that contradict each other, so that readers differ.
    Contradictory,
    /// A group of columns.
    Struct,
    /// A list in each row.
    List,
    /// A map in each row.
    Map,
    /// Any number of values in each row.
    Repeated,
}

impl StoredType {
    /// Whether a column of this type consists of other columns, or has several values in a row.
    pub fn is_nested(self) -> bool {
        matches!(self, Self::Struct | Self::List | Self::Map | Self::Repeated)
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl fmt::Display for StoredType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specs::{Library, Specs};

    #[test]
    fn a_name_is_shown_as_the_file_spells_it() {
        assert_eq!(
            (Codec::Lz4Raw.to_string(), Codec::Zstd.to_string()),
            ("lz4_raw".into(), "zstd".into())
        );
        assert_eq!(
            (StoredType::Uint64.to_string(), StoredType::Boolean.to_string()),
            ("uint64".into(), "boolean".into())
        );
    }

    #[test]
    fn an_overlay_replaces_the_facts_and_a_misspelt_name_is_an_error_with_its_line() {
        let read = |from: &str, to: &str| {
            let mut library = Library::embedded();
            let text = library.file("rules/loader.yaml").next().unwrap().text.replace(from, to);
            library.add("loader.yaml", "loader.yaml", text);
            Specs::read(library)
        };
        let specs = read("snappy, zstd", "snappy, zstd, gzip").unwrap();
        assert_eq!(specs.loader.codecs.last(), Some(&Codec::Gzip));
        let error = read("int: [int64]", "int: [integer]").unwrap_err().message;
        assert!(
            error.starts_with("loader.yaml: ")
                && error.contains("integer")
                && error.contains("line 14"),
            "{error}"
        );
    }
}
