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

/// A thing in a database that a check judges by itself, such as a directory or a system. The rows of tables are not
/// items.
pub enum Item<'a> {
    /// A table with its system, backend and version, and the specs of all tables. The table need not be readable.
    Place(&'a TableFile, &'a Specs),
    /// A version directory.
    Dir(DirContext<'a>),
    /// A system with its YAML.
    System(SystemContext<'a>),
    /// A collection report in a system's folder.
    Report(ReportContext<'a>),
    /// A profile of measured operations, or another JSON document that belongs to profiles.
    Profile(ProfileContext<'a>),
    /// A misplaced file in a system's data folder, such as a table at a wrong depth or a link.
    Stray(&'a Entry),
    /// A file that states facts about the database, such as a support matrix, and that cannot be read.
    Facts(FactsContext<'a>),
    /// Sorted paths of the tables that `.gitattributes` keeps in git-LFS and that were not fetched.
    InLfs(&'a [String]),
    /// The waivers of one file that are expired or match no finding.
    Waivers(WaiverContext<'a>),
    /// All files of two states. A check compares them to find systems or databases that were deleted completely.
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
    /// The names of the systems that use each data directory, by the directory's path.
    pub by_data_dir: &'a BTreeMap<&'a str, Vec<&'a str>>,
    /// The catalog that contains the system.
    pub catalog: &'a Catalog,
    /// The GPU names in the rows of the system's tables; empty if the system's name is known to this program.
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
    /// The row count and digest of each table that the report names, by table name. Tables without a file are left out.
    pub tables: BTreeMap<String, FoundTable>,
}

/// A profile of measured operations that is judged, or another JSON document that belongs to profiles.
pub struct ProfileContext<'a> {
    /// The document's file.
    pub entry: &'a Entry,
    /// The parsed document, or the reason why it cannot be read.
    pub profile: Result<Profile, Reason>,
    /// The state of the database, which contains the files that the document names.
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
    /// True for a source file of the loader. After a rewrite of the loader's code, facts may no longer be found in it,
    /// which is not an error.
    pub is_code: bool,
    /// The reasons why the file cannot be read.
    pub faults: Vec<String>,
}

/// The input of a check of waivers: those waivers of one file that are expired or match no finding.
pub struct WaiverContext<'a> {
    /// The path of the file.
    pub path: &'a str,
    /// Descriptions of the waivers past their date.
    pub expired: &'a [String],
    /// Descriptions of the waivers that match no finding.
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
    /// Errors that the pull request hides by changing facts, such as a system's YAML. With the facts of the base, the
    /// head's added or changed rows would have these errors.
    pub excused: &'a [Finding],
    /// The specs of tables and systems.
    pub specs: &'a Specs,
}
