//! Parquet files with types, row groups and text columns that the program itself does not write.

use std::sync::Arc;

use polars_arrow::array::{ArrayRef, MutableBinaryViewArray, Utf8ViewArray};
use polars_arrow::datatypes::{ArrowDataType, ArrowSchema, Field};
use polars_arrow::record_batch::RecordBatchT;
use polars_parquet::write::{
    CompressionOptions, Encoding, FileWriter, StatisticsOptions, Version, WriteOptions,
    get_dtype_encoding, row_group_iter, schema_to_metadata_key,
};

/// Returns a column of text.
pub fn texts<T: AsRef<str>>(cells: impl IntoIterator<Item = Option<T>>) -> ArrayRef {
    let views: Utf8ViewArray = MutableBinaryViewArray::from_iter(cells).into();
    views.boxed()
}

/// The options of a written file.
#[derive(Debug, Clone)]
pub struct Layout {
    /// The number of rows per row group.
    pub group: usize,
    /// The Arrow type of text columns that the file states.
    pub text: ArrowDataType,
    /// True if pages are compressed with zstd. Otherwise they are not compressed.
    pub zstd: bool,
    /// The approximate number of bytes per page; `None` for one page per row group.
    pub page: Option<usize>,
    /// True if columns have dictionaries.
    pub dictionary: bool,
}

impl Default for Layout {
    fn default() -> Self {
        let text = ArrowDataType::Utf8View;
        Self { group: usize::MAX, text, zstd: true, page: None, dictionary: true }
    }
}

/// Writes named columns in row groups of `group` rows. `text` is the Arrow type that the file states for text columns.
pub fn written(columns: &[(&str, ArrayRef)], group: usize, text: ArrowDataType) -> Vec<u8> {
    laid_out(columns, &Layout { group, text, ..Layout::default() })
}

/// Writes named columns with the given options.
pub fn laid_out(columns: &[(&str, ArrayRef)], layout: &Layout) -> Vec<u8> {
    let schema = |text: &ArrowDataType| -> ArrowSchema {
        let fields = columns.iter().map(|(name, array)| {
            let dtype = match array.dtype() {
                ArrowDataType::Utf8View => text.clone(),
                other => other.clone(),
            };
            ((*name).into(), Field::new((*name).into(), dtype, true))
        });
        fields.collect()
    };
    let (written, named) = (schema(&ArrowDataType::Utf8View), schema(&layout.text));
    let zstd = CompressionOptions::Zstd(None);
    let compression = if layout.zstd { zstd } else { CompressionOptions::Uncompressed };
    let options = WriteOptions {
        statistics: StatisticsOptions::default(),
        version: Version::V1,
        compression,
        data_page_size: layout.page,
    };
    let mut bytes = Vec::new();
    let mut file = FileWriter::try_new(&mut bytes, written.clone(), options).expect("a schema");
    let rows = columns.first().map_or(0, |(_, array)| array.len());
    for start in (0..rows).step_by(layout.group) {
        let length = layout.group.min(rows - start);
        let arrays = columns.iter().map(|(_, array)| array.sliced(start, length)).collect();
        let arrays = RecordBatchT::new(length, Arc::new(written.clone()), arrays);
        let chosen = |dtype| {
            if layout.dictionary { get_dtype_encoding(dtype) } else { vec![Encoding::Plain] }
        };
        let encodings = written.iter_values().map(|field| chosen(&field.dtype));
        let types = file.parquet_schema().fields().to_vec();
        let pages = row_group_iter(arrays, encodings.collect(), types, options);
        file.write(length as u64, pages).expect("a row group");
    }
    file.end(Some(vec![schema_to_metadata_key(&named)])).expect("a footer");
    bytes
}

/// Reads a file that `fixtures/parquet/make.py` wrote with another Parquet library.
pub fn fixture(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/fixtures/parquet");
    std::fs::read(format!("{folder}/{name}.parquet")).expect("a fixture")
}
