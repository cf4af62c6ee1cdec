//! Layouts of databases: which files are tables, and where a table's system, backend and version are stated
//! (`rules/layouts/*.yaml`).

mod file;
mod pattern;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use regex::Regex;

pub(crate) use self::file::{Fill, LayoutFile, LayoutReader, ReaderName, TableFiles};
use self::pattern::pattern;
pub(crate) use self::pattern::{braced, filled};
use super::SpecFile;
use crate::base::error::{Reason, Result, unknown};

/// The name of the layout of the planner's public database.
pub(crate) const PUBLIC: &str = "public";

/// The file format of a table that is not a Parquet file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dialect {
    /// Text with a header and one row per line.
    Csv {
        /// The delimiter of cells.
        delimiter: u8,
        /// The first character of lines that are skipped; `None` if all lines are read.
        comment: Option<u8>,
        /// The values to fill in for columns that a file lacks, by the column's name.
        fill: BTreeMap<String, Fill>,
    },
    /// One JSON object per line.
    JsonLines {
        /// The values to fill in for columns that a file lacks, by the column's name.
        fill: BTreeMap<String, Fill>,
    },
    /// A JSON document.
    Json {
        /// The path of the rows in the document.
        rows: JsonPath,
        /// The values to fill in for columns that a file lacks, by the column's name.
        fill: BTreeMap<String, Fill>,
    },
}

impl Dialect {
    /// Returns the values to fill in for columns that a file lacks, by the column's name.
    pub(crate) fn fills(&self) -> &BTreeMap<String, Fill> {
        match self {
            Self::Csv { fill, .. } | Self::JsonLines { fill } | Self::Json { fill, .. } => fill,
        }
    }

    /// Returns true if the format is comma-separated text without comment lines and without columns to fill in. A file
    /// in this format needs no conversion.
    pub(crate) fn is_plain(&self) -> bool {
        *self == Self::Csv { delimiter: b',', comment: None, fill: BTreeMap::new() }
    }
}

/// The path of the rows in a JSON document, as a list of steps such as `results[]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonPath(Vec<String>);

impl JsonPath {
    /// Returns the steps of the path, from the top of the document to the rows.
    pub(crate) fn steps(&self) -> &[String] {
        &self.0
    }
}

/// A parsed layout.
#[derive(Debug, Default)]
pub struct Layout {
    /// The layout's name, which is the file stem.
    pub name: String,
    /// The method by which the program finds the tables.
    pub reader: LayoutReader,
    detect: Vec<Regex>,
    /// The files of the layout's tables.
    pub tables: Vec<LayoutTable>,
    /// For each path pattern, the names of its folders, such as `family`, `backend` and `version`. Only the public
    /// layout has these lists.
    folders: Vec<Vec<String>>,
}

/// The files of a table in a parsed layout.
#[derive(Debug)]
pub struct LayoutTable {
    /// The table's name, system, backend and version, in this order. A name in braces stands for a part of the path or
    /// for the cell in a column.
    pub identity: [String; 4],
    /// The format of the files; `None` for Parquet.
    pub dialect: Option<Dialect>,
    /// The named parts of the path that are also columns of the table, such as `model` for the path
    /// `{model}/dense.csv`.
    pub columns: Vec<String>,
    files: Vec<Regex>,
}

impl LayoutTable {
    fn of(table: TableFiles, reader: LayoutReader) -> Result<Self, Reason> {
        let files = patterns(&table.files)?;
        if files.is_empty() {
            return Err("it has no `files`".into());
        }
        let dialect = table.dialect()?;
        let TableFiles { name, system, backend, version, columns, .. } = table;
        let identity = [name, system, backend, version];
        let in_paths = |name: &str| {
            files.iter().all(|file| file.capture_names().flatten().any(|part| part == name))
        };
        if let Some(name) = columns.iter().find(|name| !in_paths(name)) {
            return Err(format!("{name} is not a part of each of its paths").into());
        }
        if reader == LayoutReader::Declared {
            if identity.iter().any(String::is_empty) {
                return Err("`system`, `backend` and `version` must be given".into());
            }
            let mut names = identity.iter().flat_map(|text| braced(text));
            if let (None, Some(name)) = (&dialect, names.find(|name| !in_paths(name))) {
                return Err(format!(
                    "{name} is not a part of each of its paths, and columns of Parquet files identify no table"
                )
                .into());
            }
        }
        Ok(Self { identity, dialect, columns, files })
    }

    /// Returns the values of the named parts of a path, by name; `None` if no pattern matches the path.
    pub(crate) fn parts(&self, path: &str) -> Option<BTreeMap<String, String>> {
        self.files.iter().find_map(|pattern| {
            let found = pattern.captures(path)?;
            let named = pattern.capture_names().flatten();
            let part = |name: &str| Some((name.to_owned(), found.name(name)?.as_str().to_owned()));
            Some(named.filter_map(part).collect())
        })
    }

    /// Returns the columns whose cells determine the table's name, system, backend or version. `parts` contains the
    /// named parts of the table's path; their names are not columns.
    pub(crate) fn identity_columns(&self, parts: &BTreeMap<String, String>) -> Vec<&str> {
        let names = self.identity.iter().flat_map(|text| braced(text));
        let columns: BTreeSet<&str> = names.filter(|name| !parts.contains_key(*name)).collect();
        columns.into_iter().collect()
    }
}

impl TableFiles {
    /// Returns the format of the files; `None` for Parquet.
    fn dialect(&self) -> Result<Option<Dialect>, Reason> {
        let ascii = |c: char| {
            u8::try_from(c)
                .map_err(|_| Reason::from("`delimiter` and `comment` are ASCII characters"))
        };
        let fill = self.fill.clone();
        Ok(match self.reader {
            ReaderName::Csv => Some(Dialect::Csv {
                delimiter: ascii(self.delimiter.unwrap_or(','))?,
                comment: self.comment.map(ascii).transpose()?,
                fill,
            }),
            ReaderName::JsonLines => Some(Dialect::JsonLines { fill }),
            ReaderName::Json => {
                let rows = self.rows.as_deref().ok_or("JSON needs `rows`")?;
                let steps: Vec<String> = rows.split('.').map(str::to_owned).collect();
                Some(Dialect::Json { rows: JsonPath(steps), fill })
            }
            ReaderName::Parquet => None,
        })
    }
}

fn patterns(texts: &[String]) -> Result<Vec<Regex>, Reason> {
    texts.iter().map(|text| pattern(text)).collect()
}

impl Layout {
    /// Parses a layout's file.
    pub(super) fn read(file: &SpecFile) -> Result<Self> {
        let layout: LayoutFile = file.parse()?;
        Self::of(file.stem(), layout).map_err(|why| file.malformed(why))
    }

    fn of(name: &str, file: LayoutFile) -> Result<Self, Reason> {
        let paths = file.tables.iter().flat_map(|table| &table.files);
        let folders = paths.filter(|_| file.reader == LayoutReader::Public).map(|path| {
            let folders = path.rsplit_once('/').map_or("", |(folders, _)| folders);
            folders.split('/').map(|name| name.trim_matches(['{', '}']).to_owned()).collect()
        });
        let folders: Vec<Vec<String>> = folders.collect();
        let tables = file.tables.into_iter().map(|table| {
            let name = table.name.clone();
            LayoutTable::of(table, file.reader)
                .map_err(|why| Reason::from(format!("table {name}: {why}")))
        });
        Ok(Self {
            name: name.to_owned(),
            reader: file.reader,
            detect: patterns(&file.detect)?,
            tables: tables.collect::<Result<_, Reason>>()?,
            folders,
        })
    }

    /// Reads a table's family, backend and version from the names of its folders. The layout's first pattern with the
    /// same number of folders applies; `None` if there is none. The family is `None` if this pattern contains no
    /// family.
    pub(crate) fn place<'p>(
        &self,
        folders: &[&'p str],
    ) -> Option<(Option<&'p str>, &'p str, &'p str)> {
        let mut known = self.folders.iter().filter(|names| names.len() == folders.len());
        let names = known.next()?;
        let part =
            |wanted: &str| names.iter().position(|name| name == wanted).map(|at| folders[at]);
        Some((part("family"), part("backend")?, part("version")?))
    }

    /// Returns true if a pattern of one of the layout's tables matches the path.
    pub(crate) fn has_table(&self, path: &str) -> bool {
        self.tables.iter().any(|table| table.parts(path).is_some())
    }

    /// Returns true if the layout has `detect` patterns and each of them matches one of the paths.
    pub(crate) fn matches<'p>(&self, paths: impl Iterator<Item = &'p str> + Clone) -> bool {
        let is_there = |mark: &Regex| paths.clone().any(|path| mark.is_match(path));
        !self.detect.is_empty() && self.detect.iter().all(is_there)
    }
}

/// The known layouts, and the layout that was chosen for the run.
#[derive(Debug, Default, Clone)]
pub struct Layouts {
    known: BTreeMap<String, Arc<Layout>>,
    /// The names of the layouts that overlays define.
    own: BTreeSet<String>,
    chosen: Option<Arc<Layout>>,
    /// True once the layout of the run was chosen, even if no layout matches.
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

    /// Returns the run's layout if its path patterns alone determine which files are tables. `None` for the public
    /// layout, which also depends on the YAML files of systems, and if the run has no layout.
    pub(crate) fn declared(&self) -> Option<&Arc<Layout>> {
        self.chosen.as_ref().filter(|layout| layout.reader == LayoutReader::Declared)
    }

    /// Returns true if a known layout other than the public one has a table of this name.
    pub fn any_declares(&self, table: &str) -> bool {
        let layouts = self.known.values().filter(|l| l.reader == LayoutReader::Declared);
        layouts.flat_map(|layout| &layout.tables).any(|known| known.identity[0] == table)
    }

    /// Returns true if a known layout has this name and its path patterns alone determine which files are tables. False
    /// for the public layout.
    pub(crate) fn is_declared(&self, name: &str) -> bool {
        self.known.get(name).is_some_and(|layout| layout.reader == LayoutReader::Declared)
    }

    /// Returns true once the layout of the run was chosen, even if no layout matches.
    pub(crate) fn is_chosen(&self) -> bool {
        self.is_settled
    }

    /// Returns the layout of the planner's public database.
    pub(crate) fn public(&self) -> Option<&Arc<Layout>> {
        self.known.get(PUBLIC)
    }

    /// Chooses the layout of the run: the first of these that exists:
    /// - the layout called `name`, if a name is given;
    /// - the layout that overlays define, if they define exactly one;
    /// - the public layout, if its `detect` patterns match;
    /// - of the layouts whose `detect` patterns match, the one whose tables match the largest number of `paths`.
    ///
    /// # Errors
    ///
    /// If the name is unknown.
    pub(super) fn choose<'p>(
        &mut self,
        name: Option<&str>,
        paths: impl Iterator<Item = &'p str> + Clone,
    ) -> Result<()> {
        let fits = || self.known.values().filter(|layout| layout.matches(paths.clone()));
        let chosen = match name {
            Some(name) => {
                let known = || self.known.keys().map(String::as_str);
                Some(self.known.get(name).ok_or_else(|| unknown("layout", name, known()))?)
            }
            None if self.own.len() == 1 => self.own.iter().find_map(|name| self.known.get(name)),
            None => fits().find(|layout| layout.name == PUBLIC).or_else(|| {
                // The first one by name wins if several have the same number of tables.
                let tables = |layout: &&Arc<Layout>| {
                    Reverse(paths.clone().filter(|path| layout.has_table(path)).count())
                };
                fits().min_by_key(tables)
            }),
        };
        self.chosen = chosen.cloned();
        self.is_settled = true;
        Ok(())
    }
}
