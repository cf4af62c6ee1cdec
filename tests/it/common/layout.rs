//! A Parquet file split into its footer and the pages of every column, so that tests can change and rewrite it.
//! The fuzzer uses this module too.

use polars_parquet_format::thrift::protocol::{TCompactInputProtocol, TCompactOutputProtocol};
use polars_parquet_format::{ColumnMetaData, FileMetaData, PageHeader, Statistics};

/// A page of a column chunk: its header, and its body as it is stored in the file.
#[derive(Debug, Clone)]
pub struct Page {
    pub header: PageHeader,
    pub body: Vec<u8>,
}

impl Page {
    /// Replaces the body by an uncompressed one, and states its size in the header.
    pub fn set(&mut self, body: Vec<u8>) {
        self.header.compressed_page_size = body.len() as i32;
        self.header.uncompressed_page_size = body.len() as i32;
        self.body = body;
    }
}

/// A split file: the footer, and the pages of every column chunk in the order of row groups and columns.
#[derive(Debug, Clone)]
pub struct File {
    pub footer: FileMetaData,
    pub chunks: Vec<Vec<Page>>,
}

impl File {
    /// Splits the bytes of a file; `None` if the file is damaged.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let end = bytes.len().checked_sub(8)?;
        let length = u32::from_le_bytes(bytes[end..end + 4].try_into().ok()?) as usize;
        let mut protocol =
            TCompactInputProtocol::new(bytes.get(end.checked_sub(length)?..end)?, 1 << 20);
        let footer = FileMetaData::read_from_in_protocol(&mut protocol).ok()?;
        let columns = footer.row_groups.iter().flat_map(|group| &group.columns);
        let chunks = columns.map(|column| pages(bytes, column.meta_data.as_ref()?));
        Some(Self { chunks: chunks.collect::<Option<_>>()?, footer })
    }

    /// Writes the file without page indexes and bloom filters. Page headers are written unchanged, even if they are wrong.
    pub fn write(&self) -> Vec<u8> {
        self.write_with(|_| ())
    }

    /// Writes the file like [`Self::write`], and calls `change` on the footer after the offsets of the chunks are set.
    pub fn write_with(&self, change: impl FnOnce(&mut FileMetaData)) -> Vec<u8> {
        self.write_between(|_| Vec::new(), change)
    }

    /// Writes the file like [`Self::write_with`], with additional bytes before the first chunk and after each chunk.
    /// `between` returns these bytes for the metadata of the chunks written before them.
    pub fn write_between(
        &self,
        between: impl Fn(&[ColumnMetaData]) -> Vec<u8>,
        change: impl FnOnce(&mut FileMetaData),
    ) -> Vec<u8> {
        let mut footer = self.footer.clone();
        let mut bytes = b"PAR1".to_vec();
        bytes.extend(between(&[]));
        let mut written = Vec::new();
        let columns = footer.row_groups.iter_mut().flat_map(|group| &mut group.columns);
        for (column, pages) in columns.zip(&self.chunks) {
            (column.offset_index_offset, column.offset_index_length) = (None, None);
            (column.column_index_offset, column.column_index_length) = (None, None);
            let Some(meta) = &mut column.meta_data else { continue };
            (meta.bloom_filter_offset, meta.bloom_filter_length) = (None, None);
            let start = bytes.len();
            meta.data_page_offset = start as i64;
            let dictionary =
                pages.first().is_some_and(|p| p.header.dictionary_page_header.is_some());
            meta.dictionary_page_offset = dictionary.then_some(start as i64);
            for (at, page) in pages.iter().enumerate() {
                if at == 1 && dictionary {
                    meta.data_page_offset = bytes.len() as i64;
                }
                let mut protocol = TCompactOutputProtocol::new(&mut bytes);
                page.header.write_to_out_protocol(&mut protocol).expect("a header");
                bytes.extend(&page.body);
            }
            meta.total_compressed_size = (bytes.len() - start) as i64;
            written.push(meta.clone());
            bytes.extend(between(&written));
        }
        change(&mut footer);
        let start = bytes.len();
        let mut protocol = TCompactOutputProtocol::new(&mut bytes);
        footer.write_to_out_protocol(&mut protocol).expect("a footer");
        bytes.extend(((bytes.len() - start) as u32).to_le_bytes());
        bytes.extend(b"PAR1");
        bytes
    }

    /// Returns the index of a column's chunk in a file of one row group.
    pub fn column(&self, name: &str) -> usize {
        let leaves = self.footer.schema.iter().filter(|e| e.num_children.unwrap_or(0) == 0);
        leaves.map(|e| e.name.as_str()).position(|n| n == name).expect("a column")
    }
}

fn pages(bytes: &[u8], meta: &ColumnMetaData) -> Option<Vec<Page>> {
    let start = meta.dictionary_page_offset.unwrap_or(meta.data_page_offset) as usize;
    let mut rest = bytes.get(start..start.checked_add(meta.total_compressed_size as usize)?)?;
    let mut pages = Vec::new();
    while !rest.is_empty() {
        let mut protocol = TCompactInputProtocol::new(&mut rest, 1 << 20);
        let header = PageHeader::read_from_in_protocol(&mut protocol).ok()?;
        let (body, after) = rest.split_at_checked(header.compressed_page_size as usize)?;
        pages.push(Page { header, body: body.to_vec() });
        rest = after;
    }
    Some(pages)
}

/// Returns page statistics that state only a maximum.
pub fn statistics(max_value: Vec<u8>) -> Statistics {
    Statistics {
        max: None,
        min: None,
        null_count: None,
        distinct_count: None,
        max_value: Some(max_value),
        min_value: None,
        is_max_value_exact: None,
        is_min_value_exact: None,
    }
}
