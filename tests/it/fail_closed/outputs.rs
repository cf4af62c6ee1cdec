//! Where a run writes: never over a database, and told before the work begins.

use std::fs::File;

use super::*;

/// Arguments of a run that would fail for another reason, were the outputs not looked at first.
fn refused(args: &[&str], why: &str) {
    let all = [&["validate", "--root", "/no/such/root"], args].concat();
    assert_refused(&run(&all), why);
}

#[test]
fn what_cannot_be_written_is_refused_before_the_run() {
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

#[test]
fn what_a_killed_run_left_is_removed_by_the_next() {
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
