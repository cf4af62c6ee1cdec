//! Checks that every byte of a file belongs to a part that its footer names.
//!
//! Readers differ in where they start to read a column. Unclaimed bytes could contain a second set of pages
//! that only some readers see. In addition to pages, a file may contain page indexes, bloom filters and
//! copies of a column's metadata, which parquet-cpp wrote and polars writes after each column.

use std::collections::BTreeSet;
use std::ops::Range;

use polars_parquet_format::thrift::protocol::TCompactInputProtocol;
use polars_parquet_format::{
    BloomFilterHeader, ColumnChunk, ColumnMetaData, OffsetIndex, RowGroup,
};

use super::walk::{PageWalk, size};
use super::{Chunk, ChunkGroup, ColumnError, ColumnResult, FileError};
use crate::database::limits::MOST_FOOTER;

/// The fields by which a copy of a column's metadata is compared with the metadata in the footer. Some writers store
/// such copies outside of the footer.
type MetadataFacts<'a> = (i32, i32, &'a [String], [i64; 4], [Option<i64>; 2]);

/// Refuses a file in which two stated ranges of bytes (pages, indexes or filters) overlap, or in which bytes before the
/// footer belong to none of these ranges. `end` is the start of the footer.
pub(super) fn check(
    bytes: &[u8],
    stated: &[RowGroup],
    groups: &[ChunkGroup],
    end: usize,
) -> Result<(), FileError> {
    let stated = stated.iter().flat_map(|group| &group.columns);
    let chunks = groups.iter().flat_map(|group| &group.chunks);
    let (mut claims, mut known) = (Vec::new(), BTreeSet::new());
    for (stated, chunk) in stated.zip(chunks) {
        let Some(meta) = &stated.meta_data else { continue };
        let column = || meta.path_in_schema.first().map_or("", String::as_str);
        known.insert(facts(meta));
        claims.push(chunk.range.clone());
        let beside = beside(bytes, stated, meta, chunk, end).map_err(|e| e.of(column()))?;
        claims.extend(beside.into_iter().flatten());
    }
    claims.retain(|claim| !claim.is_empty());
    // The footer ends the last gap.
    claims.push(end..end);
    claims.sort_unstable_by_key(|claim| (claim.start, claim.end));
    let mut at = b"PAR1".len();
    for claim in claims {
        if claim.start < at {
            return Err(FileError::Overlap);
        }
        if !are_copies(&bytes[at..claim.start], &known) {
            return Err(FileError::Unclaimed { first: at, last: claim.start - 1 });
        }
        at = claim.end;
    }
    Ok(())
}

/// Returns the positions of a column's offset index, column index and bloom filter, which are stored apart from its
/// pages. A position is `None` if the file does not have this part.
fn beside(
    bytes: &[u8],
    stated: &ColumnChunk,
    meta: &ColumnMetaData,
    chunk: &Chunk,
    end: usize,
) -> ColumnResult<[Option<Range<usize>>; 3]> {
    let place = |start: Option<i64>, length: Option<i32>| {
        let (Some(start), Some(length)) = (start, length) else { return Ok(None) };
        within(start, size(length)?, end).map(Some)
    };
    let index = place(stated.offset_index_offset, stated.offset_index_length)?;
    if let Some(index) = &index {
        check_offsets(bytes, index.clone(), chunk)?;
    }
    let bounds = place(stated.column_index_offset, stated.column_index_length)?;
    let bloom = meta.bloom_filter_offset.map(|start| bloom(bytes, start, meta, end)).transpose()?;
    Ok([index, bounds, bloom])
}

fn within(start: i64, length: usize, end: usize) -> ColumnResult<Range<usize>> {
    let start = usize::try_from(start).ok().filter(|start| *start >= b"PAR1".len());
    let place = start.and_then(|start| Some(start..start.checked_add(length)?));
    place.filter(|place| place.end <= end).ok_or(ColumnError::BeyondFile)
}

/// Refuses an offset index that does not list the data pages of the chunk, because some readers find pages by this
/// index.
fn check_offsets(bytes: &[u8], index: Range<usize>, chunk: &Chunk) -> ColumnResult<()> {
    let mut rest = &bytes[index];
    let mut protocol = TCompactInputProtocol::new(&mut rest, MOST_FOOTER);
    let index =
        OffsetIndex::read_from_in_protocol(&mut protocol).map_err(|_| ColumnError::PageIndex)?;
    let mut listed = index.page_locations.into_iter();
    for page in PageWalk::over(bytes, chunk) {
        let page = page?;
        if page.is_dictionary() {
            continue;
        }
        let stated = listed.next().map(|at| (at.offset, i64::from(at.compressed_page_size)));
        if stated != Some((page.start as i64, page.length as i64)) {
            return Err(ColumnError::PageIndex);
        }
    }
    if listed.next().is_none() && rest.is_empty() { Ok(()) } else { Err(ColumnError::PageIndex) }
}

/// Returns the position of a bloom filter. Older writers state its start but not its length.
fn bloom(
    bytes: &[u8],
    start: i64,
    meta: &ColumnMetaData,
    end: usize,
) -> ColumnResult<Range<usize>> {
    let place = within(start, 0, end)?;
    let mut rest = &bytes[place.start..end];
    let before = rest.len();
    let mut protocol = TCompactInputProtocol::new(&mut rest, MOST_FOOTER);
    let header = BloomFilterHeader::read_from_in_protocol(&mut protocol)
        .map_err(|_| ColumnError::BloomFilter)?;
    let length = (before - rest.len()).saturating_add(size(header.num_bytes)?);
    let stated = meta.bloom_filter_length.map(size).transpose()?;
    if stated.is_some_and(|stated| stated != length) {
        return Err(ColumnError::BloomFilter);
    }
    within(start, length, end)
}

/// Returns true if the bytes consist only of copies of columns' metadata. `known` is the metadata of all columns in the
/// footer.
fn are_copies(mut bytes: &[u8], known: &BTreeSet<MetadataFacts<'_>>) -> bool {
    while !bytes.is_empty() {
        let rest = after_metadata(bytes, known).or_else(|| after_chunk(bytes, known));
        let Some(rest) = rest else { return false };
        bytes = rest;
    }
    true
}

/// If `bytes` start with a copy of a column's metadata, as polars writes it, returns the bytes after the copy;
/// otherwise `None`.
fn after_metadata<'a>(
    mut bytes: &'a [u8],
    known: &BTreeSet<MetadataFacts<'_>>,
) -> Option<&'a [u8]> {
    let mut protocol = TCompactInputProtocol::new(&mut bytes, MOST_FOOTER);
    let copy = ColumnMetaData::read_from_in_protocol(&mut protocol).ok()?;
    known.contains(&facts(&copy)).then_some(bytes)
}

/// If `bytes` start with a `ColumnChunk` that contains a copy of a column's metadata, as parquet-cpp wrote it, returns
/// the bytes after the chunk; otherwise `None`.
fn after_chunk<'a>(mut bytes: &'a [u8], known: &BTreeSet<MetadataFacts<'_>>) -> Option<&'a [u8]> {
    let mut protocol = TCompactInputProtocol::new(&mut bytes, MOST_FOOTER);
    let copy = ColumnChunk::read_from_in_protocol(&mut protocol).ok()?.meta_data?;
    known.contains(&facts(&copy)).then_some(bytes)
}

fn facts(meta: &ColumnMetaData) -> MetadataFacts<'_> {
    (
        meta.type_.0,
        meta.codec.0,
        &meta.path_in_schema,
        [
            meta.num_values,
            meta.total_uncompressed_size,
            meta.total_compressed_size,
            meta.data_page_offset,
        ],
        [meta.dictionary_page_offset, meta.index_page_offset],
    )
}
