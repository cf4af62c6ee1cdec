//! Commands that write into a tree: never through a link of it, never after reading a device, and one at a time.

use std::collections::BTreeMap;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use crate::common::snapshot::redact;
use crate::common::{Run, Tree, command, gemm, gemm_parquet};

const SYSTEM: &str = "systems/data/h200_sxm/gemm/vllm";

/// A command that writes, with a file that it writes or rewrites and a folder of it.
struct Writer {
    args: &'static [&'static str],
    folder: &'static str,
    file: &'static str,
}

const SETTINGS: &str = ".perfdb-gate/waivers.yaml";
const NEW: [&str; 12] = [
    "new",
    "--write",
    "--from",
    "rows.csv",
    "--system",
    "h200_sxm",
    "--table",
    "gemm",
    "--backend",
    "vllm",
    "--version",
    "1.2.3",
];
const MERGE: [&str; 5] = [
    "merge",
    "systems/data/h200_sxm/gemm/vllm/0.24.0/gemm_perf.parquet",
    "--with",
    "run",
    "--write",
];

/// Every command that writes into a tree. `[print]` stands for the fingerprint of a finding.
const WRITERS: [Writer; 11] = [
    Writer { args: &["waive", "[print]", "--reason", "x"], folder: ".perfdb-gate", file: SETTINGS },
    Writer {
        args: &["init", "--repository", "a/b"],
        folder: ".github",
        file: ".github/workflows/perfdb.yml",
    },
    Writer {
        args: &["init", "--repository", "a/b"],
        folder: ".perfdb-gate",
        file: ".perfdb-gate/baseline.json",
    },
    Writer {
        args: &["init", "--repository", "a/b", "--layout", "public"],
        folder: ".perfdb-gate/rules",
        file: ".perfdb-gate/rules/layouts/public.yaml",
    },
    Writer {
        args: &["init", "--repository", "a/b"],
        folder: ".github/workflows",
        file: ".gitattributes",
    },
    Writer {
        args: &NEW,
        folder: "systems/data/h200_sxm/gemm/vllm/1.2.3",
        file: "systems/data/h200_sxm/gemm/vllm/1.2.3/gemm_perf.parquet",
    },
    Writer {
        args: &NEW,
        folder: "systems/data/h200_sxm/gemm",
        file: "systems/data/h200_sxm/gemm/vllm/1.2.3/collection_meta.yaml",
    },
    Writer {
        args: &["dedupe", "--write"],
        folder: "systems/data/h200_sxm/gemm/vllm",
        file: "systems/data/h200_sxm/gemm/vllm/0.24.0/collection_meta.yaml",
    },
    Writer {
        args: &["convert", "--write"],
        folder: "systems/data/h200_sxm/gemm",
        file: "systems/data/h200_sxm/gemm/vllm/0.25.0/gemm_perf.parquet",
    },
    Writer {
        args: &MERGE,
        folder: "systems/data/h200_sxm/gemm/vllm",
        file: "systems/data/h200_sxm/gemm/vllm/0.24.0/gemm_perf.parquet",
    },
    Writer {
        args: &MERGE,
        folder: "systems/data/h200_sxm/gemm/vllm/0.24.0",
        file: "systems/data/h200_sxm/gemm/vllm/0.24.0/collection_meta.yaml",
    },
];

/// A repository in which every writer has something to write.
fn site() -> Tree {
    let tree = Tree::new();
    tree.file(
        &format!("{SYSTEM}/0.24.0/gemm_perf.parquet"),
        gemm_parquet(&[(1, 0.5), (1, 0.5), (0, 0.6)]),
    );
    let meta = "schema_version: 1\nruntime: {framework: vllm, version: 0.24.0}\ntables:\n  gemm_perf:\n    rows: 3\n    status: complete\n";
    tree.file(&format!("{SYSTEM}/0.24.0/collection_meta.yaml"), meta);
    tree.file(
        &format!("{SYSTEM}/0.25.0/gemm_perf.txt"),
        gemm(&[(1, 0.5)]).replace("0.24.0", "0.25.0"),
    );
    tree.file("run/gemm_perf.txt", gemm(&[(2, 0.6)]));
    tree.file(
        "rows.csv",
        "op_name,kernel_source,gemm_dtype,m,n,k,latency\ngemm,cutlass,bfloat16,1,128,128,0.5\n",
    );
    tree.git(&["init", "-q"]);
    tree.git(&["config", "user.name", "t"]);
    tree
}

fn start(tree: &Tree, args: &[&str]) -> Child {
    let mut command = command();
    let command = command.args(args).current_dir(tree.path());
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn run(tree: &Tree, args: &[&str]) -> Run {
    Run::of(command().args(args).current_dir(tree.path())).unwrap()
}

/// Fingerprints of the findings that can be waived.
fn prints(tree: &Tree) -> Vec<String> {
    let list = run(tree, &["waive"]).out();
    list.lines().map(|line| line.split(' ').next().unwrap().to_owned()).collect()
}

/// All files below a folder that are not links, with their bytes.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = walkdir::WalkDir::new(folder).into_iter().flatten();
    let files = files.filter(|item| item.file_type().is_file());
    files.map(|item| (item.path().to_owned(), std::fs::read(item.path()).unwrap())).collect()
}

/// An obstacle in the place of a file, and what it is called.
const OBSTACLES: [(&str, &str); 4] = [
    ("a link to a file", "is a symbolic link"),
    ("a link to nowhere", "is a symbolic link"),
    ("a link to /dev/zero", "is a symbolic link"),
    ("a pipe", "is a device, pipe or socket"),
];

/// Moves what is at a path to a folder outside of the tree, and leaves an obstacle.
fn obstruct(tree: &Tree, path: &str, obstacle: &str, outside: &Path) {
    let path = tree.path().join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let away = outside.join("file");
    match std::fs::rename(&path, &away) {
        Ok(()) => {}
        Err(_) => std::fs::write(&away, "").unwrap(),
    }
    match obstacle {
        "a link to a file" => symlink(away, path).unwrap(),
        "a link to nowhere" => symlink(outside.join("nowhere"), path).unwrap(),
        "a link to /dev/zero" => symlink("/dev/zero", path).unwrap(),
        _ => assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success()),
    }
}

/// Runs a writer in a tree with an obstacle; returns what it printed, if nothing was written.
fn refused(writer: &Writer, tree: &Tree, print: &str, outside: &Path) -> String {
    let before = (contents(outside), contents(tree.path()));
    let args: Vec<&str> =
        writer.args.iter().map(|arg| if *arg == "[print]" { print } else { arg }).collect();
    let run = run(tree, &args);
    let said = format!("{args:?}: {}{}", run.out(), run.err());
    assert_eq!(contents(outside), before.0, "{said}");
    let after = contents(tree.path());
    let is_left = |path: &Path| path.to_string_lossy().contains("/.perfdb-gate-");
    assert!(!after.keys().any(|path| is_left(path)), "{said}");
    if run.code() == 2 {
        assert_eq!(after, before.1, "{said}");
        assert_eq!(run.err().lines().count(), 2, "{said}");
    }
    assert!(run.code() == 1 || run.code() == 2 || run.code() == 3, "{said}");
    said
}

#[test]
fn a_link_or_a_pipe_in_place_of_an_output_file_is_refused() {
    for writer in &WRITERS {
        for (obstacle, called) in OBSTACLES {
            let (tree, outside) = (site(), tempfile::tempdir().unwrap());
            let print = prints(&tree).remove(0);
            obstruct(&tree, writer.file, obstacle, outside.path());
            let said = refused(writer, &tree, &print, outside.path());
            let own = format!("{} {called}", writer.file);
            // `validate`, which `waive` and `init` run first, reads no device and no pipe either.
            let first = "is not a regular file";
            assert!(said.contains(&own) || said.contains(first), "{obstacle}: {said}");
            let kind = tree.path().join(writer.file).symlink_metadata().unwrap().file_type();
            assert!(kind.is_symlink() || kind.is_fifo(), "{obstacle}: {said}");
        }
    }
}

#[test]
fn a_link_in_place_of_an_output_folder_is_refused() {
    for writer in &WRITERS {
        let (tree, outside) = (site(), tempfile::tempdir().unwrap());
        let print = prints(&tree).remove(0);
        let (folder, away) = (tree.path().join(writer.folder), outside.path().join("folder"));
        if std::fs::rename(&folder, &away).is_err() {
            std::fs::create_dir_all(folder.parent().unwrap()).unwrap();
            std::fs::create_dir(&away).unwrap();
        }
        symlink(&away, &folder).unwrap();
        let said = refused(writer, &tree, &print, outside.path());
        // Tables behind a link are not among the tables to repair.
        let unseen = ["dedupe", "convert"].contains(&writer.args[0]);
        let called = format!("{} is a symbolic link", writer.folder);
        assert!(said.contains(&called) || unseen, "{said}");
        assert!(folder.is_symlink(), "{said}");
    }
}

#[test]
fn a_link_below_the_output_folder_is_an_error_of_one_line_with_a_hint() {
    let (tree, outside) = (site(), tempfile::tempdir().unwrap());
    let print = prints(&tree).remove(0);
    symlink(outside.path(), tree.path().join(".perfdb-gate")).unwrap();
    let waived = run(&tree, &["waive", &print, "--reason", "x"]);
    insta::assert_snapshot!(redact(&waived.err()), @"
    perfdb-gate: [tmp]/.perfdb-gate is a symbolic link; perfdb-gate writes only to real files and folders of a repository
    hint: remove it, or move what it leads to into its place
    ");
    // The root itself may be reached through a link.
    std::fs::remove_file(tree.path().join(".perfdb-gate")).unwrap();
    let root = outside.path().join("root");
    symlink(tree.path(), &root).unwrap();
    let root = root.display().to_string();
    let waived = run(&tree, &["waive", &print, "--reason", "x", "--root", &root]);
    assert_eq!(waived.code(), 0, "{}", waived.err());
    assert!(tree.path().join(SETTINGS).is_file());
    let deduped = run(&tree, &["dedupe", "--write", "--root", &root]);
    assert_eq!(deduped.code(), 0, "{}", deduped.err());
}

/// Outputs that the command line names.
#[test]
fn an_output_is_not_written_through_a_link_of_the_repository() {
    let (tree, outside) = (site(), tempfile::tempdir().unwrap());
    symlink(outside.path(), tree.path().join("out")).unwrap();
    symlink(outside.path().join("file"), tree.path().join("report.json")).unwrap();
    std::fs::create_dir(tree.path().join("real")).unwrap();
    symlink(outside.path(), outside.path().join("own")).unwrap();
    for args in [
        ["validate", "--output", "out/report.json"],
        ["validate", "--output", "report.json"],
        ["validate", "--output", "real/../out/report.json"],
        ["validate", "--write-baseline", "out/baseline.json"],
        ["validate", "--html", "out/page.html"],
        ["validate", "--rows", "out/rows"],
        ["dedupe", "--write", "--dropped=out/dropped.jsonl"],
        ["dedupe", "--write", "--dropped=report.json"],
    ] {
        let refused = run(&tree, &args);
        assert_eq!(refused.code(), 2, "{args:?}: {}", refused.out());
        assert!(refused.err().contains("is a symbolic link"), "{args:?}: {}", refused.err());
        assert_eq!(contents(outside.path()).len(), 0, "{args:?}");
    }
    // Outside of the repository, links are the caller's.
    let own = outside.path().join("own/report.json").display().to_string();
    for path in [&own, "real/../real/report.json"] {
        let written = run(&tree, &["validate", "--output", path]);
        assert_eq!(written.code(), 1, "{}", written.err());
        assert!(tree.path().join(path).is_file());
    }
}

#[test]
fn simultaneous_waivers_are_all_written() {
    let tree = site();
    for version in ["0.1.0", "0.2.0", "0.3.0", "0.4.0"] {
        let rows = gemm(&[(0, 0.5)]).replace("0.24.0", version);
        tree.file(&format!("{SYSTEM}/{version}/gemm_perf.txt"), rows);
    }
    let prints = prints(&tree);
    assert!(prints.len() > 4, "{prints:?}");
    let waive = |print: &String| start(&tree, &["waive", print, "--reason", "x"]);
    let runs: Vec<Child> = prints.iter().take(5).map(waive).collect();
    for mut run in runs {
        assert_eq!(run.wait().unwrap().code(), Some(0));
    }
    let text = std::fs::read_to_string(tree.path().join(SETTINGS)).unwrap();
    assert_eq!(text.matches("reason:").count(), 5, "{text}");
}

#[test]
fn simultaneous_merges_are_both_written() {
    let tree = site();
    let mut runs = Vec::new();
    for (number, m) in [(1, 2), (2, 4), (3, 8)] {
        let run = format!("run{number}");
        tree.file(&format!("{run}/gemm_perf.txt"), gemm(&[(m, 0.6)]));
        let ledger = format!("merged{number}.jsonl");
        runs.push(start(
            &tree,
            &[&MERGE[..2], &["--with", &run, "--write", "--ledger", &ledger]].concat(),
        ));
    }
    for mut run in runs {
        assert_eq!(run.wait().unwrap().code(), Some(0));
    }
    let meta =
        std::fs::read_to_string(tree.path().join(SYSTEM).join("0.24.0/collection_meta.yaml"));
    assert!(meta.unwrap().contains("rows: 6"));
}

/// The lock ends with the process that had it.
#[test]
fn a_killed_run_does_not_block_another() {
    let tree = site();
    let print = prints(&tree).remove(0);
    let mut killed = start(&tree, &["waive", &print, "--reason", "x"]);
    std::thread::sleep(std::time::Duration::from_millis(20));
    killed.kill().unwrap();
    killed.wait().unwrap();
    let next = run(&tree, &["dedupe", "--write"]);
    assert_eq!(next.code(), 0, "{}", next.err());
}

/// Settings that are read for judgement.
#[test]
fn a_device_or_a_pipe_in_place_of_a_settings_file_is_never_read() {
    for path in [
        SETTINGS,
        ".perfdb-gate/baseline.json",
        ".perfdb-gate/rules/gemm.yaml",
        ".gitattributes",
        ".gitignore",
        "systems/h100_sxm.yaml",
        "systems/query_versions.yaml",
        "systems/data/reuse_manifest.yaml",
        "systems/data/h200_sxm/gemm/vllm/0.24.0/reuse.yaml",
        "systems/data/h200_sxm/gemm/vllm/0.24.0/collection_meta.yaml",
        "systems/data/h200_sxm/gemm/vllm/0.24.0/moe_perf.parquet",
        "collector/evidence_exceptions.yaml",
    ] {
        for obstacle in ["a link to /dev/zero", "a pipe"] {
            let (tree, outside) = (site(), tempfile::tempdir().unwrap());
            // A pointer to git-LFS, for which attributes are read.
            tree.gemm(
                "gemm_perf.txt",
                "version https://git-lfs.github.com/spec/v1\noid sha256:aa\nsize 12\n",
            );
            tree.commit();
            obstruct(&tree, path, obstacle, outside.path());
            for args in [&["validate"][..], &["sanity", "--base-ref", "HEAD"]] {
                let judged = run(&tree, args);
                assert!([1, 2, 3].contains(&judged.code()), "{path} {obstacle}: {}", judged.err());
            }
        }
    }
    let tree = site();
    symlink("/dev/zero", tree.path().join("known.json")).unwrap();
    let named = run(&tree, &["validate", "--baseline", "known.json"]);
    assert_eq!(named.code(), 2);
    assert!(named.err().contains("known.json: it is not a regular file"), "{}", named.err());
}
