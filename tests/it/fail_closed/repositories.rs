//! Repositories that cannot be read as a whole: each says why, and none passes for one that was.

use super::*;

/// A repository with one commit of a good table.
fn repository() -> Tree {
    let tree = below_db();
    tree.commit();
    tree
}

#[test]
fn a_sparse_checkout_is_not_a_deletion() {
    let tree = repository();
    tree.git(&["sparse-checkout", "set", "--no-cone", "/db/systems/*.yaml"]);
    let runs = [tree.sanity(&["--base-ref", "HEAD"]), validate(&tree, &[])];
    for run in runs {
        assert_refused(&run, "this sparse checkout leaves out 1 files of the database");
        assert!(run.err().contains("gemm_perf.txt"), "{}", run.err());
    }
    assert_eq!(validate(&tree, &["--ref", "HEAD"]).code(), 0);
    // What is no part of the database may be left out.
    tree.git(&["sparse-checkout", "disable"]);
    tree.file("docs/page.md", "words");
    tree.commit();
    tree.git(&["sparse-checkout", "set", "--no-cone", "/db/"]);
    assert!(!tree.path().join("docs").exists());
    assert_eq!(validate(&tree, &[]).code(), 0);
}

#[test]
fn unsupported_git_repository_formats_are_named() {
    for (extension, why) in [
        ("objectformat = sha256", "SHA-256"),
        ("refstorage = reftable", "reftable"),
        ("somethingnew = true", "extension"),
    ] {
        let tree = repository();
        let config =
            format!("[core]\n\trepositoryformatversion = 1\n[extensions]\n\t{extension}\n");
        tree.file(".git/config", config);
        for run in [
            validate(&tree, &[]),
            validate(&tree, &["--ref", "HEAD"]),
            compare(&tree, "HEAD", "HEAD"),
        ] {
            assert_refused(&run, why);
            assert!(!run.err().contains("another user"), "{}", run.err());
        }
    }
}

#[test]
fn a_repository_without_config_is_read_or_refused_with_a_reason() {
    let tree = repository();
    tree.remove(".git/config");
    assert_eq!(validate(&tree, &["--ref", "HEAD"]).code(), 0);
    let bare = tempfile::TempDir::new().unwrap();
    let at = bare.path().join("db.git").display().to_string();
    tree.git(&["clone", "-q", "--bare", ".", &at]);
    let judge = || run(&["validate", "--root", &at, "--ref", "HEAD"]);
    assert_eq!(judge().code(), 0, "{}", judge().err());
    std::fs::remove_file(bare.path().join("db.git/config")).unwrap();
    assert_refused(&judge(), "has no config");
}

#[test]
fn a_damaged_pack_is_not_a_missing_branch() {
    for ending in ["pack", "idx"] {
        let tree = repository();
        tree.git(&["gc", "-q"]);
        for item in std::fs::read_dir(tree.path().join(".git/objects/pack")).unwrap() {
            let path = item.unwrap().path();
            if path.extension().is_some_and(|e| e == ending) {
                let cut = std::fs::read(&path).unwrap()[..200].to_vec();
                std::fs::remove_file(&path).unwrap();
                std::fs::write(&path, cut).unwrap();
            }
        }
        for run in [
            validate(&tree, &["--ref", "HEAD"]),
            compare(&tree, "HEAD", "HEAD"),
            tree.sanity(&["--base-ref", "HEAD"]),
        ] {
            assert_refused(&run, "cannot read HEAD");
            assert!(run.err().contains("git fsck"), "{}", run.err());
        }
    }
}
