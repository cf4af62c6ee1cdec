//! `perfdb-gate dedupe`, run on small trees of synthetic rows.

use crate::common::snapshot::shown;
use crate::common::{self, Run, Tree, gemm, gemm_parquet};
use serde_json::Value;

fn dedupe(tree: &Tree, args: &[&str]) -> Run {
    let root = tree.path().display().to_string();
    let record = tree.path().join("dropped.jsonl").display().to_string();
    let mut all = vec!["dedupe", "--root", &root, "--dropped", &record];
    all.extend(args);
    common::run(&all)
}

fn dropped(tree: &Tree) -> Vec<Value> {
    let text = std::fs::read_to_string(tree.path().join("dropped.jsonl")).expect("a record");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// `m,latency` of each row of a text table.
fn rows(path: &std::path::Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let cells = |l: &str| l.split(',').map(str::to_owned).collect::<Vec<_>>();
    text.lines().skip(1).map(cells).map(|c| format!("{} {}", c[6], c[9])).collect()
}

#[test]
fn a_dry_run_of_dedupe_writes_nothing() {
    let tree = Tree::new();
    let text = gemm(&[(1, 0.5), (2, 0.6), (1, 0.51)]);
    let path = tree.gemm("gemm_perf.txt", &text);
    let run = dedupe(&tree, &[]);
    assert_eq!(run.code(), 0, "{}", run.err());
    insta::assert_snapshot!(run.shown(), @"
    $ perfdb-gate dedupe --root [tmp] --dropped [tmp]/dropped.jsonl
    systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt
      1 of 3 rows repeat a measurement
      the loader uses the first row of a key, so 1 key get another row than before; the largest change is row 2: 0.5000 ms → 0.5100 ms

    1 repeated measurement in 1 of 1 table (--keep last)
    dry run: nothing was written; add --write to remove them
    (exit 0)
    ");
    assert_eq!(std::fs::read_to_string(path).unwrap(), text);
    assert!(!tree.path().join("dropped.jsonl").exists());
}

#[test]
fn contradictory_options_of_dedupe_are_refused() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (1, 0.51)]));
    let unknown = dedupe(&tree, &["--ignore", "kernel_sourse"]);
    assert_eq!((unknown.code(), unknown.out().as_str()), (2, ""));
    assert_eq!(dedupe(&tree, &["--ignore", "kernel_source"]).code(), 0);
    let root = tree.path().display().to_string();
    let stream = common::run(&["dedupe", "--root", &root, "--write", "--dropped", "-"]);
    assert_eq!((stream.code(), stream.out().as_str()), (2, ""));
    insta::assert_snapshot!(shown([&unknown, &stream]), @"
    $ perfdb-gate dedupe --root [tmp] --dropped [tmp]/dropped.jsonl --ignore kernel_sourse
    2> perfdb-gate: no column matches 'kernel_sourse'
    2> hint: did you mean kernel_source? known: device, framework, gemm_dtype, k, kernel_source, latency, m, n, op_name, version
    (exit 2)

    $ perfdb-gate dedupe --root [tmp] --write --dropped -
    2> perfdb-gate: invalid value '-' for '--dropped <FILE>': name a file in which the removed rows are kept
    2> hint: `perfdb-gate dedupe --help` lists what it takes
    (exit 2)
    ");
}

#[test]
fn the_keep_policy_decides_which_copy_is_kept() {
    let all = [(1, 0.51), (2, 0.6), (1, 0.5), (1, 0.52)];
    let mut runs = Vec::new();
    for (keep, stays) in [
        ("first", ["1 0.51", "2 0.6"]),
        ("last", ["2 0.6", "1 0.52"]),
        ("median", ["1 0.51", "2 0.6"]),
    ] {
        let tree = Tree::new();
        let path = tree.gemm("gemm_perf.txt", gemm(&all));
        let run = dedupe(&tree, &["--keep", keep, "--write"]);
        assert_eq!(run.code(), 0, "{}", run.err());
        assert_eq!(rows(&path), stays, "{keep}");
        runs.push(run);
        let record = dropped(&tree);
        assert_eq!(record.len(), 2);
        assert_eq!(record[0]["keep"], keep);
        assert_eq!(record[0]["cells"]["m"], 1);
        let clean = tree.validate(&["--only", "duplicate-key", "--format", "json"]);
        assert_eq!(clean.findings(), [""; 0]);
    }
    // The loader of gemm reads the first row of a key: with the last it reads another one than before.
    insta::assert_snapshot!(shown(&runs));
}

#[test]
fn dedupe_keeps_parquet_cells_and_corrects_the_sidecar() {
    let tree = Tree::new();
    let dir = "systems/data/h200_sxm/gemm/vllm/0.24.0";
    tree.file(&format!("{dir}/gemm_perf.parquet"), gemm_parquet(&[(1, 0.5), (2, 0.6), (1, 0.51)]));
    let meta = "schema_version: 1\nruntime: {framework: vllm, version: 0.24.0}\ntables:\n  gemm_perf:\n    rows: 3 # of 3\n    status: complete\n";
    let sidecar = tree.file(&format!("{dir}/collection_meta.yaml"), meta);
    let run = dedupe(&tree, &["--write"]);
    assert_eq!(run.code(), 0, "{}", run.err());
    insta::assert_snapshot!(run.shown(), @"
    $ perfdb-gate dedupe --root [tmp] --dropped [tmp]/dropped.jsonl --write
    systems/data/h200_sxm/gemm/vllm/0.24.0/gemm_perf.parquet
      1 of 3 rows repeat a measurement
      the loader uses the first row of a key, so 1 key get another row than before; the largest change is row 2: 0.5000 ms → 0.5100 ms

    1 repeated measurement in 1 of 1 table (--keep last)
    rows removed and 1 sidecar updated; [tmp]/dropped.jsonl lists the removed rows
    (exit 0)
    ");
    assert_eq!(
        std::fs::read_to_string(sidecar).unwrap(),
        meta.replace("rows: 3 #", "rows: 2 #"),
        "the comment stays as it was"
    );
    let after = tree.validate(&["--format", "json"]);
    let about = |f: &String| f.starts_with("duplicate-key") || f.starts_with("sidecar");
    assert!(!after.findings().iter().any(about), "{:?}", after.findings());
    assert_eq!(after.json()["summary"]["rows"], 2);
}

#[test]
fn copies_that_disagree_are_removed_only_on_request() {
    let tree = Tree::new();
    let path = tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6), (1, 0.9), (2, 0.61)]));
    let run = dedupe(&tree, &["--write"]);
    assert_eq!(run.code(), 1, "a person must look: {}", run.out());
    assert_eq!(rows(&path), ["1 0.5", "1 0.9", "2 0.61"]);

    let again = dedupe(&tree, &["--write", "--disagreeing"]);
    assert_eq!(again.code(), 2, "the record of the first run is not written over");
    insta::assert_snapshot!(shown([&run, &again]), @"
    $ perfdb-gate dedupe --root [tmp] --dropped [tmp]/dropped.jsonl --write
    systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt
      1 of 4 rows repeat a measurement
      1 measurement has copies that differ by more than rerun noise (up to 1.80×), so all are kept; --disagreeing removes them too
      the loader uses the first row of a key, so 1 key get another row than before; the largest change is row 3: 0.6000 ms → 0.6100 ms

    1 repeated measurement in 1 of 1 table (--keep last)
    rows removed; [tmp]/dropped.jsonl lists the removed rows
    (exit 1)

    $ perfdb-gate dedupe --root [tmp] --dropped [tmp]/dropped.jsonl --write --disagreeing
    2> perfdb-gate: [tmp]/dropped.jsonl exists already
    2> hint: it may be the record of an earlier run: name another file with --dropped
    (exit 2)
    ");
    assert_eq!(rows(&path).len(), 3);
    tree.remove("dropped.jsonl");
    assert_eq!(dedupe(&tree, &["--write", "--disagreeing"]).code(), 0);
    assert_eq!(rows(&path), ["1 0.9", "2 0.61"]);
    assert_eq!(dropped(&tree)[0]["disagrees"], true);
}

#[test]
fn rows_of_two_kernels_are_not_copies() {
    let tree = Tree::new();
    let text = gemm(&[(1, 0.5), (1, 0.51)]);
    let path = tree.gemm("gemm_perf.txt", text.replacen("cutlass", "cublas", 1));
    let kept = dedupe(&tree, &["--write"]);
    assert_eq!(kept.code(), 0, "{}", kept.err());
    assert_eq!(rows(&path).len(), 2);
    assert!(!tree.path().join("dropped.jsonl").exists());

    // A person may say that the name makes no other measurement.
    let run = dedupe(&tree, &["--write", "--ignore", "kernel_source"]);
    assert_eq!((run.code(), rows(&path)), (0, vec!["1 0.51".to_owned()]));
    // But not of what the loader reads.
    let run = dedupe(&tree, &["--ignore", "m"]);
    assert_eq!(run.code(), 1);
    insta::assert_snapshot!(shown([&kept, &run]), @"
    $ perfdb-gate dedupe --root [tmp] --dropped [tmp]/dropped.jsonl --write
    systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt
      1 key has several rows that differ in kernel_source; these are not copies of one measurement, so they stay

    0 repeated measurements in 0 of 1 table (--keep last)
    (exit 0)

    $ perfdb-gate dedupe --root [tmp] --dropped [tmp]/dropped.jsonl --ignore m
    systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt: not changed: m cannot be ignored, because its loader reads it

    0 repeated measurements in 0 of 1 table (--keep last)
    (exit 1)
    ");
}

#[test]
fn a_table_that_cannot_be_read_completely_is_not_changed_by_dedupe() {
    let tree = Tree::new();
    let torn = gemm(&[(1, 0.5), (1, 0.51)]) + "VLLM,0.24.0\n";
    let path = tree.gemm("gemm_perf.txt", &torn);
    let lfs = format!("version https://git-lfs.github.com/spec/v1\noid sha256:{:064}\nsize 9\n", 7);
    tree.gemm("moe_perf.parquet", lfs);
    let run = dedupe(&tree, &["--write"]);
    assert_eq!(run.code(), 1);
    insta::assert_snapshot!(run.shown(), @"
    $ perfdb-gate dedupe --root [tmp] --dropped [tmp]/dropped.jsonl --write
    systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt: not changed: 1 damaged row, line 4: 2 fields instead of 10
    systems/data/h200_sxm/vllm/0.24.0/moe_perf.parquet: not changed: the file is a git-LFS pointer to 9 bytes: `git lfs pull` fetches the table

    0 repeated measurements in 0 of 2 tables (--keep last)
    (exit 1)
    ");
    assert_eq!(std::fs::read_to_string(path).unwrap(), torn);
}

#[test]
fn the_output_of_dedupe_does_not_depend_on_the_number_of_threads() {
    let tree = Tree::new();
    for version in ["0.22.0", "0.24.0"] {
        for table in ["gemm_perf", "moe_perf"] {
            let path = format!("systems/data/h200_sxm/vllm/{version}/{table}.txt");
            tree.file(&path, gemm(&[(1, 0.5), (2, 0.6), (1, 0.51), (2, 0.9)]));
        }
    }
    let one = dedupe(&tree, &["--threads", "1"]).out();
    assert_eq!(dedupe(&tree, &["--threads", "4"]).out(), one);
    let some = dedupe(&tree, &["--version", "0.24.0", "--table", "gemm"]);
    insta::assert_snapshot!(some.shown(), @"
    $ perfdb-gate dedupe --root [tmp] --dropped [tmp]/dropped.jsonl --version 0.24.0 --table gemm
    systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt
      1 of 4 rows repeat a measurement
      1 measurement has copies that differ by more than rerun noise (up to 1.50×), so all are kept; --disagreeing removes them too
      the loader uses the first row of a key, so 1 key get another row than before; the largest change is row 2: 0.5000 ms → 0.5100 ms

    1 repeated measurement in 1 of 1 table (--keep last)
    dry run: nothing was written; add --write to remove them
    (exit 1)
    ");
    assert_eq!(dedupe(&tree, &["--table", "gem"]).code(), 2);
}
