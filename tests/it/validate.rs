//! `validate` as users run it: selection, exit codes, output, sources.

use crate::common::{self, SHIPPED, Tree, gemm, run};

fn clean() -> Tree {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6)]));
    tree
}

fn faulty() -> Tree {
    let tree = clean();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.0)]));
    tree
}

#[test]
fn exit_codes_follow_the_findings_in_every_format() {
    for format in ["human", "json"] {
        assert_eq!(clean().validate(&["--format", format]).code(), 0);
        assert_eq!(faulty().validate(&["--format", format]).code(), 1);
        assert_eq!(faulty().validate(&["--format", format, "--fail-on", "never"]).code(), 0);
    }
    let warned = Tree::new();
    warned.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (1, 0.5)]));
    assert_eq!(warned.validate(&[]).code(), 0);
    assert_eq!(warned.validate(&["--fail-on", "warning"]).code(), 1);
}

/// A system's YAML is a file that was judged, and no table of it was.
#[test]
fn a_system_without_tables_is_never_green() {
    let tree = Tree::new();
    let l4 = std::fs::read_to_string("systems/l4.yaml").expect("a shipped system");
    tree.file("systems/l4.yaml", l4.replace("../data/", "data/"));
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5)]));
    let all = tree.validate(&[]);
    assert_eq!(all.code(), 0, "{}", all.out());
    assert!(all.out().contains("1 table, 1 row judged"), "{}", all.out());
    let l4 = tree.validate(&["--system", "l4"]);
    assert_eq!(l4.code(), 3, "{}", l4.out());
    assert!(l4.out().starts_with("nothing was checked"), "{}", l4.out());
    // Rules on systems find what they look for.
    let systems = tree.validate(&["--system", "l4", "--only", "system-invalid"]);
    assert_eq!(systems.code(), 0, "{}", systems.out());
}

#[test]
fn nothing_checked_is_never_green() {
    let tree = Tree::new();
    let run = tree.validate(&["--only", "duplicate-key", "--backend", "*"]);
    assert_eq!(run.code(), 2, "{}", run.err());
    let other = clean();
    other.commit();
    let run = other.validate(&["--since", "HEAD"]);
    assert_eq!(run.code(), 3);
    assert!(run.out().contains("nothing was checked"));
}

#[test]
fn a_folder_without_a_database_is_an_error_with_a_hint() {
    let tree = tempfile::TempDir::new().unwrap();
    let run = run(&["validate", "--root", &tree.path().display().to_string()]);
    assert_eq!(run.code(), 2);
    assert!(
        run.err().contains("no perf database found") && run.err().contains("hint:"),
        "{}",
        run.err()
    );
    let run = common::run(&["validate", "--root", "/no/such/folder"]);
    assert_eq!(run.code(), 2);
    assert_eq!(run.err().lines().count(), 2, "{}", run.err());
}

#[test]
fn unknown_names_list_what_there_is() {
    for (flag, name, near) in [
        ("--system", "h20_sxm", "did you mean h200_sxm?"),
        ("--backend", "vlm", "did you mean vllm?"),
        ("--version", "0.24.1", "did you mean 0.24.0?"),
        ("--table", "gem", "did you mean gemm?"),
        ("--only", "duplicate-keys", "did you mean duplicate-key?"),
        ("--skip", "duplicates", "duplicate-key"),
    ] {
        let run = clean().validate(&[flag, name]);
        assert_eq!(run.code(), 2, "{flag}");
        assert!(run.err().contains(near), "{flag}: {}", run.err());
        assert_eq!(run.out(), "");
    }
}

#[test]
fn selection_takes_globs_and_short_table_names() {
    let tree = faulty();
    let bad = "systems/data/h200_sxm/sglang/0.5.14/moe_perf.parquet";
    tree.file(bad, "nothing of the kind");
    let only = |args: &[&str]| {
        let mut all = vec!["--format", "json"];
        all.extend(args);
        tree.validate(&all).findings()
    };
    assert_eq!(only(&[]).len(), 2);
    assert_eq!(only(&["--backend", "sg*"]), [format!("table-unreadable error {bad}")]);
    assert_eq!(only(&["--table", "moe"]), [format!("table-unreadable error {bad}")]);
    assert_eq!(only(&["--version", "0.24.*"]).len(), 1);
    assert_eq!(only(&["--only", "table-unreadable"]).len(), 1);
    assert_eq!(only(&["--skip", "table-unreadable"]).len(), 1);
}

#[test]
fn a_commit_and_the_files_checked_out_from_it_read_alike() {
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
    assert_eq!((without.code(), without.err().contains("--ref")), (2, true), "{}", without.err());

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

#[test]
fn the_report_is_the_same_for_any_number_of_threads() {
    let tree = faulty();
    for name in ["moe_perf", "context_mla_perf", "nccl_perf", "kda_perf"] {
        tree.gemm(&format!("{name}.parquet"), SHIPPED);
        tree.gemm(&format!("{name}.txt"), gemm(&[(1, 0.0), (1, 0.2)]));
    }
    let one = tree.validate(&["--format", "json", "--threads", "1"]).json();
    for threads in ["2", "7"] {
        assert_eq!(tree.validate(&["--format", "json", "--threads", threads]).json(), one);
    }
}

#[test]
fn since_judges_what_changed() {
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
fn refs_that_are_no_commit_say_what_they_are() {
    let tree = clean();
    tree.git(&["init", "-q"]);
    let unborn = tree.validate(&["--ref", "HEAD"]);
    assert_eq!(
        (unborn.code(), unborn.err().contains("no commit yet")),
        (2, true),
        "{}",
        unborn.err()
    );
    tree.commit();
    let missing = tree.validate(&["--ref", "mian"]);
    assert!(missing.err().contains("did you mean main?"), "{}", missing.err());
    let blob = tree.git(&["rev-parse", "HEAD:systems/h200_sxm.yaml"]);
    let blob = tree.validate(&["--ref", &blob]);
    assert_eq!((blob.code(), blob.err().contains("is a blob")), (2, true), "{}", blob.err());
    let tree_id = tree.git(&["rev-parse", "HEAD^{tree}"]);
    assert_eq!(tree.validate(&["--ref", &tree_id]).code(), 0);

    let elsewhere = tempfile::TempDir::new().unwrap();
    let no_repo =
        run(&["validate", "--root", &elsewhere.path().display().to_string(), "--ref", "main"]);
    assert_eq!((no_repo.code(), no_repo.err().contains("no git repository")), (2, true));
}

#[test]
fn a_shallow_clone_is_judged_and_says_what_history_it_lacks() {
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
    assert!(since.err().contains("fetch-depth: 0"), "{}", since.err());
}

#[test]
fn lfs_objects_of_the_store_stand_for_their_pointers() {
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
fn output_goes_to_a_file_as_a_whole_or_not_at_all() {
    let tree = faulty();
    let report = tree.path().join("report.json").display().to_string();
    let run = tree.validate(&["--format", "json", "--output", &report]);
    assert_eq!((run.code(), run.out().as_str()), (1, ""));
    let text = std::fs::read_to_string(&report).unwrap();
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&text).unwrap()["schema"],
        "perfdb-gate/v1"
    );

    let nowhere = tree.path().join("no/such/report.json").display().to_string();
    let run = tree.validate(&["--output", &nowhere]);
    assert_eq!((run.code(), run.err().contains("cannot write")), (2, true));
    // A run that fails leaves no report behind.
    let missing = tree.path().join("missing.json").display().to_string();
    assert_eq!(tree.validate(&["--ref", "none", "--output", &missing]).code(), 2);
    assert!(!std::path::Path::new(&missing).exists());
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    use std::process::Stdio;
    let tree = faulty();
    let mut child = common::command()
        .args(["validate", "--root", &tree.path().display().to_string()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let out = child.wait_with_output().unwrap();
    assert_eq!((out.status.code(), out.stderr.len()), (Some(1), 0), "{out:?}");
}

#[test]
fn the_human_report_reads_as_shown() {
    let tree = faulty();
    tree.gemm("moe_perf.parquet", "");
    let out = tree.validate(&[]).out();
    let (text, last) = out.trim_end().rsplit_once('\n').unwrap();
    let (counts, _) = last.rsplit_once(" in ").unwrap();
    assert_eq!(counts, "2 errors, 0 warnings, 0 infos in 2 files; 2 tables, 2 rows judged");
    insta::assert_snapshot!(text, @r"
    systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt
      error   latency-not-positive: 1 row has latency zero
          row 1: gemm_dtype=bfloat16 m=2 n=128 k=128 → latency=0

    systems/data/h200_sxm/vllm/0.24.0/moe_perf.parquet
      error   table-unreadable: cannot be read: the file is empty, 0 bytes

    latency-not-positive: Remove the rows and collect their points again.
    table-unreadable: Fetch or collect the table again. If it came through git, compare its object with the one that was pushed.
    perfdb-gate explain RULE tells the whole story
    ");
}

#[test]
fn rules_lists_and_explain_tells() {
    let rules = run(&["rules"]);
    assert!(
        rules.out().lines().any(|l| l.starts_with("duplicate-key ") && l.contains(" error ")),
        "{}",
        rules.out()
    );
    let story = run(&["explain", "duplicate-key"]);
    assert!(story.out().contains("Why that matters") && story.out().contains("gemm_perf.txt"));
    let unknown = run(&["explain", "duplicate"]);
    assert_eq!((unknown.code(), unknown.err().contains("duplicate-key")), (2, true));
}

#[test]
fn the_shipped_data_is_clean() {
    let run = run(&["validate", "--root", ".", "--system", "h200_sxm", "--format", "json"]);
    assert_eq!(run.findings(), [] as [&str; 0]);
    assert_eq!(run.json()["summary"]["rows"], 2736);
}

#[test]
fn since_sees_what_was_deleted_and_what_sidecars_say() {
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
    assert_eq!(found(&gone), ["sidecar-contradiction"]);
    let edited = tree();
    edited.file(&format!("{dir}/collection_meta.yaml"), meta(", rows: 999"));
    assert_eq!(found(&edited), ["sidecar-contradiction"]);
}

#[test]
fn every_data_directory_is_judged_or_told() {
    // A data_dir that is not there, while data goes by the system's name.
    let typo = clean();
    typo.file("systems/h200_sxm.yaml", common::H200.replace("../data/h200_sxm", "data/h200"));
    let finding = typo.validate(&["--format", "json"]).finding("system-invalid");
    assert!(finding["message"].as_str().unwrap().contains("nothing loads this data"), "{finding}");

    let shared = clean();
    shared.file("systems/h100_sxm.yaml", common::H200.replace("../data/", "data/"));
    let run = shared.validate(&["--format", "json"]);
    assert_eq!(
        run.findings().iter().filter(|f| f.starts_with("system-invalid")).count(),
        2,
        "{:?}",
        run.findings()
    );

    let two = clean();
    two.file("old/systems/h200_sxm.yaml", common::H200);
    let run = two.validate(&[]);
    assert_eq!((run.code(), run.err().contains("two databases")), (2, true), "{}", run.err());
}

#[test]
fn a_run_without_rules_is_no_run() {
    let run = clean().validate(&["--only", "torn-row", "--skip", "torn-row"]);
    assert_eq!((run.code(), run.err().contains("no rule is left")), (2, true));
}

#[test]
fn one_key_a_quarter_million_times_is_counted_in_a_moment() {
    let tree = Tree::new();
    let row = "VLLM,0.24.0,NVIDIA H200,gemm,cutlass,bfloat16,1,128,128,0.5\n";
    tree.gemm("gemm_perf.txt", common::GEMM.to_owned() + &row.repeat(250_000));
    let finding = tree.validate(&["--format", "json"]).finding("duplicate-key");
    assert_eq!((&finding["rows"], &finding["evidence"]["keys"]), (&249_999.into(), &1.into()));
}

#[test]
fn a_row_in_two_buckets_has_rivals_in_each_but_they_are_none_to_each_other() {
    let header = "framework,version,device,op_name,kernel_source,model,architecture,mla_dtype,kv_cache_dtype,gemm_type,num_heads,batch_size,isl,tp_size,step,latency\n";
    let row = |kernel: &str, latency: f64| {
        format!(
            "SGLang,0.5.14,NVIDIA H200,dsa_context_module,{kernel},m,a,bfloat16,fp8,fp8_block,16,1,64,1,0,{latency}\n"
        )
    };
    let tree = Tree::new();
    let dense = row("sglang_dsa_dense_mha_trtllm_ragged", 1.0);
    let rows = dense
        + &row("sglang_dsa_indexer_trtllm", 1.09)
        + &row("sglang_dsa_indexer_flashmla_sparse", 0.94);
    tree.file(
        "systems/data/h200_sxm/sglang/0.5.14/dsa_context_module_perf.txt",
        header.to_owned() + &rows,
    );
    let finding = tree.validate(&["--format", "json"]).finding("duplicate-key");
    assert_eq!((&finding["rows"], &finding["evidence"]["keys"]), (&2.into(), &2.into()));
    assert_eq!(
        finding["evidence"]["conflicting_keys"], 0,
        "1.09 and 0.94 never compete: {finding}"
    );
}

#[test]
fn a_guard_of_the_loader_is_told_before_the_load_fails() {
    let header = "framework,version,device,op_name,kernel_source,model,architecture,mla_dtype,kv_cache_dtype,gemm_type,num_heads,batch_size,isl,tp_size,step,compress_ratio,latency\n";
    let row = |heads: u32, tp: u32| {
        format!(
            "SGLang,0.5.14,NVIDIA H200,dsv4_csa_context_module,k,m,a,bfloat16,fp8,fp8_block,{heads},1,64,{tp},0,4,1.0\n"
        )
    };
    let judge = |rows: String| {
        let tree = Tree::new();
        tree.file(
            "systems/data/h200_sxm/sglang/0.5.14/dsv4_csa_context_module_perf.txt",
            header.to_owned() + &rows,
        );
        tree.validate(&["--format", "json"])
    };
    assert_eq!(judge(row(128, 1) + &row(64, 2)).findings(), [] as [&str; 0]);
    assert_eq!(judge(row(128, 1) + &row(128, 2)).finding("key-out-of-range")["rows"], 2);
}

#[test]
fn a_baseline_freezes_what_is_known_and_growth_is_new() {
    let tree = faulty();
    let file = tree.path().join("baseline.json").display().to_string();
    assert_eq!(tree.validate(&["--write-baseline", &file]).code(), 1);
    let known = tree.validate(&["--baseline", &file, "--format", "json"]);
    assert_eq!((known.code(), &known.json()["summary"]["baselined"]), (0, &1.into()));
    assert_eq!(known.finding("latency-not-positive")["new"], false);
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.0), (2, 0.0)]));
    assert_eq!(tree.validate(&["--baseline", &file]).code(), 1);
    // In its place in the repository it holds without being named, in a commit too.
    tree.file(".perfdb-gate/baseline.json", std::fs::read(&file).unwrap());
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.0)]));
    assert_eq!(tree.validate(&[]).code(), 0);
    tree.commit();
    assert_eq!(tree.validate(&["--ref", "HEAD"]).code(), 0);
}

#[cfg(unix)]
#[test]
fn output_to_what_is_no_regular_file_replaces_nothing() {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
    let tree = faulty();
    let device = tree.validate(&["--output", "/dev/null"]);
    assert_eq!(device.code(), 1);
    assert!(std::fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    let target = tree.file("target.txt", "old");
    std::fs::set_permissions(&target, std::fs::Permissions::from_mode(0o600)).unwrap();
    let link = tree.path().join("link.txt");
    symlink("target.txt", &link).unwrap();
    tree.validate(&["--output", &link.display().to_string()]);
    assert!(
        link.is_symlink()
            && std::fs::read_to_string(&target).unwrap().contains("latency-not-positive")
    );
    assert_eq!(std::fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(tree.validate(&["--output", "-"]).out().contains("latency-not-positive"));
}

#[cfg(unix)]
#[test]
fn a_link_in_place_of_the_data_is_told() {
    let tree = Tree::new();
    std::os::unix::fs::symlink("/nowhere", tree.path().join("systems/data")).unwrap();
    let run = tree.validate(&["--format", "json"]);
    assert_eq!(run.findings(), ["table-unreadable error systems/data"]);
}

#[test]
fn what_git_ignores_is_no_database() {
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
fn what_changes_the_rules_is_said_and_a_rule_made_an_info_fails_nothing() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (1, 0.5)]));
    let rule = std::fs::read_to_string("rules/duplicate-key.yaml").unwrap();
    tree.file(
        ".perfdb-gate/rules/duplicate-key.yaml",
        rule.replace("severity: error", "severity: info"),
    );
    let run = tree.validate(&["--fail-on", "warning"]);
    assert_eq!(run.code(), 0, "{}", run.out());
    assert!(
        run.out().contains("rules changed by .perfdb-gate/rules/duplicate-key.yaml"),
        "{}",
        run.out()
    );
    tree.file(".perfdb-gate/rules/systems/zx.yaml", "data_dir: x\ndevice: ZX\n");
    assert!(tree.validate(&[]).err().contains("no field device"), "{}", tree.validate(&[]).err());
}

#[test]
fn of_two_equal_tables_the_one_that_came_later_is_the_copy() {
    let tree = Tree::new();
    // Nothing in the rows names where they were measured.
    let header = "op_name,kernel_source,gemm_dtype,m,n,k,latency\n".to_owned();
    let row = |m: u64| format!("gemm,cutlass,bfloat16,{m},128,128,{}\n", 0.05 + m as f64 * 0.00371);
    let rows = header + &(1..=60).map(row).collect::<String>();
    let path = |version: &str| format!("systems/data/h200_sxm/vllm/{version}/gemm_perf.txt");
    tree.file(&path("0.24.0"), &rows);
    tree.commit();
    tree.file(&path("0.23.0"), &rows);
    let copy = || {
        let found = tree.validate(&["--only", "copied-table", "--format", "json"]);
        let finding = found.finding("copied-table");
        (finding["path"].as_str().unwrap().to_owned(), finding["message"].to_string())
    };
    assert_eq!(copy().0, path("0.23.0"), "not committed yet");
    tree.commit();
    let (at, why) = copy();
    assert_eq!(at, path("0.23.0"));
    assert!(why.contains("came to its place later"), "{why}");
    let fresh = Tree::new();
    fresh.file(&path("0.24.0"), &rows);
    fresh.file(&path("0.23.0"), &rows);
    fresh.commit();
    let found = fresh.validate(&["--only", "copied-table", "--format", "json"]);
    let why = found.finding("copied-table")["message"].to_string();
    assert!(why.contains("nothing tells"), "{why}");
}

#[test]
fn a_slice_that_its_sidecar_declares_measured_otherwise_is_an_info() {
    let tree = Tree::new();
    let rows = |factor: f64| -> String {
        let row = |m: u64| {
            let latency = factor * (0.05 + m as f64 * 0.005);
            format!("gemm,cutlass,bfloat16,{m},128,128,{latency}\n")
        };
        "op_name,kernel_source,gemm_dtype,m,n,k,latency\n".to_owned()
            + &(1..=40).map(row).collect::<String>()
    };
    let at = |backend: &str, version: &str, name: &str| {
        format!("systems/data/h200_sxm/gemm/{backend}/{version}/{name}")
    };
    tree.file(&at("sglang", "0.5.14", "gemm_perf.txt"), rows(1.01));
    tree.file(&at("trtllm", "1.3.0", "gemm_perf.txt"), rows(0.99));
    tree.file(&at("vllm", "0.24.0", "gemm_perf.txt"), rows(5.0));
    let run = || {
        let found = tree.validate(&["--only", "sibling-deviation", "--format", "json"]);
        let finding = found.finding("sibling-deviation");
        (finding["severity"].to_string(), finding["message"].to_string())
    };
    assert_eq!(run().0, "\"warning\"");
    let meta = "schema_version: 1\nruntime: {framework: vllm, version: 0.24.0}\n\
                tables: {gemm_perf: {status: complete, dispatch: with launch overhead}}\n";
    tree.file(&at("vllm", "0.24.0", "collection_meta.yaml"), meta);
    let (severity, message) = run();
    assert_eq!(severity, "\"info\"");
    assert!(message.contains("dispatch: \\\"with launch overhead\\\""), "{message}");
}

#[test]
fn a_made_up_model_is_a_few_lines_of_yaml() {
    let tree = Tree::new();
    tree.file("systems/h200_sxm.yaml", common::H200);
    let model = |dtype: &str, gpus: u32| {
        format!(
            "dense-1b:\n  about: Synthetic.\n  when: gpu.sm_version >= 90\n  claims: gemm_perf\n  needs:\n\
             \x20   - table: gemm_perf\n      shape: some\n      rows: m >= 16\n      each: {{ gemm_dtype: [bfloat16, {dtype}] }}\n\
             \x20   - table: custom_allreduce_perf\n      shape: some\n      rows: num_gpus = {gpus}\n"
        )
    };
    let find = || tree.validate(&["--only", "workflow-incomplete"]);
    let rows = common::gemm(&[(16, 0.5)]);
    let older = "data/h200_sxm/vllm/0.22.0";
    tree.file("data/h200_sxm/vllm/0.24.0/gemm_perf.txt", &rows);
    tree.file(&format!("{older}/gemm_perf.txt"), rows.replace("bfloat16", "fp8"));
    let reduce = "framework,version,device,op_name,kernel_source,allreduce_dtype,num_gpus,message_size,latency\n\
                  vLLM,0.24.0,NVIDIA H200,all_reduce,vLLM_custom_graph,bfloat16,8,8192,0.1\n";
    tree.file("data/h200_sxm/vllm/0.24.0/custom_allreduce_perf.txt", reduce);
    tree.file(&format!("{older}/custom_allreduce_perf.txt"), reduce.replace(",8,8192", ",2,8192"));

    let overlay = ".perfdb-gate/rules/workflows.yaml";
    tree.file(overlay, model("fp8", 8));
    assert!(
        !find().out().contains("for want of"),
        "an earlier version serves fp8: {}",
        find().out()
    );
    tree.file(overlay, model("int8", 8));
    let told = "dense-1b for want of gemm_perf (some, gemm_dtype = int8)";
    assert!(find().out().contains(told), "{}{}", find().out(), find().err());
    tree.file(overlay, model("fp8", 2));
    let told = "custom_allreduce_perf (some) (0.22.0 has it, but versions do not share that table)";
    assert!(find().out().contains(told), "{}", find().out());
    let part = tree.validate(&["--only", "workflow-incomplete", "--table", "gemm"]);
    assert!(!part.out().contains("for want of"), "a part says nothing: {}", part.out());
    tree.file(overlay, model("fp8", 2).replace("num_gpus", "gpus"));
    let err = find().err();
    assert!(err.contains("custom_allreduce_perf has no column gpus at line 10"), "{err}");
}

#[test]
fn data_beside_systems_that_no_system_names_is_told() {
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
