//! The views of single items of a database: places of tables, directories, systems, files of facts, waivers, and of a
//! change as a whole.

use std::collections::BTreeMap;

use crate::base::error::Reason;
use crate::database::catalog::{Catalog, SystemFile, TableFile, VersionDir};
use crate::database::collection_report::CollectionReport;
use crate::database::diff::Diff;
use crate::database::profile::Profile;
use crate::database::sidecar::{Meta, Reuse};
use crate::database::source::Entry;
use crate::database::state::State;
use crate::findings::Finding;
use crate::specs::Specs;

/// Something in a database, other than rows of tables, that a check judges by itself.
pub enum Item<'a> {
    /// The place of a table, readable or not, with the specs of tables.
    Place(&'a TableFile, &'a Specs),
    /// A version directory.
    Dir(DirContext<'a>),
    /// A system with its YAML.
    System(SystemContext<'a>),
    /// A collection report in a system's folder.
    Report(ReportContext<'a>),
    /// A profile of measured operations, or a document of evidence on profiles.
    Profile(ProfileContext<'a>),
    /// A file in a system's data folder that is not a table at its proper place.
    Stray(&'a Entry),
    /// A file that states facts and cannot be read.
    Facts(FactsContext<'a>),
    /// Sorted paths of the tables that `.gitattributes` keeps in git-LFS and that were not fetched.
    InLfs(&'a [String]),
    /// The waivers of a file.
    Waivers(WaiverContext<'a>),
    /// All files of two states, to find data that the later state lacks as a whole.
    Catalogs {
        /// The earlier state.
        before: &'a Catalog,
        /// The later state.
        after: &'a Catalog,
    },
}

/// A version directory under judgement.
pub struct DirContext<'a> {
    /// The directory.
    pub dir: &'a VersionDir,
    /// The catalog that contains the directory.
    pub catalog: &'a Catalog,
    /// The specs of tables and systems.
    pub specs: &'a Specs,
    /// The parsed `collection_meta.yaml`, or the reason why it cannot be parsed; `None` without such a file.
    pub meta: Option<&'a Result<Meta, Reason>>,
    /// The parsed `reuse.yaml`, or the reason why it cannot be parsed; `None` without such a file.
    pub reuse: Option<&'a Result<Reuse, Reason>>,
}

/// A system under judgement.
pub struct SystemContext<'a> {
    /// The system's YAML.
    pub file: &'a SystemFile,
    /// The names of the systems in the same root, by their data directory.
    pub by_data_dir: &'a BTreeMap<&'a str, Vec<&'a str>>,
    /// The catalog that contains the system.
    pub catalog: &'a Catalog,
    /// The GPUs that rows of the system's tables name; empty if the system's name is a known one.
    pub devices: Vec<String>,
    /// The specs of tables and systems.
    pub specs: &'a Specs,
}

/// A collection report under judgement.
pub struct ReportContext<'a> {
    /// The report's file.
    pub entry: &'a Entry,
    /// The parsed report, or the reason why it cannot be read.
    pub report: Result<CollectionReport, Reason>,
    /// The tables that the report names and that have a file, by name.
    pub tables: BTreeMap<String, FoundTable>,
}

/// A profile under judgement, or a document of evidence on profiles.
pub struct ProfileContext<'a> {
    /// The document's file.
    pub entry: &'a Entry,
    /// The parsed document, or the reason why it cannot be read.
    pub profile: Result<Profile, Reason>,
    /// The state with the files that the document names.
    pub state: State<'a>,
}

/// The row count and digest of a table that a report names.
pub struct FoundTable {
    /// The number of rows; `None` if the table cannot be read.
    pub rows: Option<u64>,
    /// The SHA-256 of the table's bytes in hex; `None` if the bytes are not available.
    pub sha256: Option<String>,
}

/// A file under judgement that states facts and cannot be read.
pub struct FactsContext<'a> {
    /// The file.
    pub entry: &'a Entry,
    /// True for a file of the loader's code. The code may be rewritten, so a list that is missing from it is not an
    /// error.
    pub is_code: bool,
    /// The reasons why the file cannot be read.
    pub faults: Vec<String>,
}

/// The waivers of a file under judgement.
pub struct WaiverContext<'a> {
    /// The path of the file.
    pub path: &'a str,
    /// Descriptions of the waivers past their date.
    pub expired: &'a [String],
    /// Descriptions of the waivers that match nothing.
    pub unused: &'a [String],
}

/// The change that a pull request makes to a database.
pub(crate) struct ChangeContext<'a> {
    /// The state before the change.
    pub base: State<'a>,
    /// The state after the change.
    pub head: State<'a>,
    /// The difference between the two states.
    pub diff: &'a Diff,
    /// Errors on rows that the pull request adds or changes. The head would have these errors if the pull request did
    /// not also change facts that the database states.
    pub excused: &'a [Finding],
    /// The specs of tables and systems.
    pub specs: &'a Specs,
}
