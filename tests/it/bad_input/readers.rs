//! Parquet files that readers would read differently: each is refused, whatever it holds.

use super::rules;
use crate::common::layout::File;
use crate::common::parquet::{fixture, written};
use perfdb_gate::database::catalog::Format;
use perfdb_gate::database::table::{Table, TableFault};
use perfdb_gate::specs::StoredType;
use polars_arrow::array::{ArrayRef, PrimitiveArray};
use polars_arrow::datatypes::ArrowDataType;
use polars_parquet_format::thrift::protocol::TCompactOutputProtocol;
use polars_parquet_format::{
    ColumnMetaData, ConvertedType, FileMetaData, IntType, LogicalType, OffsetIndex, PageLocation,
};

/// Why a file cannot be read; empty if it can.
fn refused(bytes: &[u8]) -> String {
    match Table::decode(bytes, Format::Parquet, &|_| false) {
        Err(TableFault::Unreadable(why)) => why,
        Err(other) => panic!("{other:?}"),
        Ok(_) => String::new(),
    }
}

/// The number of the column `m`.
const M: usize = 3;

fn meta(footer: &mut FileMetaData) -> &mut ColumnMetaData {
    footer.row_groups[0].columns[M].meta_data.as_mut().unwrap()
}

fn copy(meta: &ColumnMetaData) -> Vec<u8> {
    let mut bytes = Vec::new();
    meta.write_to_out_protocol(&mut TCompactOutputProtocol::new(&mut bytes)).unwrap();
    bytes
}

#[test]
fn a_dictionary_that_is_not_before_the_data_is_refused() {
    let file = File::read(&fixture("pyarrow-none")).unwrap();
    type Place = fn(&ColumnMetaData) -> i64;
    let places: [(&str, Place); 6] = [
        ("behind the data", |m| m.data_page_offset + 1),
        ("where the data is", |m| m.data_page_offset),
        ("in the first bytes", |_| 3),
        ("before the file", |_| -1),
        ("a byte before the dictionary", |m| m.dictionary_page_offset.unwrap() - 1),
        ("beyond the file", |_| i64::MAX),
    ];
    for (what, place) in places {
        let bytes = file.write_with(|footer| {
            let meta = meta(footer);
            meta.dictionary_page_offset = Some(place(meta));
        });
        let why = refused(&bytes);
        let is_named = why.starts_with("column m has a dictionary or a first page elsewhere");
        assert!(is_named || why.contains("share bytes"), "{what}: {why}");
    }
    // A second set of pages behind the first: latency has honest pages, and others behind them.
    let mut both = file.clone();
    let latency = both.column("latency");
    let other = both.chunks[latency].clone();
    let length = |pages: &[crate::common::layout::Page]| -> usize {
        pages.iter().map(|page| page.header.compressed_page_size as usize).sum()
    };
    let honest = length(&other);
    both.chunks[latency].extend(other);
    let bytes = both.write_with(|footer| {
        let meta = footer.row_groups[0].columns[latency].meta_data.as_mut().unwrap();
        assert!(meta.total_compressed_size as usize > 2 * honest);
        meta.dictionary_page_offset = Some(meta.data_page_offset + honest as i64);
    });
    assert!(refused(&bytes).contains("readers differ in where they start"));
    assert_eq!(rules("gemm_perf.parquet", &bytes), ["table-unreadable"]);
}

#[test]
fn a_data_page_at_another_offset_than_stated_is_refused() {
    let file = File::read(&fixture("pyarrow-none")).unwrap();
    for by in [-1, 1] {
        let bytes = file.write_with(|footer| meta(footer).data_page_offset += by);
        let why = refused(&bytes);
        assert!(why.contains("column m has a dictionary or a first page elsewhere"), "{by}: {why}");
    }
    // Some writers state 0 for a dictionary that is not there.
    let mut plain = File::read(&fixture("pyarrow-plain")).unwrap();
    let zero = plain.write_with(|footer| meta(footer).dictionary_page_offset = Some(0));
    assert_eq!(refused(&zero), "");
    plain.chunks[M].clear();
    assert!(refused(&plain.write()).contains("column m states 64 rows, but its pages contain 0"));
}

#[test]
fn bytes_that_belong_to_no_column_are_refused() {
    let file = File::read(&fixture("pyarrow-none")).unwrap();
    for hidden in [vec![0], b"PAR1".to_vec(), vec![0; 300]] {
        for after in [0, 1, 5, 10] {
            let between = |written: &[ColumnMetaData]| {
                if written.len() == after { hidden.clone() } else { Vec::new() }
            };
            let why = refused(&file.write_between(between, |_| ()));
            assert!(why.contains("belong to nothing that its footer names"), "{after}: {why}");
        }
    }
    // A row group that the footer does not name.
    let bytes = File::read(&fixture("pyarrow-groups")).unwrap().write_with(|footer| {
        let group = footer.row_groups.remove(1);
        footer.num_rows -= group.num_rows;
    });
    assert!(refused(&bytes).contains("belong to nothing"));
    // Bytes behind what the footer says, but within its length.
    let mut bytes = file.write();
    let at = bytes.len() - 8;
    bytes.splice(at..at, *b"abc");
    let length = u32::from_le_bytes(bytes[at + 3..at + 7].try_into().unwrap()) + 3;
    bytes[at + 3..at + 7].copy_from_slice(&length.to_le_bytes());
    assert!(refused(&bytes).contains("3 bytes follow its contents"));
}

#[test]
fn copies_of_column_metadata_are_accepted_if_they_equal_the_footer() {
    let file = File::read(&fixture("pyarrow-none")).unwrap();
    let last = |written: &[ColumnMetaData]| written.last().map(copy).unwrap_or_default();
    assert_eq!(refused(&file.write_between(last, |_| ())), "");
    // As parquet-cpp 14 wrote them: with their place.
    let chunk = |meta: &ColumnMetaData| {
        let mut chunk = file.footer.row_groups[0].columns[M].clone();
        (chunk.meta_data, chunk.file_offset) = (Some(meta.clone()), 1234);
        let mut bytes = Vec::new();
        chunk.write_to_out_protocol(&mut TCompactOutputProtocol::new(&mut bytes)).unwrap();
        bytes
    };
    let placed = |written: &[ColumnMetaData]| written.last().map(chunk).unwrap_or_default();
    assert_eq!(refused(&file.write_between(placed, |_| ())), "");
    let all = |written: &[ColumnMetaData]| match written.len() {
        10 => written.iter().flat_map(copy).collect(),
        _ => Vec::new(),
    };
    assert_eq!(refused(&file.write_between(all, |_| ())), "");
    type Lie = fn(&mut ColumnMetaData);
    let lies: [Lie; 4] = [
        |meta| meta.data_page_offset += 1,
        |meta| meta.dictionary_page_offset = Some(4),
        |meta| meta.num_values += 1,
        |meta| meta.path_in_schema = vec!["n".into()],
    ];
    for lie in lies {
        let lying = |written: &[ColumnMetaData]| {
            let mut meta = written.last().cloned();
            meta.iter_mut().for_each(lie);
            meta.as_ref().map(copy).unwrap_or_default()
        };
        assert!(refused(&file.write_between(lying, |_| ())).contains("belong to nothing"));
    }
    let followed = |written: &[ColumnMetaData]| match written.last() {
        Some(meta) => [copy(meta), vec![0]].concat(),
        None => Vec::new(),
    };
    assert!(refused(&file.write_between(followed, |_| ())).contains("belong to nothing"));
}

#[test]
fn a_page_index_with_wrong_pages_is_refused() {
    let file = File::read(&fixture("pyarrow-none")).unwrap();
    let index = |meta: &ColumnMetaData, by: i64| {
        let stop = meta.dictionary_page_offset.unwrap() + meta.total_compressed_size;
        let location = PageLocation {
            offset: meta.data_page_offset + by,
            compressed_page_size: (stop - meta.data_page_offset) as i32,
            first_row_index: 0,
        };
        let index =
            OffsetIndex { page_locations: vec![location], unencoded_byte_array_data_bytes: None };
        let mut bytes = Vec::new();
        index.write_to_out_protocol(&mut TCompactOutputProtocol::new(&mut bytes)).unwrap();
        bytes
    };
    for (by, passes) in [(0, true), (1, false), (-1, false)] {
        let between = |written: &[ColumnMetaData]| match written.len() {
            10 => index(&written[M], by),
            _ => Vec::new(),
        };
        let bytes = file.write_between(between, |footer| {
            let last = footer.row_groups[0].columns[9].meta_data.as_ref().unwrap();
            let end = last.dictionary_page_offset.unwrap_or(last.data_page_offset)
                + last.total_compressed_size;
            let length = index(meta(footer), by).len() as i32;
            let chunk = &mut footer.row_groups[0].columns[M];
            (chunk.offset_index_offset, chunk.offset_index_length) = (Some(end), Some(length));
        });
        let why = refused(&bytes);
        assert_eq!(why.is_empty(), passes, "{by}: {why}");
        assert!(passes || why.contains("column m has a page index that does not match"), "{why}");
    }
}

#[test]
fn page_indexes_and_bloom_filters_that_share_bytes_or_are_damaged_are_refused() {
    let bytes = fixture("pyarrow-bloom");
    assert_eq!(refused(&bytes), "");
    let file = File::read(&bytes).unwrap();
    for (length, wanted) in [(None, "bloom filter"), (Some(80), "bloom filter")] {
        let why = refused(&file.write_with(|footer| {
            let meta = meta(footer);
            (meta.bloom_filter_offset, meta.bloom_filter_length) = (Some(4), length);
        }));
        assert!(why.contains(wanted), "{why}");
    }
    let over = file.write_with(|footer| {
        let chunk = &mut footer.row_groups[0].columns[M];
        (chunk.column_index_offset, chunk.column_index_length) = (Some(4), Some(10));
    });
    assert!(refused(&over).contains("two of its parts share bytes"));
}

/// The Arrow schema that a file carries is for readers that know it; the loader does not.
#[test]
fn numbers_are_read_by_the_parquet_schema_and_not_by_the_arrow_schema() {
    let file = |array: ArrayRef| {
        File::read(&written(&[("m", array)], 1, ArrowDataType::Utf8View)).unwrap()
    };
    let mut wide = file(PrimitiveArray::from_vec(vec![300i64]).boxed());
    let narrow = file(PrimitiveArray::from_vec(vec![44i8]).boxed());
    wide.footer.key_value_metadata = narrow.footer.key_value_metadata;
    let table = Table::decode(&wide.write(), Format::Parquet, &|_| false).unwrap();
    assert_eq!(table.column("m").unwrap().json(0), 300);
}

/// One reader believes the newer annotation, another the older one.
#[test]
fn a_column_with_contradictory_types_is_not_read_by_the_loader() {
    let mut file = File::read(&fixture("pyarrow-none")).unwrap();
    let m = &mut file.footer.schema[M + 1];
    let signed = IntType { bit_width: 64, is_signed: true };
    (m.converted_type, m.logical_type) =
        (Some(ConvertedType::UINT_64), Some(LogicalType::INTEGER(signed)));
    let table = Table::decode(&file.write(), Format::Parquet, &|_| false).unwrap();
    let stored = table.stored.unwrap().stored_type("m");
    assert_eq!(stored, Some(StoredType::Contradictory));
}
