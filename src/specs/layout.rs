//! Layouts of databases: which files are tables, and where a table's system, backend and version are stated
//! (`rules/layouts/*.yaml`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use regex::Regex;
use schemars::JsonSchema;
use serde::Deserialize;

use super::SpecFile;
use crate::base::error::{Error, Result, unknown};
use crate::base::reason::Reason;

/// The name of the layout that the planner's loader reads.
pub const PUBLIC: &str = "public";

/// The maximal length of a path pattern in bytes.
const LONGEST: usize = 500;

/// A file of `rules/layouts/`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LayoutFile {
    /// A description of the database for people.
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
pub struct TableFiles {
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
pub enum ReaderName {
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

/// The format of files whose rows are assembled to tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dialect {
    /// Text with a header and one row per line.
    Csv {
        /// The delimiter of cells.
        delimiter: u8,
        /// The first character of lines that are skipped.
        comment: Option<u8>,
        /// Columns that some files lack.
        fill: BTreeMap<String, Fill>,
    },
    /// One JSON object per line.
    JsonLines {
        /// Columns that some files lack.
        fill: BTreeMap<String, Fill>,
    },
    /// A JSON document.
    Json {
        /// The path of the rows.
        rows: JsonPath,
        /// Columns that some files lack.
        fill: BTreeMap<String, Fill>,
    },
}

impl Dialect {
    /// Returns the columns that some files lack.
    pub fn fills(&self) -> &BTreeMap<String, Fill> {
        match self {
            Self::Csv { fill, .. } | Self::JsonLines { fill } | Self::Json { fill, .. } => fill,
        }
    }

    /// Returns true for comma-separated text that needs no conversion.
    pub fn is_plain(&self) -> bool {
        *self == Self::Csv { delimiter: b',', comment: None, fill: BTreeMap::new() }
    }
}

/// The path of the rows in a JSON document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonPath(Vec<String>);

impl JsonPath {
    /// Returns the steps from the top of the document.
    pub fn steps(&self) -> &[String] {
        &self.0
    }
}

/// A parsed layout.
#[derive(Debug)]
pub struct Layout {
    /// The layout's name, which is the file stem.
    pub name: String,
    /// The part of the program that finds the tables.
    pub reader: LayoutReader,
    detect: Vec<Regex>,
    /// The tables.
    pub tables: Vec<LayoutTable>,
}

/// The files of a table in a parsed layout.
#[derive(Debug)]
pub struct LayoutTable {
    /// The table's name, system, backend and version: texts with names in braces.
    pub identity: [String; 4],
    /// The format; `None` for Parquet.
    pub dialect: Option<Dialect>,
    /// Parts of the path that become columns.
    pub columns: Vec<String>,
    files: Vec<Regex>,
}

impl LayoutTable {
    /// Returns the named parts of a path; `None` if no pattern matches the path.
    pub fn parts(&self, path: &str) -> Option<BTreeMap<String, String>> {
        self.files.iter().find_map(|pattern| {
            let found = pattern.captures(path)?;
            let named = pattern.capture_names().flatten();
            let part = |name: &str| Some((name.to_owned(), found.name(name)?.as_str().to_owned()));
            Some(named.filter_map(part).collect())
        })
    }

    /// Returns the names in braces that are not parts of the path: columns.
    pub fn identity_columns(&self, parts: &BTreeMap<String, String>) -> Vec<&str> {
        let names = self.identity.iter().flat_map(|text| braced(text));
        let columns: BTreeSet<&str> = names.filter(|name| !parts.contains_key(*name)).collect();
        columns.into_iter().collect()
    }
}

/// Returns the names in braces in a text.
pub fn braced(text: &str) -> impl Iterator<Item = &str> {
    text.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name)
}

/// Replaces names in braces by their values; a missing or empty value is `unknown`.
pub fn filled(text: &str, values: &BTreeMap<String, String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').unwrap_or((after, ""));
        out += before;
        let value = values.get(name).filter(|value| !value.is_empty());
        out += value.map_or("unknown", String::as_str);
        rest = after;
    }
    out + rest
}

impl Layout {
    /// Parses a layout's file.
    pub(super) fn read(file: &SpecFile) -> Result<Self> {
        let layout: LayoutFile = file.parse()?;
        Self::of(file.stem(), layout).map_err(|why| file.malformed(why))
    }

    fn of(name: &str, file: LayoutFile) -> Result<Self, Reason> {
        let patterns = |texts: &[String]| -> Result<Vec<Regex>, Reason> {
            texts.iter().map(|text| pattern(text)).collect()
        };
        let tables = file.tables.into_iter().map(|table| {
            let bad = |why: &str| Reason::from(format!("table {}: {why}", table.name));
            let ascii = |c: Option<char>, default: u8| match c {
                None => Ok(default),
                Some(c) => u8::try_from(c).map_err(|_| bad("a delimiter is an ASCII character")),
            };
            let fill = table.fill.clone();
            let dialect = match table.reader {
                ReaderName::Csv => Some(Dialect::Csv {
                    delimiter: ascii(table.delimiter, b',')?,
                    comment: table.comment.map(|c| ascii(Some(c), 0)).transpose()?,
                    fill,
                }),
                ReaderName::JsonLines => Some(Dialect::JsonLines { fill }),
                ReaderName::Json => {
                    let rows = table.rows.as_deref().ok_or_else(|| bad("JSON needs `rows`"))?;
                    let steps: Vec<String> = rows.split('.').map(str::to_owned).collect();
                    Some(Dialect::Json { rows: JsonPath(steps), fill })
                }
                ReaderName::Parquet => None,
            };
            let files = patterns(&table.files)?;
            if files.is_empty() {
                return Err(bad("it has no `files`"));
            }
            let (system, backend) = (table.system.clone(), table.backend.clone());
            let identity = [table.name.clone(), system, backend, table.version.clone()];
            if file.reader == LayoutReader::Declared && identity.iter().any(String::is_empty) {
                return Err(bad("`system`, `backend` and `version` must be given"));
            }
            let part_names: BTreeSet<&str> =
                files.iter().flat_map(Regex::capture_names).flatten().collect();
            let in_path = |name: &str| part_names.contains(name);
            if let Some(name) = table.columns.iter().find(|name| !in_path(name)) {
                return Err(bad(&format!("{name} is not a part of its paths")));
            }
            let of_column = identity.iter().flat_map(|text| braced(text)).find(|n| !in_path(n));
            if let (None, true, Some(name)) =
                (&dialect, file.reader == LayoutReader::Declared, of_column)
            {
                return Err(bad(&format!(
                    "{name} is not a part of its paths, and columns of Parquet files identify no table"
                )));
            }
            Ok(LayoutTable { identity, dialect, columns: table.columns.clone(), files })
        });
        Ok(Self {
            name: name.to_owned(),
            reader: file.reader,
            detect: patterns(&file.detect)?,
            tables: tables.collect::<Result<_, Reason>>()?,
        })
    }

    /// Returns true if each of the layout's marks is among the paths.
    pub fn is_of<'p>(&self, paths: impl Iterator<Item = &'p str> + Clone) -> bool {
        let is_there = |mark: &Regex| paths.clone().any(|path| mark.is_match(path));
        !self.detect.is_empty() && self.detect.iter().all(is_there)
    }
}

/// Compiles a pattern of paths. It matches below any folder.
fn pattern(text: &str) -> Result<Regex, Reason> {
    let bad = |why: &str| Reason::from(format!("pattern `{text}`: {why}"));
    if text.len() > LONGEST {
        return Err(format!("a pattern has at most {LONGEST} bytes").into());
    }
    let mut regex = "^(?:.*/)?".to_owned();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let step = if rest.starts_with("**/") {
            regex += "(?:.*/)?";
            3
        } else if let Some(inside) = rest.strip_prefix('{') {
            let (part, _) = inside.split_once('}').ok_or_else(|| bad("a brace is not closed"))?;
            let (name, kind) = match part.strip_suffix('*') {
                Some(name) => (name, ".+"),
                None => match part.split_once(':') {
                    Some((name, "int")) => (name, "[0-9]+"),
                    Some(_) => return Err(bad("a part is `name`, `name*` or `name:int`")),
                    None => (part, "[^/]+?"),
                },
            };
            regex += &format!("(?P<{name}>{kind})");
            part.len() + 2
        } else {
            match c {
                '*' => regex += "[^/]*",
                '?' => regex += "[^/]",
                c => regex += &regex::escape(c.encode_utf8(&mut [0; 4])),
            }
            c.len_utf8()
        };
        rest = &rest[step..];
    }
    Regex::new(&(regex + "$"))
        .map_err(|_| bad("the name of a part is not valid, or is there twice"))
}

/// The known layouts, and the one that a run uses.
#[derive(Debug, Default, Clone)]
pub struct Layouts {
    known: BTreeMap<String, Arc<Layout>>,
    /// The layouts of overlays.
    own: BTreeSet<String>,
    chosen: Option<Arc<Layout>>,
    /// True after the choice, which may be that no declared layout fits.
    is_settled: bool,
}

impl Layouts {
    /// Parses all layouts.
    ///
    /// # Errors
    ///
    /// At the first malformed file.
    pub(super) fn read<'a>(files: impl Iterator<Item = &'a SpecFile>) -> Result<Self> {
        let mut layouts = Self::default();
        for file in files {
            let layout = Layout::read(file)?;
            if !file.shipped {
                layouts.own.insert(layout.name.clone());
            }
            layouts.known.insert(layout.name.clone(), Arc::new(layout));
        }
        Ok(layouts)
    }

    /// Returns the layout that was chosen, if its patterns find the tables.
    pub fn declared(&self) -> Option<&Arc<Layout>> {
        self.chosen.as_ref().filter(|layout| layout.reader == LayoutReader::Declared)
    }

    /// Returns true if the layout of the run was chosen.
    pub fn are_settled(&self) -> bool {
        self.is_settled
    }

    /// Returns the public layout.
    pub fn public(&self) -> Option<&Arc<Layout>> {
        self.known.get(PUBLIC)
    }

    /// Chooses the layout: the named one, else the one of the overlay, else the one whose marks are among the
    /// paths.
    ///
    /// # Errors
    ///
    /// If the name is unknown, or if several layouts fit.
    pub(super) fn choose<'p>(
        &mut self,
        name: Option<&str>,
        paths: impl Iterator<Item = &'p str> + Clone,
    ) -> Result<()> {
        let fitting: Vec<&str> = match name {
            Some(name) if self.known.contains_key(name) => vec![name],
            Some(name) => {
                return Err(unknown("layout", name, self.known.keys().map(String::as_str)));
            }
            None if self.own.len() == 1 => self.own.iter().map(String::as_str).collect(),
            None => {
                let fits = self.known.values().filter(|layout| layout.is_of(paths.clone()));
                fits.map(|layout| layout.name.as_str()).collect()
            }
        };
        if fitting.len() > 1 {
            return Err(Error::new(
                format!("the files have several layouts: {}", fitting.join(", ")),
                "name one with --layout",
            ));
        }
        self.is_settled = true;
        self.chosen = fitting.first().and_then(|name| self.known.get(*name)).cloned();
        Ok(())
    }
}
