//! Parquet files as other writers lay them out: types, row groups and text that ours does not write.

use std::sync::Arc;

use polars_arrow::array::{ArrayRef, MutableBinaryViewArray, Utf8ViewArray};
use polars_arrow::datatypes::{ArrowDataType, ArrowSchema, Field};
use polars_arrow::record_batch::RecordBatchT;
use polars_parquet::write::{
    CompressionOptions, FileWriter, StatisticsOptions, Version, WriteOptions, get_dtype_encoding,
    row_group_iter, schema_to_metadata_key,
};

/// A column of text.
pub fn texts<T: AsRef<str>>(cells: impl IntoIterator<Item = Option<T>>) -> ArrayRef {
    let views: Utf8ViewArray = MutableBinaryViewArray::from_iter(cells).into();
    views.boxed()
}

/// A file of columns by name, in row groups of `group` rows. `text` is the type that the file names for
/// its columns of text.
pub fn written(columns: &[(&str, ArrayRef)], group: usize, text: ArrowDataType) -> Vec<u8> {
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
    let (written, named) = (schema(&ArrowDataType::Utf8View), schema(&text));
    let options = WriteOptions {
        statistics: StatisticsOptions::default(),
        version: Version::V1,
        compression: CompressionOptions::Zstd(None),
        data_page_size: None,
    };
    let mut bytes = Vec::new();
    let mut file = FileWriter::try_new(&mut bytes, written.clone(), options).expect("a schema");
    let rows = columns.first().map_or(0, |(_, array)| array.len());
    for start in (0..rows).step_by(group) {
        let length = group.min(rows - start);
        let arrays = columns.iter().map(|(_, array)| array.sliced(start, length)).collect();
        let arrays = RecordBatchT::new(length, Arc::new(written.clone()), arrays);
        let encodings = written.iter_values().map(|f| get_dtype_encoding(&f.dtype)).collect();
        let types = file.parquet_schema().fields().to_vec();
        let pages = row_group_iter(arrays, encodings, types, options);
        file.write(length as u64, pages).expect("a row group");
    }
    file.end(Some(vec![schema_to_metadata_key(&named)])).expect("a footer");
    bytes
}

/// A file of another writer, as `fixtures/parquet/make.py` writes it.
pub fn fixture(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/fixtures/parquet");
    std::fs::read(format!("{folder}/{name}.parquet")).expect("a fixture")
}
