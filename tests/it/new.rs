//! `perfdb-gate new` and `waive`: a table of one's own from nothing, and a pull request that is blocked.

use crate::common::snapshot::{redact, without_days};
use crate::common::{Run, Tree, command};

/// Synthetic rows, as a person measures them: without the columns that the command line answers.
fn rows(last: &str) -> String {
    let mut text = "op_name,kernel_source,gemm_dtype,m,n,k,latency\n".to_owned();
    for (m, latency) in [(1, "0.50"), (2, "0.51"), (4, "0.53"), (8, "0.57"), (16, last)] {
        text += &format!("gemm,cutlass,bfloat16,{m},128,128,{latency}\n");
    }
    text
}

fn run(tree: &Tree, args: &[&str]) -> Run {
    Run::of(command().args(args).current_dir(tree.path())).unwrap()
}

const NEW: [&str; 9] =
    ["new", "--system", "h200_sxm", "--table", "gemm", "--backend", "vllm", "--version", "1.2.3"];

/// An empty repository.
fn empty() -> Tree {
    let tree = Tree::new();
    std::fs::remove_dir_all(tree.path().join("systems")).unwrap();
    tree.git(&["init", "-q"]);
    tree
}

#[test]
fn a_table_of_ones_own_starts_from_nothing() {
    let tree = empty();
    let asked = run(&tree, &NEW);
    assert_eq!(asked.code(), 0, "{}", asked.err());
    assert!(asked.out().contains(
        "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency,power?"
    ));
    tree.file("rows.csv", rows("0.65"));
    let dry = run(&tree, &[&NEW[..], &["--from", "rows.csv"]].concat());
    assert_eq!((dry.code(), tree.path().join("systems").exists()), (0, false), "{}", dry.err());
    let shown = dry.out();
    let (_, sidecar) = shown.split_once("collection_meta.yaml").unwrap();
    insta::assert_snapshot!(redact(sidecar), @"
    : where the rows come from
        schema_version: 1
        runtime:
          framework: vllm
          version: 1.2.3
        tables:
          gemm_perf:
            status: complete

    0 errors, 0 warnings, 0 infos; checked 1 table, 5 rows in [seconds] s

    Nothing was written. Next: --write writes these files.
    ");
    let written = run(&tree, &[&NEW[..], &["--from", "rows.csv", "--write"]].concat());
    insta::assert_snapshot!(redact(&written.out()), @"
    written  systems/h200_sxm.yaml: the known system's figures
    written  systems/data/h200_sxm/gemm/vllm/1.2.3/gemm_perf.parquet: 5 rows of rows.csv, with framework=vllm, version=1.2.3, device=NVIDIA H200
    written  systems/data/h200_sxm/gemm/vllm/1.2.3/collection_meta.yaml: where the rows come from

    0 errors, 0 warnings, 0 infos; checked 1 table, 5 rows in [seconds] s

    Next: commit the files.
      perfdb-gate explore --system h200_sxm --table gemm    draws the curves
      perfdb-gate init --repository OWNER/perfdb-gate    sets up the checks of pull requests
    ");
    assert_eq!(run(&tree, &["validate"]).code(), 0);
    let again = run(&tree, &[&NEW[..], &["--from", "rows.csv", "--write"]].concat());
    assert_eq!(again.code(), 2);
    assert!(again.err().contains("gemm_perf.parquet exists already"), "{}", again.err());
}

#[test]
fn the_sidecar_is_the_one_that_explain_shows() {
    let tree = empty();
    tree.file("rows.csv", rows("0.65"));
    run(&tree, &[&NEW[..], &["--from", "rows.csv", "--write"]].concat());
    let path = "systems/data/h200_sxm/gemm/vllm/1.2.3/collection_meta.yaml";
    let written = std::fs::read_to_string(tree.path().join(path)).unwrap();
    assert_eq!(written.lines().count(), 7);
    let example = written.replace("1.2.3", "0.24.0").replace('\n', "\n    ");
    let told = run(&tree, &["explain", "sidecar-missing"]).out();
    assert!(told.contains(example.trim_end()), "{told}");
    let schema: serde_json::Value =
        serde_json::from_str(&run(&tree, &["schema", "sidecar"]).out()).unwrap();
    assert_eq!(schema["examples"][0]["tables"]["gemm_perf"]["status"], "complete");
}

#[test]
fn rows_with_errors_are_not_written() {
    let tree = empty();
    for (last, said) in [
        ("-1", "latency-not-positive"),
        ("abc", "damaged row, line 6: latency is 'abc', not a number"),
    ] {
        tree.file("rows.csv", rows(last));
        let run = run(&tree, &[&NEW[..], &["--from", "rows.csv", "--write"]].concat());
        assert!(run.code() == 1 || run.code() == 2, "{}", run.out());
        assert!((run.out() + &run.err()).contains(said), "{} {}", run.out(), run.err());
        assert!(!tree.path().join("systems").exists());
    }
}

#[test]
fn a_pull_request_is_blocked_until_its_finding_is_waived() {
    let tree = empty();
    tree.file("rows.csv", rows("0.65"));
    run(&tree, &[&NEW[..], &["--from", "rows.csv", "--write"]].concat());
    tree.commit();
    tree.git(&["branch", "base"]);
    tree.gemm("gemm_perf.txt", crate::common::gemm(&[(1, 0.5), (0, 0.6)]));
    tree.commit();
    let blocked = run(&tree, &["sanity", "--base-ref", "base"]);
    assert_eq!(blocked.code(), 1);
    assert!(blocked.out().contains("line 3: gemm_dtype=bfloat16 m=0"), "{}", blocked.out());
    let list = run(&tree, &["waive"]).out();
    let line = list.lines().find(|l| l.contains("key-out-of-range")).unwrap();
    let print = line.split(' ').next().unwrap();
    let args =
        ["waive", print, "--reason", "a probe", "--until", "2999-12-31", "--approved-by", "me"];
    let waived = run(&tree, &args);
    assert_eq!(waived.code(), 0, "{}", waived.err());
    insta::assert_snapshot!(without_days(&waived.out()).replace(print, "[fingerprint]"), @r#"
    added to .perfdb-gate/waivers.yaml:

    - rule: key-out-of-range
      path: "systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt"
      where: severity = 'error' AND rows <= 1
      reason: "a probe"
      evidence: "finding [fingerprint]: m is zero in 1 row"
      approved_by: "me"
      until: [date]

    Next: commit the file. In a pull request a waiver counts once it is on the base branch.
    "#);
    let after = run(&tree, &["validate"]);
    assert!(after.out().contains("1 waived"), "{}", after.out());
    let again = run(&tree, &args);
    assert_eq!((again.code(), again.err().lines().count()), (2, 2), "{}", again.err());
}
