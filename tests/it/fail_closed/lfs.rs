//! Tables that `.gitattributes` keeps in git-LFS, without their objects.

use super::*;

const TABLE: &str = "db/systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt";
const ATTRIBUTES: &str = "db/systems/**/*.txt filter=lfs diff=lfs merge=lfs -text\n";

/// A pointer to an object that no store has.
fn pointer(first: char) -> String {
    format!(
        "version https://git-lfs.github.com/spec/v1\noid sha256:{first}95fbe9dcc8054085cfc8bc35ac46d59574d54f34183fcd5149222b65c4d1802\nsize 690924\n"
    )
}

#[test]
fn tables_kept_in_git_lfs_are_one_info_and_the_run_is_inconclusive() {
    let tree = below_db();
    tree.file(".gitattributes", ATTRIBUTES);
    tree.commit();
    let added = ["0.23.0", "0.25.0"].map(|version| TABLE.replace("0.24.0", version));
    added.iter().for_each(|path| drop(tree.file(path, pointer('2'))));
    let on_disk = [validate(&tree, &[]), tree.sanity(&["--base-ref", "HEAD"])];
    tree.commit();
    let committed = [validate(&tree, &["--ref", "HEAD"]), compare(&tree, "HEAD~1", "HEAD")];
    for run in on_disk.into_iter().chain(committed) {
        assert_eq!(run.code(), 3, "{:?}", run.findings());
        assert_eq!(run.findings(), ["lfs-pointer info db/systems/data/h200_sxm/vllm"]);
        assert_eq!(run.json()["absent"], serde_json::json!(added));
    }
    let text = tree.validate(&[]).out();
    assert!(text.contains("2 tables were not checked, because they are in git-LFS"), "{text}");
    // Both sides are pointers: there is nothing new, and nothing was compared.
    tree.file(&added[0], pointer('3'));
    let run = tree.sanity(&["--base-ref", "HEAD"]);
    assert_eq!(run.code(), 3, "{:?}", run.findings());
    // A fault of another table counts before.
    tree.file(TABLE, bad_table());
    assert_eq!(validate(&tree, &[]).code(), 1);
}

#[test]
fn lfs_pointers_without_matching_gitattributes_are_errors() {
    for attributes in ["", "*.txt -filter\n", "*.parquet filter=lfs\n", "db/*.txt filter=lfs\n"] {
        let tree = below_db();
        tree.file(".gitattributes", attributes);
        tree.file(TABLE, pointer('2'));
        tree.commit();
        for args in [&[][..], &["--ref", "HEAD"]] {
            let run = validate(&tree, args);
            let expected = format!("lfs-pointer error {TABLE}");
            assert_eq!((run.code(), run.findings()), (1, vec![expected]), "{attributes}");
        }
    }
    // The attributes of the commit count, not those on disk.
    let tree = below_db();
    tree.file(TABLE, pointer('2'));
    tree.commit();
    tree.file(".gitattributes", ATTRIBUTES);
    assert_eq!(validate(&tree, &["--ref", "HEAD"]).code(), 1);
    assert_eq!(validate(&tree, &[]).code(), 3);
}

#[test]
fn gitattributes_above_the_root_are_read() {
    let tree = below_db();
    tree.file(".gitattributes", ATTRIBUTES);
    tree.file(TABLE, pointer('2'));
    tree.commit();
    let root = tree.path().join("db").display().to_string();
    for args in [&[][..], &["--ref", "HEAD"]] {
        let run = run(&[&["validate", "--root", &root], args].concat());
        assert_eq!(run.code(), 3, "{}", run.out());
    }
}
