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
fn the_collections_of_a_schema_2_sidecar_add_up_to_the_table() {
    assert_eq!(judged(2, &events(3, &[2, 1])).findings(), [""; 0]);
    // A later run may replace rows of an earlier one.
    assert_eq!(judged(2, &events(3, &[3, 2])).findings(), [""; 0]);
    let short = judged(2, &events(3, &[1, 1]));
    insta::assert_snapshot!(message(&short.finding("sidecar-contradiction")), @"it states 3 rows of gemm_perf, but its collections add up to 2");
    let doubt = |run: Run| {
        let finding = run.finding("sidecar-invalid");
        assert_eq!(finding["severity"], "warning");
        message(&finding)
    };
    let status = judged(2, &events(3, &[3]).replace("      status: partial", "      status: done"));
    insta::assert_snapshot!(doubt(status), @"tables.gemm_perf.collections[0].status is 'done', not complete or partial; perfdb-gate knows the loader of aiconfigurator 095f58a51c4c of 2026-08-21");
    let unattested = judged(2, &events(3, &[3]).replace("case_plan_hash: sha256:2", "abi: torch"));
    insta::assert_snapshot!(doubt(unattested), @"tables.gemm_perf.collections[0].case_plan_hash is missing; perfdb-gate knows the loader of aiconfigurator 095f58a51c4c of 2026-08-21");
    let other = judged(3, "  gemm_perf: {status: complete}\n");
    insta::assert_snapshot!(doubt(other), @"schema_version is '3', not 1 or 2; perfdb-gate knows the loader of aiconfigurator 095f58a51c4c of 2026-08-21");
    let further = events(3, &[3]).replace(
        "      status",
        "      transport: nvlink\n      abi: {torch: 2.13.0}\n      status",
    );
    assert_eq!(judged(2, &further).findings(), [""; 0], "new fields are carried");
}

const COMMIT: &str = "1aa0e962b206102b7c439a4a0c4981cfec6e87bc";
const DIGEST: &str = "sha256:c4ca651192e57e91989b5176c3665148131b9a171e53861dee87f5e57cef25b5";

/// What is reported of a sidecar whose runtime has these fields, in the directory of a version of a backend.
fn runtime(backend: &str, version: &str, runtime: &str) -> Vec<String> {
    let tree = Tree::new();
    let dir = format!("systems/data/h200_sxm/gemm/{backend}/{version}");
    tree.file(&format!("{dir}/gemm_perf.txt"), gemm(&[(1, 0.5), (2, 0.6), (3, 0.7)]));
    let meta = format!(
        "schema_version: 1\nruntime: {{{runtime}}}\ntables:\n  gemm_perf: {{status: complete}}\n"
    );
    tree.file(&format!("{dir}/collection_meta.yaml"), meta);
    let run = tree.validate(&["--format", "json", "--only", "sidecar-contradiction"]);
    let json = run.json();
    let findings = json["findings"].as_array().unwrap().iter();
    findings.map(|f| format!("{} {}", f["severity"].as_str().unwrap(), message(f))).collect()
}

#[test]
fn a_version_folder_may_name_the_image_or_the_commit() {
    let build = |dir: &str| {
        let fields = format!(
            "framework: sglang, version: 0.0.0.dev0, image_digest: '{DIGEST}', source_commit: {COMMIT}"
        );
        runtime("sglang", dir, &fields)
    };
    for dir in ["dev-c4ca651192e5", "dev-c4ca651192e5-tp267c0e788b4b2", "dev-1aa0e962b206"] {
        assert_eq!(build(dir), [""; 0], "{dir}");
    }
    for dir in ["dev-800cc9adea5b", "dev-c4ca6", "0.5.14"] {
        let wrong = format!("error it names the version 0.0.0.dev0, but its directory is {dir}");
        assert_eq!(build(dir), [wrong]);
    }
}

#[test]
fn the_backend_may_be_part_of_the_runtime_s_name() {
    let named = |backend: &str, name: &str| {
        runtime(backend, "0.24.0", &format!("framework: {name}, version: 0.24.0"))
    };
    for (backend, name) in [
        ("trtllm", "trtllm_a2a"),
        ("vllm", "wideep_vllm"),
        ("vllm", "vllm_xpu"),
        ("sglang", "SGLang"),
    ] {
        assert_eq!(named(backend, name), [""; 0], "{name}");
    }
    let other = "error it names the framework wideep_sglang, but its directory is of vllm";
    assert_eq!(named("vllm", "wideep_sglang"), [other]);
    let [unknown] = &named("vllm", "newfw")[..] else { panic!("one finding") };
    assert!(unknown.starts_with("warning it names the framework newfw, but its directory is of vllm; the framework newfw is not known to perfdb-gate "), "{unknown}");
    // A library's directory has the library's version, its sidecar the framework's.
    assert_eq!(runtime("nccl", "2.29.7", "framework: sglang, version: 0.0.0.dev0"), [""; 0]);
    assert_eq!(runtime("nccl", "2.29.7", "framework: nccl, version: 2.30.7").len(), 1);
}

#[test]
fn optional_fields_of_a_sidecar_are_read_and_verified() {
    let rich = "  gemm_perf:\n    status: complete\n    rows: 3\n    collector: collector.gemm\n    \
                measurement: GPU kernel time only\n    notes: ['Known bias: 2 to 12 % above serving.']\n    \
                attempts:\n    - {attempt: a, source_commit: abc}\n";
    assert_eq!(judged(1, rich).findings(), [""; 0]);
    let digest = format!("{rich}    data_sha256: {}\n", "0".repeat(64));
    insta::assert_snapshot!(message(&judged(1, &digest).finding("table-unreadable")), @"the file does not match the sha256 in its sidecar: it was rewritten without its sidecar, or it is damaged");
}

#[test]
fn a_row_count_explained_in_the_sidecar_is_an_info() {
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
