//! Times that nothing takes, dtypes and operations that nobody names. Synthetic rows.

use super::{severity, told};
use crate::common::{GEMM, Tree};

/// The places of GEMM tables: backend and version.
const PLACES: [(&str, &str); 4] =
    [("vllm", "0.24.0"), ("vllm", "0.23.0"), ("sglang", "0.5.14"), ("trtllm", "1.3.0rc15")];

fn path(place: usize) -> String {
    let (backend, version) = PLACES[place];
    format!("systems/data/h200_sxm/{backend}/{version}/gemm_perf.txt")
}

/// GEMM rows of a place; `row` gives dtype, operation and a factor on the latency by number.
fn rows(place: usize, row: impl Fn(usize) -> (&'static str, &'static str, f64)) -> String {
    let line = |number: usize| {
        let (dtype, operation, factor) = row(number);
        let m = 64 * (number + 1);
        let latency = factor * (0.01 + m as f64 * 2e-4) * (1.0 + 0.01 * place as f64);
        format!("VLLM,0.24.0,NVIDIA H200,{operation},cutlass,{dtype},{m},4096,4096,{latency:e}\n")
    };
    GEMM.to_owned() + &(0..40).map(line).collect::<String>()
}

/// A tree with honest tables at `places` places, of which the first has other rows.
fn tree(places: usize, first: impl Fn(usize) -> (&'static str, &'static str, f64)) -> Tree {
    let tree = Tree::new();
    for place in 1..places {
        tree.file(&path(place), rows(place, |_| ("bfloat16", "gemm", 1.0)));
    }
    tree.file(&path(0), rows(0, first));
    tree
}

/// The messages of the errors of unit-shift.
fn errors(tree: &Tree) -> Vec<String> {
    let run = tree.validate(&["--only", "unit-shift", "--format", "json"]);
    let findings = run.json()["findings"].clone();
    let errors = findings.as_array().expect("findings").iter().filter(|f| f["severity"] == "error");
    errors.map(|f| f["message"].as_str().expect("a message").to_owned()).collect()
}

fn slower(places: usize, factor: f64) -> Tree {
    tree(places, move |_| ("bfloat16", "gemm", factor))
}

#[test]
fn a_time_above_an_hour_is_an_error_with_or_without_a_spec() {
    let found = errors(&slower(1, 1e300));
    assert_eq!(found.len(), 1, "{found:?}");
    insta::assert_snapshot!(found[0], @"latency above an hour in 40 rows, up to 1.5e293 hours: no kernel takes that long");
    let unknown = |time: &str| {
        let tree = Tree::new();
        tree.gemm("warp_perf.txt", format!("side,wait_us\n1,5\n2,{time}\n"));
        told(&tree, "unit-shift")
    };
    let (level, message) = unknown("3.7e9").unwrap();
    assert_eq!(level, "error");
    insta::assert_snapshot!(message, @"wait_us above an hour in 1 row, up to 1.0 hours: no kernel takes that long");
    assert_eq!(unknown("3.5e9"), None);
    assert_eq!(unknown("inf"), None, "latency-not-finite reports it");
}

#[test]
fn a_slice_far_above_every_peer_and_its_bound_is_an_error_for_any_factor() {
    for factor in [150.0, 1e4] {
        assert_eq!(errors(&slower(3, factor)).len(), 1, "{factor}");
        assert_eq!(errors(&slower(2, factor)).len(), 1, "{factor} beside one peer");
        assert_eq!(errors(&slower(1, factor)).len(), 0, "{factor} beside none");
    }
    let found = errors(&slower(3, 1e4));
    insta::assert_snapshot!(found[0], @"1 slice is probably in another unit: at gemm_dtype=bfloat16, latencies are 9804 times higher than the median of 2 other tables at the same keys, and at least 32616 times as long as the machine needs");
}

#[test]
fn a_slice_with_some_plausible_rows_is_a_warning_and_not_a_unit_error() {
    let part = tree(3, |row| ("bfloat16", "gemm", if row % 4 == 0 { 1.0 } else { 1e4 }));
    assert_eq!(severity(&part, "unit-shift").as_deref(), Some("warning"));
}

#[test]
fn a_peer_that_is_too_fast_does_not_make_a_correct_table_an_error() {
    let tree = slower(1, 1.0);
    tree.file(&path(1), rows(1, |_| ("bfloat16", "gemm", 1e-4)));
    let run = tree.validate(&["--only", "unit-shift", "--format", "json", "--backend", "vllm"]);
    let findings = run.json()["findings"].clone();
    let errors = findings.as_array().expect("findings").iter().filter(|f| {
        f["severity"] == "error" && f["path"].as_str().is_some_and(|path| path.contains("0.24.0"))
    });
    assert_eq!(errors.count(), 0, "{findings}");
}

#[test]
fn rows_in_a_wrong_unit_added_by_a_pull_request_are_new() {
    let repository = slower(3, 1.0);
    repository.commit();
    repository.file(&path(0), rows(0, |_| ("bfloat16", "gemm", 1e8)));
    let run = repository.sanity(&["--base-ref", "main", "--only", "unit-shift"]);
    let findings = run.json()["findings"].clone();
    let findings = findings.as_array().expect("findings");
    assert_eq!(findings.len(), 2, "{findings:?}");
    assert!(findings.iter().all(|f| f["new"] == true && f["severity"] == "error"), "{findings:?}");
}

#[test]
fn a_dtype_in_no_list_is_a_warning() {
    let of = |dtype: &'static str, share: usize| {
        let named = move |row: usize| if row.is_multiple_of(share) { dtype } else { "bfloat16" };
        told(&tree(1, move |row| (named(row), "gemm", 1.0)), "key-out-of-range")
    };
    let (level, message) = of("BFLOAT16", 1).unwrap();
    assert_eq!(level, "warning");
    insta::assert_snapshot!(message, @"the gemm_dtype BFLOAT16 (did you mean bfloat16?) in 40 rows is not known to perfdb-gate [version], whose facts are of 2026-10");
    assert_eq!(of("bfloat16\u{200b}", 1).unwrap().0, "warning");
    assert_eq!(of("bf17", 4).unwrap().0, "warning");
    assert_eq!(of("nvfp4_wo", 1), None);
    assert_eq!(of("awq", 1), None, "the table's spec lists it");
}

#[test]
fn an_operation_name_that_differs_from_three_other_tables_is_a_warning() {
    let operation = |places, name: &'static str| {
        told(&tree(places, move |_| ("bfloat16", name, 1.0)), "header-mismatch")
    };
    let (level, message) = operation(4, "gemmm").unwrap();
    assert_eq!(level, "warning");
    insta::assert_snapshot!(message, @"op_name is gemmm, but 3 other gemm_perf tables have gemm");
    assert_eq!(operation(3, "gemmm"), None, "two others");
    assert_eq!(operation(4, "gemm"), None);
}
