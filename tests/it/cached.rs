//! `--cache`: a run that takes over what earlier ones found reports what a run without it does.

use std::path::Path;

use tempfile::TempDir;

use crate::common::{H200, SHIPPED, Tree, command, gemm, gemm_parquet, run};

/// The JSON of a job on a tree with a cache, which is that without one; then the log.
fn same(tree: &Tree, cache: &Path, args: &[&str]) -> String {
    let root = tree.path().display().to_string();
    let job = [args, &["--root", &root, "--format", "json"]].concat();
    let plain = run(&job);
    let cache = cache.display().to_string();
    let cached = run(&[&job[..], &["--cache", &cache, "--verbose"]].concat());
    assert_eq!(cached.code(), plain.code(), "{}", cached.err());
    assert_eq!(cached.json(), plain.json());
    cached.err()
}

/// The tables that a run read, by the end of their paths.
fn read(log: &str) -> Vec<&str> {
    let paths = log.lines().filter(|line| line.contains(" read path="));
    paths.filter_map(|line| line.split("systems/data/").nth(1)?.split('"').next()).collect()
}

/// A tree of three versions of a measured table.
fn measured() -> Tree {
    let tree = Tree::new();
    for version in ["2.9.0", "2.10.0", "2.11.0"] {
        tree.file(
            &format!("systems/data/h200_sxm/gemm/torch/{version}/gemm_perf.parquet"),
            SHIPPED,
        );
    }
    tree.gemm("gemm_perf.parquet", gemm_parquet(&[(1, 0.5), (2, 0.6), (4, 0.7), (8, 0.9)]));
    tree
}

#[test]
fn what_did_not_change_is_not_read() {
    let (tree, cache) = (measured(), TempDir::new().unwrap());
    assert_eq!(read(&same(&tree, cache.path(), &["validate"])).len(), 4);
    assert_eq!(read(&same(&tree, cache.path(), &["validate"])), [""; 0]);
    // From a commit, by other rules' order of reading, on one thread: the same files.
    tree.commit();
    let from_commit = ["validate", "--ref", "HEAD", "--threads", "1"];
    assert_eq!(read(&same(&tree, cache.path(), &from_commit)), [""; 0]);
    tree.gemm("gemm_perf.parquet", gemm_parquet(&[(1, 0.5), (2, 0.6), (4, 0.7), (8, 0.8)]));
    let log = same(&tree, cache.path(), &["validate"]);
    assert_eq!(read(&log), ["h200_sxm/vllm/0.24.0/gemm_perf.parquet"]);
}

#[test]
fn a_status_shows_the_same_with_a_cache() {
    let (tree, cache) = (measured(), TempDir::new().unwrap());
    let (system, all) = (["status", "--system", "h200_sxm"], ["status", "--all"]);
    for (job, tables) in [(&system[..], 4), (&system[..], 0), (&all[..], 0)] {
        assert_eq!(read(&same(&tree, cache.path(), job)).len(), tables, "{job:?}");
    }
}

/// A `reuse.yaml` that declares version 2.10.0 as donor of a table.
fn donor(table: &str) -> String {
    format!(
        "schema_version: 1\nreuse:\n- {{table: {table}, from_version: 2.10.0, reason: same kernels, approved_by: me}}\n"
    )
}

/// What is declared of a copy decides whether it is one, though no table changed.
#[test]
fn a_declared_donor_is_no_copy() {
    let (tree, cache) = (Tree::new(), TempDir::new().unwrap());
    let dir = "systems/data/h200_sxm/gemm/torch";
    for version in ["2.10.0", "2.11.0"] {
        tree.file(&format!("{dir}/{version}/gemm_perf.parquet"), SHIPPED);
    }
    for (table, is_copy) in [("moe_perf", true), ("gemm_perf", false)] {
        tree.file(&format!("{dir}/2.11.0/reuse.yaml"), donor(table));
        same(&tree, cache.path(), &["validate"]);
        let found = tree.validate(&["--format", "json"]).findings();
        assert_eq!(found.iter().any(|f| f.starts_with("copied-table")), is_copy, "{found:?}");
    }
}

/// Each change shows, whatever it is of: a table, a sidecar, a system, a rule, the place of a file.
#[test]
fn every_change_is_seen() {
    let (tree, cache) = (measured(), TempDir::new().unwrap());
    let dir = "systems/data/h200_sxm/gemm/torch/2.11.0";
    let meta = "schema_version: 1\nprovenance: collected\nruntime: {framework: torch, version: 2.11.0}\n\
                tables:\n  gemm_perf: {status: complete, rows: 4}\n";
    let rule =
        include_str!("../../rules/duplicate-key.yaml").replace("severity: error", "severity: info");
    let changes: [(&str, &dyn Fn()); 13] = [
        ("nothing", &|| {}),
        ("a sidecar", &|| drop(tree.file(&format!("{dir}/collection_meta.yaml"), meta))),
        ("a figure of it", &|| {
            drop(
                tree.file(
                    &format!("{dir}/collection_meta.yaml"),
                    meta.replace("rows: 4", "rows: 99"),
                ),
            );
        }),
        ("declared reuse", &|| {
            tree.file("systems/data/h200_sxm/gemm/torch/2.12.0/reuse.yaml", donor("gemm_perf"));
        }),
        ("a system", &|| {
            let other = H200.replace("../data/", "data/").replace("4.8e12", "4.8e9");
            tree.file("systems/h200_sxm.yaml", other);
        }),
        ("rows", &|| {
            drop(tree.gemm("gemm_perf.parquet", gemm_parquet(&[(1, 0.5), (1, 0.6), (0, 0.7)])));
        }),
        ("a torn row", &|| {
            drop(tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5)]) + "VLLM,0.24.0,NVIDIA"));
        }),
        ("a table that cannot be read", &|| {
            drop(tree.gemm("gemm_perf.parquet", b"PAR1 and nothing else PAR1"));
        }),
        ("a move", &|| {
            tree.rename(
                &format!("{dir}/gemm_perf.parquet"),
                "systems/data/h200_sxm/gemm/torch/2.13.0/gemm_perf.parquet",
            );
        }),
        ("another machine", &|| {
            tree.file("systems/zx.yaml", H200.replace("../data/h200_sxm", "data/zx"));
            tree.file("systems/data/zx/gemm/torch/2.9.0/gemm_perf.parquet", SHIPPED);
        }),
        ("a rule", &|| {
            tree.gemm("gemm_perf.parquet", gemm_parquet(&[(1, 0.5), (1, 0.9), (2, 0.7)]));
            tree.file(".perfdb-gate/rules/duplicate-key.yaml", &rule);
        }),
        ("the same rule", &|| {
            tree.file(".perfdb-gate/rules/duplicate-key.yaml", rule.replace(": info", ": warning"));
        }),
        ("less", &|| {
            tree.remove("systems/data/h200_sxm/gemm/torch/2.9.0/gemm_perf.parquet");
        }),
    ];
    for (what, change) in changes {
        change();
        for more in [&[][..], &["--skip", "copied-table"], &["--version", "2.10.0"]] {
            println!("{what}, {more:?}");
            same(&tree, cache.path(), &[&["validate"], more].concat());
        }
    }
}

#[test]
fn what_is_damaged_or_written_twice_at_once_changes_nothing() {
    let (tree, cache) = (measured(), TempDir::new().unwrap());
    same(&tree, cache.path(), &["validate"]);
    let files = || {
        let walk = walkdir::WalkDir::new(cache.path()).into_iter().map(Result::unwrap);
        walk.filter(|item| item.file_type().is_file()).map(walkdir::DirEntry::into_path)
    };
    assert!(files().count() > 8);
    for (number, file) in files().enumerate() {
        let mut bytes = std::fs::read(&file).unwrap();
        let (middle, half) = (bytes.len() / 2, bytes.len() / 2);
        match number % 3 {
            0 => bytes[middle] ^= 0x40,
            1 => bytes.truncate(half),
            _ => bytes.clear(),
        }
        std::fs::write(&file, bytes).unwrap();
    }
    assert_eq!(read(&same(&tree, cache.path(), &["validate"])).len(), 4);
    assert_eq!(read(&same(&tree, cache.path(), &["validate"])), [""; 0], "they were written anew");
    let shared = TempDir::new().unwrap();
    let start = || {
        let mut job = command();
        job.args(["validate", "--format", "json", "--root"]).arg(tree.path());
        job.arg("--cache").arg(shared.path());
        job.stdout(std::process::Stdio::piped()).spawn().unwrap()
    };
    let runs: Vec<_> = (0..4).map(|_| start()).collect();
    for job in runs {
        let out = job.wait_with_output().unwrap();
        assert_eq!(out.status.code(), Some(1));
    }
    assert_eq!(read(&same(&tree, shared.path(), &["validate"])), [""; 0]);
}

/// Which of two like tables is the copy is a question to the history, which two equal trees may answer
/// differently.
#[test]
fn another_history_is_another_answer() {
    let cache = TempDir::new().unwrap();
    let place =
        |version: &str| format!("systems/data/h200_sxm/gemm/torch/{version}/gemm_perf.parquet");
    let copy = |first: &str, then: &str| {
        let tree = Tree::new();
        for version in [first, then] {
            tree.file(&place(version), SHIPPED);
            tree.commit();
        }
        same(&tree, cache.path(), &["validate", "--only", "copied-table"]);
        let found = tree.validate(&["--format", "json", "--only", "copied-table"]);
        found.finding("copied-table")["path"].as_str().unwrap().to_owned()
    };
    assert_eq!(copy("2.10.0", "2.12.0"), place("2.12.0"));
    assert_eq!(copy("2.12.0", "2.10.0"), place("2.10.0"));
}

/// A git-LFS pointer has one id whether its object is there or not.
#[test]
fn an_object_that_is_gone_is_missed() {
    use sha2::{Digest, Sha256};
    let (tree, cache) = (measured(), TempDir::new().unwrap());
    let table = gemm_parquet(&[(1, 0.5), (1, 0.6), (2, 0.7)]);
    let digest = Sha256::digest(&table).iter().map(|b| format!("{b:02x}")).collect::<String>();
    let size = table.len();
    let pointer =
        format!("version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize {size}\n");
    tree.gemm("gemm_perf.parquet", pointer);
    tree.commit();
    let object = format!(".git/lfs/objects/{}/{}/{digest}", &digest[..2], &digest[2..4]);
    let args = ["validate", "--ref", "HEAD"];
    same(&tree, cache.path(), &args);
    tree.file(&object, &table);
    for _ in 0..2 {
        same(&tree, cache.path(), &args);
    }
    tree.remove(&object);
    same(&tree, cache.path(), &args);
}

#[test]
fn a_pull_request_is_judged_the_same() {
    let (tree, cache) = (measured(), TempDir::new().unwrap());
    tree.commit();
    same(&tree, cache.path(), &["validate"]);
    tree.git(&["branch", "base"]);
    tree.gemm("gemm_perf.parquet", gemm_parquet(&[(1, 0.5), (2, 0.6), (4, 0.7), (0, 0.9)]));
    let dir = "systems/data/h200_sxm/gemm/torch";
    tree.rename(
        &format!("{dir}/2.9.0/gemm_perf.parquet"),
        &format!("{dir}/2.8.0/gemm_perf.parquet"),
    );
    tree.commit();
    let args = ["sanity", "--base-ref", "base", "--head-ref", "HEAD"];
    let log = same(&tree, cache.path(), &args);
    assert!(!read(&log).contains(&"h200_sxm/gemm/torch/2.10.0/gemm_perf.parquet"), "{log}");
    same(&tree, cache.path(), &args);
    same(&tree, cache.path(), &["sanity", "--base-ref", "base"]);
}

#[test]
fn a_folder_that_cannot_be_one_is_an_error() {
    let tree = measured();
    let file = tree.file("taken", "a file");
    let run = tree.validate(&["--cache", &file.display().to_string()]);
    assert_eq!(run.code(), 2);
    assert!(run.err().contains("as a cache"), "{}", run.err());
}
