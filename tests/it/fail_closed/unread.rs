//! Data that a loader reads and that the gate once did not.

use super::*;

const TABLE: &str = "db/systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt";

/// The pull request writes the ignore file, so what git tracks is judged whatever that says.
#[test]
fn gitignore_rules_do_not_hide_tracked_files() {
    let tree = below_db();
    tree.commit();
    tree.file(TABLE, bad_table());
    for rule in ["/db/\n", "db\n", "*\n", "/db/*\n"] {
        tree.file(".gitignore", rule);
        let run = tree.sanity(&["--base-ref", "HEAD"]);
        let findings = run.findings();
        assert_eq!(run.code(), 1, "{rule}: {findings:?}");
        assert!(findings.iter().any(|f| f.starts_with("key-out-of-range error")), "{findings:?}");
        assert_eq!(validate(&tree, &[]).code(), 1, "{rule}");
    }
    // A copy that a build made, which nobody tracks, is not part of the database.
    tree.file(".gitignore", "/build/\n");
    tree.file("build/systems/h200_sxm.yaml", yaml("data/h200_sxm"));
    assert_eq!(validate(&tree, &[]).code(), 1);
    // Without an index nothing says what is tracked, so nothing is passed over.
    tree.file(".gitignore", "/db/\n");
    std::fs::remove_dir_all(tree.path().join("build")).unwrap();
    tree.file(".git/index", "damaged");
    assert_eq!(validate(&tree, &[]).code(), 1);
}

#[test]
fn an_unreadable_data_folder_makes_its_system_invalid() {
    let cases = [
        ("data/.zx", "hidden folders are not read"),
        (".hidden/zx", "hidden folders are not read"),
        ("data/zx.parquet", "the name of a table"),
        ("data/nowhere", "is empty or does not exist"),
        ("../../outside", "outside the database"),
        ("/elsewhere/zx", "outside the database"),
    ];
    for (dir, why) in cases {
        let tree = Tree::new();
        tree.gemm("gemm_perf.txt", good_table());
        tree.file("systems/zx.yaml", yaml(dir));
        if dir.starts_with(['d', '.']) && dir != "data/nowhere" && !dir.starts_with("..") {
            tree.file(&format!("systems/{dir}/vllm/0.24.0/gemm_perf.txt"), bad_table());
        }
        tree.commit();
        for args in [&[][..], &["--ref", "HEAD"]] {
            let run = validate(&tree, args);
            let finding = run.finding("system-invalid");
            assert_eq!(
                (run.code(), finding["path"].as_str()),
                (1, Some("systems/zx.yaml")),
                "{dir}"
            );
            assert!(finding["message"].as_str().unwrap().contains(why), "{dir}: {finding}");
        }
    }
    // The YAML of a machine on which nobody has measured yet.
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", good_table());
    tree.file("systems/zx.yaml", yaml("data/zx"));
    assert_eq!(validate(&tree, &[]).code(), 0);
}

#[cfg(unix)]
#[test]
fn links_in_place_of_the_database_are_findings() {
    use std::os::unix::fs::symlink;
    let unreadable = |run: &Run, path: &str| {
        let expected = format!("table-unreadable error {path}");
        assert_eq!(run.code(), 1, "{path}: {}", run.err());
        assert!(run.findings().contains(&expected), "{path}: {:?}", run.findings());
    };
    // The systems themselves, with a database that is a decoy and without one. Where the link leads, nothing is judged.
    for decoy in [false, true] {
        let tree = Tree::new();
        tree.gemm("gemm_perf.txt", good_table());
        tree.commit();
        tree.gemm("gemm_perf.txt", bad_table());
        tree.rename("systems", ".real");
        symlink(".real", tree.path().join("systems")).unwrap();
        if decoy {
            tree.file("decoy/systems/h200_sxm.yaml", yaml("data/h200_sxm"));
            let table = "decoy/systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt";
            tree.file(table, good_table());
        }
        unreadable(&validate(&tree, &[]), "systems");
        unreadable(&tree.sanity(&["--base-ref", "HEAD"]), "systems");
        tree.commit();
        unreadable(&validate(&tree, &["--ref", "HEAD"]), "systems");
        unreadable(&compare(&tree, "HEAD~1", "HEAD"), "systems");
    }
    // What the link leads to is judged in its place.
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", good_table());
    tree.commit();
    tree.gemm("gemm_perf.txt", bad_table());
    tree.rename("systems", "real");
    symlink("real", tree.path().join("systems")).unwrap();
    for run in [validate(&tree, &[]), tree.sanity(&["--base-ref", "HEAD"])] {
        let found = ["key-out-of-range error real/data/h200_sxm/vllm/0.24.0/gemm_perf.txt"];
        assert_eq!((run.code(), run.findings()), (1, found.map(str::to_owned).to_vec()));
    }
    // A system's YAML of a name that nothing else has.
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", good_table());
    tree.file("zx", yaml("data/hidden"));
    symlink("../zx", tree.path().join("systems/zx.yaml")).unwrap();
    unreadable(&validate(&tree, &[]), "systems/zx.yaml");
}

#[test]
fn submodules_in_place_of_data_are_findings() {
    for path in ["systems", "systems/data", "systems/data/h200_sxm", "systems/data/h200_sxm/gemm"] {
        let tree = Tree::new();
        tree.gemm("gemm_perf.txt", good_table());
        let commit = tree.commit();
        if path != "systems/data/h200_sxm/gemm" {
            tree.git(&["rm", "-rq", "--cached", path]);
            std::fs::remove_dir_all(tree.path().join(path)).unwrap();
        }
        tree.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{commit},{path}")]);
        tree.git(&["commit", "-qm", "a submodule"]);
        let expected = format!("table-unreadable error {path}");
        std::fs::create_dir_all(tree.path().join(path)).unwrap();
        let runs = [
            validate(&tree, &["--ref", "HEAD"]),
            compare(&tree, "HEAD~1", "HEAD"),
            validate(&tree, &[]),
            tree.sanity(&["--base-ref", "HEAD~1"]),
        ];
        for run in runs {
            assert_eq!(run.code(), 1, "{path}: {}", run.err());
            assert!(run.findings().contains(&expected), "{path}: {:?}", run.findings());
        }
    }
}

#[test]
fn tables_in_hidden_folders_are_named() {
    let places = [
        "db/systems/data/h200_sxm/vllm/.9.9/gemm_perf.txt",
        "db/systems/data/h200_sxm/vllm/_9.9/gemm_perf.txt",
        "db/systems/data/h200_sxm/.gemm/vllm/0.24.0/gemm_perf.parquet",
        "db/systems/data/.h100_sxm/vllm/0.24.0/gemm_perf.txt",
        "db/systems/profiles/.k3/data/h200_sxm/vllm/0.24.0/gemm_perf.txt",
    ];
    for place in places {
        let tree = below_db();
        tree.commit();
        tree.file(place, bad_table());
        tree.file("db/systems/profiles/.k3/h200_sxm.yaml", yaml("data/h200_sxm"));
        let on_disk = [validate(&tree, &[]), tree.sanity(&["--base-ref", "HEAD"])];
        tree.commit();
        let committed = [validate(&tree, &["--ref", "HEAD"]), compare(&tree, "HEAD~1", "HEAD")];
        for run in on_disk.into_iter().chain(committed) {
            assert_eq!(run.findings(), [format!("table-misplaced warning {place}")]);
            assert_ne!(run.finding("table-misplaced")["new"], false);
        }
    }
    // A cache that git ignores, and the folder that holds the whole repository, hide nothing.
    let tree = below_db();
    tree.file(".gitignore", ".cache/\n");
    tree.commit();
    tree.file("db/systems/data/.cache/gemm_perf.txt", bad_table());
    assert_eq!(validate(&tree, &[]).findings(), [""; 0]);
}

#[test]
fn tables_with_an_unusual_spelling_of_the_ending_are_named() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.parquet", crate::common::SHIPPED);
    for name in ["gemm_perf.Parquet", "moe_perf.TXT", "moe_PERF.csv"] {
        tree.gemm(name, bad_table());
    }
    let run = validate(&tree, &["--only", "table-misplaced"]);
    let json = run.json();
    let findings = json["findings"].as_array().unwrap();
    assert_eq!((run.code(), findings.len()), (1, 3), "{findings:?}");
    for finding in findings {
        assert!(finding["message"].as_str().unwrap().contains("in lower case"), "{finding}");
    }
}

#[test]
fn cells_that_are_not_utf_8_are_torn_rows() {
    let tree = Tree::new();
    let rows: Vec<(u64, f64)> = (1..400).map(|m| (m, 0.5 + m as f64)).collect();
    for (version, cell) in [("1", &b"cut\xff"[..]), ("2", b"cut\0"), ("3", b"\xed\xa0\x80")] {
        let mut table = gemm(&rows).into_bytes();
        table.extend(b"VLLM,0.24.0,NVIDIA H200,gemm,");
        table.extend(cell);
        table.extend(b",bfloat16,999,128,128,0.5\n");
        let path = format!("systems/data/h200_sxm/vllm/0.24.{version}/gemm_perf.txt");
        tree.file(&path, table);
        let run = validate(&tree, &["--only", "torn-row", "--version", &format!("0.24.{version}")]);
        let torn = run.finding("torn-row");
        assert_eq!((run.code(), &torn["rows"]), (1, &1.into()), "{torn}");
        assert_eq!(torn["examples"][0]["values"]["line"], 401, "{torn}");
    }
}
