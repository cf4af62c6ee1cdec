//! What a run leaves behind where it is stopped or the disk is full: whole files or none.

use std::process::Stdio;

use crate::common::{Tree, command, gemm, run};

/// A tree with errors enough for a report of some size, as two commits.
fn tree() -> Tree {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5)]));
    tree.commit();
    for version in 0..14 {
        let rows: Vec<(u64, f64)> = (0..40).map(|i| (i, 0.01 * i as f64)).collect();
        tree.file(&format!("systems/data/h200_sxm/vllm/0.{version}.1/gemm_perf.txt"), gemm(&rows));
    }
    tree.commit();
    tree
}

/// A run that writes every kind of file.
fn everything(tree: &Tree, out: &str) -> Vec<String> {
    let root = tree.path().display().to_string();
    let args = [
        "sanity",
        "--root",
        &root,
        "--base-ref",
        "HEAD~1",
        "--head-ref",
        "HEAD",
        "--format",
        "json",
        "--output",
    ];
    let mut args: Vec<String> = args.iter().map(|a| (*a).to_owned()).collect();
    args.push(format!("{out}/report.json"));
    for (flag, name) in [
        ("--html", "page.html"),
        ("--output-md-file", "comment.md"),
        ("--output-dir", "charts"),
        ("--detail-dir", "rows"),
    ] {
        args.extend([flag.to_owned(), format!("{out}/{name}")]);
    }
    args
}

/// Files below a folder that have their names, by path.
fn named(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for item in std::fs::read_dir(folder).unwrap().flatten() {
            let hidden = item.file_name().to_string_lossy().starts_with(".perfdb-gate-");
            match item.file_type() {
                // What has no name yet is nobody's report.
                _ if hidden => {}
                Ok(kind) if kind.is_dir() => folders.push(item.path()),
                _ => found.push(item.path()),
            }
        }
    }
    found
}

#[test]
fn a_run_that_is_killed_leaves_whole_files_or_none() {
    let tree = tree();
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole");
    std::fs::create_dir(&whole).unwrap();
    let args = everything(&tree, whole.to_str().unwrap());
    let start = std::time::Instant::now();
    let status = command().args(&args).status().unwrap();
    let took = start.elapsed();
    assert_eq!(status.code(), Some(1));
    let expected = named(&whole).len();
    assert!(expected > 12, "{expected}");
    for step in 0..10u32 {
        let out = folder.path().join(step.to_string());
        std::fs::create_dir(&out).unwrap();
        let args = everything(&tree, out.to_str().unwrap());
        let mut child = command().args(&args).stderr(Stdio::null()).spawn().unwrap();
        // More of the moments lie near the end, where files are written.
        std::thread::sleep(took * (step + 5) / 13);
        let _ = child.kill();
        child.wait().unwrap();
        for path in named(&out) {
            let relative = path.strip_prefix(&out).unwrap();
            let like = std::fs::metadata(whole.join(relative)).unwrap().len();
            let len = std::fs::metadata(&path).unwrap().len();
            // The elapsed time, and the folder's name, have a digit more or less.
            assert!(len.abs_diff(like) <= 64, "{relative:?}: {len} of {like} bytes");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_one_line() {
    let tree = tree();
    let root = tree.path().display().to_string();
    for flag in ["--output", "--html", "--write-baseline"] {
        let failed = tree.validate(&[flag, "/dev/full"]);
        assert_eq!(failed.code(), 2, "{flag}");
        assert!(
            failed.err().starts_with("perfdb-gate: cannot write /dev/full: "),
            "{}",
            failed.err()
        );
        assert_eq!(failed.err().lines().count(), 2, "{}", failed.err());
    }
    let failed = run(&["selftest", "--root", &root, "--samples", "1", "--output", "/dev/full"]);
    assert_eq!((failed.code(), failed.err().lines().count()), (2, 2), "{}", failed.err());
    let full = || Stdio::from(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
    for args in [&["validate", "--root", &root][..], &["rules"], &["explain", "duplicate-key"]] {
        let out = command().args(args).stdout(full()).output().unwrap();
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(2), "{args:?}: {said}");
        assert!(
            said.contains("cannot write to standard output") && said.lines().count() == 1,
            "{said}"
        );
    }
}
