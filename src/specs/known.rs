//! Specs of tables and facts of systems. A file is parsed when one of its names is first looked up.
//!
//! Lazy parsing is only for the files embedded in the binary: tests parse all of them and check their
//! formulas. If there is an overlay, every file is parsed and checked at the start, so that all errors are
//! reported then.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use super::system::System;
use super::table_file;
use super::{SpecFile, TableSpec, read_all};
use crate::base::error::Result;

/// A YAML file that is parsed when its content is first needed.
#[derive(Debug)]
struct LazyFile<T> {
    file: SpecFile,
    parsed: OnceLock<T>,
}

impl<T: Default + Send> LazyFile<T> {
    /// Wraps files so that each is parsed when it is first needed. If `tried` is true, all files are parsed
    /// immediately.
    fn wrap<'a>(
        files: impl Iterator<Item = &'a SpecFile>,
        tried: bool,
        parse: impl Fn(&SpecFile) -> Result<T> + Sync,
    ) -> Result<Vec<Self>> {
        let wrap = |file: &SpecFile, parsed| Self { file: file.clone(), parsed };
        if tried {
            return read_all(files, |file| Ok(wrap(file, parse(file)?.into())));
        }
        Ok(files.map(|file| wrap(file, OnceLock::new())).collect())
    }

    fn get(&self, parse: impl Fn(&SpecFile) -> Result<T>) -> &T {
        // A test ensures that no embedded file is malformed.
        self.parsed.get_or_init(|| parse(&self.file).unwrap_or_default())
    }
}

/// The table specs of one family, by table name.
type FamilySpecs = BTreeMap<String, Arc<TableSpec>>;

/// Table specs by table name. Each family's file is parsed when one of its tables is first looked up.
#[derive(Debug, Default, Clone)]
pub struct TableSpecs {
    families: Vec<Arc<LazyFile<FamilySpecs>>>,
    /// For each table name, the index in `families` of the file with the table's spec. If several files have a spec of
    /// the table, the last file counts.
    by_name: BTreeMap<String, usize>,
    /// Table specs that were modified after they were read, by table name. They replace the specs in the files.
    changed: BTreeMap<String, Arc<TableSpec>>,
}

fn specs_of(family: &LazyFile<FamilySpecs>) -> &FamilySpecs {
    family.get(|file| tables(file, false))
}

impl TableSpecs {
    /// Lists the tables of all family files. If `tried` is true, also parses the files and checks their
    /// formulas.
    ///
    /// # Errors
    ///
    /// At the first malformed file, if `tried` is true.
    pub(super) fn read<'a>(files: impl Iterator<Item = &'a SpecFile>, tried: bool) -> Result<Self> {
        let mut specs = Self::default();
        let families = LazyFile::wrap(files, tried, |file| tables(file, tried))?;
        for (number, family) in families.into_iter().enumerate() {
            let names: Vec<String> = match family.parsed.get() {
                Some(tables) => tables.keys().cloned().collect(),
                None => names(&family.file.text).map(str::to_owned).collect(),
            };
            specs.by_name.extend(names.into_iter().map(|name| (name, number)));
            specs.families.push(Arc::new(family));
        }
        Ok(specs)
    }

    /// Returns the spec of a table; `None` for an unknown table.
    pub fn get(&self, table: &str) -> Option<&Arc<TableSpec>> {
        let changed = self.changed.get(table);
        changed.or_else(|| specs_of(&self.families[*self.by_name.get(table)?]).get(table))
    }

    /// Returns the family of a table; `None` for an unknown table. The family's file is not parsed for this.
    pub(super) fn family(&self, table: &str) -> Option<&str> {
        if let Some(spec) = self.changed.get(table) {
            return Some(&spec.family);
        }
        let LazyFile { file, parsed } = &*self.families[*self.by_name.get(table)?];
        match parsed.get() {
            Some(tables) => tables.get(table).map(|spec| spec.family.as_str()),
            None => family(&file.text),
        }
    }

    /// Returns a table's spec for modification; `None` for an unknown table. The modified spec replaces the one from
    /// the file.
    pub(super) fn get_mut(&mut self, table: &str) -> Option<&mut TableSpec> {
        let spec = self.get(table)?.clone();
        Some(Arc::make_mut(self.changed.entry(table.to_owned()).insert_entry(spec).into_mut()))
    }

    /// Returns true if a table is known.
    pub fn contains_key(&self, table: &str) -> bool {
        self.by_name.contains_key(table)
    }

    /// Returns the names of the tables, sorted.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &String> {
        self.by_name.keys()
    }

    /// Returns the table specs with their names, sorted by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &Arc<TableSpec>)> {
        self.by_name.keys().filter_map(|name| Some((name, self.get(name)?)))
    }

    /// Returns the table specs, sorted by name.
    pub fn values(&self) -> impl Iterator<Item = &Arc<TableSpec>> {
        self.iter().map(|(_, spec)| spec)
    }

    /// Returns all embedded table specs, including specs that an overlay replaces.
    pub(super) fn shipped(&self) -> impl Iterator<Item = &Arc<TableSpec>> {
        self.families.iter().filter(|f| f.file.shipped).flat_map(|f| specs_of(f).values())
    }
}

/// Parses the table specs in a family's file. If `tried` is true, also checks the formulas of the specs.
pub(super) fn tables(file: &SpecFile, tried: bool) -> Result<FamilySpecs> {
    let family: table_file::Family = file.parse()?;
    let specs = family.into_specs(tried).map_err(|e| file.malformed(e))?;
    Ok(specs.into_iter().map(|spec| (spec.name.clone(), Arc::new(spec))).collect())
}

/// Returns the table names in an embedded family file without parsing the YAML. In such a file, the line of a table
/// consists of two spaces, the table's name and a colon.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().skip_while(|line| *line != "tables:");
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.strip_suffix(':'));
    names.filter(|name| !name.starts_with([' ', '#']))
}

/// Returns the family name in an embedded family file without parsing the YAML.
fn family(text: &str) -> Option<&str> {
    let name = text.lines().find_map(|line| line.strip_prefix("family: "))?;
    Some(name.trim_matches('"'))
}

/// Facts about known systems, by system name.
#[derive(Debug, Default, Clone)]
pub struct KnownSystems(BTreeMap<String, Arc<LazyFile<System>>>);

impl KnownSystems {
    /// Lists the systems of all given files. If `tried` is true, also parses the files.
    ///
    /// # Errors
    ///
    /// At the first malformed file, if `tried` is true.
    pub(super) fn read<'a>(files: impl Iterator<Item = &'a SpecFile>, tried: bool) -> Result<Self> {
        let systems = LazyFile::wrap(files, tried, system)?;
        let named = systems.into_iter().map(|s| (s.file.stem().to_owned(), Arc::new(s)));
        Ok(Self(named.collect()))
    }

    /// Returns the facts about a system; `None` for an unknown system.
    pub fn get(&self, name: &str) -> Option<&System> {
        Some(self.0.get(name)?.get(system))
    }

    /// Returns the systems with their names, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &System)> {
        self.0.iter().map(|(name, known)| (name, known.get(system)))
    }

    /// Returns the systems, sorted by name.
    pub(crate) fn values(&self) -> impl Iterator<Item = &System> {
        self.0.values().map(|known| known.get(system))
    }
}

/// Parses a system's file and refuses unknown fields.
fn system(file: &SpecFile) -> Result<System> {
    let system = System::parse(file.stem(), &file.text).map_err(|e| file.malformed(e))?;
    match system.unknown_field() {
        Some(unknown) => Err(file.malformed(format!("a system has no field {unknown}"))),
        None => Ok(system),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Library, Specs};
    use super::{KnownSystems, TableSpecs};

    #[test]
    fn all_embedded_specs_are_valid() {
        Specs::read_and_try(Library::embedded(), true).unwrap();
    }

    #[test]
    fn embedded_specs_that_are_read_lazily_are_the_same() {
        let library = Library::embedded();
        let read = |tried| TableSpecs::read(library.folder("rules/tables"), tried).unwrap();
        let (later, at_once) = (read(false), read(true));
        assert!(later.keys().count() > 40 && later.keys().eq(at_once.keys()));
        let families = |specs: &TableSpecs| -> Vec<Option<String>> {
            specs.keys().map(|table| specs.family(table).map(str::to_owned)).collect()
        };
        assert_eq!(families(&later), families(&at_once));
        let shown = |specs: &TableSpecs| format!("{:?}", specs.iter().collect::<Vec<_>>());
        assert_eq!(shown(&later), shown(&at_once));
        let read = |tried| KnownSystems::read(library.folder("systems"), tried).unwrap();
        let (later, at_once) = (read(false), read(true));
        assert!(later.iter().count() > 10 && later.iter().eq(at_once.iter()));
    }
}
