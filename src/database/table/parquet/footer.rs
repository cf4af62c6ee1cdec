//! Checks the footer of a file, so that the decoder only reads checked data.
//!
//! The decoder trusts a footer: lists of billions of entries, arbitrarily deep schemas, chunks outside of the
//! file. Therefore, the schema is written again for the decoder, and the positions of chunks are taken from
//! here. Largest footer in the public database (772 files, all branches): 15 kB, 29 columns, one row group.

use std::ops::Range;

use polars_parquet::parquet::read::deserialize_metadata;
use polars_parquet::read::FileMetadata;
use polars_parquet_format::thrift::protocol::{TCompactInputProtocol, TCompactOutputProtocol};
use polars_parquet_format::{ColumnChunk, ColumnMetaData, FileMetaData, KeyValue, SchemaElement};

use super::{Chunk, ChunkGroup, ColumnError, ColumnResult, FileError, claims, codec, one_line};
use crate::database::limits::{LONGEST_NAME, MOST_CELLS, MOST_COLUMNS, MOST_FOOTER};

/// The maximal nesting depth of columns.
const DEEPEST: usize = 16;

/// The metadata key whose value is the file's Arrow schema.
const ARROW_SCHEMA: &str = "ARROW:schema";

/// The checked contents of a footer.
#[derive(Debug)]
pub(super) struct Footer {
    pub(super) rows: usize,
    /// The metadata with the schema, but without row groups.
    pub(super) schema: FileMetadata,
    /// The Arrow schema in the encoding of the file; `None` if the file has none.
    pub(super) arrow: Option<String>,
    pub(super) groups: Vec<ChunkGroup>,
}

/// Reads and checks the footer of a file.
///
/// # Errors
///
/// [`FileError`] if the footer is damaged, states more than a table can have, or its chunks overlap or are
/// outside of the file.
pub(super) fn read(bytes: &[u8]) -> Result<Footer, FileError> {
    let (start, mut rest) = find(bytes)?;
    let mut protocol = TCompactInputProtocol::new(&mut rest, MOST_FOOTER);
    let footer = FileMetaData::read_from_in_protocol(&mut protocol)
        .map_err(|e| FileError::Footer(one_line(e)))?;
    if footer.encryption_algorithm.is_some() || footer.footer_signing_key_metadata.is_some() {
        return Err(FileError::Encrypted);
    }
    if !rest.is_empty() {
        return Err(FileError::Footer(format!("{} bytes follow its contents", rest.len())));
    }
    let leaves = leaves(&footer.schema)?;
    let rows = count(footer.num_rows)?;
    let mut groups = Vec::with_capacity(footer.row_groups.len());
    for group in &footer.row_groups {
        if group.columns.len() != leaves.len() {
            return Err(FileError::Footer("a row group has other columns than the schema".into()));
        }
        let chunks = group.columns.iter().zip(&leaves);
        let chunks = chunks.map(|(c, leaf)| chunk(c, leaf, start).map_err(|e| e.of(leaf.name())));
        groups.push(ChunkGroup {
            rows: count(group.num_rows)?,
            chunks: chunks.collect::<Result<_, _>>()?,
        });
    }
    let held = groups.iter().fold(0, |rows: usize, group| rows.saturating_add(group.rows));
    if held != rows {
        return Err(FileError::Rows { stated: rows, held });
    }
    let width = leaves.len();
    if rows.saturating_mul(width.max(1)) > MOST_CELLS {
        return Err(FileError::Cells { rows, width });
    }
    claims::check(bytes, &footer.row_groups, &groups, start)?;
    let mut arrow = footer.key_value_metadata.into_iter().flatten();
    let arrow = arrow.rfind(|pair| pair.key == ARROW_SCHEMA).and_then(|pair| pair.value);
    let schema = schema(footer.schema, arrow.clone())?;
    Ok(Footer { rows, schema, arrow, groups })
}

/// Returns the position of the footer in the file, and the footer's bytes.
fn find(bytes: &[u8]) -> Result<(usize, &[u8]), FileError> {
    if bytes.len() < 12 || !bytes.starts_with(b"PAR1") {
        return Err(FileError::Beginning);
    }
    if bytes.ends_with(b"PARE") {
        return Err(FileError::Encrypted);
    }
    let Some((rest, [a, b, c, d, b'P', b'A', b'R', b'1'])) = bytes.split_last_chunk() else {
        return Err(FileError::End);
    };
    let length = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
    let start = rest.len().checked_sub(length).filter(|start| *start >= 4);
    let start = start.ok_or_else(|| FileError::Footer("it is longer than the file".into()))?;
    Ok((start, &rest[start..]))
}

fn count(claimed: i64) -> Result<usize, FileError> {
    usize::try_from(claimed).map_err(|_| FileError::Footer("a number of rows is negative".into()))
}

/// A leaf of the schema: a flat column, or an innermost part of a nested column.
struct SchemaLeaf<'a> {
    path: Vec<&'a str>,
    element: &'a SchemaElement,
}

impl SchemaLeaf<'_> {
    /// Returns the name of the column that contains the leaf.
    fn name(&self) -> &str {
        self.path.first().copied().unwrap_or_default()
    }
}

/// Returns the leaves of a Parquet schema. `schema` lists the elements of the tree depth-first, parents before
/// children.
fn leaves(schema: &[SchemaElement]) -> Result<Vec<SchemaLeaf<'_>>, FileError> {
    if schema.len() > MOST_COLUMNS {
        return Err(FileError::Columns);
    }
    let damaged = || FileError::Footer("its schema is not a tree of columns".into());
    let children = |element: &SchemaElement| element.num_children.unwrap_or(0);
    let (root, elements) = schema.split_first().ok_or_else(damaged)?;
    let mut leaves = Vec::new();
    // The enclosing groups with their numbers of remaining children.
    let mut around: Vec<(&str, i32)> = vec![("", children(root))];
    for element in elements {
        while around.last().is_some_and(|(_, left)| *left == 0) {
            around.pop();
        }
        let (_, left) = around.last_mut().filter(|(_, left)| *left > 0).ok_or_else(damaged)?;
        *left -= 1;
        if element.name.len() > LONGEST_NAME {
            return Err(FileError::Footer(format!("a name is longer than {LONGEST_NAME} bytes")));
        }
        if children(element) == 0 {
            let path = around.iter().skip(1).map(|(name, _)| *name).chain([element.name.as_str()]);
            leaves.push(SchemaLeaf { path: path.collect(), element });
        } else if children(element) < 0 || around.len() == DEEPEST {
            return Err(damaged());
        } else {
            around.push((&element.name, children(element)));
        }
    }
    if around.iter().any(|(_, left)| *left != 0) {
        return Err(damaged());
    }
    Ok(leaves)
}

/// Checks a column's chunk, which must be before the footer at `end`.
fn chunk(chunk: &ColumnChunk, leaf: &SchemaLeaf<'_>, end: usize) -> ColumnResult<Chunk> {
    if chunk.file_path.as_ref().is_some_and(|path| !path.is_empty()) {
        return Err(ColumnError::OtherFile);
    }
    let meta = chunk.meta_data.as_ref().ok_or(ColumnError::Chunk)?;
    if Some(meta.type_) != leaf.element.type_ || meta.path_in_schema != leaf.path {
        return Err(ColumnError::Chunk);
    }
    let values = usize::try_from(meta.num_values).map_err(|_| ColumnError::Sizes)?;
    let (range, first_data) = range(meta, end)?;
    Ok(Chunk { range, first_data, values, codec: codec::of_number(meta.codec.0)? })
}

/// Returns the position of a column's pages, and the start of its first data page if a dictionary page precedes it.
///
/// A dictionary page after the first data page is refused, because readers differ in where they start to read such a
/// column.
fn range(meta: &ColumnMetaData, end: usize) -> ColumnResult<(Range<usize>, Option<usize>)> {
    let position = |at: i64| usize::try_from(at).ok();
    let data = position(meta.data_page_offset).ok_or(ColumnError::BeyondFile)?;
    // Some writers state the offset 0 for a missing dictionary, and pyarrow does so for the data of no rows.
    let dictionary = meta.dictionary_page_offset.filter(|at| *at != 0);
    let has_data = data != 0 || meta.num_values != 0;
    let (start, first_data) = match dictionary {
        None => (data, None),
        Some(at) => {
            let is_before = |at: &usize| *at >= 4 && (*at < data || !has_data);
            let at = position(at).filter(is_before).ok_or(ColumnError::Start)?;
            (at, has_data.then_some(data))
        }
    };
    let length = position(meta.total_compressed_size).ok_or(ColumnError::BeyondFile)?;
    let stop = start.checked_add(length).ok_or(ColumnError::BeyondFile)?;
    if length > 0 && (start < 4 || stop > end) {
        return Err(ColumnError::BeyondFile);
    }
    Ok((start..stop, first_data))
}

/// Converts the schema to the type that the decoder needs: encodes a footer with only this schema, and lets the
/// decoder's library decode this footer.
fn schema(schema: Vec<SchemaElement>, arrow: Option<String>) -> Result<FileMetadata, FileError> {
    let pair = arrow.map(|value| KeyValue { key: ARROW_SCHEMA.to_owned(), value: Some(value) });
    let footer = FileMetaData {
        version: 1,
        schema,
        num_rows: 0,
        row_groups: Vec::new(),
        key_value_metadata: pair.map(|pair| vec![pair]),
        created_by: None,
        column_orders: None,
        encryption_algorithm: None,
        footer_signing_key_metadata: None,
    };
    let mut bytes = Vec::new();
    footer
        .write_to_out_protocol(&mut TCompactOutputProtocol::new(&mut bytes))
        .map_err(|e| FileError::Footer(one_line(e)))?;
    deserialize_metadata(bytes.into()).map_err(|e| FileError::Footer(one_line(e)))
}
