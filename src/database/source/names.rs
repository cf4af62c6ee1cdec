//! Names and limits by which sources select files.

use crate::base::error::Error;

/// The folder of a repository's own rules, waivers and baseline.
pub const SETTINGS: &str = ".perfdb-gate";

/// The maximum number of files in a source. No known performance database has as many, so a larger folder was given by
/// mistake.
pub(super) const MOST_FILES: usize = 1_000_000;

/// Creates the error of a listing with more than [`MOST_FILES`] files.
pub(super) fn too_many_files(place: &str) -> Error {
    Error::new(
        format!("more than {MOST_FILES} files below {place}"),
        "point --root at the perf database",
    )
}

/// Returns true if a file or directory has the name of a table.
pub fn named_like_a_table(name: &str) -> bool {
    name.ends_with(".parquet") || name.ends_with("_perf.txt") || name.ends_with("_perf.csv")
}

/// The message for a directory in the place of a file.
pub(super) const A_FOLDER: &str = "this is a directory, but a file of this name is expected";

/// Returns true if a name may be that of a file that is read but is not a table: a system's YAML, a file of facts or a
/// support matrix.
pub(super) fn stands_for_a_file(name: &str) -> bool {
    name.ends_with(".yaml") || name.ends_with(".csv")
}

/// Returns true if a hidden folder may contain tables of a database, because it is inside a `systems` or `data` folder.
/// `name` is the hidden folder's name, and `above` is the path of its parent folder. Always false for `.git`.
pub(super) fn may_hide_tables(above: &str, name: &str) -> bool {
    name != ".git" && above.split('/').any(|part| part == "systems" || part == "data")
}
