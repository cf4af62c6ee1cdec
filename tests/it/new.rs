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
fn a_new_table_is_started_in_an_empty_repository() {
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

/// Milliseconds written as microseconds are reported before anything is written, with and without other tables.
#[test]
fn a_wrong_unit_is_reported_before_the_new_table_is_written() {
    let tree = empty();
    // Microseconds, near enough to what the machine needs for no rule to be sure.
    let mut in_us = "op_name,kernel_source,gemm_dtype,m,n,k,latency\n".to_owned();
    for (m, us) in [(1, 10.1), (64, 10.6), (1024, 48.1), (8192, 355.0)] {
        in_us += &format!("gemm,cutlass,bfloat16,{m},4096,4096,{us}\n");
    }
    tree.file("rows.csv", in_us);
    let alone = run(&tree, &[&NEW[..], &["--from", "rows.csv", "--write"]].concat());
    let shown = alone.out();
    let (before, _) = shown.split_once("Next: commit").unwrap();
    assert!(
        before.contains("The fastest row takes 10.1 ms, and that of other tables 0.001 to 3 ms"),
        "{shown}"
    );

    let tree = empty();
    // The numbers of another run differ a little, each in its own way.
    let many = |scale: f64, run: u32| {
        let time = |m: u32| f64::from(m + 10) * (1.0 + f64::from(m * run % 7) / 200.0) * scale;
        let row = |m: u32| format!("gemm,cutlass,bfloat16,{m},128,128,{}\n", time(m));
        "op_name,kernel_source,gemm_dtype,m,n,k,latency\n".to_owned()
            + &(1..=30).map(row).collect::<String>()
    };
    for (version, number) in [("1.2.1", 1), ("1.2.2", 2)] {
        tree.file("rows.csv", many(0.001, number));
        let args = [&NEW[..8], &[version, "--from", "rows.csv", "--write"]].concat();
        let written = run(&tree, &args);
        assert_eq!(written.code(), 0, "{}", written.shown());
    }
    tree.file("rows.csv", many(1.0, 3));
    let refused = run(&tree, &[&NEW[..], &["--from", "rows.csv", "--write"]].concat());
    assert_eq!(refused.code(), 1, "{}", refused.shown());
    assert!(
        refused.out().contains("unit-shift: 1 slice is probably in another unit"),
        "{}",
        refused.out()
    );
    assert!(refused.out().contains("Nothing was written. Next: correct the errors above"));
    assert!(!tree.path().join("systems/data/h200_sxm/gemm/vllm/1.2.3").exists());
}

#[test]
fn a_new_table_without_a_spec_gets_a_learned_spec() {
    const WARP: [&str; 9] = [
        "new",
        "--system",
        "h200_sxm",
        "--table",
        "warp",
        "--backend",
        "vllm",
        "--version",
        "1.2.3",
    ];
    let tree = empty();
    let asked = run(&tree, &WARP);
    assert_eq!(asked.code(), 2);
    assert!(
        asked.err().contains("--from FILE learns the spec of a new table from its rows"),
        "{}",
        asked.err()
    );
    let mut text = "op_name,kernel_source,phase,tokens,latency\n".to_owned();
    for (phase, base) in [("dispatch", 0.02), ("combine", 0.03)] {
        for tokens in [1, 2, 4, 8, 16, 32, 64, 128] {
            text += &format!("warp,ours,{phase},{tokens},{}\n", base + 0.001 * f64::from(tokens));
        }
    }
    tree.file("rows.csv", &text);
    let from = [&WARP[..], &["--from", "rows.csv"]].concat();
    let dry = run(&tree, &from);
    assert_eq!(
        (dry.code(), tree.path().join(".perfdb-gate").exists()),
        (0, false),
        "{}",
        dry.shown()
    );
    assert!(dry.out().contains("    # Learned from 16 rows of 1 file"), "{}", dry.out());
    let written = run(&tree, &[&from[..], &["--write"]].concat());
    insta::assert_snapshot!(redact(&written.out()), @"
    written  systems/h200_sxm.yaml: the known system's figures
    written  systems/data/h200_sxm/warp/vllm/1.2.3/warp_perf.parquet: 16 rows of rows.csv, with framework=vllm, version=1.2.3, device=NVIDIA H200
    written  systems/data/h200_sxm/warp/vllm/1.2.3/collection_meta.yaml: where the rows come from
    written  .perfdb-gate/rules/tables/warp_perf.yaml: a first spec, since none describes warp_perf

    rules changed by .perfdb-gate/rules/tables/warp_perf.yaml
    0 errors, 0 warnings, 0 infos; checked 1 table, 16 rows in [seconds] s

    Next: commit the files.
      perfdb-gate explore --system h200_sxm --table warp    draws the curves
      perfdb-gate init --repository OWNER/perfdb-gate    sets up the checks of pull requests
    ");
    let validated = run(&tree, &["validate"]);
    assert_eq!(validated.code(), 0, "{}", validated.shown());
    assert!(!validated.out().contains("no spec"), "{}", validated.out());
    // By the spec the table is known: a repeated key is found.
    tree.file("rows.csv", text.clone() + "warp,ours,combine,128,0.9\n");
    let again =
        from.iter().map(|arg| if *arg == "1.2.3" { "1.2.4" } else { arg }).collect::<Vec<_>>();
    let repeated = run(&tree, &again);
    assert!(repeated.out().contains("duplicate-key"), "{}", repeated.out());
    // A name that resembles a known one may be a misspelt one.
    let near = from.iter().map(|arg| if *arg == "warp" { "gems" } else { arg }).collect::<Vec<_>>();
    assert!(run(&tree, &near).out().contains("(did you mean --table gemm?)"));
}

#[test]
fn a_csv_file_with_semicolons_is_refused_with_the_reason() {
    let tree = empty();
    tree.file("rows.csv", rows("0.65").replace('.', "X").replace(',', ";").replace('X', ","));
    let run = run(&tree, &[&NEW[..], &["--from", "rows.csv"]].concat());
    assert_eq!(run.code(), 2);
    insta::assert_snapshot!(run.err(), @"
    perfdb-gate: rows.csv: the columns are separated by semicolons or tabs
    hint: write commas between the columns, and a point in numbers such as 0.5
    ");
}

#[test]
fn the_sidecar_of_a_new_table_is_the_one_that_explain_shows() {
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
fn a_new_table_with_errors_is_not_written() {
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
