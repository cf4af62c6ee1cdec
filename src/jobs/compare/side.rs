//! Opens the two sides of a comparison and pairs their tables.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::report::CompareOptions;
use crate::base::error::{Error, Result};
use crate::database::catalog::{Catalog, Place, TableFile};
use crate::database::source::{self, LooseFiles, Source, WorkTree};
use crate::jobs::rows::loose_table;
use crate::specs::Specs;

/// One side of a comparison: a table, a folder or a commit.
pub struct ComparedSide {
    /// The source of the tables' bytes.
    pub source: Box<dyn Source>,
    /// The tables to compare.
    pub tables: Vec<TableFile>,
}

impl ComparedSide {
    /// Opens a table, a folder (a database or the output of a run), or a commit of the repository
    /// at `options.root`.
    ///
    /// # Errors
    ///
    /// Returns an error if `name` is neither a file nor a folder nor a commit, or has no table.
    pub fn open(name: &str, options: &CompareOptions, specs: &Specs) -> Result<Self> {
        let mut specs = Cow::Borrowed(specs);
        if let Some(layout) = &options.selection.layout {
            specs.to_mut().choose_layout(Some(layout), std::iter::empty())?;
        }
        let specs = &*specs;
        let path = PathBuf::from(name);
        let side = if path.is_dir() {
            match database(&path, specs) {
                Some((source, catalog)) => Self::selected(source, catalog, options)?,
                None => Self::loose(&path, options, specs)?,
            }
        } else if path.exists() {
            Self::loose(&path, options, specs)?
        } else {
            let opened = source::open(&options.root, Some(name)).map_err(|e| {
                let hint = "compare takes tables, folders, and commits of the repository at --root";
                Error::new(format!("{name} is neither a file nor a commit: {e}"), hint)
            })?;
            let catalog = Catalog::read(opened.as_ref(), specs)?;
            Self::selected(opened, catalog, options)?
        };
        if side.tables.is_empty() {
            return Err(Error::new(
                format!("{name} does not contain a table"),
                "compare takes Parquet tables and text tables of collectors, as files or in folders",
            ));
        }
        Ok(side)
    }

    fn selected(
        source: Box<dyn Source>,
        catalog: Catalog,
        options: &CompareOptions,
    ) -> Result<Self> {
        let selected = options.selection.resolve(&catalog, None)?;
        let mut tables = catalog.tables;
        tables.retain(|t| selected.table(&t.place, &t.table));
        Ok(Self { source, tables })
    }

    fn loose(path: &Path, options: &CompareOptions, specs: &Specs) -> Result<Self> {
        let source = LooseFiles::at(path)?;
        let mut tables = Vec::new();
        for entry in source.files()? {
            let table = loose_table(Path::new(&entry.path), specs);
            tables.extend(table.map(|table| TableFile { entry, ..table }));
        }
        tables.retain(|table| options.selection.names(&table.table));
        Ok(Self { source: Box::new(source), tables })
    }
}

/// Opens a folder as a database; `None` if it has no systems or no tables.
fn database(folder: &Path, specs: &Specs) -> Option<(Box<dyn Source>, Catalog)> {
    let source = WorkTree::open(folder).ok()?;
    let catalog = Catalog::walk(&source, specs).ok()?;
    let is_one = !catalog.systems.is_empty() && !catalog.tables.is_empty();
    is_one.then(|| (Box::new(source) as Box<dyn Source>, catalog))
}

/// The tables of two sides: pairs, and tables without a partner.
#[derive(Default)]
pub struct TablePairing {
    /// Pairs of tables, sorted by the path on the first side.
    pub both: Vec<(TableFile, TableFile)>,
    /// Paths of tables that only the first side has.
    pub only_a: Vec<String>,
    /// Paths of tables that only the second side has.
    pub only_b: Vec<String>,
}

/// Pairs tables by name, backend, system and version. Remaining tables are paired by name and
/// backend, then by name alone, if the match is unique on both sides.
pub fn pair(a: &[TableFile], b: &[TableFile], specs: &Specs) -> TablePairing {
    let mut left: Vec<&TableFile> = a.iter().collect();
    let mut right: Vec<&TableFile> = b.iter().collect();
    let mut pairing = TablePairing::default();
    let exact = |t: &TableFile| {
        let p = &t.place;
        [t.table.clone(), p.backend.clone(), p.system.clone(), p.version.clone()]
    };
    for parts in [4, 2, 1] {
        let key = |t: &TableFile| exact(t)[..parts].to_vec();
        let mut known: BTreeMap<Vec<String>, Vec<&TableFile>> = BTreeMap::new();
        right.iter().for_each(|t| known.entry(key(t)).or_default().push(t));
        let mut counts: BTreeMap<Vec<String>, usize> = BTreeMap::new();
        left.iter().for_each(|t| *counts.entry(key(t)).or_default() += 1);
        let partner = |t: &TableFile| match known.get(&key(t)).map(Vec::as_slice) {
            Some([one]) if counts.get(&key(t)) == Some(&1) => Some(*one),
            _ => None,
        };
        let pairs: Vec<(&TableFile, &TableFile)> =
            left.iter().filter_map(|t| Some((*t, partner(t)?))).collect();
        left.retain(|t| partner(t).is_none());
        right.retain(|t| !pairs.iter().any(|(_, b)| std::ptr::eq(*b, *t)));
        pairing.both.extend(pairs.into_iter().map(|(a, b)| placed(a, b, specs)));
    }
    pairing.only_a = left.iter().map(|t| t.entry.path.clone()).collect();
    pairing.only_b = right.iter().map(|t| t.entry.path.clone()).collect();
    pairing.both.sort_by(|x, y| x.0.entry.path.cmp(&y.0.entry.path));
    pairing
}

/// Gives both tables of a pair the same place if only one of them is in a known system.
fn placed(a: &TableFile, b: &TableFile, specs: &Specs) -> (TableFile, TableFile) {
    let (mut a, mut b) = (a.clone(), b.clone());
    let known = |t: &TableFile| specs.systems.get(&t.place.system).is_some();
    match (known(&a), known(&b)) {
        (true, false) => b.place = a.place.clone(),
        (false, true) => a.place = b.place.clone(),
        (true, true) => {}
        (false, false) => {
            let name = String::new;
            a.place = Place { system: name(), family: None, backend: name(), version: name() };
            b.place = a.place.clone();
        }
    }
    (a, b)
}
