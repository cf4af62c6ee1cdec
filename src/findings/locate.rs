//! Names the real files of findings on tables that are assembled from several files, and adds the lines of example rows
//! of text tables, so that an editor can open them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Finding;
use crate::base::group::grouped;
use crate::database::catalog::{Catalog, Format, TableFile};
use crate::database::source::{Assembly, EntryKind, RowOrigin, Source};
use crate::database::state::State;
use crate::database::table::{OTHER_ROWS, REFERENCE, Table};

/// Name of the evidence value that lists a finding's row numbers.
const LISTED: &str = "point_rows";

/// Name of the entry in an example's values that states the file of the example row. Examples have this entry if a
/// finding's rows are from several files.
pub const SOURCE_FILE: &str = "source_file";

/// The origin of each row of a table that is assembled from several files: the file, and the row's position in this
/// file.
struct Located<'a> {
    assembly: &'a Assembly,
    /// The origins of all rows, including damaged ones, in the order of the assembled text.
    all: Vec<RowOrigin>,
    /// The origins of the rows that are not damaged, indexed by the row numbers in findings.
    rows: Vec<RowOrigin>,
}

/// Changes findings on assembled tables so that their paths, line numbers and row numbers are those of the original
/// files.
pub fn locate<'f>(
    findings: impl Iterator<Item = &'f mut Finding>,
    catalog: &Catalog,
    source: &dyn Source,
) {
    if catalog.layout.is_none() {
        return;
    }
    let mut known: BTreeMap<String, Option<Located<'_>>> = BTreeMap::new();
    for finding in findings {
        let located = || {
            let EntryKind::Assembled(assembly) = &catalog.table(&finding.path)?.entry.kind else {
                return None;
            };
            let all = assembly.origins(|entry| source.read_file(entry)).ok()?;
            let rows = all.iter().copied().filter(|origin| !origin.is_torn).collect();
            Some(Located { assembly, all, rows })
        };
        if let Some(located) = known.entry(finding.path.clone()).or_insert_with(located) {
            located.name(finding);
        }
    }
}

/// Returns the assembled table that contains a row of a file, with the number of the row in the table; `None`
/// if no assembled table has the row.
pub fn assembled_row<'c>(
    catalog: &'c Catalog,
    source: &dyn Source,
    (path, row): (&str, usize),
) -> Option<(&'c TableFile, usize)> {
    catalog.tables.iter().find_map(|file| {
        let EntryKind::Assembled(assembly) = &file.entry.kind else { return None };
        let part = assembly.parts.iter().position(|part| part.entry.path == path)?;
        let origins = assembly.origins(|entry| source.read_file(entry)).ok()?;
        let mut rows = origins.iter().filter(|origin| !origin.is_torn);
        let at = rows.position(|origin| {
            origin.part == part && assembly.row_in_file(*origin) == row as u64
        })?;
        Some((file, at))
    })
}

impl Located<'_> {
    fn path(&self, origin: RowOrigin) -> &str {
        &self.assembly.parts[origin.part].entry.path
    }

    /// Sets a finding's path, row numbers and line numbers to those of the original file. If the finding's rows are
    /// from several files, the path is that of the file with the most rows.
    fn name(&self, finding: &mut Finding) {
        if self.relabel_lines(finding) {
            return;
        }
        let named = finding.named_rows.iter().filter_map(|row| self.rows.get(*row as usize));
        let mut files: BTreeMap<usize, usize> = BTreeMap::new();
        named.for_each(|origin| *files.entry(origin.part).or_default() += 1);
        let most = files.iter().max_by_key(|(part, rows)| (**rows, usize::MAX - **part));
        let most = most.map_or(0, |(part, _)| *part);
        finding.path = self.assembly.parts[most].entry.path.clone();
        if files.len() > 1 {
            let paths = files.iter().map(|(part, rows)| {
                (self.assembly.parts[*part].entry.path.clone(), Value::from(*rows))
            });
            finding
                .evidence
                .insert("files".to_owned(), paths.collect::<serde_json::Map<_, _>>().into());
            finding.message += &format!(", in {} files", files.len());
        }
        self.relabel_listed(finding, most);
        for example in &mut finding.examples {
            let Some(origin) = self.rows.get(example.row as usize) else { continue };
            example.row = self.assembly.row_in_file(*origin);
            for (_, value) in example.values.iter_mut().filter(|(name, _)| name == OTHER_ROWS) {
                self.relabel_copies(value);
            }
            if files.len() > 1 || origin.part != most {
                example.values.push((SOURCE_FILE.to_owned(), self.path(*origin).into()));
            }
        }
    }

    /// Replaces the row numbers in the list `value` by texts such as `row 4 of a.csv`: the original file, and the row's
    /// number in this file.
    fn relabel_copies(&self, value: &mut Value) {
        let Value::Array(copies) = value else { return };
        for copy in copies {
            let origin = copy.as_u64().and_then(|row| self.rows.get(row as usize));
            if let Some(origin) = origin {
                let row = self.assembly.row_in_file(*origin);
                *copy = format!("row {row} of {}", self.path(*origin)).into();
            }
        }
    }

    /// Replaces the row numbers that a finding's evidence lists by the rows' numbers in one original file. `part` is
    /// the index of this file. Rows of other files are removed from the list.
    fn relabel_listed(&self, finding: &mut Finding, part: usize) {
        let Some(Value::Array(listed)) = finding.evidence.get(LISTED) else { return };
        let origins = listed.iter().filter_map(|row| self.rows.get(row.as_u64()? as usize));
        let own = origins.filter(|origin| origin.part == part);
        let rows: Vec<u64> = own.map(|origin| self.assembly.row_in_file(*origin)).collect();
        finding.evidence.insert(LISTED.to_owned(), rows.into());
    }

    /// Converts the line numbers of a finding on damaged rows to line numbers in the original files. Returns false for
    /// a finding that is not on damaged rows.
    fn relabel_lines(&self, finding: &mut Finding) -> bool {
        let mut first = None;
        for example in &mut finding.examples {
            if !example.values.iter().any(|(name, _)| name == "why") {
                continue;
            }
            let Some((_, line)) = example.values.iter_mut().find(|(name, _)| name == "line") else {
                continue;
            };
            // The first line of the assembled text is its header.
            let assembled = line.as_u64().unwrap_or(0);
            let Some(origin) = self.all.get(assembled.saturating_sub(2) as usize) else { continue };
            *line = origin.line.into();
            example.row = self.assembly.row_in_file(*origin);
            example.values.push((SOURCE_FILE.to_owned(), self.path(*origin).into()));
            first = first.or(Some((assembled, *origin)));
        }
        let Some((assembled, origin)) = first else { return false };
        let real = format!("line {} of {}:", origin.line, self.path(origin));
        finding.message = finding.message.replacen(&format!("line {assembled}:"), &real, 1);
        finding.path = self.path(origin).to_owned();
        true
    }
}

/// Name of the entry in an example's values that lists the line numbers of other rows with the same key. In text
/// tables, this entry replaces [`OTHER_ROWS`], which lists row numbers.
const OTHER_LINES: &str = "dropped_lines";

/// Adds to each example row of a text table the row's line number in the file. The tables are decoded again for this,
/// since they are not kept in memory.
pub fn number_lines(findings: &mut [Finding], state: State<'_>) {
    let texts = state.catalog.tables.iter().filter(|file| file.format == Format::Csv);
    let texts: BTreeMap<&str, &TableFile> =
        texts.map(|file| (file.entry.path.as_str(), file)).collect();
    let numbered = findings.iter_mut().filter(|finding| !finding.examples.is_empty());
    let of_file = grouped(numbered.filter_map(|finding| {
        let (path, _) = texts.get_key_value(finding.path.as_str())?;
        Some((*path, finding))
    }));
    for (path, findings) in of_file {
        let Ok(table) = state.table(texts[path]) else { continue };
        findings.into_iter().for_each(|finding| number(finding, &table));
    }
}

fn number(finding: &mut Finding, table: &Table) {
    for example in &mut finding.examples {
        if example.values.iter().any(|(name, _)| name == REFERENCE) {
            continue;
        }
        let line = |row: u64| table.lines.line(row as usize);
        example.line = example.line.or_else(|| line(example.row));
        for (name, value) in example.values.iter_mut().filter(|(name, _)| name == OTHER_ROWS) {
            let rows = value.as_array().into_iter().flatten();
            let lines: Vec<Value> = rows.map(|row| row.as_u64().and_then(line).into()).collect();
            (*name, *value) = (OTHER_LINES.to_owned(), lines.into());
        }
    }
}
