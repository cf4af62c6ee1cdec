//! The YAML of layouts as types.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

/// A file of `rules/layouts/`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LayoutFile {
    /// A description of the layout for people.
    #[allow(dead_code, reason = "people read it in the YAML")]
    pub about: String,
    /// The method by which the program finds the tables.
    #[serde(default)]
    pub reader: LayoutReader,
    /// Patterns of paths. A folder has this layout if each pattern matches a file in the folder.
    #[serde(default)]
    pub detect: Vec<String>,
    /// The tables of the database; a file belongs to the first entry with a pattern that matches.
    pub tables: Vec<TableFiles>,
}

/// The method by which the program finds the tables of a layout.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LayoutReader {
    /// The patterns in the layout's file find the tables.
    #[default]
    Declared,
    /// The YAML of each system names a folder of data, and version directories declare reuse. The patterns in the
    /// layout's file apply inside a folder of data.
    Public,
}

/// The files of a table. With `{part}` in the name, the entry describes several tables whose names come from the paths.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TableFiles {
    /// The name of the table, which selects its spec.
    pub name: String,
    /// Patterns of paths: `*` and `?` match within a folder, `**/` folders, `{part}` a part of a name,
    /// `{part:int}` digits, and `{part*}` also several folders.
    pub files: Vec<String>,
    /// The system's name, in which `{part}` stands for a part of the path or for a column's cell.
    #[serde(default)]
    pub system: String,
    /// The name of the measured software, in which `{part}` stands for a part of the path or for a column's cell.
    #[serde(default)]
    pub backend: String,
    /// The software's version, in which `{part}` stands for a part of the path or for a column's cell.
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
    /// The path of the rows in a JSON document, such as `results[].runs[]`. `{column}` stands for any name in an
    /// object; the names become the cells of this column.
    #[serde(default)]
    pub rows: Option<String>,
    /// The named parts of the path that become columns of the table.
    #[serde(default)]
    pub columns: Vec<String>,
    /// The values of columns that some files lack, by column.
    #[serde(default)]
    pub fill: BTreeMap<String, Fill>,
}

/// The values of a column that a file lacks. The value in a row depends on the row's cell in another column.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fill {
    /// The other column, whose cells determine the values.
    pub by: String,
    /// The value of the missing column, by the cell of the other column.
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
