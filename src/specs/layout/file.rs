//! The YAML of layouts as types.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

/// The YAML file of a layout. It states which files of a database are tables, and to which system, backend and version
/// each table belongs.
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
    /// Tables are in the data folders of the systems. The YAML file of each system names its data folder, and the
    /// patterns in the layout's YAML apply inside this folder. A version directory can declare that it reuses tables of
    /// other versions.
    Public,
}

/// The paths of a table's files, and the table's name, system, backend and version. A name such as `{table}` stands for
/// a part of the path, so that one entry can describe several tables.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TableFiles {
    /// The name of the table, which selects its spec.
    pub name: String,
    /// Patterns of paths. `*` and `?` match characters within one folder or file name, and `**/` matches any number of
    /// folders. `{part}` matches one name or a piece of it, `{part:int}` matches digits, and `{part*}` can also match
    /// several folders.
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
    /// The named parts of the path that are also columns of the table, such as `model` for the path
    /// `{model}/dense.csv`. In such a column, all rows of a file have the same value.
    #[serde(default)]
    pub columns: Vec<String>,
    /// The values to fill in for columns that a file lacks, by the column's name.
    #[serde(default)]
    pub fill: BTreeMap<String, Fill>,
}

/// The values of a column that a file lacks. The value in a row depends on the row's cell in another column.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fill {
    /// The column whose cells determine the missing values.
    pub by: String,
    /// The value of the missing column, by the row's cell in the column `by`.
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
