//! What a run leaves behind where it is stopped or the disk is full: whole files or none.

use std::process::Stdio;

use crate::common::snapshot::shown;
use crate::common::{Run, Tree, command, gemm};

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
fn a_killed_run_leaves_complete_files_or_none() {
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
fn a_full_disk_is_an_error_of_one_line() {
    let tree = tree();
    let root = tree.path().display().to_string();
    let mut runs = Vec::new();
    for flag in ["--output", "--html", "--write-baseline"] {
        let failed = tree.validate(&[flag, "/dev/full"]);
        assert_eq!(failed.code(), 2, "{flag}");
        runs.push(failed);
    }
    let full = || Stdio::from(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
    for args in [&["validate", "--root", &root][..], &["explain"], &["explain", "duplicate-key"]] {
        runs.push(Run::of(command().args(args).stdout(full())).unwrap());
    }
    assert!(runs.iter().all(|run| run.code() == 2));
    insta::assert_snapshot!(shown(&runs), @"
    $ perfdb-gate validate --root [tmp] --output /dev/full
    2> perfdb-gate: cannot write /dev/full: no storage space
    2> hint: check that its disk has free space
    (exit 2)

    $ perfdb-gate validate --root [tmp] --html /dev/full
    2> perfdb-gate: cannot write /dev/full: no storage space
    2> hint: check that its disk has free space
    (exit 2)

    $ perfdb-gate validate --root [tmp] --write-baseline /dev/full
    2> perfdb-gate: cannot write /dev/full: no storage space
    2> hint: check that its disk has free space
    (exit 2)

    $ perfdb-gate validate --root [tmp]
    2> perfdb-gate: cannot write to standard output: No space left on device (os error 28)
    (exit 2)

    $ perfdb-gate explain
    2> perfdb-gate: cannot write to standard output: No space left on device (os error 28)
    (exit 2)

    $ perfdb-gate explain duplicate-key
    2> perfdb-gate: cannot write to standard output: No space left on device (os error 28)
    (exit 2)
    ");
}

/// A report to a pipe that nobody reads: the run waits there, with the page still without a name.
#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_removes_temporary_files() {
    use std::os::unix::process::ExitStatusExt;
    let tree = tree();
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let files = || {
        let items = std::fs::read_dir(folder.path()).unwrap();
        let mut names: Vec<String> =
            items.map(|item| item.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    };
    let mut child = command()
        .args([
            "validate",
            "--root",
            tree.path().to_str().unwrap(),
            "--output",
            pipe.to_str().unwrap(),
        ])
        .args(["--html", folder.path().join("page.html").to_str().unwrap()])
        .spawn()
        .unwrap();
    for _ in 0..600 {
        if files().len() > 1 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(files().len(), 2, "the pipe, and a page without a name");
    let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(2), "as the shell expects it");
    assert_eq!(files(), ["pipe"]);
}
