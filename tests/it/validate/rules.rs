//! Findings of single rules.

use crate::common::snapshot::{message, shown};
use crate::common::{self, Tree, gemm, run};

#[test]
fn explain_lists_the_rules_and_describes_each() {
    insta::assert_snapshot!("rules", run(&["explain"]).shown());
    insta::assert_snapshot!("explain", run(&["explain", "duplicate-key"]).shown());
    let unknown = run(&["explain", "duplicate"]);
    assert_eq!(unknown.code(), 2);
    insta::assert_snapshot!(unknown.shown(), @"
    $ perfdb-gate explain duplicate
    2> perfdb-gate: no rule matches 'duplicate'
    2> hint: did you mean duplicate-key? known: below-speed-of-light, copied-table, coverage-hole, data-deleted, derived-contradiction, device-mismatch, duplicate-key, excused-by-change, facts-invalid, far-above-bound, framework-mismatch, header-mismatch, key-out-of-range, kv-cache-not-filled, latency-drop, latency-moved, latency-not-finite, latency-not-positive, latency-spike, legacy-marker, … (61 in total)
    (exit 2)
    ");
}

#[test]
fn a_key_repeated_a_quarter_million_times_is_counted_in_linear_time() {
    let tree = Tree::new();
    let row = "VLLM,0.24.0,NVIDIA H200,gemm,cutlass,bfloat16,1,128,128,0.5\n";
    tree.gemm("gemm_perf.txt", common::GEMM.to_owned() + &row.repeat(250_000));
    let finding = tree.validate(&["--format", "json"]).finding("duplicate-key");
    assert_eq!((&finding["rows"], &finding["evidence"]["keys"]), (&249_999.into(), &1.into()));
}

#[test]
fn a_row_in_two_buckets_has_copies_in_both_that_are_not_copies_of_each_other() {
    let header = "framework,version,device,op_name,kernel_source,model,architecture,mla_dtype,kv_cache_dtype,gemm_type,num_heads,batch_size,isl,tp_size,step,latency\n";
    let row = |kernel: &str, latency: f64| {
        format!(
            "SGLang,0.5.14,NVIDIA H200,dsa_context_module,{kernel},m,a,bfloat16,fp8,fp8_block,16,1,64,1,0,{latency}\n"
        )
    };
    let tree = Tree::new();
    let dense = row("sglang_dsa_dense_mha_trtllm_ragged", 1.0);
    let rows = dense
        + &row("sglang_dsa_indexer_trtllm", 1.09)
        + &row("sglang_dsa_indexer_flashmla_sparse", 0.94);
    tree.file(
        "systems/data/h200_sxm/sglang/0.5.14/dsa_context_module_perf.txt",
        header.to_owned() + &rows,
    );
    let finding = tree.validate(&["--format", "json"]).finding("duplicate-key");
    assert_eq!((&finding["rows"], &finding["evidence"]["keys"]), (&2.into(), &2.into()));
    assert_eq!(
        finding["evidence"]["conflicting_keys"], 0,
        "1.09 and 0.94 never compete: {finding}"
    );
}

#[test]
fn rows_that_make_the_load_fail_are_an_error() {
    let header = "framework,version,device,op_name,kernel_source,model,architecture,mla_dtype,kv_cache_dtype,gemm_type,num_heads,batch_size,isl,tp_size,step,compress_ratio,latency\n";
    let row = |heads: u32, tp: u32| {
        format!(
            "SGLang,0.5.14,NVIDIA H200,dsv4_csa_context_module,k,m,a,bfloat16,fp8,fp8_block,{heads},1,64,{tp},0,4,1.0\n"
        )
    };
    let judge = |rows: String| {
        let tree = Tree::new();
        tree.file(
            "systems/data/h200_sxm/sglang/0.5.14/dsv4_csa_context_module_perf.txt",
            header.to_owned() + &rows,
        );
        tree.validate(&["--format", "json"])
    };
    assert_eq!(judge(row(128, 1) + &row(64, 2)).findings(), [] as [&str; 0]);
    assert_eq!(judge(row(128, 1) + &row(128, 2)).finding("key-out-of-range")["rows"], 2);
}

#[test]
fn changed_rules_are_listed_and_a_rule_with_severity_info_never_fails_the_run() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (1, 0.5)]));
    let rule = std::fs::read_to_string("rules/duplicate-key.yaml").unwrap();
    tree.file(
        ".perfdb-gate/rules/duplicate-key.yaml",
        rule.replace("severity: error", "severity: info"),
    );
    let run = tree.validate(&["--fail-on", "warning"]);
    assert_eq!(run.code(), 0, "{}", run.out());
    tree.file(".perfdb-gate/rules/systems/zx.yaml", "data_dir: x\ndevice: ZX\n");
    insta::assert_snapshot!(shown([&run, &tree.validate(&[])]), @"
    $ perfdb-gate validate --root [tmp] --fail-on warning
    systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt
      info    duplicate-key: 1 row repeats the key of an earlier row; the loader uses the first and drops the others
          line 2: gemm_dtype=bfloat16 m=1 n=128 k=128 → served_ms=0.5 dropped_ms=[0.5] dropped_lines=[3]

    rules changed by .perfdb-gate/rules/duplicate-key.yaml
    0 errors, 0 warnings, 1 info in 1 file; checked 1 table, 2 rows in [seconds] s
    (exit 0)

    $ perfdb-gate validate --root [tmp]
    2> perfdb-gate: .perfdb-gate/rules/systems/zx.yaml: a system has no field device
    2> hint: CONTRIBUTING.md describes the format of rules, tables and systems
    (exit 2)
    ");
}

#[test]
fn the_later_of_two_equal_tables_is_the_copy() {
    let tree = Tree::new();
    // Nothing in the rows names where they were measured.
    let header = "op_name,kernel_source,gemm_dtype,m,n,k,latency\n".to_owned();
    let row = |m: u64| format!("gemm,cutlass,bfloat16,{m},128,128,{}\n", 0.05 + m as f64 * 0.00371);
    let rows = header + &(1..=60).map(row).collect::<String>();
    let path = |version: &str| format!("systems/data/h200_sxm/vllm/{version}/gemm_perf.txt");
    tree.file(&path("0.24.0"), &rows);
    tree.commit();
    tree.file(&path("0.23.0"), &rows);
    let copy = || {
        let found = tree.validate(&["--only", "copied-table", "--format", "json"]);
        let finding = found.finding("copied-table");
        (finding["path"].as_str().unwrap().to_owned(), message(&finding))
    };
    assert_eq!(copy().0, path("0.23.0"), "not committed yet");
    tree.commit();
    let (at, why) = copy();
    assert_eq!(at, path("0.23.0"));
    insta::assert_snapshot!(why, @"all 60 points shared with systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt have the same measurements; this table was added later, so it is the copy");
    let fresh = Tree::new();
    fresh.file(&path("0.24.0"), &rows);
    fresh.file(&path("0.23.0"), &rows);
    fresh.commit();
    let found = fresh.validate(&["--only", "copied-table", "--format", "json"]);
    insta::assert_snapshot!(message(&found.finding("copied-table")), @"all 60 points shared with systems/data/h200_sxm/vllm/0.23.0/gemm_perf.txt have the same measurements; which of the two is the copy is not known");
}

#[test]
fn a_sidecar_note_is_quoted_and_does_not_explain_a_slow_slice() {
    let tree = Tree::new();
    let rows = |factor: f64| -> String {
        let row = |m: u64| {
            let latency = factor * (0.05 + m as f64 * 0.005);
            format!("gemm,cutlass,bfloat16,{m},128,128,{latency}\n")
        };
        "op_name,kernel_source,gemm_dtype,m,n,k,latency\n".to_owned()
            + &(1..=40).map(row).collect::<String>()
    };
    let at = |backend: &str, version: &str, name: &str| {
        format!("systems/data/h200_sxm/gemm/{backend}/{version}/{name}")
    };
    tree.file(&at("sglang", "0.5.14", "gemm_perf.txt"), rows(1.01));
    tree.file(&at("trtllm", "1.3.0", "gemm_perf.txt"), rows(0.99));
    tree.file(&at("vllm", "0.22.0", "gemm_perf.txt"), rows(1.02));
    tree.file(&at("vllm", "0.24.0", "gemm_perf.txt"), rows(5.0));
    let run = || {
        let found = tree.validate(&["--only", "sibling-deviation", "--format", "json"]);
        let finding = found.finding("sibling-deviation");
        (finding["severity"].clone(), message(&finding))
    };
    assert_eq!(run().0, "warning");
    let meta = "schema_version: 1\nruntime: {framework: vllm, version: 0.24.0}\n\
                tables: {gemm_perf: {status: complete, dispatch: with launch overhead}}\n";
    tree.file(&at("vllm", "0.24.0", "collection_meta.yaml"), meta);
    let (severity, message) = run();
    assert_eq!(severity, "warning");
    insta::assert_snapshot!(message, @r#"1 slice is slow beside the same data of other backends, versions or systems: at gemm_dtype=bfloat16, vllm is 5.05× slower than trtllm, 4.95× slower than sglang, 4.90× slower than its other versions; its sidecar says dispatch: "with launch overhead""#);
}
