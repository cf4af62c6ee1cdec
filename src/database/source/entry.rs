//! The files of a source.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::file_rows::SelectedRows;
use crate::specs::layout::Dialect;

/// A file of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The file's path with forward slashes, relative to the top folder of the repository. Outside of a repository, the
    /// path is relative to the source's root.
    pub path: String,
    /// The kind of file, with the location of its contents.
    pub kind: EntryKind,
    /// The size in bytes; 0 if the size is unknown when files are listed.
    pub size: u64,
}

impl Entry {
    /// Marks the entry as one that must not be read, with the reason.
    pub(crate) fn refuse(&mut self, why: String) {
        self.kind = EntryKind::Refused(why, Box::new(self.kind.clone()));
    }

    /// Returns the entry as its source stores it: without the mark that [`Entry::refuse`] sets.
    pub(crate) fn stored(&self) -> Cow<'_, Self> {
        let EntryKind::Refused(_, kind) = &self.kind else { return Cow::Borrowed(self) };
        Cow::Owned(Self { path: self.path.clone(), kind: (**kind).clone(), size: self.size })
    }

    /// Returns the path of the folder that contains the file; empty at the top.
    pub(crate) fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// Returns the file's name.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit_once('/').map_or(&self.path, |(_, name)| name)
    }
}

/// A file whose age is requested.
#[derive(Debug, Clone, Copy)]
pub struct AgedFile<'a> {
    /// The file whose age is requested.
    pub entry: &'a Entry,
    /// The commit from which the file's age counts.
    pub by: AgeBasis,
}

/// States from which commit the age of a file counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgeBasis {
    /// The age counts from the commit that wrote the file's present bytes.
    Bytes,
    /// The age counts from the commit that wrote the bytes before the last change to the file. Thus the last change
    /// does not make the file newer.
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
    /// A table that is assembled from rows of files. A layout file declares this entry; it is not a file of the source.
    Assembled(Arc<Assembly>),
    /// An entry that cannot be read as a file, with the reason.
    Broken(String),
    /// An entry that is not read because it exceeds a size limit, with the reason and with the kind that the entry
    /// would otherwise have. That kind contains the id of the file's bytes, so that a change of the bytes is noticed.
    Refused(String, Box<EntryKind>),
}

/// A table that is assembled from rows of files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assembly {
    /// The format of the files from which the table is assembled.
    pub dialect: Dialect,
    /// The parts of the table, in order.
    pub parts: Vec<Part>,
}

/// The rows of one file that belong to a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The file that contains the rows.
    pub entry: Entry,
    /// The cells that select rows, by column: a row is selected if it has all of these cells. Empty if the whole file
    /// is selected.
    pub rows: BTreeMap<String, String>,
    /// The columns that the file lacks, each with a value that applies to all rows.
    pub added: BTreeMap<String, String>,
    /// The selected rows; `None` if all rows belong to the table.
    pub selected: Option<SelectedRows>,
}

impl EntryKind {
    /// Describes an entry that leads to files outside of the source (a link or a submodule); `None` for any
    /// other entry.
    pub(crate) fn leads_away(&self) -> Option<String> {
        match self {
            Self::Link(to) => Some(format!("a symbolic link to {to}")),
            Self::Submodule(_) => Some("a git submodule".to_owned()),
            Self::Path(_)
            | Self::Blob(_)
            | Self::Assembled(_)
            | Self::Broken(_)
            | Self::Refused(..) => None,
        }
    }

    /// Returns the git id of a link (the hash of its target), a submodule (its commit) or a blob; `None` for any other
    /// entry.
    pub(super) fn git_id(&self) -> Option<git2::Oid> {
        match self {
            Self::Blob(id) | Self::Submodule(id) => Some(*id),
            Self::Link(to) => git2::Oid::hash_object(git2::ObjectType::Blob, to.as_bytes()).ok(),
            Self::Path(_) | Self::Assembled(_) | Self::Broken(_) | Self::Refused(..) => None,
        }
    }
}
