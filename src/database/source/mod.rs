//! Where bytes come from: a work tree, or a commit read without a checkout.
//!
//! Everything after a [`Source`] is the same code for every job.

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
    /// Relative to the repository's top, or to the root where there is none; forward slashes.
    pub path: String,
    /// What it is.
    pub kind: EntryKind,
    /// Size in bytes; 0 where listing does not include it.
    pub size: u64,
}

/// A file whose age is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Dated<'a> {
    /// The file.
    pub entry: &'a Entry,
    /// By what.
    pub by: DatedBy,
}

/// What the age of a file is counted from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatedBy {
    /// Its present bytes.
    Bytes,
    /// Those that were at its path before its present bytes.
    BytesBefore,
}

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryKind {
    /// A file in the work tree, by its real path (which may not be UTF-8).
    Path(std::path::PathBuf),
    /// A blob of the repository.
    Blob(git2::Oid),
    /// A symbolic link, by what it says; never followed, since a commit holds no more than that.
    Link(String),
    /// A git submodule, by the commit that it names: its files are another repository's.
    Submodule(git2::Oid),
    /// Something that cannot be read as a file, and why.
    Broken(String),
}

impl EntryKind {
    /// What leads from here to files that are not part of the source, for people: a link, a
    /// submodule. None of anything else.
    pub fn leads_away(&self) -> Option<String> {
        match self {
            Self::Link(to) => Some(format!("a symbolic link to {to}")),
            Self::Submodule(_) => Some("a git submodule".to_owned()),
            Self::Path(_) | Self::Blob(_) | Self::Broken(_) => None,
        }
    }
}

/// Bytes of a tree of files.
pub trait Source: Sync {
    /// Every file below the root, sorted by path.
    fn files(&self) -> Result<Vec<Entry>>;

    /// Files below `.perfdb-gate/` at the repository's top (at the root where there is none), by
    /// their path inside it: the judged repository's own rules, waivers and baseline.
    fn settings(&self) -> Result<Vec<Entry>>;

    /// The bytes of a file. An error becomes a finding, not a failure.
    fn read(&self, entry: &Entry) -> Result<Vec<u8>, ReadError>;

    /// The text of a file.
    fn text(&self, entry: &Entry) -> Result<String, ReadError> {
        Ok(String::from_utf8(self.read(entry)?)?)
    }

    /// The id that git gives a file's bytes: files of equal ids are equal and need no reading. None
    /// where there are no bytes to be had.
    fn id(&self, entry: &Entry) -> Option<git2::Oid>;

    /// Paths that differ from the merge base with `reference`.
    fn changed_since(&self, reference: &str) -> Result<Vec<String>>;

    /// The merge base with `reference`, at the same root.
    fn base(&self, reference: &str) -> Result<Commit>;

    /// Whether `.gitattributes` says that git-LFS keeps the file at a path, so that its pointer is what the
    /// repository is meant to hold.
    fn is_in_lfs(&self, _path: &str) -> bool {
        false
    }

    /// Paths of the files that were asked for and whose objects are not in this clone.
    fn missing(&self) -> BTreeSet<String> {
        BTreeSet::new()
    }

    /// Compares when two files came to their places: `Greater` where `a` did later. `None` where
    /// they came at once, or the history does not show it.
    fn age(&self, a: Dated<'_>, b: Dated<'_>) -> Option<Ordering>;

    /// The id of the commit that it is, in hex; none of files on disk.
    fn commit(&self) -> Option<String> {
        None
    }

    /// Whether the files that were read are still what they were, at the end of a run.
    ///
    /// # Errors
    ///
    /// At the first that changed: what was judged is not a state of the source.
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

/// The id of a link, which git keeps as the text of its target, or of a submodule, whose commit it
/// keeps; none of anything else.
fn id_of_link(kind: &EntryKind) -> Option<git2::Oid> {
    match kind {
        EntryKind::Link(to) => git2::Oid::hash_object(git2::ObjectType::Blob, to.as_bytes()).ok(),
        EntryKind::Submodule(commit) => Some(*commit),
        EntryKind::Path(_) | EntryKind::Blob(_) | EntryKind::Broken(_) => None,
    }
}

/// More files than any perf database; a run that meets them was pointed at the wrong folder.
const MOST_FILES: usize = 1_000_000;

/// The error of a listing that ends at [`MOST_FILES`].
fn too_many_files(place: &str) -> Error {
    Error::new(
        format!("more than {MOST_FILES} files below {place}"),
        "point --root at the perf database",
    )
}

/// Names of files that hold tables; a directory of such a name is not a table and is reported.
pub fn named_like_a_table(name: &str) -> bool {
    name.ends_with(".parquet") || name.ends_with("_perf.txt") || name.ends_with("_perf.csv")
}

/// What is said of a directory in the place of a file.
const A_FOLDER: &str = "this is a directory, but a file of this name is expected";

/// Names of files that are read beside the tables: systems, facts, support matrices.
fn stands_for_a_file(name: &str) -> bool {
    name.ends_with(".yaml") || name.ends_with(".csv")
}

/// Whether tables in a hidden folder would look as if they were part of a database: it is in a folder `systems` or in the
/// `data` that may be beside it.
fn may_hide_tables(above: &str, name: &str) -> bool {
    name != ".git" && above.split('/').any(|part| part == "systems" || part == "data")
}

/// The repository that holds `root`, and `root` relative to its top (empty, or ending in `/`).
fn repository(root: &Path) -> Result<Option<(git2::Repository, String)>> {
    let root = root.canonicalize().map_err(|e| {
        Error::new(
            format!("cannot open {}: {e}", root.display()),
            "--root takes a repository or a folder that holds a perf database",
        )
    })?;
    // As git reads: a fetch has checked what objects hash to, and what is damaged since fails to inflate.
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

/// What to do about a repository that cannot be opened, by what libgit2 says of it.
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

/// A path with forward slashes, lossy where it is not UTF-8.
fn slashes(path: &Path) -> String {
    let parts: Vec<_> = path.components().map(|c| c.as_os_str().to_string_lossy()).collect();
    parts.join("/")
}

/// The commit where the history of `reference` and `head` parts.
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

/// Paths that a diff touches, old and new names, sorted.
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

/// Puts a libgit2 error into one line.
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
