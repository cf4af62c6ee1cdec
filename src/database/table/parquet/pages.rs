//! Checks and decompresses the pages of a column before the decoder reads them.
//!
//! A kilobyte can claim a gigabyte: by sizes, by numbers of values, by lengths inside an encoding. The
//! decoder trusts these claims, and a process that runs out of memory is aborted. Therefore, every page is
//! walked, decompressed and counted here, and the decoder gets pages with new headers that claim the counted
//! numbers.

use std::ops::Range;

use polars_parquet::parquet::metadata::Descriptor;
use polars_parquet::read::PhysicalType;
use polars_parquet_format::thrift::protocol::TCompactOutputProtocol;
use polars_parquet_format::{
    DataPageHeader, DataPageHeaderV2, DictionaryPageHeader, Encoding, PageHeader, PageType,
};

use super::codec::Decompressor;
use super::runs::{ones, take};
use super::walk::{PageWalk, RawPage, size};
use super::{Chunk, ColumnError, ColumnResult, values};
use crate::database::limits::MOST_BYTES;
use crate::specs::Codec;

/// The expected ratio of decompressed to compressed size, by which memory for the decompressed pages is reserved.
const UNFOLDED: usize = 4;

/// The approximate size in bytes of a page header that this program writes.
const HEADER: usize = 64;

/// A reader of the pages of a file's columns, with a limit on their total size.
pub(super) struct BoundedPages<'a> {
    bytes: &'a [u8],
    /// The remaining number of bytes that pages may decompress to.
    left: usize,
    decompressor: Decompressor,
}

/// The decompressed pages of a column in a row group. Each page has a new header, which states the checked size and
/// number of values.
pub(super) struct Pages {
    pub(super) bytes: Vec<u8>,
    /// True if all values are indices into a dictionary.
    pub(super) indices: bool,
    /// The position of the dictionary in `bytes`, and its number of entries; `None` if the column has no dictionary.
    dictionary: Option<(Range<usize>, usize)>,
    /// For each page, the position of its values in `bytes`, and the number of values that are not null.
    values: Vec<(Range<usize>, usize)>,
    pub(super) rows: usize,
}

impl Pages {
    /// Returns the dictionary's bytes and number of entries. `None` if a row is null or is stored without the
    /// dictionary.
    pub(super) fn dictionary(&self) -> Option<(&[u8], usize)> {
        let present: usize = self.values.iter().map(|(_, count)| count).sum();
        let (at, entries) = self.dictionary.as_ref()?;
        (self.indices && present == self.rows).then(|| (&self.bytes[at.clone()], *entries))
    }

    /// Returns the bytes and number of values of each page.
    pub(super) fn values(&self) -> impl Iterator<Item = (&[u8], usize)> {
        self.values.iter().map(|(at, count)| (&self.bytes[at.clone()], *count))
    }
}

impl<'a> BoundedPages<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, left: MOST_BYTES, decompressor: Decompressor::default() }
    }

    /// Returns the pages of a flat column in a row group with `rows` rows.
    ///
    /// # Errors
    ///
    /// [`ColumnError`] if a page does not contain what it claims, or the pages do not contain `rows` rows.
    pub(super) fn pages(
        &mut self,
        chunk: &Chunk,
        leaf: &Descriptor,
        rows: usize,
    ) -> ColumnResult<Pages> {
        // The reserved memory is limited by the file's size and the remaining limit, not by the file's
        // claims.
        let room = chunk.range.len().saturating_mul(UNFOLDED).min(self.left);
        let out = Vec::with_capacity(room);
        let pages = Pages { bytes: out, indices: true, dictionary: None, values: Vec::new(), rows };
        let mut column = ColumnPages { leaf, values: 0, pages };
        for page in PageWalk::over(self.bytes, chunk) {
            let page = self.afford(page?)?;
            match page.header.type_ {
                PageType::DICTIONARY_PAGE => {
                    column.dictionary(&page, chunk.codec, &mut self.decompressor)?;
                }
                PageType::DATA_PAGE => column.data(&page, chunk.codec, &mut self.decompressor)?,
                PageType::DATA_PAGE_V2 => {
                    column.data_v2(&page, chunk.codec, &mut self.decompressor)?;
                }
                _ => return Err(ColumnError::PageKind),
            }
        }
        if column.values != rows || chunk.values != rows {
            return Err(ColumnError::Rows { stated: rows, held: column.values });
        }
        let mut pages = column.pages;
        pages.indices &= pages.dictionary.is_some();
        Ok(pages)
    }

    /// Checks the pages of a column without decoding them.
    ///
    /// # Errors
    ///
    /// [`ColumnError`] if the pages do not fill the column or do not contain the claimed number of values.
    pub(super) fn skip(&mut self, chunk: &Chunk) -> ColumnResult<()> {
        let mut values = 0;
        for page in PageWalk::over(self.bytes, chunk) {
            let header = self.afford(page?)?.header;
            let v1 = header.data_page_header.map(|h| h.num_values);
            let v2 = header.data_page_header_v2.map(|h| h.num_values);
            values += size(v1.or(v2).unwrap_or(0))?;
        }
        if values == chunk.values { Ok(()) } else { Err(ColumnError::Values) }
    }

    /// Subtracts a page's decompressed size from the file's remaining limit.
    fn afford<'p>(&mut self, page: RawPage<'p>) -> ColumnResult<RawPage<'p>> {
        self.left = self.left.checked_sub(page.size).ok_or(ColumnError::Bytes)?;
        Ok(page)
    }
}

/// The pages of a column that were read so far.
struct ColumnPages<'a> {
    leaf: &'a Descriptor,
    /// The number of values read so far, including nulls.
    values: usize,
    pages: Pages,
}

impl ColumnPages<'_> {
    fn physical(&self) -> PhysicalType {
        self.leaf.primitive_type.physical_type
    }

    /// Returns the number of dictionary entries; `None` without a dictionary.
    fn entries(&self) -> Option<usize> {
        self.pages.dictionary.as_ref().map(|(_, entries)| *entries)
    }

    /// Returns true if the column may contain nulls. Each page of such a column stores which of its values are null, as
    /// definition levels.
    fn nullable(&self) -> bool {
        self.leaf.max_def_level > 0
    }

    fn dictionary(
        &mut self,
        page: &RawPage,
        codec: Codec,
        with: &mut Decompressor,
    ) -> ColumnResult<()> {
        let Some(header) = &page.header.dictionary_page_header else {
            return Err(ColumnError::Header);
        };
        if !self.pages.bytes.is_empty() {
            return Err(ColumnError::PageKind);
        }
        let entries = size(header.num_values)?;
        if !matches!(header.encoding, Encoding::PLAIN | Encoding::PLAIN_DICTIONARY) {
            return Err(ColumnError::Encoding(values::name(header.encoding)));
        }
        let checked = DictionaryPageHeader {
            num_values: header.num_values,
            encoding: Encoding::PLAIN,
            is_sorted: None,
        };
        let physical = self.physical();
        let body = self.push(page.size, PageType::DICTIONARY_PAGE, |h| {
            h.dictionary_page_header = Some(checked);
        })?;
        with.fill(codec, page.body, body)?;
        values::plain(body, physical, entries)?;
        let end = self.pages.bytes.len();
        self.pages.dictionary = Some((end - page.size..end, entries));
        Ok(())
    }

    /// Reads a data page of version 1, in which the definition levels are compressed together with the values.
    fn data(&mut self, page: &RawPage, codec: Codec, with: &mut Decompressor) -> ColumnResult<()> {
        let Some(header) = &page.header.data_page_header else { return Err(ColumnError::Header) };
        let count = size(header.num_values)?;
        let levels = header.definition_level_encoding;
        let nullable = self.nullable();
        // Without levels, writers state any encoding.
        if nullable && levels != Encoding::RLE {
            return Err(ColumnError::Levels(values::name(levels)));
        }
        let checked = DataPageHeader {
            num_values: header.num_values,
            encoding: header.encoding,
            definition_level_encoding: Encoding::RLE,
            repetition_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let (physical, dictionary) = (self.physical(), self.entries());
        let body = self.push(page.size, PageType::DATA_PAGE, |h| {
            h.data_page_header = Some(checked);
        })?;
        with.fill(codec, page.body, body)?;
        let mut rest = &*body;
        let mut present = count;
        if nullable {
            let length = take(&mut rest, 4).and_then(|l| l.try_into().ok()).map(u32::from_le_bytes);
            let levels = length.and_then(|length| take(&mut rest, length as usize));
            present = levels.and_then(|l| ones(l, count)).ok_or(ColumnError::DamagedLevels)?;
        }
        values::check(rest, physical, header.encoding, present, dictionary)?;
        let bytes = rest.len();
        self.count(count, header.encoding, bytes, present)
    }

    /// Reads a data page of version 2, in which uncompressed definition levels precede the values.
    fn data_v2(
        &mut self,
        page: &RawPage,
        codec: Codec,
        with: &mut Decompressor,
    ) -> ColumnResult<()> {
        let Some(header) = &page.header.data_page_header_v2 else {
            return Err(ColumnError::Header);
        };
        let count = size(header.num_values)?;
        let levels = size(header.definition_levels_byte_length)?;
        let repeated = size(header.repetition_levels_byte_length)?;
        let nullable = self.nullable();
        // A flat column has no repetition levels, and a column without nulls has no levels at all.
        if repeated != 0 || (levels != 0 && !nullable) || size(header.num_rows)? != count {
            return Err(ColumnError::Sizes);
        }
        let compressed = header.is_compressed.unwrap_or(true);
        let codec = if compressed { codec } else { Codec::Uncompressed };
        let checked =
            DataPageHeaderV2 { statistics: None, is_compressed: Some(false), ..header.clone() };
        let (physical, dictionary) = (self.physical(), self.entries());
        let body = self.push(page.size, PageType::DATA_PAGE_V2, |h| {
            h.data_page_header_v2 = Some(checked);
        })?;
        let (Some((from_levels, from)), Some((to_levels, to))) =
            (page.body.split_at_checked(levels), body.split_at_mut_checked(levels))
        else {
            return Err(ColumnError::Sizes);
        };
        to_levels.copy_from_slice(from_levels);
        // If all values are null, some writers compress nothing.
        if !(from.is_empty() && to.is_empty()) {
            with.fill(codec, from, to)?;
        }
        let present = if nullable { ones(to_levels, count) } else { Some(count) };
        let present = present.ok_or(ColumnError::DamagedLevels)?;
        if count - present != size(header.num_nulls)? {
            return Err(ColumnError::DamagedLevels);
        }
        values::check(to, physical, header.encoding, present, dictionary)?;
        let bytes = to.len();
        self.count(count, header.encoding, bytes, present)
    }

    /// Records the page that was appended last. It has `values` values including nulls, of which `present` are not
    /// null. The present values are the last `bytes` bytes of `Pages::bytes`.
    fn count(
        &mut self,
        values: usize,
        encoding: Encoding,
        bytes: usize,
        present: usize,
    ) -> ColumnResult<()> {
        let indices = matches!(encoding, Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY);
        self.pages.indices &= indices;
        let end = self.pages.bytes.len();
        self.pages.values.push((end - bytes..end, present));
        self.values = self.values.checked_add(values).ok_or(ColumnError::Sizes)?;
        Ok(())
    }

    /// Appends a page with a header to `Pages::bytes`. Returns the page's body of `length` bytes, which the caller
    /// fills. `claims` sets further fields of the header.
    fn push(
        &mut self,
        length: usize,
        kind: PageType,
        claims: impl FnOnce(&mut PageHeader),
    ) -> ColumnResult<&mut [u8]> {
        let size = i32::try_from(length).map_err(|_| ColumnError::Sizes)?;
        let mut header = PageHeader {
            type_: kind,
            uncompressed_page_size: size,
            compressed_page_size: size,
            crc: None,
            data_page_header: None,
            index_page_header: None,
            dictionary_page_header: None,
            data_page_header_v2: None,
        };
        claims(&mut header);
        // Reserves memory for header and body at once, since the header is written byte by byte.
        let out = &mut self.pages.bytes;
        out.reserve(HEADER + length);
        header
            .write_to_out_protocol(&mut TCompactOutputProtocol::new(&mut *out))
            .map_err(|_| ColumnError::Header)?;
        let start = out.len();
        out.resize(start + length, 0);
        Ok(&mut out[start..])
    }
}
