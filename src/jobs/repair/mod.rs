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

pub(crate) use self::error::{RepairError, SidecarError};
use self::restate::{TableContent, with_row_count_and_digest};
use crate::base::error::Result;
use crate::base::files::remove_leftovers;
use crate::base::threads;
use crate::base::tree_files::TreeFiles;
use crate::database::catalog::TableFile;
use crate::database::selection::Selection;
use crate::database::source::EntryKind;
use crate::database::table::Table;
use crate::jobs::site::Site;

/// The options of `dedupe` and `convert`.
#[derive(Debug, Default, Clone, clap::Args)]
pub struct RepairOptions {
    /// Repository or folder that contains the database; its files on disk are changed.
    #[arg(long, value_name = "DIR", default_value = ".", help_heading = "What to change")]
    pub root: PathBuf,
    #[command(flatten)]
    pub selection: Selection,
    /// A folder laid out like perfdb-gate's rules/; its files are added, or replace the ones with
    /// the same id.
    #[arg(long, value_name = "DIR", help_heading = "What to change")]
    pub rules: Option<PathBuf>,
}

/// Parses the name of a file on the command line.
///
/// # Errors
///
/// If there is no name, or if it is `-` for standard output.
pub fn file_name(text: &str) -> Result<PathBuf, String> {
    match text {
        "" | "-" => Err("name a file in which the removed rows are kept".to_owned()),
        name => Ok(PathBuf::from(name)),
    }
}

/// A table that is left unchanged, with the reason.
#[derive(Debug)]
pub struct Refused {
    /// The table's path.
    pub path: String,
    /// The reason.
    pub why: RepairError,
}

/// Renders one line per refused table.
fn refusals(refused: &[Refused]) -> String {
    refused.iter().map(|Refused { path, why }| format!("{path}: not changed: {why}\n")).collect()
}

/// Changes to make on disk: files to write, and files to remove afterwards.
#[derive(Debug)]
struct DiskChange {
    tree: TreeFiles,
    files: Vec<(PathBuf, Vec<u8>)>,
    /// New texts of sidecars by path; several tables can share a sidecar.
    sidecars: BTreeMap<PathBuf, String>,
    gone: Vec<PathBuf>,
    /// Folders of the selected tables.
    folders: BTreeSet<PathBuf>,
}

impl DiskChange {
    /// Creates a change that does not write or remove any file yet. The field `folders` contains the folders of the
    /// selected tables.
    fn of(site: &Site, tree: TreeFiles) -> Self {
        let folder = |file: &TableFile| Some(disk(file).ok()?.parent()?.to_owned());
        let folders = site.tables().filter_map(folder).collect();
        Self { tree, files: Vec::new(), sidecars: BTreeMap::new(), gone: Vec::new(), folders }
    }

    /// Updates the row count and digest of a table in its sidecar. `now` is the new content of the table's file. Does
    /// nothing if there is no sidecar.
    fn restate(&mut self, file: &Path, now: &TableContent<'_>) -> Result<(), SidecarError> {
        let path = file.with_file_name("collection_meta.yaml");
        let text = match self.sidecars.get(&path) {
            Some(text) => text.clone(),
            None => match self.tree.text(&path)? {
                Some(text) => text,
                None => return Ok(()),
            },
        };
        if let Some(text) = with_row_count_and_digest(&text, now)? {
            self.sidecars.insert(path, text);
        }
        Ok(())
    }

    /// Removes temporary files that interrupted repairs left in the folders of the selected tables.
    fn sweep(&self) {
        self.folders.iter().for_each(|folder| remove_leftovers(folder));
    }

    /// Writes a record, if there is one, and all files and sidecars. Then removes the files that the change deletes.
    fn make(self, record: Option<(&Path, &[u8])>) -> Result<()> {
        let sidecars = self.sidecars.into_iter().map(|(path, text)| (path, text.into_bytes()));
        let files: Vec<_> = self.files.into_iter().chain(sidecars).collect();
        self.tree.write(record, &files)?;
        self.gone.iter().try_for_each(|path| self.tree.remove(path))
    }
}

/// Opens the database on disk whose tables are to be changed, and locks its files.
fn open(options: &RepairOptions) -> Result<(Site, TreeFiles)> {
    let tree = TreeFiles::at_root(&options.root)?;
    tree.lock()?;
    let site = Site::open(&options.root, None, options.rules.as_deref(), &options.selection)?;
    Ok((site, tree))
}

/// Applies `work` in parallel to the selected tables for which `fit` returns true. The results are in the order of the
/// catalog.
fn map<R: Send>(
    site: &Site,
    fit: impl Fn(&TableFile) -> bool,
    work: impl Fn(&TableFile) -> Result<R, RepairError> + Sync,
) -> Vec<Result<R, Refused>> {
    let files: Vec<&TableFile> = site.tables().filter(|file| fit(file)).collect();
    threads::map_largest_first(
        &files,
        |file| file.entry.size,
        |file| work(file).map_err(|why| Refused { path: file.entry.path.clone(), why }),
    )
}

/// Reads a table's bytes and rows; damaged rows are an error.
fn read(site: &Site, file: &TableFile) -> Result<(Vec<u8>, Table), RepairError> {
    let bytes = site.source.read(&file.entry)?;
    let table = file.decode(site.specs(), &bytes)?;
    if table.torn.rows > 0 {
        return Err(RepairError::Torn(table.torn));
    }
    Ok((bytes, table))
}

/// Returns the path of a table on disk; [`RepairError::NotOnDisk`] if the table is not a regular file.
fn disk(file: &TableFile) -> Result<&Path, RepairError> {
    match &file.entry.kind {
        EntryKind::Path(path) => Ok(path),
        _ => Err(RepairError::NotOnDisk),
    }
}
