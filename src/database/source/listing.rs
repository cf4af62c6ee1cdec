//! The files of a tree in the object database, counted while they are listed.
//!
//! A few tree objects that name each other several times make millions of paths, and a chain of them
//! makes one path of any length. So nothing here recurses, and the listing ends at a limit.

use std::collections::HashMap;

use git2::{Odb, Oid, Repository};

use super::{
    A_FOLDER, Entry, EntryKind, MOST_FILES, git_error, may_hide_tables, named_like_a_table,
    stands_for_a_file, too_many_files,
};
use crate::base::error::{Error, Result};

/// Longer than any path that a file system takes, in bytes.
const LONGEST_PATH: usize = 4096;

/// Bytes of all paths and link targets together, at most: about 250 for each of the most files.
const MOST_BYTES: usize = 256 << 20;

/// A tree that is listed.
pub(super) struct Listing<'r> {
    repo: &'r Repository,
    objects: Odb<'r>,
    /// Sizes of blobs in bytes: one blob may be at many paths.
    sizes: HashMap<Oid, u64>,
    /// Folders that are not listed yet: a tree, and its path, empty or ending in `/`.
    folders: Vec<(Oid, String)>,
    /// Files and folders met so far.
    met: usize,
    /// Bytes of their paths, and of links' targets.
    bytes: usize,
    entries: Vec<Entry>,
}

/// Lists the files below `tree`, by path. Their paths begin with `prefix`, which is empty or ends in
/// `/`. Hidden folders are left out unless they are asked for or may hide tables.
///
/// # Errors
///
/// When a tree cannot be read, or there is more of it than any perf database has.
pub(super) fn list(repo: &Repository, tree: Oid, prefix: &str, hidden: bool) -> Result<Vec<Entry>> {
    let failed = git_error("cannot read the tree");
    let mut listing = Listing {
        repo,
        objects: repo.odb().map_err(&failed)?,
        sizes: HashMap::new(),
        folders: vec![(tree, prefix.to_owned())],
        met: 0,
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
        self.met += 1;
        if self.met > MOST_FILES {
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
        // Modes as git writes them: a folder, a submodule, a link, else a file.
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

    /// Size of a blob in bytes, which orders the work and guards it; 0 where it is not there.
    fn size(&mut self, blob: Oid) -> u64 {
        let objects = &self.objects;
        *self
            .sizes
            .entry(blob)
            .or_insert_with(|| objects.read_header(blob).map_or(0, |(size, _)| size as u64))
    }

    /// What a committed link says; nothing where that is not a path.
    fn target(&mut self, blob: Oid) -> String {
        if self.size(blob) > LONGEST_PATH as u64 {
            return String::new();
        }
        let says = self.repo.find_blob(blob);
        says.map(|b| String::from_utf8_lossy(b.content()).into_owned()).unwrap_or_default()
    }
}

/// The beginning of a long path.
fn head_of(path: &str) -> String {
    path.chars().take(60).collect()
}
