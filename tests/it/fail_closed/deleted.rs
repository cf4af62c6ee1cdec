//! What a pull request takes away as a whole.

use super::*;

/// A tree with two systems of two tables each, committed.
fn two_systems() -> Tree {
    let tree = Tree::new();
    tree.file("systems/h100_sxm.yaml", yaml("data/h100_sxm"));
    for system in ["h100_sxm", "h200_sxm"] {
        for (version, latency) in [("0.22.0", 0.3), ("0.24.0", 0.5)] {
            let path = format!("systems/data/{system}/vllm/{version}/gemm_perf.txt");
            let extra = if system == "h100_sxm" { 0.05 } else { 0.0 };
            tree.file(&path, gemm(&[(1, latency + extra), (2, latency + 0.1 + extra)]));
        }
    }
    tree.commit();
    tree
}

/// The findings of `data-deleted`, by path, with their messages.
fn deleted(run: &Run) -> Vec<(String, String)> {
    let json = run.json();
    let findings = json["findings"].as_array().unwrap().iter();
    let findings = findings.filter(|f| f["rule"] == "data-deleted");
    let text = |v: &serde_json::Value| v.as_str().unwrap().to_owned();
    findings.map(|f| (text(&f["path"]), text(&f["message"]))).collect()
}

/// What is removed, and the findings on it: path and message.
type Case<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)]);

#[test]
fn a_deleted_table_is_listed_and_a_deleted_system_is_an_error() {
    let cases: [Case<'_>; 6] = [
        (&["systems/data/h200_sxm/vllm/0.22.0"], &[]),
        (
            &["systems/data/h200_sxm"],
            &[("systems/data/h200_sxm", "all tables of h200_sxm are deleted (2 tables)")],
        ),
        (
            &["systems/h200_sxm.yaml", "systems/data/h200_sxm"],
            &[(
                "systems/h200_sxm.yaml",
                "h200_sxm is deleted completely: its YAML and its 2 tables",
            )],
        ),
        (
            &["systems/h200_sxm.yaml"],
            &[(
                "systems/h200_sxm.yaml",
                "the YAML of h200_sxm is deleted, so the remaining tables",
            )],
        ),
        (
            &["systems/data"],
            &[("systems/data/h100_sxm", "all tables"), ("systems/data/h200_sxm", "all tables")],
        ),
        (&["systems"], &[("systems", "the whole database is deleted: 2 systems and 4 tables")]),
    ];
    for (gone, expected) in cases {
        let tree = two_systems();
        for path in gone {
            let path = tree.path().join(path);
            if path.is_dir() {
                std::fs::remove_dir_all(path).unwrap();
            } else {
                std::fs::remove_file(path).unwrap();
            }
        }
        tree.file("README", "so that a folder is left");
        let on_disk = tree.sanity(&["--base-ref", "HEAD"]);
        tree.commit();
        // `validate` sees it, too, where a database is left to judge.
        let since = validate(&tree, &["--since", "HEAD~1"]);
        assert!(expected.is_empty() || since.code() == if *gone == ["systems"] { 2 } else { 1 });
        if !expected.is_empty() && since.code() == 1 {
            assert_eq!(deleted(&since).len(), expected.len(), "{gone:?}: {:?}", since.findings());
            assert!(!since.json()["summary"].is_null());
        }
        for run in [on_disk, compare(&tree, "HEAD~1", "HEAD")] {
            let found = deleted(&run);
            assert_eq!(found.len(), expected.len(), "{gone:?}: {found:?}");
            for ((path, message), (at, says)) in found.iter().zip(expected) {
                assert!(path == at && message.starts_with(says), "{gone:?}: {found:?}");
            }
            assert_eq!(run.code(), i32::from(!expected.is_empty()), "{gone:?}: {}", run.err());
            let diff = run.diff();
            assert!(diff.iter().any(|d| d.starts_with("deleted ")), "{gone:?}: {diff:?}");
        }
    }
}

#[test]
fn moving_the_database_is_a_warning_and_not_a_deletion() {
    let tree = two_systems();
    tree.rename("systems", "aic-core/systems");
    tree.commit();
    let run = compare(&tree, "HEAD~1", "HEAD");
    let found = deleted(&run);
    assert_eq!((run.code(), found.len(), &*found[0].0), (0, 1, "aic-core/systems"), "{found:?}");
    assert!(found[0].1.starts_with("the systems' folder moved here from systems"), "{found:?}");
}

#[cfg(unix)]
#[test]
fn replacing_a_folder_above_the_database_by_a_link_is_an_error() {
    let tree = below_db();
    tree.commit();
    tree.rename("db", "kept");
    std::os::unix::fs::symlink("kept", tree.path().join("db")).unwrap();
    tree.commit();
    let run = compare(&tree, "HEAD~1", "HEAD");
    let found = deleted(&run);
    assert_eq!((run.code(), found.len(), found[0].0.as_str()), (1, 1, "db"), "{found:?}");
    assert!(
        found[0].1.starts_with("a symbolic link to kept replaces the folder that"),
        "{found:?}"
    );
}

#[test]
fn a_waiver_accepts_deleted_data() {
    let tree = two_systems();
    let waiver = "waivers:\n- {rule: data-deleted, path: 'systems/data/h100_sxm', reason: r, \
                  evidence: e, approved_by: a, until: 2999-01-01}\n";
    tree.file(".perfdb-gate/waivers.yaml", waiver);
    tree.commit();
    std::fs::remove_dir_all(tree.path().join("systems/data/h100_sxm")).unwrap();
    let run = tree.sanity(&["--base-ref", "HEAD"]);
    assert_eq!(run.code(), 0, "{:?}", run.findings());
    assert_eq!(run.finding("data-deleted")["waived_by"], "a");
    // The rule needs two sides.
    let alone = tree.validate(&["--only", "data-deleted"]);
    assert_refused(&alone, "no rule is left to run");
}

#[test]
fn validate_since_a_commit_reports_deleted_data() {
    let tree = two_systems();
    std::fs::remove_dir_all(tree.path().join("systems/data/h200_sxm")).unwrap();
    tree.remove("systems/h200_sxm.yaml");
    let run = tree.validate(&["--since", "HEAD"]);
    assert_eq!(run.code(), 1, "{}", run.out());
    assert!(!run.out().contains("nothing was checked"), "{}", run.out());
}
