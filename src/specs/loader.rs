//! Capabilities of the planner's loader: `rules/loader.yaml`.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::column::ColumnKind;
use crate::base::yaml::LoaderFields;

/// The capabilities of the planner's loader, as stated in `rules/loader.yaml`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoaderFacts {
    /// The name of the library with which the loader reads Parquet files. The program does not use this name.
    #[serde(rename = "reader")]
    _reader: String,
    /// The codecs that the loader decompresses.
    pub codecs: Vec<Codec>,
    /// The column types that the loader reads.
    types: LoaderTypes,
    /// True if the loader reads text tables.
    pub text_tables: bool,
    /// The fields that the planner's loaders read in YAML files.
    pub yaml: LoaderFiles,
}

/// The fields that the planner's loaders read in each kind of YAML file.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoaderFiles {
    /// The fields that the loaders read in the YAML file of a system.
    pub system: LoaderFields,
    /// The fields that the loaders read in `collection_meta.yaml`, schema 1.
    pub sidecar: LoaderFields,
    /// The fields that the loaders read in `collection_meta.yaml`, schema 2.
    pub sidecar_2: LoaderFields,
    /// The fields that the loaders read in `reuse.yaml`.
    pub reuse: LoaderFields,
    /// The fields that the loaders read in `query_versions.yaml`.
    pub query_versions: LoaderFields,
    /// The fields that the loaders read in `attention_lane_defaults.yaml`.
    pub attention_lanes: LoaderFields,
}

/// The types of Parquet columns that the loader accepts, by kind of column.
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
    /// Returns the types of Parquet columns that the loader accepts for a kind of column.
    pub(crate) fn types(&self, kind: ColumnKind) -> &[StoredType] {
        match kind {
            ColumnKind::Text => &self.types.text,
            ColumnKind::Int => &self.types.int,
            ColumnKind::Bool => &self.types.bool,
            ColumnKind::Number => &self.types.number,
            ColumnKind::Measure(_) => &self.types.measure,
        }
    }
}

/// The compression codec of a Parquet column's pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Codec {
    /// No compression.
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

/// The type that a Parquet file declares for a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StoredType {
    /// Booleans.
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
    /// Timestamps of 96 bits, which are deprecated.
    Int96,
    /// Floating-point numbers of 16 bits.
    Float16,
    /// Floating-point numbers of 32 bits.
    Float32,
    /// Floating-point numbers of 64 bits.
    Float64,
    /// Text in UTF-8.
    String,
    /// Values of an enumeration, stored as text.
    Enum,
    /// JSON as text.
    Json,
    /// JSON in binary form (BSON).
    Bson,
    /// Bytes.
    Binary,
    /// Decimal numbers.
    Decimal,
    /// Dates.
    Date,
    /// Times of day.
    Time,
    /// Timestamps.
    Timestamp,
    /// Intervals of time in months, days and milliseconds.
    Interval,
    /// UUIDs.
    Uuid,
    /// Only nulls.
    Null,
    /// Two declared types that contradict each other. Parquet readers differ in which of them they use.
    Contradictory,
    /// A group of columns.
    Struct,
    /// A list per row.
    List,
    /// A map per row.
    Map,
    /// Any number of values per row.
    Repeated,
}

impl StoredType {
    /// Returns true if a column of this type consists of other columns or has several values per row.
    pub(crate) fn is_nested(self) -> bool {
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
    fn codecs_and_types_are_displayed_as_spelled_in_yaml() {
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
    fn a_loader_overlay_replaces_the_facts_and_a_misspelt_name_is_refused_with_its_line() {
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
