//! Lists the files of a tree in the object database, with limits.
//!
//! A few tree objects that contain each other several times describe millions of paths, and a chain of trees
//! describes one path of any length. Therefore, the listing is not recursive and ends at a limit.

use std::collections::HashMap;

use git2::{Odb, Oid, Repository};

use super::names::{
    A_FOLDER, MOST_FILES, may_hide_tables, named_like_a_table, stands_for_a_file, too_many_files,
};
use super::repository::git_error;
use super::{Entry, EntryKind};
use crate::base::error::{Error, Result};

/// The maximum length of a path in bytes. Paths on disk are shorter.
const LONGEST_PATH: usize = 4096;

/// The maximum total size of all paths and link targets in bytes. It allows about 250 bytes for each of [`MOST_FILES`]
/// files.
const MOST_BYTES: usize = 256 << 20;

/// The progress of listing all files of a git tree.
pub(super) struct Listing<'r> {
    repo: &'r Repository,
    objects: Odb<'r>,
    /// The sizes of blobs in bytes, cached because one blob may have many paths.
    sizes: HashMap<Oid, u64>,
    /// The folders still to be listed: a tree with its path, which is empty or ends in `/`.
    folders: Vec<(Oid, String)>,
    /// The number of files and folders that were visited so far.
    visited: usize,
    /// The total size of the paths and link targets that were visited so far, in bytes.
    bytes: usize,
    entries: Vec<Entry>,
}

/// Lists the files below `tree`, sorted by path. Paths start with `prefix`, which is empty or ends in `/`.
/// Hidden folders are left out unless `hidden` is true or they may contain tables.
///
/// # Errors
///
/// If a tree cannot be read, or is larger than any perf database.
pub(super) fn list(repo: &Repository, tree: Oid, prefix: &str, hidden: bool) -> Result<Vec<Entry>> {
    let failed = git_error("cannot read the tree");
    let mut listing = Listing {
        repo,
        objects: repo.odb().map_err(&failed)?,
        sizes: HashMap::new(),
        folders: vec![(tree, prefix.to_owned())],
        visited: 0,
        bytes: 0,
        entries: Vec::new(),
    };
    while let Some((tree, folder)) = listing.folders.pop() {
        let tree = repo.find_tree(tree).map_err(&failed)?;
        for item in &tree {
            listing.add(&folder, &item, hidden)?;
        }
    }
    listing.entries.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(listing.entries)
}

impl Listing<'_> {
    fn add(&mut self, folder: &str, item: &git2::TreeEntry<'_>, hidden: bool) -> Result<()> {
        let name = String::from_utf8_lossy(item.name_bytes());
        self.visited += 1;
        if self.visited > MOST_FILES {
            return Err(too_many_files("the top of the commit"));
        }
        let path = format!("{folder}{name}");
        if path.len() > LONGEST_PATH {
            let why = format!(
                "a path of the commit is longer than {LONGEST_PATH} bytes: {}…",
                head_of(&path)
            );
            return Err(Error::new(
                why,
                "no file system can store such a path; point --root at the perf database",
            ));
        }
        self.count_bytes(path.len())?;
        // File modes of git: a folder, a submodule, a link; anything else is a file.
        match item.filemode() {
            0o040_000 if name.starts_with('.') && !hidden && !may_hide_tables(folder, &name) => {}
            0o040_000 if named_like_a_table(&name) => {
                let kind = EntryKind::Broken(A_FOLDER.into());
                self.entries.push(Entry { path, kind, size: 0 });
            }
            0o040_000 => {
                if stands_for_a_file(&name) {
                    let kind = EntryKind::Broken(A_FOLDER.into());
                    self.entries.push(Entry { path: path.clone(), kind, size: 0 });
                }
                self.folders.push((item.id(), path + "/"));
            }
            0o160_000 => {
                self.entries.push(Entry { path, kind: EntryKind::Submodule(item.id()), size: 0 });
            }
            0o120_000 => {
                let to = self.target(item.id());
                self.count_bytes(to.len())?;
                self.entries.push(Entry { path, kind: EntryKind::Link(to), size: 0 });
            }
            _ => {
                let size = self.size(item.id());
                self.entries.push(Entry { path, kind: EntryKind::Blob(item.id()), size });
            }
        }
        Ok(())
    }

    fn count_bytes(&mut self, more: usize) -> Result<()> {
        self.bytes += more;
        if self.bytes > MOST_BYTES {
            return Err(Error::new(
                format!("the paths of the commit have more than {MOST_BYTES} bytes in total"),
                "point --root at the perf database",
            ));
        }
        Ok(())
    }

    /// Returns the size of a blob in bytes, or 0 if the blob is missing. The size decides when a file is read and
    /// whether it is too large to be read.
    fn size(&mut self, blob: Oid) -> u64 {
        let objects = &self.objects;
        *self
            .sizes
            .entry(blob)
            .or_insert_with(|| objects.read_header(blob).map_or(0, |(size, _)| size as u64))
    }

    /// Returns the target of a symbolic link, which `blob` contains; empty if the blob does not contain a path.
    fn target(&mut self, blob: Oid) -> String {
        if self.size(blob) > LONGEST_PATH as u64 {
            return String::new();
        }
        let says = self.repo.find_blob(blob);
        says.map(|b| String::from_utf8_lossy(b.content()).into_owned()).unwrap_or_default()
    }
}

/// Returns the start of a long path, for messages.
fn head_of(path: &str) -> String {
    path.chars().take(60).collect()
}
