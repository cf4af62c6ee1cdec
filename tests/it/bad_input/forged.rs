//! Parquet files that claim what they do not hold. The decoder would take memory for it, and a process that is
//! refused memory ends.

use crate::common::layout::{File, statistics};
use crate::common::parquet::{fixture, texts, written};
use perfdb_gate::database::catalog::Format;
use perfdb_gate::database::table::{Table, TableFault};
use polars_arrow::datatypes::ArrowDataType;
use polars_parquet_format::{
    ColumnMetaData, CompressionCodec, Encoding, PageType, SchemaElement, Type,
};

/// Why a file cannot be read.
fn refused(bytes: &[u8]) -> String {
    match Table::decode(bytes, Format::Parquet, &|_| false) {
        Err(TableFault::Unreadable(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn unusual_parquet_encodings_are_refused_by_name() {
    for (name, column, encoding) in [
        ("refused-delta-byte-array", "kernel_source", "DELTA_BYTE_ARRAY"),
        ("refused-delta-length", "kernel_source", "DELTA_LENGTH_BYTE_ARRAY"),
        ("refused-delta", "m", "DELTA_BINARY_PACKED"),
        ("refused-split", "latency", "BYTE_STREAM_SPLIT"),
    ] {
        let why = refused(&fixture(name));
        let wanted = format!("column {column} uses the encoding {encoding}, which is not");
        assert!(why.starts_with(&wanted) && why.contains("pyarrow, polars"), "{why}");
    }
    let mut file = File::read(&fixture("pyarrow-none")).unwrap();
    let m = file.column("m");
    for (number, name) in [(4, "BIT_PACKED"), (42, "number 42")] {
        let header = file.chunks[m][1].header.data_page_header.as_mut().unwrap();
        header.encoding = Encoding(number);
        assert!(refused(&file.write()).starts_with(&format!("column m uses the encoding {name}")));
    }
}

#[test]
fn codecs_that_readers_interpret_differently_are_refused_by_name() {
    for (number, name) in [(3, "LZO"), (5, "deprecated LZ4"), (99, "codec 99")] {
        let file = File::read(&fixture("pyarrow-none")).unwrap();
        let bytes = file.write_with(|footer| {
            let meta = footer.row_groups[0].columns[3].meta_data.as_mut().unwrap();
            meta.codec = CompressionCodec(number);
        });
        let why = refused(&bytes);
        assert!(why.starts_with(&format!("column m is compressed with {name}")), "{why}");
    }
}

/// A page of another length than it claims would leave zeros, or hide what other readers see.
#[test]
fn a_page_that_decompresses_to_another_size_is_refused() {
    for name in ["snappy", "gzip", "brotli", "zstd", "lz4"] {
        for by in [-1, 1, 1 << 20] {
            let mut file = File::read(&fixture(&format!("pyarrow-{name}"))).unwrap();
            let m = file.column("m");
            let header = &mut file.chunks[m][1].header;
            header.uncompressed_page_size += by;
            let why = refused(&file.write());
            assert!(why.contains("does not decompress to the size"), "{name} {by}: {why}");
        }
    }
}

/// A header with a megabyte of statistics once hid the pages behind it from the checks.
#[test]
fn a_page_header_of_a_megabyte_is_refused() {
    let mut file = File::read(&fixture("pyarrow-none")).unwrap();
    let m = file.column("m");
    for (length, passes) in [(1000, true), (1 << 20, false)] {
        let header = file.chunks[m][1].header.data_page_header.as_mut().unwrap();
        header.statistics = Some(statistics(vec![0; length]));
        let table = Table::decode(&file.write(), Format::Parquet, &|_| false);
        assert_eq!(table.is_ok(), passes, "{length}");
    }
    assert!(
        refused(&file.write()).contains("column m has a page whose header is damaged or too long")
    );
}

/// The decoder takes memory for what a header claims, long before it looks at what is there.
#[test]
fn pages_that_claim_more_values_than_they_contain_are_refused() {
    let whole = File::read(&fixture("pyarrow-none")).unwrap();
    let (text, m, k) = (whole.column("kernel_source"), whole.column("m"), whole.column("k"));
    let mut cases: Vec<(&str, File, &str)> = Vec::new();
    let mut case = |what, wanted, change: &dyn Fn(&mut File)| {
        let mut file = whole.clone();
        change(&mut file);
        cases.push((what, file, wanted));
    };
    case("more values", "whose levels are damaged", &|f| {
        f.chunks[m][1].header.data_page_header.as_mut().unwrap().num_values = 11_000_000;
    });
    case("fewer values", "states 64 rows, but its pages contain 63", &|f| {
        f.chunks[m][1].header.data_page_header.as_mut().unwrap().num_values = 63;
    });
    case("a negative number", "sizes contradict", &|f| {
        f.chunks[m][1].header.data_page_header.as_mut().unwrap().num_values = -1;
    });
    case("a dictionary of millions", "does not contain the values", &|f| {
        f.chunks[text][0].header.dictionary_page_header.as_mut().unwrap().num_values = 11_000_000;
    });
    case("a second dictionary", "of a kind that tables do not have", &|f| {
        let dictionary = f.chunks[text][0].clone();
        f.chunks[text].push(dictionary);
    });
    case("no dictionary", "refers to a dictionary that the column lacks", &|f| {
        f.chunks[text].remove(0);
    });
    case("an index page", "of a kind that tables do not have", &|f| {
        f.chunks[text][1].header.type_ = PageType::INDEX_PAGE;
    });
    case("a page beyond its column", "more bytes than the column has", &|f| {
        f.chunks[m][1].header.compressed_page_size += 1;
    });
    case("an index beyond the dictionary", "does not contain the values", &|f| {
        // 64 times the third of two names: levels of one run, a width, one run.
        f.chunks[text][1].set(vec![3, 0, 0, 0, 128, 1, 1, 8, 128, 1, 2]);
    });
    case("a width of 33 bits", "does not contain the values", &|f| {
        f.chunks[text][1].set(vec![3, 0, 0, 0, 128, 1, 1, 33, 128, 1, 0, 0, 0, 0, 0]);
    });
    case("no levels", "whose levels are damaged", &|f| f.chunks[k][1].set(Vec::new()));
    case("levels beyond the page", "whose levels are damaged", &|f| {
        f.chunks[k][1].set(vec![0xff, 0xff, 0xff, 0xff, 0]);
    });
    case("levels for fewer rows", "whose levels are damaged", &|f| {
        f.chunks[k][1].set(vec![2, 0, 0, 0, 126, 1, 2, 128, 1, 0]);
    });
    case("a page too many", "states 64 rows, but its pages contain 128", &|f| {
        let page = f.chunks[m][1].clone();
        f.chunks[m].push(page);
    });
    for (what, file, wanted) in &cases {
        let why = refused(&file.write());
        assert!(why.starts_with("column ") && why.contains(wanted), "{what}: {why}");
    }
    assert!(Table::decode(&whole.write(), Format::Parquet, &|_| false).is_ok());
}

#[test]
fn footers_with_wrong_column_offsets_are_refused() {
    let file = File::read(&fixture("pyarrow-none")).unwrap();
    type Forge<'a> = &'a dyn Fn(&mut ColumnMetaData);
    let cases: [(&str, &str, Forge<'_>); 9] = [
        ("at 0", "between the beginning of the file", &|m| {
            (m.data_page_offset, m.dictionary_page_offset) = (0, None);
        }),
        ("before the file", "between the beginning of the file", &|m| m.data_page_offset = -1),
        ("beyond the file", "between the beginning of the file", &|m| {
            (m.data_page_offset, m.dictionary_page_offset) = (1 << 40, None);
        }),
        ("a negative size", "between the beginning of the file", &|m| m.total_compressed_size = -1),
        ("as long as a number", "between the beginning", &|m| m.total_compressed_size = i64::MAX),
        ("into the next column", "share bytes of the file", &|m| m.total_compressed_size += 1),
        ("a byte short", "belong to nothing that its footer names", &|m| {
            m.total_compressed_size -= 1;
        }),
        ("another name", "another name or type", &|m| m.path_in_schema = vec!["n".into()]),
        ("another type", "another name or type", &|m| m.type_ = Type::INT32),
    ];
    for (what, wanted, change) in cases {
        let bytes = file.write_with(|footer| {
            change(footer.row_groups[0].columns[3].meta_data.as_mut().unwrap());
        });
        let why = refused(&bytes);
        assert!(why.contains(wanted), "{what}: {why}");
    }
    let many = file.write_with(|footer| {
        let group = footer.row_groups[0].clone();
        footer.row_groups.push(group);
        footer.num_rows *= 2;
    });
    assert!(refused(&many).contains("share bytes"), "two row groups of the same bytes");
    let rows = file.write_with(|footer| footer.num_rows = 65);
    assert!(refused(&rows).contains("states 65 rows, but its row groups contain 64"));
    let negative = file.write_with(|footer| footer.row_groups[0].num_rows = -64);
    assert!(refused(&negative).contains("its footer is damaged"));
}

#[test]
fn schemas_that_are_too_deep_or_too_large_are_refused() {
    let file = File::read(&fixture("pyarrow-no-arrow-schema")).unwrap();
    let deep = file.write_with(|footer| {
        let leaf = footer.schema.pop().unwrap();
        let group = SchemaElement { type_: None, num_children: Some(1), ..leaf.clone() };
        footer.schema.extend(vec![group; 3000]);
        footer.schema.push(leaf);
    });
    assert!(refused(&deep).contains("its schema is not a tree of columns"));
    let wide = file.write_with(|footer| {
        let leaf = footer.schema.last().unwrap().clone();
        footer.schema.extend(vec![leaf; 5000]);
        footer.schema[0].num_children = Some(5010);
    });
    assert!(refused(&wide).contains("more than 4096 columns"));
    // A list of 2^28 structs in a footer of a few bytes.
    let footer = [0x15, 2, 0x19, 0xfc, 0x80, 0x80, 0x80, 0x80, 1, 0];
    let bytes = [&b"PAR1"[..], &footer, &(footer.len() as u32).to_le_bytes(), b"PAR1"].concat();
    assert!(refused(&bytes).contains("message too long"));
}

/// A schema of Arrow is a tree that may share its branches: thirty levels of two children that are one.
#[test]
fn an_arrow_schema_with_endless_nesting_is_refused() {
    let file = File::read(&fixture("pyarrow-none")).unwrap();
    let with = |value: String| {
        file.write_with(|footer| {
            let pairs = footer.key_value_metadata.as_mut().unwrap();
            pairs.iter_mut().for_each(|pair| pair.value = Some(value.clone()));
        })
    };
    assert!(refused(&with("!".into())).contains("its Arrow schema is damaged"));
    assert!(refused(&with(String::new())).contains("its Arrow schema is damaged"));
    assert!(refused(&with(branching(30))).contains("holds more than the schema of a table"));
}

/// A schema in base64, of one field that has two children, which are one field, and so on.
fn branching(depth: usize) -> String {
    use base64::Engine as _;
    use polars_arrow::io::ipc::format::ipc;
    let mut builder = ipc::planus::Builder::new();
    let of_struct = || ipc::Type::Struct(Box::default());
    let mut field =
        ipc::Field::create(&mut builder, "x", true, ipc::Type::Null(Box::default()), (), (), ());
    for _ in 0..depth {
        let children = [field, field];
        field = ipc::Field::create(&mut builder, "x", true, of_struct(), (), children, ());
    }
    let schema = ipc::Schema::create(&mut builder, ipc::Endianness::Little, [field], (), ());
    let header = ipc::MessageHeader::create_schema(&mut builder, schema);
    let message = ipc::Message::create(&mut builder, ipc::MetadataVersion::V5, header, 0i64, ());
    base64::engine::general_purpose::STANDARD.encode(builder.finish(message, None))
}

#[test]
fn arrow_and_parquet_schemas_with_different_columns_are_refused() {
    let mut file = File::read(&fixture("pyarrow-none")).unwrap();
    let m = file.column("m");
    file.footer.schema[m + 1].name = "n".into();
    let meta = file.footer.row_groups[0].columns[m].meta_data.as_mut().unwrap();
    meta.path_in_schema = vec!["n".into()];
    assert!(refused(&file.write()).contains("do not name the same columns"));
}

#[test]
fn text_cells_with_a_nul_or_invalid_utf_8_or_of_excessive_length_are_refused() {
    let file = |text: &str| {
        written(&[("kernel_source", texts([Some("a"), Some(text)]))], 2, ArrowDataType::Utf8)
    };
    assert!(refused(&file("a\0b")).contains("column kernel_source has a cell of text with a NUL"));
    assert!(refused(&file(&"x".repeat(70_000))).contains("has a text cell of 70000 bytes"));
    let mut plain = File::read(&fixture("pyarrow-plain")).unwrap();
    let text = plain.column("kernel_source");
    let body = &mut plain.chunks[text][0].body;
    let at = body.windows(7).position(|w| w == b"cutlass").unwrap();
    body[at] = 0xff;
    assert!(refused(&plain.write()).contains("invalid UTF-8"));
}
