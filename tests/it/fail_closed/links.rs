//! Symbolic links to a database: one that leads into a database which is judged is another way to it, every other one
//! hides what it leads to.

use std::os::unix::fs::symlink;

use super::*;

/// A tree whose database is below `db`, with a link at a path.
fn linked(path: &str, to: &str) -> Tree {
    let tree = below_db();
    link(&tree, path, to);
    tree
}

fn link(tree: &Tree, path: &str, to: &str) {
    let path = tree.path().join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    symlink(to, path).unwrap();
}

/// The findings of `validate` on disk and in a commit, which are the same.
fn found(tree: &Tree) -> Vec<String> {
    let on_disk = validate(tree, &[]);
    tree.commit();
    let committed = validate(tree, &["--ref", "HEAD"]);
    assert_eq!((on_disk.code(), on_disk.findings()), (committed.code(), committed.findings()));
    assert_eq!(on_disk.code(), i32::from(!on_disk.findings().is_empty()));
    on_disk.findings()
}

#[test]
fn a_link_into_a_judged_root_has_no_finding() {
    for (path, to) in [
        ("src/tool/systems", "../../db/systems"),
        ("src/tool/systems", "../.././db//systems/"),
        ("src/systems/data", "../../db/systems/data"),
        ("src/systems/h200_sxm.yaml", "../../db/systems/h200_sxm.yaml"),
    ] {
        assert_eq!(found(&linked(path, to)), [""; 0], "{path} -> {to}");
    }
    // Through another link.
    let tree = linked("src/systems", "../next");
    link(&tree, "next", "db/systems");
    assert_eq!(found(&tree), [""; 0]);
}

#[test]
fn a_link_to_a_target_outside_judged_roots_is_an_error() {
    for (path, to) in [
        ("src/systems", "../../outside"),
        ("src/systems", "/db/systems"),
        ("src/systems", "../nowhere"),
        ("src/systems", "../docs"),
        ("src/systems", "systems"),
        ("src/systems", ".."),
        // Rows would be served as those of another place than they are judged in.
        ("db/systems/data/h200_sxm/vllm/0.25.0", "0.24.0"),
        ("db/systems/data/h100_sxm", "h200_sxm"),
        ("db/systems/h100_sxm.yaml", "h200_sxm.yaml"),
        ("db/systems/data/h200_sxm/up", "../../.."),
    ] {
        let tree = linked(path, to);
        tree.file("docs/systems.txt", "words");
        let error = format!("table-unreadable error {path}");
        assert!(found(&tree).contains(&error), "{path} -> {to}: {:?}", found(&tree));
    }
    let tree = linked("src/systems", "../next/systems");
    link(&tree, "next", "src");
    assert_eq!(found(&tree), ["table-unreadable error src/systems"]);
}

#[test]
fn a_pull_request_may_move_the_database_and_leave_a_link() {
    let tree = below_db();
    tree.commit();
    tree.rename("db/systems", "core/systems");
    link(&tree, "db/systems", "../core/systems");
    let on_disk = tree.sanity(&["--base-ref", "HEAD"]);
    tree.commit();
    for run in [on_disk, compare(&tree, "HEAD~1", "HEAD")] {
        assert_eq!((run.code(), run.findings()), (0, vec![]), "{}", run.err());
    }
    // A link that comes alone.
    link(&tree, "src/systems", "../core/systems");
    link(&tree, "other/systems", "../docs");
    tree.commit();
    let run = compare(&tree, "HEAD~1", "HEAD");
    assert_eq!(run.findings(), ["table-unreadable error other/systems"]);
    assert_eq!(run.code(), 1);
}
