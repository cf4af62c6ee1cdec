//! Writes all rows of every finding as CSV; reports show only some of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::judged_roots::JudgedData;
use crate::base::error::{Error, Result};
use crate::base::escape::file_stem;
use crate::base::files::write_all;
use crate::database::catalog::TableFile;
use crate::database::table::Table;
use crate::database::table::{inert, shown, shown_cell, write_cell};
use crate::findings::Finding;

/// The name of the CSV file that lists all findings. Each line names the file with the rows of one finding.
const INDEX: &str = "findings.csv";

/// Writes the rows of each finding to a CSV file in `folder`. Also writes a list of all findings to [`INDEX`]. Findings
/// that are waived, or that the base or the baseline has, are left out.
///
/// # Errors
///
/// Returns an error if the folder cannot be written, or if a judged table cannot be read again.
pub(super) fn write(data: &JudgedData<'_>, folder: &Path) -> Result<()> {
    let failed = |e: csv::Error| Error::caused("cannot write rows as CSV", "", e);
    let files: BTreeMap<&str, &TableFile> =
        data.state.catalog.tables.iter().map(|f| (f.entry.path.as_str(), f)).collect();
    let mut index = csv::Writer::from_writer(Vec::new());
    let header = ["severity", "rule", "path", "rows", "message", "file"];
    index.write_record(header).map_err(failed)?;
    let mut outputs: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    // Findings are sorted by path, so that only one table at a time is in memory.
    let mut last: Option<(&str, Arc<Table>)> = None;
    for finding in data.findings.iter().filter(|f| f.counts()) {
        let mut name = String::new();
        let file = files.get(finding.path.as_str()).filter(|_| !finding.named_rows.is_empty());
        if let Some(file) = file {
            let table = match &last {
                Some((path, table)) if *path == finding.path => table.clone(),
                _ => decoded(data, file)?,
            };
            last = Some((&file.entry.path, table.clone()));
            name = file_name(finding);
            outputs.push((folder.join(&name), text(&table, &finding.named_rows).map_err(failed)?));
        }
        let record = [
            finding.severity.into_str().to_owned(),
            inert(&finding.rule),
            inert(&finding.path),
            finding.rows.to_string(),
            inert(&finding.message),
            name,
        ];
        index.write_record(record).map_err(failed)?;
    }
    let index = index.into_inner().map_err(|e| failed(e.into_error().into()))?;
    outputs.push((folder.join(INDEX), index));
    write_all(&[folder.to_owned()], &outputs)
}

/// Reads a judged table again.
fn decoded(data: &JudgedData<'_>, file: &TableFile) -> Result<Arc<Table>> {
    data.state.table(file).map(Arc::new).map_err(|why| {
        Error::new(
            format!("{} {why}, although the check read it a moment ago", file.entry.path),
            "another program writes to the database: run again when it has ended",
        )
    })
}

/// Returns a unique file name that contains the finding's rule and place.
fn file_name(finding: &Finding) -> String {
    let place = finding.place.as_ref();
    let places = place.map(|p| [p.system.as_str(), p.backend.as_str(), p.version.as_str()]);
    let mut parts = vec![finding.rule.as_str()];
    parts.extend(places.into_iter().flatten());
    parts.extend(finding.table.as_deref());
    let fingerprint = finding.fingerprint();
    let severity = finding.severity.into_str();
    parts.extend([severity, fingerprint.as_str()]);
    file_stem(&parts, "__") + ".csv"
}

/// Renders rows of a table as CSV. The first column is the row's index, from 0 as in data frames.
fn text(table: &Table, rows: &[u32]) -> Result<Vec<u8>, csv::Error> {
    let mut out = csv::Writer::from_writer(Vec::new());
    out.write_field("row")?;
    for (name, _) in table.columns() {
        out.write_field(inert(name))?;
    }
    out.write_record(None::<&[u8]>)?;
    let mut cell = String::new();
    for row in rows {
        write_cell(&mut out, &mut cell, |to| shown(to, Some(row)))?;
        for (_, column) in table.columns() {
            write_cell(&mut out, &mut cell, |to| shown_cell(to, Some((column, *row))))?;
        }
        out.write_record(None::<&[u8]>)?;
    }
    out.into_inner().map_err(|e| e.into_error().into())
}
