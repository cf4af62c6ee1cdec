//! Where data is read from: work trees, commits, clones, git-LFS.

use super::{clean, faulty};
use crate::common::snapshot::{message, shown};
use crate::common::{self, SHIPPED, Tree, gemm, run};

#[test]
fn a_commit_and_its_checked_out_files_give_the_same_report() {
    let tree = faulty();
    tree.gemm("moe_perf.parquet", SHIPPED);
    tree.commit();
    let files = tree.validate(&["--format", "json"]).json();
    let commit = tree.validate(&["--format", "json", "--ref", "HEAD"]).json();
    assert_eq!(files, commit);
    assert!(!files["findings"].as_array().unwrap().is_empty());

    let bare = tempfile::TempDir::new().unwrap();
    let to = bare.path().join("db.git").display().to_string();
    tree.git(&["clone", "-q", "--bare", ".", &to]);
    let bare = run(&["validate", "--root", &to, "--ref", "main", "--format", "json"]);
    assert_eq!(bare.json(), commit);
    let without = run(&["validate", "--root", &to]);
    assert_eq!(without.code(), 2);
    insta::assert_snapshot!(without.shown(), @"
    $ perfdb-gate validate --root [tmp]/db.git
    2> perfdb-gate: [tmp]/db.git is a bare repository and has no work tree
    2> hint: name a commit with --ref (in sanity: --head-ref)
    (exit 2)
    ");

    // A part of the repository, by its folder: the same paths, from the repository's top.
    tree.file("sub/systems/h200_sxm.yaml", common::H200.replace("../data/", "data/"));
    tree.file("sub/systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt", gemm(&[(1, -1.0)]));
    tree.commit();
    let root = tree.path().join("sub").display().to_string();
    for more in [&[][..], &["--ref", "HEAD"]] {
        let mut args = vec!["validate", "--root", &root, "--format", "json"];
        args.extend(more);
        let found = run(&args).findings();
        assert_eq!(
            found,
            ["latency-not-positive error sub/systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt"]
        );
    }
}

/// A file of settings counts where the commit that is named has it, whatever is judged.
#[test]
fn settings_are_read_from_the_named_commit() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, -0.7)]));
    tree.file("traces/new/experiment_metrics.csv", "");
    let before = tree.commit();
    let waiver = |rule: &str| {
        format!(
            "- rule: {rule}\n  path: '**'\n  reason: r\n  evidence: e\n  approved_by: me\n  until: 2999-01-01\n"
        )
    };
    let both = waiver("latency-not-positive") + &waiver("trace-unreadable");
    tree.file(".perfdb-gate/waivers.yaml", format!("waivers:\n{both}"));
    let after = tree.commit();
    let traces = tree.path().join("traces").display().to_string();
    let code = |args: &[&str]| {
        let of_traces = run(&[&["validate", "--traces", &traces], args].concat());
        let run = tree.validate(args);
        assert_eq!(run.code(), of_traces.code(), "{}\n{}", run.shown(), of_traces.shown());
        run.code()
    };
    assert_eq!(code(&[]), 0);
    assert_eq!(code(&["--settings-ref", &before]), 1);
    assert_eq!(code(&["--settings-ref", &after]), 0);
    assert_eq!(code(&["--ref", &before]), 1);
    assert_eq!(code(&["--ref", &before, "--settings-ref", &after]), 0);
    let nowhere = tree.validate(&["--settings-ref", "mian"]);
    assert_eq!(nowhere.code(), 2);
    assert!(nowhere.err().contains("mian does not name a commit"), "{}", nowhere.err());
    assert!(nowhere.err().contains("did you mean main?"), "{}", nowhere.err());
}

#[test]
fn since_judges_only_changed_tables() {
    let tree = faulty();
    let base = tree.commit();
    tree.file(
        "systems/data/h200_sxm/vllm/0.22.0/gemm_perf.txt",
        gemm(&[(1, -1.0)]).replace("0.24.0", "0.22.0"),
    );
    let new = ["latency-not-positive error systems/data/h200_sxm/vllm/0.22.0/gemm_perf.txt"];
    // Untracked first, then committed.
    assert_eq!(tree.validate(&["--format", "json", "--since", &base]).findings(), new);
    tree.commit();
    assert_eq!(tree.validate(&["--format", "json", "--since", &base]).findings(), new);
    assert_eq!(
        tree.validate(&["--format", "json", "--since", &base, "--ref", "HEAD"]).findings(),
        new
    );
}

#[test]
fn a_ref_that_is_not_a_commit_is_refused_with_its_kind() {
    let tree = clean();
    tree.git(&["init", "-q"]);
    let unborn = tree.validate(&["--ref", "HEAD"]);
    tree.commit();
    let missing = tree.validate(&["--ref", "mian"]);
    let blob = tree.git(&["rev-parse", "HEAD:systems/h200_sxm.yaml"]);
    let blob = tree.validate(&["--ref", &blob]);
    let tree_id = tree.git(&["rev-parse", "HEAD^{tree}"]);
    assert_eq!(tree.validate(&["--ref", &tree_id]).code(), 0);

    let elsewhere = tempfile::TempDir::new().unwrap();
    let no_repo =
        run(&["validate", "--root", &elsewhere.path().display().to_string(), "--ref", "main"]);
    let runs = [&unborn, &missing, &blob, &no_repo];
    assert!(runs.iter().all(|run| run.code() == 2));
    insta::assert_snapshot!(shown(runs), @"
    $ perfdb-gate validate --root [tmp] --ref HEAD
    2> perfdb-gate: HEAD does not name a commit
    2> hint: the repository does not have a commit yet
    (exit 2)

    $ perfdb-gate validate --root [tmp] --ref mian
    2> perfdb-gate: mian does not name a commit
    2> hint: did you mean main? known: main
    (exit 2)

    $ perfdb-gate validate --root [tmp] --ref [commit]
    2> perfdb-gate: [commit] is a blob, not a commit
    2> hint: --ref takes a branch, tag or commit
    (exit 2)

    $ perfdb-gate validate --root [tmp] --ref main
    2> perfdb-gate: [tmp] is not in a git repository
    2> hint: only a repository has commits; `perfdb-gate validate` checks the files on disk if no commit is named
    (exit 2)
    ");
}

#[test]
fn a_shallow_clone_is_judged_and_its_missing_history_is_noted() {
    let tree = faulty();
    let base = tree.commit();
    tree.file(
        "systems/data/h200_sxm/vllm/0.22.0/gemm_perf.txt",
        gemm(&[(1, 0.5)]).replace("0.24.0", "0.22.0"),
    );
    tree.commit();
    let to = tempfile::TempDir::new().unwrap();
    let path = to.path().join("clone").display().to_string();
    let url = format!("file://{}", tree.path().display());
    tree.git(&["clone", "-q", "--depth", "1", &url, &path]);
    assert_eq!(run(&["validate", "--root", &path, "--ref", "HEAD"]).code(), 1);
    let since = run(&["validate", "--root", &path, "--since", &base]);
    assert_eq!(since.code(), 2);
    insta::assert_snapshot!(since.shown(), @"
    $ perfdb-gate validate --root [tmp]/clone --since [commit]
    2> perfdb-gate: [commit] does not name a commit
    2> hint: this clone is shallow: `git fetch --unshallow --tags origin '+refs/heads/*:refs/remotes/origin/*'` fetches the history, branches and tags (in a workflow: fetch-depth: 0)
    (exit 2)
    ");
}

#[test]
fn local_lfs_objects_are_read_in_place_of_their_pointers() {
    use sha2::Digest;
    let tree = Tree::new();
    let table = gemm(&[(1, 0.5), (2, -1.0)]);
    let oid: String = sha2::Sha256::digest(&table).iter().map(|b| format!("{b:02x}")).collect();
    let pointer = format!(
        "version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {}\n",
        table.len()
    );
    tree.gemm("gemm_perf.txt", pointer);
    tree.commit();
    let rule =
        |args: &[&str]| tree.validate(args).findings()[0].split(' ').next().unwrap().to_owned();
    assert_eq!(rule(&["--format", "json", "--ref", "HEAD"]), "lfs-pointer");
    tree.file(&format!(".git/lfs/objects/{}/{}/{oid}", &oid[..2], &oid[2..4]), &table);
    assert_eq!(rule(&["--format", "json", "--ref", "HEAD"]), "latency-not-positive");
    // An object that is not what the pointer names is no table.
    tree.file(&format!(".git/lfs/objects/{}/{}/{oid}", &oid[..2], &oid[2..4]), table.clone() + "x");
    assert_eq!(rule(&["--format", "json", "--ref", "HEAD"]), "table-unreadable");
    // In a work tree the file is what the loader reads, so a pointer there is a pointer.
    assert_eq!(rule(&["--format", "json"]), "lfs-pointer");
}

#[test]
fn since_reports_deleted_tables_and_reads_all_sidecars() {
    let meta = |rows: &str| {
        format!(
            "schema_version: 1\nruntime: {{framework: vllm, version: 0.24.0}}\ntables:\n  gemm_perf: {{status: complete{rows}}}\n"
        )
    };
    let dir = "systems/data/h200_sxm/gemm/vllm/0.24.0";
    let tree = || {
        let tree = Tree::new();
        tree.file(&format!("{dir}/gemm_perf.txt"), gemm(&[(1, 0.5)]));
        tree.file(&format!("{dir}/collection_meta.yaml"), meta(""));
        tree.commit();
        tree
    };
    let found = |tree: &Tree| {
        let findings = tree.validate(&["--format", "json", "--since", "HEAD"]).findings();
        findings.iter().map(|f| f.split(' ').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let deleted = tree();
    std::fs::remove_file(deleted.path().join(dir).join("collection_meta.yaml")).unwrap();
    assert_eq!(found(&deleted), ["sidecar-missing"]);
    let gone = tree();
    std::fs::remove_file(gone.path().join(dir).join("gemm_perf.txt")).unwrap();
    assert_eq!(found(&gone), ["data-deleted", "sidecar-contradiction"]);
    let edited = tree();
    edited.file(&format!("{dir}/collection_meta.yaml"), meta(", rows: 999"));
    assert_eq!(found(&edited), ["sidecar-contradiction"]);
}

#[test]
fn every_data_folder_is_judged_or_reported() {
    // A data_dir that is not there, while data goes by the system's name.
    let typo = clean();
    typo.file("systems/h200_sxm.yaml", common::H200.replace("../data/h200_sxm", "data/h200"));
    let json = typo.validate(&["--format", "json"]).json();
    let invalid = json["findings"].as_array().unwrap().iter();
    let invalid = invalid.filter(|f| f["rule"] == "system-invalid").map(message);
    insta::assert_snapshot!(invalid.collect::<Vec<_>>().join("\n"), @"
    systems/h200_sxm.yaml says data_dir: data/h200, which is systems/data/h200, so the loader cannot find this data; `data_dir: data/h200_sxm` names it
    its data_dir data/h200 is systems/data/h200, which is empty or does not exist; `data_dir: data/h200_sxm` names its data
    ");

    let shared = clean();
    shared.file("systems/h100_sxm.yaml", common::H200.replace("../data/", "data/"));
    let run = shared.validate(&["--format", "json"]);
    assert_eq!(
        run.findings().iter().filter(|f| f.starts_with("system-invalid")).count(),
        2,
        "{:?}",
        run.findings()
    );
}

#[cfg(unix)]
#[test]
fn a_link_in_place_of_the_data_is_a_finding() {
    let tree = Tree::new();
    std::os::unix::fs::symlink("/nowhere", tree.path().join("systems/data")).unwrap();
    let run = tree.validate(&["--format", "json"]);
    assert_eq!(run.findings(), ["table-unreadable error systems/data"]);
}

#[test]
fn files_ignored_by_git_are_not_part_of_the_database() {
    let tree = faulty();
    tree.file("build/systems/h200_sxm.yaml", common::H200);
    tree.file(".gitignore", "/build\n");
    tree.commit();
    assert_eq!(tree.validate(&[]).code(), 1);
    // Data beside its systems counts, ignored or not: an engineer's node may well ignore it.
    let beside = Tree::new();
    beside.file("systems/h200_sxm.yaml", common::H200);
    beside.file("data/h200_sxm/vllm/0.24.0/gemm_perf.txt", gemm(&[(1, 0.0)]));
    beside.file(".gitignore", "/data\n");
    beside.commit();
    assert_eq!(beside.validate(&[]).code(), 1);
}

#[test]
fn data_that_no_system_names_is_reported() {
    let tree = Tree::new();
    tree.file("systems/h200_sxm.yaml", common::H200);
    let table = gemm(&[(1, 0.5)]);
    tree.file("data/h200_sxm/gemm/vllm/0.24.0/gemm_perf.txt", &table);
    tree.file("data/zx1/gemm/vllm/0.24.0/gemm_perf.txt", &table);
    // No table lies so: a folder of that name may hold anything else.
    tree.file("data/notes/gemm_perf.txt", &table);
    let run = tree.validate(&["--format", "json"]);
    let found: Vec<String> =
        run.findings().into_iter().filter(|f| f.starts_with("system-invalid")).collect();
    assert_eq!(found, ["system-invalid error data/zx1"]);
}
