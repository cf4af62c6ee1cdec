//! The YAML of layouts as types.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

/// A file of `rules/layouts/`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LayoutFile {
    /// A description of the database for people.
    #[allow(dead_code, reason = "people read it in the YAML")]
    pub about: String,
    /// The part of the program that finds the tables.
    #[serde(default)]
    pub reader: LayoutReader,
    /// Patterns of paths; a folder in which each of them matches a file has this layout.
    #[serde(default)]
    pub detect: Vec<String>,
    /// The tables of the database; a file belongs to the first entry with a pattern that matches.
    pub tables: Vec<TableFiles>,
}

/// The part of the program that finds the tables of a layout.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LayoutReader {
    /// The patterns of the file find the tables.
    #[default]
    Declared,
    /// The systems' YAML names folders of data, and version directories declare reuse. `files` are the
    /// patterns inside a data folder.
    Public,
}

/// The files of a table, or of several tables with names from their paths.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TableFiles {
    /// The name of the table, which selects its spec.
    pub name: String,
    /// Patterns of paths: `*` and `?` match within a folder, `**/` folders, `{part}` a part of a name,
    /// `{part:int}` digits, and `{part*}` also several folders.
    pub files: Vec<String>,
    /// The system: a text in which `{part}` stands for a part of the path or for a column's cell.
    #[serde(default)]
    pub system: String,
    /// The software that was measured, likewise.
    #[serde(default)]
    pub backend: String,
    /// The software's version, likewise.
    #[serde(default)]
    pub version: String,
    /// The file format.
    #[serde(default)]
    pub reader: ReaderName,
    /// The delimiter of a text table.
    #[serde(default)]
    pub delimiter: Option<char>,
    /// The first character of lines that a text table's reader skips.
    #[serde(default)]
    pub comment: Option<char>,
    /// The path of the rows in a JSON document: `results[].runs[]`; `{column}` stands for the names in an
    /// object, which become a column.
    #[serde(default)]
    pub rows: Option<String>,
    /// Parts of the path that become columns.
    #[serde(default)]
    pub columns: Vec<String>,
    /// Columns that some files lack.
    #[serde(default)]
    pub fill: BTreeMap<String, Fill>,
}

/// The values of a column that a file lacks, by the cells of another column.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fill {
    /// The other column.
    pub by: String,
    /// The value for each of its cells.
    pub values: BTreeMap<String, String>,
}

/// The file format of a table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ReaderName {
    /// Text with a header and one row per line.
    #[default]
    Csv,
    /// One JSON object per line.
    JsonLines,
    /// A JSON document that contains lists of rows.
    Json,
    /// Apache Parquet.
    Parquet,
}
