//! Tables that are assembled from rows of files: some rows of one file, or the rows of several files.
//!
//! The rows are written as one text table, so that everything after the source reads one format.

use std::sync::Arc;

use super::file_rows::{ColumnNames, FileRows, too_large, unreadable};
use super::{Assembly, Entry, Part, ReadError};
use crate::database::limits::{MOST_BYTES, MOST_CELLS, MOST_HELD};
use crate::specs::layout::Dialect;

/// The file and line that a row of an assembled table comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowOrigin {
    /// The index of the file in [`Assembly::parts`].
    pub part: usize,
    /// The line in a text file, from 1; in other files the number of the row, from 1.
    pub line: u64,
    /// True if the row has another number of cells than the header.
    pub is_torn: bool,
}

/// One file of an assembled table: its decoded rows, and which of them belong to the table.
struct PartRows<'a> {
    part: &'a Part,
    file: Arc<FileRows>,
    /// For each column of the file, and then for each added column: its index in the assembled table.
    columns: Vec<usize>,
}

impl Assembly {
    /// Returns the table as comma-separated text.
    ///
    /// # Errors
    ///
    /// If a file cannot be read or is not in the declared format, or if the table exceeds the size limit; the error
    /// names the file and line.
    pub(crate) fn text(
        &self,
        read: impl Fn(&Entry) -> Result<Vec<u8>, ReadError>,
    ) -> Result<Vec<u8>, ReadError> {
        let (header, parts) = self.rows(read)?;
        let failed = |why: csv::Error| unreadable("the table", why);
        let mut writer = csv::WriterBuilder::new().flexible(true).from_writer(Vec::new());
        writer.write_record(&header.names).map_err(failed)?;
        let mut cells: Vec<&str> = Vec::new();
        for rows in &parts {
            for row in rows.numbers() {
                rows.cells(row, header.names.len(), &mut cells);
                writer.write_record(&cells).map_err(failed)?;
                if writer.get_ref().len() > MOST_BYTES {
                    return Err(too_large("the table"));
                }
            }
        }
        writer.into_inner().map_err(|why| unreadable("the table", why))
    }

    /// Returns true if all rows of each file belong to the table.
    pub(crate) fn has_whole_files(&self) -> bool {
        self.parts.iter().all(|part| part.rows.is_empty())
    }

    /// Returns the hash of all that determines the table: the format, the ids of the files, the selected rows and the
    /// added columns. `None` if a file has no id.
    pub(crate) fn id(&self, id: impl Fn(&Entry) -> Option<git2::Oid>) -> Option<git2::Oid> {
        let mut text = format!("{:?}", self.dialect);
        for Part { entry, rows, added, .. } in &self.parts {
            text += &format!("{} {rows:?} {added:?}", id(entry)?);
        }
        git2::Oid::hash_object(git2::ObjectType::Blob, text.as_bytes()).ok()
    }

    /// Returns the file and the line that each row comes from.
    ///
    /// # Errors
    ///
    /// The errors of [`Assembly::text`].
    pub(crate) fn origins(
        &self,
        read: impl Fn(&Entry) -> Result<Vec<u8>, ReadError>,
    ) -> Result<Vec<RowOrigin>, ReadError> {
        let (_, parts) = self.rows(read)?;
        let of_part = |(part, rows): (usize, &PartRows<'_>)| -> Vec<RowOrigin> {
            let lines = rows.numbers().map(|row| rows.file.line(row));
            lines.map(|(line, is_torn)| RowOrigin { part, line, is_torn }).collect()
        };
        Ok(parts.iter().enumerate().flat_map(of_part).collect())
    }

    /// Returns the index of a row in its file, from 0. The header line of a text file is not counted.
    pub(crate) fn row_in_file(&self, origin: RowOrigin) -> u64 {
        let before = match self.dialect {
            Dialect::Csv { .. } => 2,
            Dialect::JsonLines { .. } | Dialect::Json { .. } => 1,
        };
        origin.line.saturating_sub(before)
    }

    /// Returns the columns of the assembled table, and the rows of each of its files. Fails if the assembled table, in
    /// which each row has a cell in every column, would be too large.
    fn rows(
        &self,
        read: impl Fn(&Entry) -> Result<Vec<u8>, ReadError>,
    ) -> Result<(ColumnNames, Vec<PartRows<'_>>), ReadError> {
        let mut header = ColumnNames::default();
        let mut parts = Vec::with_capacity(self.parts.len());
        let (mut rows, mut held) = (0, 0);
        for part in &self.parts {
            let path = &part.entry.path;
            let file = match &part.selected {
                Some(selected) => selected.file.clone(),
                None => Arc::new(FileRows::read(&self.dialect, path, &read(&part.entry)?)?),
            };
            let names = file.header.names.iter().chain(part.added.keys());
            let columns = names.map(|name| header.column(name)).collect::<Result<_, _>>()?;
            held += if part.selected.is_none() { file.size() } else { 0 };
            let of_part = PartRows { part, file, columns };
            rows += of_part.numbers().len();
            if held > MOST_HELD || rows * header.names.len().max(1) > MOST_CELLS {
                return Err(too_large(path));
            }
            parts.push(of_part);
        }
        Ok((header, parts))
    }
}

impl PartRows<'_> {
    /// Iterates over the indices of the part's rows in the file, from 0.
    fn numbers(&self) -> impl ExactSizeIterator<Item = u32> {
        let selected = self.part.selected.as_ref().map(|selected| &selected.numbers);
        let count = selected.map_or(self.file.len(), Vec::len);
        (0..count).map(move |at| selected.map_or(at as u32, |numbers| numbers[at]))
    }

    /// Fills `cells` with a row's cells in the assembled table, which has `columns` columns. A column that the row's
    /// file lacks gets an empty cell. A torn row has more or fewer cells than the header of its file. It gets a number
    /// of cells other than `columns`, so that it is torn in the assembled table as well.
    fn cells<'c>(&'c self, row: u32, columns: usize, cells: &mut Vec<&'c str>) {
        cells.clear();
        if self.file.line(row).1 {
            cells.extend(self.file.cells(row).map(|(_, cell)| cell));
            if cells.len() == columns {
                cells.push("");
            }
            return;
        }
        cells.resize(columns, "");
        self.file.cells(row).for_each(|(column, cell)| cells[self.columns[column]] = cell);
        let added = self.columns[self.file.header.names.len()..].iter();
        added.zip(self.part.added.values()).for_each(|(column, cell)| cells[*column] = cell);
    }
}
