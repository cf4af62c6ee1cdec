//! Iterates over the pages of a chunk in the file: start, header and body of each.

use polars_parquet_format::thrift::protocol::TCompactInputProtocol;
use polars_parquet_format::{PageHeader, PageType};

use super::runs::take;
use super::{Chunk, ColumnError, ColumnResult};
use crate::database::limits::LONGEST_TEXT;

/// The limit in bytes for the texts in one page header: the page's smallest and largest text, each in two fields, and
/// 4096 bytes more.
const LONGEST_HEADER: usize = 4 * LONGEST_TEXT + 4096;

/// A page of a column chunk in the file.
pub(super) struct RawPage<'a> {
    pub(super) header: PageHeader,
    pub(super) body: &'a [u8],
    /// The decompressed size in bytes that the page states.
    pub(super) size: usize,
    /// The position of the header in the file.
    pub(super) start: usize,
    /// The size of header and body in bytes.
    pub(super) length: usize,
}

impl RawPage<'_> {
    pub(super) fn is_dictionary(&self) -> bool {
        self.header.type_ == PageType::DICTIONARY_PAGE
    }
}

/// An iterator over the pages of a column chunk. Yields an error if the chunk does not consist of whole pages.
pub(super) struct PageWalk<'a> {
    rest: &'a [u8],
    /// The position in the file of `rest`, the bytes that were not read yet.
    start: usize,
    /// The stated position of the first data page, until that page is reached.
    first_data: Option<usize>,
}

impl<'a> PageWalk<'a> {
    /// Iterates over the pages of a chunk of a file.
    pub(super) fn over(file: &'a [u8], chunk: &Chunk) -> Self {
        let rest = file.get(chunk.range.clone()).unwrap_or_default();
        Self { rest, start: chunk.range.start, first_data: chunk.first_data }
    }

    fn page(&mut self) -> ColumnResult<RawPage<'a>> {
        let (start, before) = (self.start, self.rest.len());
        let rest = &mut self.rest;
        let mut protocol = TCompactInputProtocol::new(&mut *rest, LONGEST_HEADER);
        let header =
            PageHeader::read_from_in_protocol(&mut protocol).map_err(|_| ColumnError::Header)?;
        let body =
            take(rest, size(header.compressed_page_size)?).ok_or(ColumnError::BeyondColumn)?;
        let size = size(header.uncompressed_page_size)?;
        let length = before - rest.len();
        self.start += length;
        let page = RawPage { header, body, size, start, length };
        // Readers that start at the stated data page must find the same pages as others.
        if !page.is_dictionary() && self.first_data.take().is_some_and(|stated| stated != start) {
            return Err(ColumnError::Start);
        }
        Ok(page)
    }
}

impl<'a> Iterator for PageWalk<'a> {
    type Item = ColumnResult<RawPage<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let page = self.page();
        if page.is_err() {
            self.rest = &[];
        }
        Some(page)
    }
}

/// Converts a size in a header, which must not be negative.
pub(super) fn size(stated: i32) -> ColumnResult<usize> {
    usize::try_from(stated).map_err(|_| ColumnError::Sizes)
}
