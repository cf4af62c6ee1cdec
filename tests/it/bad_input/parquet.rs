//! Damaged Parquet, and Parquet that nobody expects.

use super::rules;
use crate::common::parquet::{texts, written};
use crate::common::snapshot::message;
use crate::common::{SHIPPED, Tree};
use perfdb_gate::database::catalog::Format;
use perfdb_gate::database::table::Table;
use polars_arrow::array::{ListArray, PrimitiveArray};
use polars_arrow::datatypes::ArrowDataType;

#[test]
fn parquet_files_that_cannot_be_read_are_findings() {
    let cases: [(&str, Vec<u8>); 6] = [
        ("no bytes", Vec::new()),
        (
            "random bytes",
            (0..4096u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect(),
        ),
        ("half a file", SHIPPED[..SHIPPED.len() / 2].to_vec()),
        ("no footer", SHIPPED[..SHIPPED.len() - 4].to_vec()),
        ("only magic", b"PAR1PAR1PAR1".to_vec()),
        (
            "a footer of nothing",
            [b"PAR1".as_slice(), &[0; 64], &u32::MAX.to_le_bytes(), b"PAR1"].concat(),
        ),
    ];
    for (what, bytes) in cases {
        assert_eq!(rules("gemm_perf.parquet", &bytes), ["table-unreadable"], "{what}");
    }
}

#[test]
fn a_flipped_bit_always_contradicts_the_digest() {
    let tree = Tree::new();
    let dir = "systems/data/h200_sxm/gemm/torch/2.11.0";
    let meta = std::fs::read("data/h200_sxm/gemm/torch/2.11.0/collection_meta.yaml").unwrap();
    tree.file(&format!("{dir}/collection_meta.yaml"), meta);
    for at in (0..SHIPPED.len()).step_by(SHIPPED.len() / 40) {
        let mut bytes = SHIPPED.to_vec();
        bytes[at] ^= 0x10;
        tree.file(&format!("{dir}/gemm_perf.parquet"), bytes);
        let run = tree.validate(&["--format", "json"]);
        assert_eq!((run.code(), run.err().as_str()), (1, ""), "byte {at}");
        assert!(
            run.findings().iter().any(|f| f.starts_with("table-unreadable")),
            "byte {at}: {:?}",
            run.findings()
        );
    }
}

#[test]
fn a_small_file_that_claims_many_rows_is_refused() {
    let column = PrimitiveArray::from_vec(vec![1i64; 5_000_000]).boxed();
    let columns = ["m", "n", "k"].map(|name| (name, column.clone()));
    let bytes = written(&columns, 5_000_000, ArrowDataType::Utf8View);
    assert!(bytes.len() < 1 << 20, "{} bytes", bytes.len());
    assert_eq!(rules("gemm_perf.parquet", &bytes), ["table-unreadable"]);
}

#[test]
fn columns_of_unsupported_types_are_named_and_other_columns_are_judged() {
    let text = |value: &str| texts([Some(value); 2]);
    let sizes = PrimitiveArray::from_vec(vec![128i64; 2]).boxed();
    let lists = ListArray::<i64>::new(
        ListArray::<i64>::default_datatype(ArrowDataType::Int64),
        vec![0i64, 2, 3].try_into().unwrap(),
        PrimitiveArray::from_vec(vec![1i64, 2, 3]).boxed(),
        None,
    );
    let columns = [
        ("framework", text("VLLM")),
        ("version", text("0.24.0")),
        ("device", text("NVIDIA H200")),
        ("op_name", text("gemm")),
        ("kernel_source", text("cutlass")),
        ("gemm_dtype", text("bfloat16")),
        ("m", PrimitiveArray::from_vec(vec![1i16, 0]).boxed()),
        ("n", sizes.clone()),
        ("k", sizes),
        ("latency", PrimitiveArray::from_vec(vec![0.5, 0.6]).boxed()),
        ("extra", lists.boxed()),
    ];
    let bytes = written(&columns, 2, ArrowDataType::Utf8View);
    let tree = Tree::new();
    tree.gemm("gemm_perf.parquet", bytes);
    let run = tree.validate(&["--format", "json"]);
    assert_eq!(run.finding("key-out-of-range")["rows"], 1, "16-bit sizes are read");
    let header = run.finding("header-mismatch");
    assert_eq!(header["severity"], "error");
    insta::assert_snapshot!(message(&header), @"the planner's loader cannot read gemm_perf as it is stored: extra is a nested column of type list (the loader counts its parts as columns, and reads wrong columns), m is int16 (the loader reads int64)");
}

/// What a fuzzer found: a flipped bit in a footer made a list of billions, one in a page's header a negative
/// number of values. The decoder took memory for them, and a process that is refused memory ends.
#[test]
fn sizes_in_damaged_parquet_headers_are_not_trusted() {
    let decode = |bytes: &[u8]| Table::decode(bytes, Format::Parquet, &|_| false).is_ok();
    assert!(decode(SHIPPED));
    let (mut whole, mut damaged) = (0, 0);
    let ends = (0..200).chain(SHIPPED.len() - 3000..SHIPPED.len());
    for at in ends {
        for byte in [0x00, 0x7f, 0xf5, 0xfc, 0xff] {
            let mut bytes = SHIPPED.to_vec();
            bytes[at] = byte;
            let counter = if decode(&bytes) { &mut whole } else { &mut damaged };
            *counter += 1;
        }
    }
    assert!(whole > 100 && damaged > 1000, "{whole} {damaged}");
}

#[test]
fn a_page_that_claims_more_values_than_the_table_has_is_refused() {
    let file = |text: String| {
        written(&[("kernel_source", texts([Some(text)]))], 1, ArrowDataType::Utf8View)
    };
    let bytes = file("\0".repeat(200 << 20));
    assert!(bytes.len() < 1 << 20, "{} bytes", bytes.len());
    let tree = Tree::new();
    tree.gemm("gemm_perf.parquet", &bytes);
    let found = tree.validate(&["--format", "json"]).finding("table-unreadable");
    insta::assert_snapshot!(message(&found), @"cannot be read: column kernel_source and those before it claim over 128 MiB once decompressed, more than a table has");
    // A text that is no name is not told in full, nor is it kept.
    let bytes = file("x".repeat(1 << 20));
    tree.gemm("gemm_perf.parquet", &bytes);
    let found = tree.validate(&["--format", "json"]).finding("table-unreadable");
    insta::assert_snapshot!(message(&found), @"cannot be read: column kernel_source has a text cell of 1048576 bytes; at most 65536 are allowed");
}
