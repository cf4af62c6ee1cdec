//! Jobs that change tables: each prints what it would do, and does it only with `--write`.
//!
//! A change is made whole before any of it is on the disk: new bytes are read back and compared,
//! then every file gets its name at once. What a job is not sure of it leaves as it is, and says so.

pub mod convert;
pub mod dedupe;
mod error;
mod measurements;
pub mod merge;
mod restate;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

pub use self::error::{RepairError, SidecarError};
use self::restate::{Now, restated};
use crate::base::error::Result;
use crate::base::files::{sweep, unwritten, write_all};
use crate::base::threads;
use crate::checks::settings::Settings;
use crate::database::catalog::{Catalog, TableFile};
use crate::database::selection::Selection;
use crate::database::source::{EntryKind, Source, WorkTree};
use crate::database::table::Table;

/// Which tables a repair is for.
#[derive(Debug, Default, Clone)]
pub struct RepairOptions {
    /// The folder or repository; its files on disk.
    pub root: PathBuf,
    /// Which part of the database.
    pub selection: Selection,
    /// A folder that overlays the embedded rules.
    pub rules: Option<PathBuf>,
}

/// A table that is left as it is, and why.
#[derive(Debug)]
pub struct Refused {
    /// Its path.
    pub path: String,
    /// Why.
    pub why: RepairError,
}

/// Files to write and files to remove, once all of the first are there.
#[derive(Debug, Default)]
struct DiskChange {
    files: Vec<(PathBuf, Vec<u8>)>,
    /// What sidecars say afterwards: several tables may share one.
    sidecars: BTreeMap<PathBuf, String>,
    gone: Vec<PathBuf>,
    /// Folders of the tables selected.
    folders: BTreeSet<PathBuf>,
}

impl DiskChange {
    /// Keeps the sidecar beside a table's new file true, where there is one.
    fn restate(&mut self, file: &Path, now: &Now<'_>) -> Result<(), SidecarError> {
        let path = file.with_file_name("collection_meta.yaml");
        let text = match self.sidecars.get(&path) {
            Some(text) => text.clone(),
            None if !path.exists() => return Ok(()),
            None => std::fs::read_to_string(&path)?,
        };
        if let Some(text) = restated(&text, now)? {
            self.sidecars.insert(path, text);
        }
        Ok(())
    }

    /// Removes what earlier repairs that were killed left beside the tables selected, also beside those
    /// that need no change any more.
    fn sweep(&self) {
        self.folders.iter().for_each(|folder| sweep(folder));
    }

    fn make(self) -> Result<()> {
        let sidecars = self.sidecars.into_iter().map(|(path, text)| (path, text.into_bytes()));
        let files: Vec<_> = self.files.into_iter().chain(sidecars).collect();
        write_all(&[], &files)?;
        for path in &self.gone {
            std::fs::remove_file(path).map_err(|e| unwritten(path, &e))?;
        }
        Ok(())
    }
}

/// A database on disk whose tables are to be changed.
struct Site {
    source: WorkTree,
    settings: Settings,
    catalog: Catalog,
    /// The tables selected, as indices into the catalog.
    tables: Vec<usize>,
}

impl Site {
    fn open(options: &RepairOptions) -> Result<Self> {
        let source = WorkTree::open(&options.root)?;
        let mut settings = Settings::read(&source, options.rules.as_deref(), None)?;
        let catalog = Catalog::read(&source, &settings.specs)?;
        settings.take_facts(&source, &catalog);
        let selected = options.selection.resolve(&catalog, None)?;
        let chosen = |t: &TableFile| selected.table(&t.place, &t.table);
        let tables = (0..catalog.tables.len()).filter(|i| chosen(&catalog.tables[*i])).collect();
        Ok(Self { source, settings, catalog, tables })
    }

    /// A change without files yet.
    fn change(&self) -> DiskChange {
        let tables = self.tables.iter().map(|i| &self.catalog.tables[*i]);
        let folders = tables.filter_map(|file| Some(disk(file).ok()?.parent()?.to_owned()));
        DiskChange { folders: folders.collect(), ..DiskChange::default() }
    }

    /// Works on the tables selected, or on those of them that `fit`; results in the catalog's order.
    fn map<R: Send>(
        &self,
        fit: impl Fn(&TableFile) -> bool,
        work: impl Fn(&TableFile) -> R + Sync,
    ) -> Vec<R> {
        let tables = self.tables.iter().map(|i| &self.catalog.tables[*i]);
        let files: Vec<&TableFile> = tables.filter(|file| fit(file)).collect();
        threads::map_largest_first(&files, |file| file.entry.size, |file| work(file))
    }

    /// A table's bytes and rows, where all of it can be read.
    fn read(&self, file: &TableFile) -> Result<(Vec<u8>, Table), RepairError> {
        let bytes = self.source.read(&file.entry)?;
        let table = file.decode(&self.settings.specs, &bytes)?;
        if table.torn.rows > 0 {
            return Err(RepairError::Torn(table.torn));
        }
        Ok((bytes, table))
    }
}

/// Where a table lies on the disk.
fn disk(file: &TableFile) -> Result<&Path, RepairError> {
    match &file.entry.kind {
        EntryKind::Path(path) => Ok(path),
        _ => Err(RepairError::NotOnDisk),
    }
}
