//! How Parquet files store tables, against what the planner's loader opens. All rows are synthetic.

use crate::common::Tree;
use crate::common::parquet::{Layout, fixture, laid_out, texts};
use crate::common::snapshot::message;
use polars_arrow::array::{ArrayRef, BinaryArray, ListArray, PrimitiveArray, StructArray};
use polars_arrow::datatypes::{ArrowDataType, Field, TimeUnit};
use serde_json::Value;

const ROWS: usize = 3;

fn ints<T: polars_arrow::types::NativeType>(values: [T; ROWS]) -> ArrayRef {
    PrimitiveArray::from_vec(values.to_vec()).boxed()
}

/// A table that is stored as the loader reads it.
fn columns() -> Vec<(&'static str, ArrayRef)> {
    let text = |value: &'static str| texts([Some(value); ROWS]);
    vec![
        ("framework", text("VLLM")),
        ("version", text("0.24.0")),
        ("device", text("NVIDIA H200")),
        ("op_name", text("gemm")),
        ("kernel_source", text("cutlass")),
        ("gemm_dtype", text("bfloat16")),
        ("m", ints([1i64, 2, 4])),
        ("n", ints([128i64; ROWS])),
        ("k", ints([128i64; ROWS])),
        ("latency", ints([0.5, 0.6, 0.7])),
    ]
}

/// The finding on the columns of a table; null if there is none.
fn header(table: &str, bytes: &[u8]) -> Value {
    let tree = Tree::new();
    tree.gemm(table, bytes);
    let run = tree.validate(&["--only", "header-mismatch", "--format", "json"]);
    let found = run.json()["findings"][0].clone();
    assert_eq!(run.code(), i32::from(found["severity"] == "error"), "{}", run.err());
    found
}

fn header_of(columns: &[(&str, ArrayRef)]) -> Value {
    header("gemm_perf.parquet", &laid_out(columns, &Layout::default()))
}

/// The message on a table of which some columns hold other arrays.
fn with(others: &[(&'static str, ArrayRef)]) -> String {
    let mut all = columns();
    for (name, array) in others {
        match all.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = array.clone(),
            None => all.push((name, array.clone())),
        }
    }
    let found = header_of(&all);
    assert!(found.is_null() || found["severity"] == "error", "{found}");
    if found.is_null() { String::new() } else { message(&found) }
}

fn list() -> ArrayRef {
    let dtype = ListArray::<i64>::default_datatype(ArrowDataType::Int64);
    let values = PrimitiveArray::from_vec(vec![1i64, 2, 3]).boxed();
    ListArray::<i64>::new(dtype, vec![0i64, 2, 3, 3].try_into().unwrap(), values, None).boxed()
}

fn group(name: &'static str, array: ArrayRef) -> ArrayRef {
    let field = Field::new(name.into(), array.dtype().clone(), true);
    StructArray::new(ArrowDataType::Struct(vec![field]), ROWS, vec![array], None).boxed()
}

#[test]
fn types_that_the_loader_does_not_read_are_errors() {
    assert_eq!(with(&[]), "");
    let keys = ints([128i32; ROWS]);
    let time = PrimitiveArray::from_vec(vec![1i64, 2, 4]);
    let time = time.to(ArrowDataType::Timestamp(TimeUnit::Microsecond, None)).boxed();
    let messages = [
        with(&[("n", keys.clone()), ("k", keys)]),
        with(&[("m", ints([1u64, 2, 4]))]),
        with(&[("m", ints([1i16, 2, 4])), ("n", ints([128u8; ROWS]))]),
        with(&[("latency", ints([0.5f32, 0.6, 0.7]))]),
        with(&[("latency", ints([1i64, 2, 3]))]),
        with(&[("power", ints([300i64, 310, 320]))]),
        with(&[("m", time)]),
        with(&[("gemm_dtype", BinaryArray::<i64>::from_slice([b"bfloat16"; ROWS]).boxed())]),
        with(&[("m", ints([1.0, 2.0, 4.0])), ("n", ints([128u8; ROWS]))]),
    ];
    insta::assert_snapshot!(messages.join("\n"), @r"
    the planner's loader cannot read gemm_perf as it is stored: n and k are int32 (the loader reads int64)
    the planner's loader cannot read gemm_perf as it is stored: m is uint64 (the loader reads int64)
    the planner's loader cannot read gemm_perf as it is stored: m is int16 (the loader reads int64), n is uint8 (the loader reads int64)
    the planner's loader cannot read gemm_perf as it is stored: latency is float32 (the loader reads float64)
    the planner's loader cannot read gemm_perf as it is stored: latency is int64 (the loader reads float64)
    the planner's loader cannot read gemm_perf as it is stored: power is int64 (the loader reads float64)
    the columns are not those of gemm_perf: m is timestamp, not int
    the columns are not those of gemm_perf: gemm_dtype is binaryview, not text
    the columns are not those of gemm_perf: m is number, not int; the planner's loader cannot read gemm_perf as it is stored: n is uint8 (the loader reads int64)
    ");
}

#[test]
fn columns_that_the_loader_does_not_read_may_have_any_flat_type() {
    let mut all = columns();
    all.push(("spread", ints([0.5f32, 0.6, 0.7])));
    let found = header_of(&all);
    assert_eq!(found["severity"], "warning");
    assert_eq!(
        message(&found),
        "the column spread is not known to perfdb-gate [version], whose facts are of 2026-10"
    );
}

#[test]
fn texts_may_have_dictionaries_or_large_offsets_and_optional_columns_may_be_empty() {
    for text in [ArrowDataType::Utf8, ArrowDataType::LargeUtf8, ArrowDataType::Utf8View] {
        for dictionary in [false, true] {
            let mut all = columns();
            all.push(("power", PrimitiveArray::<f64>::from(vec![None; ROWS]).boxed()));
            let layout = Layout { text: text.clone(), dictionary, ..Layout::default() };
            let found = header("gemm_perf.parquet", &laid_out(&all, &layout));
            assert!(found.is_null(), "{found}");
        }
    }
}

#[test]
fn a_nested_column_is_an_error_that_names_it() {
    let latency = group("latency", ints([0.5, 0.6, 0.7]));
    let messages =
        [with(&[("extra", list())]), with(&[("latency", latency)]), with(&[("device", list())])];
    insta::assert_snapshot!(messages.join("\n"), @r"
    the planner's loader cannot read gemm_perf as it is stored: extra is a nested column of type list (the loader counts its parts as columns, and reads wrong columns)
    the planner's loader cannot read gemm_perf as it is stored: latency is a nested column of type struct (the loader counts its parts as columns, and reads wrong columns)
    the planner's loader cannot read gemm_perf as it is stored: device is a nested column of type list (the loader counts its parts as columns, and reads wrong columns)
    ");
    let mut first = columns();
    first.insert(0, ("run", group("m", ints([7i64, 7, 7]))));
    let found = header_of(&first);
    assert_eq!(found["severity"], "error");
    assert!(message(&found).contains("run is a nested column of type struct"), "{found}");
}

/// Nobody knows what the loader of a table without a spec does.
#[test]
fn a_table_without_a_spec_may_have_nested_columns() {
    let mut all = columns();
    all.push(("extra", list()));
    let found = header("warp_perf.parquet", &laid_out(&all, &Layout::default()));
    assert_eq!(found["severity"], "info");
}

#[test]
fn codecs_that_the_loader_lacks_are_errors() {
    for (codec, name) in [("gzip", "gzip"), ("brotli", "brotli"), ("lz4", "lz4_raw")] {
        let found = header("gemm_perf.parquet", &fixture(&format!("pyarrow-{codec}")));
        let wanted = format!(
            "it is compressed with {name} (the loader opens uncompressed, snappy and zstd)"
        );
        assert!(message(&found).contains(&wanted), "{found}");
    }
    for codec in ["none", "snappy", "zstd"] {
        let found = header("gemm_perf.parquet", &fixture(&format!("pyarrow-{codec}")));
        assert!(!message(&found).contains("compressed"), "{found}");
    }
}

/// Another loader, another file of facts.
#[test]
fn a_loader_overlay_declares_the_types_that_another_loader_reads() {
    let tree = Tree::new();
    let mut all = columns();
    all[9].1 = ints([0.5f32, 0.6, 0.7]);
    tree.gemm("gemm_perf.parquet", laid_out(&all, &Layout::default()));
    let judge = || tree.validate(&["--only", "header-mismatch"]).code();
    assert_eq!(judge(), 1);
    let facts = std::fs::read_to_string("rules/loader.yaml").unwrap();
    let wider = facts.replace("measure: [float64]", "measure: [float64, float32]");
    tree.file(".perfdb-gate/rules/loader.yaml", wider);
    assert_eq!(judge(), 0);
    tree.file(".perfdb-gate/rules/loader.yaml", facts.replace("[int64]", "[whole]"));
    let run = tree.validate(&[]);
    assert_eq!(run.code(), 2);
    assert!(
        run.err().contains(".perfdb-gate/rules/loader.yaml: ") && run.err().contains("line 14")
    );
}
