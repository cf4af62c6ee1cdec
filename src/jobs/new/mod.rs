//! Starts a table of a database: the system's YAML, the rows of a CSV, and a sidecar.

mod files;
mod options;
mod system;
mod table;

use std::path::PathBuf;

pub(crate) use self::files::NewFile;
use self::files::NewPlace;
pub use self::options::NewOptions;
use crate::base::error::{Error, Result};
use crate::base::escape::{clean, clean_lines};
use crate::database::selection::Selection;
use crate::database::source::{Entry, EntryKind, WorkTree};
use crate::jobs::validate::{self, ValidateOptions};
use crate::report::Report;

/// The files that the command `new` prepared for a new table, with the findings on them.
#[derive(Default)]
pub struct NewTable {
    /// The files, in the order of the report.
    files: Vec<NewFile>,
    /// The header line of a CSV file that the user should fill with rows. `None` if rows were given.
    header: Option<String>,
    /// The findings on the new files; `None` if the user gave no rows.
    pub report: Option<Report>,
    /// A warning that latencies are probably not in milliseconds; `None` if the unit is plausible.
    doubt: Option<String>,
    /// True if the files were written.
    written: bool,
    options: NewOptions,
}

/// Prepares and validates the files of a new table. Writes the files if the option `write` is set and no finding is an
/// error.
///
/// # Errors
///
/// Returns an error if the table or system is not known, if the rows cannot be read, if a file with
/// other contents exists, or if a file cannot be written.
pub fn run(options: &NewOptions) -> Result<NewTable> {
    let place = NewPlace::of(options)?;
    let mut files = vec![system::file(&place, options)?];
    let options = options.clone();
    let Some(from) = &options.from else {
        let header = place.spec.as_deref().map(table::header);
        return Ok(NewTable { files, header, options, ..NewTable::default() });
    };
    let rows = table::read(&place, &options, from, &files[0])?;
    files.extend([rows.file, table::sidecar(&place, &options)?]);
    files.extend(rows.spec);
    let mut report = validated(&place, &options, &files)?;
    // The rows are those of the CSV, in its order.
    let findings = report.findings.iter_mut().filter(|finding| finding.path == files[1].path);
    for example in findings.flat_map(|finding| &mut finding.examples) {
        example.line = rows.lines.line(example.row as usize);
    }
    let written = options.write && report.counts.errors == 0;
    if written {
        let new = files.iter().filter(|file| !file.exists);
        let outputs: Vec<(PathBuf, Vec<u8>)> =
            new.map(|file| (place.top.join(&file.path), file.bytes.clone())).collect();
        place.tree.write(None, &outputs)?;
    }
    Ok(NewTable { files, header: None, report: Some(report), doubt: rows.doubt, written, options })
}

/// Validates the new files as if they were part of the database, so that the new table is compared with existing
/// tables. If the system is new, judges all of its tables. If only the version is new, judges the tables of that
/// version. Otherwise, judges only the new table.
fn validated(place: &NewPlace, options: &NewOptions, files: &[NewFile]) -> Result<Report> {
    let failed = |e: std::io::Error| Error::caused("cannot create a temporary folder", "", e);
    let folder = tempfile::tempdir().map_err(failed)?;
    let mut added = Vec::new();
    for (number, file) in files.iter().enumerate().filter(|(_, file)| !file.exists) {
        let (at, size) = (folder.path().join(number.to_string()), file.bytes.len() as u64);
        std::fs::write(&at, &file.bytes).map_err(failed)?;
        added.push(Entry { path: file.path.clone(), kind: EntryKind::Path(at), size });
    }
    let mut selection = Selection { systems: vec![place.system.clone()], ..Selection::default() };
    if place.yaml.is_some() {
        selection.backends.push(place.backend.clone());
        selection.versions.push(place.version.clone());
    }
    if files.iter().any(|file| file.exists && file.path.starts_with(&place.folder)) {
        selection.tables.push(place.table.clone());
    }
    let source = WorkTree::open(&options.root)?.with(added);
    let judged = ValidateOptions { selection, ..ValidateOptions::default() };
    validate::judged_source(&source, &judged, &(), |_| Ok(())).map(|(report, ())| report)
}

impl NewTable {
    /// Renders the list of files. This text is printed before the findings.
    pub fn files_text(&self) -> String {
        let mut out = String::new();
        for file in &self.files {
            let state = match (file.exists, self.written) {
                (true, _) => "exists",
                (false, true) => "written",
                (false, false) => "new",
            };
            out += &format!("{state:8} {}: {}\n", clean(&file.path), clean(&file.says));
            if let (Some(text), false) = (&file.text, file.exists || self.options.write) {
                out += &textwrap::indent(&clean_lines(text), "    ");
            }
        }
        out
    }

    /// Renders the next steps for the user. This text is printed after the findings.
    pub fn next_text(&self) -> String {
        let failed = self.report.as_ref().is_some_and(|report| report.counts.errors > 0);
        let NewOptions { system, table, from, .. } = &self.options;
        let from = from.as_ref().map(|from| clean(&from.display().to_string())).unwrap_or_default();
        if let Some(header) = &self.header {
            return format!(
                "\nNext: measure rows with these columns, then name their file with --from. \
                 A `?` marks a column that a table may lack; the first three are added if they are missing.\n\n    \
                 {header}\n"
            );
        }
        let doubt = self.doubt.as_ref().map(|doubt| format!("\n{doubt}\n")).unwrap_or_default();
        match (failed, self.written) {
            (true, false) => format!(
                "{doubt}\nNothing was written. Next: correct the errors above, whose lines are those of {from}, and run \
                 this again.\n"
            ),
            (false, false) => {
                format!("{doubt}\nNothing was written. Next: --write writes these files.\n")
            }
            (_, true) => format!(
                "{doubt}\nNext: commit the files.\n  perfdb-gate explore --system {system} --table {table}    draws the \
                 curves\n  perfdb-gate init --repository OWNER/perfdb-gate    sets up the checks of pull requests\n"
            ),
        }
    }
}
