//! Where a run writes: never over a database, and told before the work begins.

use std::fs::File;

use crate::common::gemm_parquet;

use super::*;

/// Arguments of a run that would fail for another reason, were the outputs not looked at first.
fn refused(args: &[&str], why: &str) {
    let all = [&["validate", "--root", "/no/such/root"], args].concat();
    assert_refused(&run(&all), why);
}

#[test]
fn an_output_that_cannot_be_written_is_refused_before_the_run() {
    let tree = Tree::new();
    let at = |name: &str| tree.path().join(name).display().to_string();
    let table = tree.gemm("gemm_perf.txt", good_table()).display().to_string();
    let system = at("systems/h200_sxm.yaml");
    refused(&["--report", &format!("json={table}")], "is a file of a database");
    refused(&["--output", &system], "is a file of a database");
    refused(&["--html", &at("new_perf.parquet")], "is a file of a database");
    refused(&["--write-baseline", &table], "is a file of a database");
    refused(&["--output", &at("a"), "--html", &at("a")], "two outputs have the same file");
    refused(
        &["--output", &at("a"), "--html", &at("systems/../a")],
        "two outputs have the same file",
    );
    let both = [format!("json={}", at("b")), format!("sarif={}", at("b"))];
    refused(&["--report", &both[0], "--report", &both[1]], "two outputs have the same file");
    refused(&["--output", &at("systems")], "it is a folder");
    refused(&["--output", &at("no/such/folder/a")], "cannot write");
    refused(&["--output", "/proc/a"], "cannot write");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&table, tree.path().join("link")).unwrap();
        refused(&["--output", &at("link")], "is a file of a database");
    }
    assert_eq!(std::fs::read_to_string(&table).unwrap(), good_table());

    tree.commit();
    let sanity = |args: &[&str]| tree.sanity(&[&["--base-ref", "nowhere"], args].concat());
    assert_refused(&sanity(&["--output-md-file", &table]), "is a file of a database");
    assert_refused(&sanity(&["--detail-dir", &table]), "cannot write");
    assert_refused(&sanity(&["--output-dir", &table]), "cannot write");
    // Folders are made, and what goes into them is no mistake.
    let inside = at("out/charts/report.html");
    let made =
        tree.sanity(&["--base-ref", "HEAD", "--output-dir", &at("out/charts"), "--html", &inside]);
    assert_eq!(made.code(), 3, "{}", made.err());
    assert!(std::path::Path::new(&inside).exists());
    // Devices take several.
    let run = tree.validate(&["--output", "/dev/null", "--html", "/dev/null"]);
    assert_eq!(run.code(), 0, "{}", run.err());
}

/// A repair that was killed while it gave files their names left some beside tables that need no change
/// any more.
#[test]
fn temporary_files_of_a_killed_repair_are_removed_by_the_next() {
    for command in ["dedupe", "convert"] {
        let tree = Tree::new();
        let table = tree.gemm("gemm_perf.parquet", gemm_parquet(&[(1, 0.5), (2, 0.6)]));
        let beside = |name: &str| {
            let path = table.with_file_name(name);
            std::fs::write(&path, "half a table").unwrap();
            path
        };
        let left = beside(".perfdb-gate-aB3xY9");
        let running = beside(".perfdb-gate-runs01");
        let other = beside(".perfdb-gate-notes");
        let lock = File::open(&running).unwrap();
        lock.lock().unwrap();
        let root = tree.path().display().to_string();
        let repair = |args: &[&str]| run(&[&[command, "--root", &root], args].concat());
        repair(&[]);
        assert!(left.exists(), "{command}: a dry run changes nothing");
        let run = repair(&["--write"]);
        assert!(run.code() != 2, "{}", run.shown());
        assert!(!left.exists(), "{command}: it was nobody's");
        assert!(running.exists() && other.exists() && table.exists(), "{command}: these stay");
    }
}

/// A baseline takes the place of a baseline alone.
#[test]
fn a_baseline_replaces_only_a_baseline() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", good_table());
    let words = tree.file("README.md", "words");
    let at = |name: &str| tree.path().join(name).display().to_string();
    let refused = tree.validate(&["--write-baseline", &at("README.md")]);
    assert_refused(&refused, "README.md exists and is not a baseline");
    assert_eq!(std::fs::read_to_string(words).unwrap(), "words");
    tree.file("other.json", "{\"schema\": \"perfdb-gate/v1\", \"findings\": []}");
    assert_refused(&tree.validate(&["--write-baseline", &at("other.json")]), "not a baseline");
    tree.file("empty.json", "");
    for name in ["new.json", "new.json", "empty.json"] {
        assert_eq!(tree.validate(&["--write-baseline", &at(name)]).code(), 0, "{name}");
        assert!(std::fs::read_to_string(at(name)).unwrap().contains("perfdb-gate/baseline/v1"));
    }
}

#[test]
fn temporary_files_of_a_killed_run_are_removed_by_the_next() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", good_table());
    tree.commit();
    let left = tree.file("out/.perfdb-gate-aB3xY9", "half a report");
    let details = tree.file("rows/.perfdb-gate-000000/half.csv", "half a table");
    let running = tree.file("out/.perfdb-gate-runs01", "another run's");
    let other = tree.file("out/.perfdb-gate-notes", "somebody's");
    let lock = File::open(&running).unwrap();
    lock.lock().unwrap();
    let out = tree.path().join("out/report.json").display().to_string();
    let rows = tree.path().join("rows").display().to_string();
    let args = ["--base-ref", "HEAD", "--output", &out, "--detail-dir", &rows];
    assert_eq!(tree.sanity(&args).code(), 3);
    assert!(std::path::Path::new(&out).exists());
    assert!(!left.exists() && !details.parent().unwrap().exists(), "they were nobody's");
    assert!(running.exists() && other.exists(), "these are somebody's");
    drop(lock);
    assert_eq!(tree.sanity(&args).code(), 3);
    assert!(!running.exists());
}
