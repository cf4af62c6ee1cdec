//! Sources of bytes: a work tree, or a commit that is read without a checkout.
//!
//! All code above a [`Source`] is independent of the kind of source.

mod attributes;
mod commit;
mod history;
mod index;
mod lfs;
mod listing;
mod loose;
mod read;
mod stamps;
mod worktree;

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::path::Path;

pub use commit::Commit;
pub(crate) use lfs::NOT_FETCHED;
pub use lfs::{Pointer, pointer};
pub use loose::LooseFiles;
pub use read::ReadError;
use read::guard_size;
pub use worktree::WorkTree;

use crate::base::error::{Error, Result};

/// A file of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The path relative to the repository's top, or to the root outside of a repository; with forward
    /// slashes.
    pub path: String,
    /// The kind of file.
    pub kind: EntryKind,
    /// The size in bytes; 0 if listing does not determine it.
    pub size: u64,
}

/// A file whose age is requested.
#[derive(Debug, Clone, Copy)]
pub struct Dated<'a> {
    /// The file.
    pub entry: &'a Entry,
    /// The bytes that determine the age.
    pub by: DatedBy,
}

/// The bytes that determine the age of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatedBy {
    /// The file's present bytes.
    Bytes,
    /// The bytes at the file's path before its present bytes.
    BytesBefore,
}

/// The kind of an entry, with the location of its contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryKind {
    /// A file in the work tree, by its real path (which may not be UTF-8).
    Path(std::path::PathBuf),
    /// A blob of the repository.
    Blob(git2::Oid),
    /// A symbolic link, by its target. Links are never followed, since a commit contains only the target's
    /// name.
    Link(String),
    /// A git submodule, by the commit that it names. Its files belong to another repository.
    Submodule(git2::Oid),
    /// An entry that cannot be read as a file, with the reason.
    Broken(String),
}

impl EntryKind {
    /// Describes an entry that leads to files outside of the source (a link or a submodule); `None` for any
    /// other entry.
    pub fn leads_away(&self) -> Option<String> {
        match self {
            Self::Link(to) => Some(format!("a symbolic link to {to}")),
            Self::Submodule(_) => Some("a git submodule".to_owned()),
            Self::Path(_) | Self::Blob(_) | Self::Broken(_) => None,
        }
    }
}

/// A tree of files whose bytes can be read.
pub trait Source: Sync {
    /// Returns every file below the root, sorted by path.
    fn files(&self) -> Result<Vec<Entry>>;

    /// Returns the judged repository's own rules, waivers and baseline: the files below `.perfdb-gate/` at
    /// the repository's top (or at the root outside of a repository), by their path inside that folder.
    fn settings(&self) -> Result<Vec<Entry>>;

    /// Reads the bytes of a file. An error becomes a finding; it does not end the run.
    fn read(&self, entry: &Entry) -> Result<Vec<u8>, ReadError>;

    /// Reads a file as text.
    fn text(&self, entry: &Entry) -> Result<String, ReadError> {
        Ok(String::from_utf8(self.read(entry)?)?)
    }

    /// Returns the git id of a file's bytes; `None` if the bytes are unavailable. Files with equal ids are
    /// equal and need not be read.
    fn id(&self, entry: &Entry) -> Option<git2::Oid>;

    /// Returns the paths that differ from the merge base with `reference`.
    fn changed_since(&self, reference: &str) -> Result<Vec<String>>;

    /// Returns the merge base with `reference`, at the same root.
    fn base(&self, reference: &str) -> Result<Commit>;

    /// Returns true if `.gitattributes` puts the file at a path into git-LFS, so that the repository should
    /// contain a pointer.
    fn is_in_lfs(&self, _path: &str) -> bool {
        false
    }

    /// Returns the paths of the files that were requested and whose objects are not in this clone.
    fn missing(&self) -> BTreeSet<String> {
        BTreeSet::new()
    }

    /// Compares when two files were added: `Greater` if `a` was added later; `None` if they were added
    /// together or the history does not show it.
    fn age(&self, a: Dated<'_>, b: Dated<'_>) -> Option<Ordering>;

    /// Returns the id of the source's commit in hex; `None` for files on disk.
    fn commit(&self) -> Option<String> {
        None
    }

    /// Checks at the end of a run that the files that were read have not changed since.
    ///
    /// # Errors
    ///
    /// At the first changed file, since the judged files are then not one state of the source.
    fn steady(&self) -> Result<()> {
        Ok(())
    }
}

/// Opens the work tree at `root`, or the commit that `reference` names in its repository.
pub fn open(root: &Path, reference: Option<&str>) -> Result<Box<dyn Source>> {
    Ok(match reference {
        None => Box::new(WorkTree::open(root)?),
        Some(reference) => Box::new(Commit::open(root, reference)?),
    })
}

/// The folder of a repository's own rules, waivers and baseline.
const SETTINGS: &str = ".perfdb-gate";

/// Returns the git id of a link (the hash of its target) or a submodule (its commit); `None` for any other
/// entry.
fn id_of_link(kind: &EntryKind) -> Option<git2::Oid> {
    match kind {
        EntryKind::Link(to) => git2::Oid::hash_object(git2::ObjectType::Blob, to.as_bytes()).ok(),
        EntryKind::Submodule(commit) => Some(*commit),
        EntryKind::Path(_) | EntryKind::Blob(_) | EntryKind::Broken(_) => None,
    }
}

/// The maximal number of files of a source, above that of any perf database. A run that reaches it was given
/// a wrong folder.
const MOST_FILES: usize = 1_000_000;

/// Creates the error of a listing with more than [`MOST_FILES`] files.
fn too_many_files(place: &str) -> Error {
    Error::new(
        format!("more than {MOST_FILES} files below {place}"),
        "point --root at the perf database",
    )
}

/// Returns true if a file has the name of a table. A directory with such a name is reported.
pub fn named_like_a_table(name: &str) -> bool {
    name.ends_with(".parquet") || name.ends_with("_perf.txt") || name.ends_with("_perf.csv")
}

/// The message for a directory in the place of a file.
const A_FOLDER: &str = "this is a directory, but a file of this name is expected";

/// Returns true if a file has the name of a file read in addition to tables: systems, facts, support matrices.
fn stands_for_a_file(name: &str) -> bool {
    name.ends_with(".yaml") || name.ends_with(".csv")
}

/// Returns true if tables in a hidden folder would look like part of a database: the folder is below a
/// `systems` or `data` folder.
fn may_hide_tables(above: &str, name: &str) -> bool {
    name != ".git" && above.split('/').any(|part| part == "systems" || part == "data")
}

/// Opens the repository that contains `root` and returns it with the path of `root` below its top (empty, or
/// ending in `/`). `None` outside of a repository.
fn repository(root: &Path) -> Result<Option<(git2::Repository, String)>> {
    let root = root.canonicalize().map_err(|e| {
        Error::new(
            format!("cannot open {}: {e}", root.display()),
            "--root takes a repository or a folder that holds a perf database",
        )
    })?;
    // Like git, this trusts object hashes: fetching has verified them, and objects damaged later fail to
    // inflate.
    git2::opts::strict_hash_verification(false);
    let repo = match git2::Repository::discover(&root) {
        Ok(repo) => repo,
        Err(e) if e.code() == git2::ErrorCode::NotFound => return Ok(None),
        Err(e) => {
            let message =
                format!("cannot open the repository at {}: {}", root.display(), e.message());
            return Err(Error::new(message, why_unopened(e.message())));
        }
    };
    let git_dir = repo.commondir();
    if !git_dir.join("config").exists() && !git_dir.ends_with(".git") {
        return Err(Error::new(
            format!(
                "the repository at {} has no config file, so whether it is bare is not known",
                git_dir.display()
            ),
            "`git init --bare DIR` writes one and does not change anything else",
        ));
    }
    let top = repo.workdir().and_then(|w| w.canonicalize().ok());
    let prefix = top
        .and_then(|top| root.strip_prefix(top).ok().map(slashes))
        .map(|p| if p.is_empty() { p } else { p + "/" })
        .unwrap_or_default();
    if let Some(at) = prefix.find("systems/data/") {
        let above = if at == 0 { "the top of the repository" } else { &prefix[..at] };
        return Err(Error::new(
            format!(
                "{} is inside a perf database; its systems are in a folder above",
                root.display()
            ),
            format!("point --root at {above} and select systems with --system"),
        ));
    }
    Ok(Some((repo, prefix)))
}

/// Returns a hint for a repository that cannot be opened, by libgit2's message.
fn why_unopened(message: &str) -> &'static str {
    if message.contains("object format") {
        "repositories with SHA-256 objects are not supported: copy the files to a folder outside of git \
         and check that, or convert the repository to SHA-1"
    } else if message.contains("refstorage") {
        "the reftable format is not supported: `git refs migrate --ref-format=files` converts the refs"
    } else if message.contains("extension") {
        "the config of the repository enables a git extension that is not supported"
    } else {
        "if it belongs to another user, `git config --global --add safe.directory DIR` allows it"
    }
}

/// Converts a path to forward slashes; lossy if it is not UTF-8.
fn slashes(path: &Path) -> String {
    let parts: Vec<_> = path.components().map(|c| c.as_os_str().to_string_lossy()).collect();
    parts.join("/")
}

/// Returns the merge base of `reference` and `head`.
fn merge_base(repo: &git2::Repository, reference: &str, head: git2::Oid) -> Result<git2::Oid> {
    let base = commit::resolve(repo, reference)?
        .peel_to_commit()
        .map_err(|e| Error::new(format!("{reference} is not a commit: {}", e.message()), ""))?
        .id();
    let hint = if repo.is_shallow() {
        "this clone is shallow: fetch the whole history (fetch-depth: 0)"
    } else {
        "the two commits have no common history"
    };
    let error = |why: &str| Error::new(format!("no merge base with {reference}: {why}"), hint);
    repo.merge_base(base, head).map_err(|e| error(e.message()))
}

/// Returns the old and new paths in a diff, sorted and without duplicates.
fn touched(diff: &git2::Diff<'_>) -> Vec<String> {
    let mut paths: Vec<String> = diff
        .deltas()
        .flat_map(|d| [d.old_file().path(), d.new_file().path()])
        .flatten()
        .map(slashes)
        .collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

/// Converts a libgit2 error to an error of one line.
fn git_error(what: &str) -> impl Fn(git2::Error) -> Error {
    move |e| match e.code() {
        git2::ErrorCode::NotFound => Error::new(
            format!("{what}: an object is not in this clone: {}", e.message()),
            "`git fetch --refetch --no-filter` completes a partial clone; `git fsck` checks any other",
        ),
        _ => Error::new(
            format!("{what}: {}", e.message()),
            "`git fsck` checks whether the repository is complete",
        ),
    }
}
