//! Commands that change tables on disk; without `--write`, they only print the plan.
//!
//! All new bytes are made in memory, read back and compared before a file changes. Then all files
//! are replaced together. Tables with doubtful content are left unchanged and reported.

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

/// The options of `dedupe` and `convert`.
#[derive(Debug, Default, Clone)]
pub struct RepairOptions {
    /// The repository or folder that contains the database; its files on disk are changed.
    pub root: PathBuf,
    /// The systems, backends, versions and tables to repair.
    pub selection: Selection,
    /// A folder whose files are added to the built-in rules or replace them.
    pub rules: Option<PathBuf>,
}

/// A table that is left unchanged, with the reason.
#[derive(Debug)]
pub struct Refused {
    /// The table's path.
    pub path: String,
    /// The reason.
    pub why: RepairError,
}

/// Files to write, and files to remove after all others are written.
#[derive(Debug, Default)]
struct DiskChange {
    files: Vec<(PathBuf, Vec<u8>)>,
    /// New texts of sidecars by path; several tables can share a sidecar.
    sidecars: BTreeMap<PathBuf, String>,
    gone: Vec<PathBuf>,
    /// Folders of the selected tables.
    folders: BTreeSet<PathBuf>,
}

impl DiskChange {
    /// Updates the sidecar of a table for its new file, if there is a sidecar.
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

    /// Removes temporary files that interrupted repairs left in the folders of the selected tables.
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

/// An opened database on disk whose tables are to be changed.
struct Site {
    source: WorkTree,
    settings: Settings,
    catalog: Catalog,
    /// Indices of the selected tables in the catalog.
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

    /// Returns a change without files.
    fn change(&self) -> DiskChange {
        let tables = self.tables.iter().map(|i| &self.catalog.tables[*i]);
        let folders = tables.filter_map(|file| Some(disk(file).ok()?.parent()?.to_owned()));
        DiskChange { folders: folders.collect(), ..DiskChange::default() }
    }

    /// Applies `work` to the selected tables for which `fit` is true, in parallel; results are in
    /// the catalog's order.
    fn map<R: Send>(
        &self,
        fit: impl Fn(&TableFile) -> bool,
        work: impl Fn(&TableFile) -> R + Sync,
    ) -> Vec<R> {
        let tables = self.tables.iter().map(|i| &self.catalog.tables[*i]);
        let files: Vec<&TableFile> = tables.filter(|file| fit(file)).collect();
        threads::map_largest_first(&files, |file| file.entry.size, |file| work(file))
    }

    /// Reads a table's bytes and rows; damaged rows are an error.
    fn read(&self, file: &TableFile) -> Result<(Vec<u8>, Table), RepairError> {
        let bytes = self.source.read(&file.entry)?;
        let table = file.decode(&self.settings.specs, &bytes)?;
        if table.torn.rows > 0 {
            return Err(RepairError::Torn(table.torn));
        }
        Ok((bytes, table))
    }
}

/// Returns the path of a table on disk.
fn disk(file: &TableFile) -> Result<&Path, RepairError> {
    match &file.entry.kind {
        EntryKind::Path(path) => Ok(path),
        _ => Err(RepairError::NotOnDisk),
    }
}
