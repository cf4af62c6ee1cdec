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
    /// Patterns by which the layout is recognised. A folder has this layout if each pattern matches the path of a file
    /// in it.
    #[serde(default)]
    pub detect: Vec<String>,
    /// The tables of the database and the patterns of their paths. If a file matches several entries, the first entry
    /// applies.
    pub tables: Vec<TableFiles>,
}

/// The method by which the program finds the tables of a layout.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LayoutReader {
    /// Tables are the files that match the patterns in the layout's YAML.
    #[default]
    Declared,
    /// Tables are in folders that the YAML files of systems name. The patterns in the layout's YAML apply inside these
    /// folders. Version directories can declare that they reuse other tables.
    Public,
}

/// The paths of a table's files. If the table's name contains a part of the path in braces, such as `{table}`, one
/// entry describes several tables.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TableFiles {
    /// The name of the table, which selects its spec.
    pub name: String,
    /// Patterns of paths. `*` and `?` match characters of a name, and `**/` matches any folders. `{part}` matches one
    /// name or a part of it, `{part:int}` matches digits, and `{part*}` matches several folders too.
    pub files: Vec<String>,
    /// The system's name. `{part}` in this text is replaced by the part of the path that has this name, or by the row's
    /// cell in the column `part`.
    #[serde(default)]
    pub system: String,
    /// The name of the measured software. `{part}` in this text is replaced by the part of the path that has this name,
    /// or by the row's cell in the column `part`.
    #[serde(default)]
    pub backend: String,
    /// The version of the measured software. `{part}` in this text is replaced by the part of the path that has this
    /// name, or by the row's cell in the column `part`.
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
    /// The path of the list of rows in a JSON document, such as `results[].runs[]`. `{name}` matches any member of an
    /// object; the member's name becomes the row's cell in the column `name`.
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
    /// The column whose cells determine the missing values.
    pub by: String,
    /// The missing value, by the cell in the column `by`.
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
