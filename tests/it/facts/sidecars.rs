//! Sidecars of schema 2, and counts that a sidecar explains, on small trees of synthetic rows.

use crate::common::snapshot::message;
use crate::common::{Run, Tree, gemm};

const DIR: &str = "systems/data/h200_sxm/gemm/vllm/0.24.0";

/// The verdict on three rows of GEMM with a sidecar that has this entry.
fn judged(schema: u32, entry: &str) -> Run {
    let tree = Tree::new();
    tree.file(&format!("{DIR}/gemm_perf.txt"), gemm(&[(1, 0.5), (2, 0.6), (3, 0.7)]));
    // The loader of schema 1 ignores fields that it does not know.
    let further = if schema == 1 { "  abi: {torch: 2.13.0}\n" } else { "" };
    let meta = format!(
        "schema_version: {schema}\nruntime:\n  framework: vllm\n  version: 0.24.0\n{further}tables:\n{entry}"
    );
    tree.file(&format!("{DIR}/collection_meta.yaml"), meta);
    tree.validate(&["--format", "json"])
}

/// An event of schema 2.
fn event(rows: u32) -> String {
    format!(
        "    - collector_ref: abc\n      collector_hash: sha256:1\n      case_plan_hash: sha256:2\n      collected_at: '2026-09-22'\n      rows: {rows}\n      status: partial\n      runtime: {{framework: vllm, version: 0.24.0}}\n"
    )
}

fn events(stated: u32, rows: &[u32]) -> String {
    let events: String = rows.iter().map(|rows| event(*rows)).collect();
    format!("  gemm_perf:\n    rows: {stated}\n    status: partial\n    collections:\n{events}")
}

#[test]
fn events_of_schema_2_make_up_the_table() {
    assert_eq!(judged(2, &events(3, &[2, 1])).findings(), [""; 0]);
    // A later run may replace rows of an earlier one.
    assert_eq!(judged(2, &events(3, &[3, 2])).findings(), [""; 0]);
    let short = judged(2, &events(3, &[1, 1]));
    insta::assert_snapshot!(message(&short.finding("sidecar-contradiction")), @"it states 3 rows of gemm_perf, but its collections add up to 2");
    let status = judged(2, &events(3, &[3]).replace("      status: partial", "      status: done"));
    insta::assert_snapshot!(message(&status.finding("sidecar-invalid")), @"tables.gemm_perf.collections[0].status is 'done', but must be complete or partial");
    let unattested = judged(2, &events(3, &[3]).replace("case_plan_hash: sha256:2", "abi: torch"));
    insta::assert_snapshot!(message(&unattested.finding("sidecar-invalid")), @"tables.gemm_perf.collections[0].case_plan_hash is missing");
    let unknown = judged(
        2,
        &events(3, &[3]).replace("      status", "      classified_failures: 2\n      status"),
    );
    insta::assert_snapshot!(message(&unknown.finding("sidecar-invalid")), @"the loader of schema 2 refuses the field tables.gemm_perf.collections[0].classified_failures");
    let early = judged(1, &events(3, &[3]));
    insta::assert_snapshot!(message(&early.finding("sidecar-invalid")), @"tables.gemm_perf.collections needs schema_version 2");
    let other = judged(3, "  gemm_perf: {status: complete}\n");
    insta::assert_snapshot!(message(&other.finding("sidecar-invalid")), @"schema_version is 3, but must be 1 or 2");
}

#[test]
fn the_richer_form_says_how_and_of_what() {
    let rich = "  gemm_perf:\n    status: complete\n    rows: 3\n    collector: collector.gemm\n    \
                measurement: GPU kernel time only\n    notes: ['Known bias: 2 to 12 % above serving.']\n    \
                attempts:\n    - {attempt: a, source_commit: abc}\n";
    assert_eq!(judged(1, rich).findings(), [""; 0]);
    let digest = format!("{rich}    data_sha256: {}\n", "0".repeat(64));
    insta::assert_snapshot!(message(&judged(1, &digest).finding("table-unreadable")), @"the file does not match the sha256 in its sidecar: it was rewritten without its sidecar, or it is damaged");
}

#[test]
fn rows_that_its_sidecar_explains_are_an_info() {
    let severity = |run: &Run| run.finding("sidecar-contradiction")["severity"].clone();
    let plain = judged(1, "  gemm_perf:\n    status: complete\n    rows: 2\n");
    assert_eq!(severity(&plain), "error");
    let comment = "  # The run made 2 rows; 2026-09-01: 1 row appended.\n";
    let before = judged(1, &format!("{comment}  gemm_perf:\n    status: complete\n    rows: 2\n"));
    assert_eq!(severity(&before), "info");
    insta::assert_snapshot!(message(&before.finding("sidecar-contradiction")), @"the sidecar states 2 rows, but the table has 3; its runs or comments explain the difference");
    let within = judged(
        1,
        "  gemm_perf:\n    # 3 rows with those of another run.\n    status: complete\n    rows: 2\n",
    );
    assert_eq!(severity(&within), "info");
    let beside = judged(1, "  gemm_perf:\n    status: complete\n    rows: 2 # appended 7\n");
    assert_eq!(severity(&beside), "error", "another number explains nothing");
    // The table says what the first run had, the events what came.
    assert_eq!(severity(&judged(2, &events(2, &[2, 1]))), "info");
}
