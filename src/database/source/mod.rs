//! Sources of bytes: a work tree, or a commit that is read without a checkout.
//!
//! All code above a [`Source`] is independent of the kind of source.

mod assembly;
mod attributes;
mod commit;
mod entry;
mod file_rows;
mod history;
mod index;
mod lfs;
mod listing;
mod names;
mod read;
mod repository;
mod stamps;
mod tree;
mod worktree;

use std::path::Path;

pub use assembly::RowOrigin;
pub use commit::Commit;
pub use entry::{AgeBasis, AgedFile, Assembly, Entry, EntryKind, Part};
pub use file_rows::{FileRows, RowGroup, SelectedRows};
pub use lfs::NOT_FETCHED;
pub use lfs::{Pointer, pointer};
pub use names::SETTINGS;
pub use names::named_like_a_table;
pub use read::ReadError;
pub use tree::Source;
pub(crate) use worktree::WorkTree;

use crate::base::error::Result;

/// Opens the files below the folder `root`: the files on disk if `reference` is `None`, otherwise the files in the git
/// commit `reference`.
pub fn open(root: &Path, reference: Option<&str>) -> Result<Box<dyn Source>> {
    Ok(match reference {
        None => Box::new(WorkTree::open(root)?),
        Some(reference) => Box::new(Commit::open(root, reference)?),
    })
}
