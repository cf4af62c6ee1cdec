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

/// Table specs by file stem.
#[derive(Debug, Default, Clone)]
pub struct TableSpecs {
    families: Vec<Arc<FamilyFile>>,
    /// The index in `families` of the file that describes a table. Later files replace tables of earlier
    /// ones.
    by_name: BTreeMap<String, usize>,
    /// Specs that the facts of a tree changed.
    changed: BTreeMap<String, Arc<TableSpec>>,
}

#[derive(Debug)]
struct FamilyFile {
    file: SpecFile,
    parsed: OnceLock<BTreeMap<String, Arc<TableSpec>>>,
}

impl FamilyFile {
    fn specs(&self) -> &BTreeMap<String, Arc<TableSpec>> {
        // A test ensures that no embedded file is malformed.
        self.parsed.get_or_init(|| tables(&self.file, false).unwrap_or_default())
    }
}

impl TableSpecs {
    /// Lists the tables of all family files. If `tried` is true, also parses the files and checks their
    /// formulas.
    ///
    /// # Errors
    ///
    /// At the first malformed file, if `tried` is true.
    pub(super) fn read<'a>(files: impl Iterator<Item = &'a SpecFile>, tried: bool) -> Result<Self> {
        let files: Vec<&SpecFile> = files.collect();
        let mut specs = Self::default();
        let parsed = if tried {
            read_all(files.iter().copied(), |file| tables(file, true).map(OnceLock::from))?
        } else {
            files.iter().map(|_| OnceLock::new()).collect()
        };
        for (file, parsed) in files.into_iter().zip(parsed) {
            let family = specs.families.len();
            match parsed.get() {
                Some(tables) => specs.by_name.extend(tables.keys().map(|t| (t.clone(), family))),
                None => specs.by_name.extend(names(&file.text).map(|t| (t.to_owned(), family))),
            }
            specs.families.push(Arc::new(FamilyFile { file: file.clone(), parsed }));
        }
        Ok(specs)
    }

    /// Returns the spec of a table; `None` for an unknown table.
    pub fn get(&self, table: &str) -> Option<&Arc<TableSpec>> {
        let changed = self.changed.get(table);
        changed.or_else(|| self.families[*self.by_name.get(table)?].specs().get(table))
    }

    /// Returns the family of a known table. An unparsed file is only searched for its `family:` line.
    pub(super) fn family(&self, table: &str) -> Option<&str> {
        if let Some(spec) = self.changed.get(table) {
            return Some(&spec.family);
        }
        let FamilyFile { file, parsed } = &*self.families[*self.by_name.get(table)?];
        match parsed.get() {
            Some(tables) => tables.get(table).map(|spec| spec.family.as_str()),
            None => family(&file.text),
        }
    }

    /// Returns the spec of a known table for modification.
    pub(super) fn get_mut(&mut self, table: &str) -> Option<&mut TableSpec> {
        let spec = self.get(table)?.clone();
        Some(Arc::make_mut(self.changed.entry(table.to_owned()).insert_entry(spec).into_mut()))
    }

    /// Returns true if a table is known.
    pub fn contains_key(&self, table: &str) -> bool {
        self.by_name.contains_key(table)
    }

    /// Returns the names of the tables, sorted.
    pub fn keys(&self) -> impl Iterator<Item = &String> {
        self.by_name.keys()
    }

    /// Returns the table specs with their names, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &Arc<TableSpec>)> {
        self.by_name.keys().filter_map(|name| Some((name, self.get(name)?)))
    }

    /// Returns the table specs, sorted by name.
    pub fn values(&self) -> impl Iterator<Item = &Arc<TableSpec>> {
        self.iter().map(|(_, spec)| spec)
    }

    /// Returns the number of tables.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Returns true if there are no tables.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Returns the table specs of all embedded files, including those that an overlay replaces.
    pub(super) fn shipped(&self) -> impl Iterator<Item = &Arc<TableSpec>> {
        self.families.iter().filter(|f| f.file.shipped).flat_map(|f| f.specs().values())
    }
}

/// Parses the table specs of a family's file. If `tried` is true, also checks their formulas.
pub(super) fn tables(file: &SpecFile, tried: bool) -> Result<BTreeMap<String, Arc<TableSpec>>> {
    let family: table_file::Family = file.parse()?;
    let specs = family.into_specs(tried).map_err(|e| file.malformed(e))?;
    Ok(specs.into_iter().map(|spec| (spec.name.clone(), Arc::new(spec))).collect())
}

/// Returns the table names of an embedded family file without parsing it. In these files a table's line is
/// two spaces, the name and a colon.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().skip_while(|line| *line != "tables:");
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.strip_suffix(':'));
    names.filter(|name| !name.starts_with([' ', '#']))
}

/// Returns the family name of an embedded family file without parsing it.
fn family(text: &str) -> Option<&str> {
    let name = text.lines().find_map(|line| line.strip_prefix("family: "))?;
    Some(name.trim_matches('"'))
}

/// Facts about known systems, by system name.
#[derive(Debug, Default, Clone)]
pub struct KnownSystems(BTreeMap<String, Arc<KnownSystem>>);

#[derive(Debug)]
struct KnownSystem {
    file: SpecFile,
    parsed: OnceLock<System>,
}

impl KnownSystem {
    fn system(&self) -> &System {
        // A test ensures that no embedded file is malformed.
        self.parsed.get_or_init(|| system(&self.file).unwrap_or_default())
    }
}

impl KnownSystems {
    /// Lists the systems of all given files. If `tried` is true, also parses the files.
    ///
    /// # Errors
    ///
    /// At the first malformed file, if `tried` is true.
    pub(super) fn read<'a>(files: impl Iterator<Item = &'a SpecFile>, tried: bool) -> Result<Self> {
        let files: Vec<&SpecFile> = files.collect();
        let parsed = if tried {
            read_all(files.iter().copied(), |file| system(file).map(OnceLock::from))?
        } else {
            files.iter().map(|_| OnceLock::new()).collect()
        };
        let mut systems = Self::default();
        for (file, parsed) in files.into_iter().zip(parsed) {
            let known = KnownSystem { file: file.clone(), parsed };
            systems.0.insert(file.stem().to_owned(), Arc::new(known));
        }
        Ok(systems)
    }

    /// Returns the facts about a system; `None` for an unknown system.
    pub fn get(&self, name: &str) -> Option<&System> {
        Some(self.0.get(name)?.system())
    }

    /// Returns the names of the systems, sorted.
    pub fn keys(&self) -> impl Iterator<Item = &String> {
        self.0.keys()
    }

    /// Returns the systems with their names, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &System)> {
        self.0.iter().map(|(name, known)| (name, known.system()))
    }

    /// Returns the systems, sorted by name.
    pub fn values(&self) -> impl Iterator<Item = &System> {
        self.0.values().map(|known| known.system())
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
    fn what_a_run_does_not_try_of_the_embedded_files_is_right() {
        Specs::read_and_try(Library::embedded(), true).unwrap();
    }

    #[test]
    fn embedded_files_are_read_later_as_they_are_at_once() {
        let library = Library::embedded();
        let read = |tried| TableSpecs::read(library.folder("rules/tables"), tried).unwrap();
        let (later, at_once) = (read(false), read(true));
        assert!(later.len() > 40 && later.keys().eq(at_once.keys()));
        let families = |specs: &TableSpecs| -> Vec<Option<String>> {
            specs.keys().map(|table| specs.family(table).map(str::to_owned)).collect()
        };
        assert_eq!(families(&later), families(&at_once));
        let shown = |specs: &TableSpecs| format!("{:?}", specs.iter().collect::<Vec<_>>());
        assert_eq!(shown(&later), shown(&at_once));
        let read = |tried| KnownSystems::read(library.folder("systems"), tried).unwrap();
        let (later, at_once) = (read(false), read(true));
        assert!(later.keys().count() > 10 && later.iter().eq(at_once.iter()));
    }
}
