//! Exceptions that the owners of a database signed in a file of their own; synthetic rows.

use crate::common::snapshot::message;
use crate::common::{Run, Tree, gemm};

const FILE: &str = "collector/evidence_exceptions.yaml";

/// A table with two rows of one key and a spike-free rest, and a file with one exception.
fn tree(rule: &str, versions: &str, expires: &str) -> Tree {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (1, 0.5), (2, 0.6)]));
    let text = format!(
        "schema_version: 1\nstandards_exceptions:\n- rule: {rule}\n  tables: [gemm_perf]\n  backend: vllm\n  versions: {versions}\n  systems: [h200_sxm]\n  approved_by: owner\n  expires: {expires}\n  work_item: A-1\n"
    );
    tree.file(FILE, text);
    tree
}

fn validate(tree: &Tree) -> Run {
    let only = ["duplicate-key", "waiver-expired", "waiver-unused"].map(|rule| ["--only", rule]);
    tree.validate(&[&["--format", "json"], only.as_flattened()].concat())
}

#[test]
fn a_finding_covered_by_an_exception_is_an_info_with_the_expiry_date() {
    let run = validate(&tree("duplicate-key", "[0.24.0]", "2999-10-31"));
    let found = run.finding("duplicate-key");
    assert_eq!(found["severity"], "info");
    assert!(message(&found).ends_with("; excused by collector/evidence_exceptions.yaml: duplicate-key, approved by owner until 2999-10-31"), "{}", message(&found));
    let severity = |rule: &str, versions: &str| {
        let run = validate(&tree(rule, versions, "2999-10-31"));
        run.finding("duplicate-key")["severity"].clone()
    };
    let plain = severity("latency-spike", "[0.24.0]");
    assert_ne!(plain, "info", "another rule's");
    assert_eq!(severity("duplicate-key", "[0.23.0]"), plain, "another version's");
    assert_eq!(severity("duplicate-key", "0.24.0"), "info");
    let excused = if plain == "warning" { "info" } else { "error" };
    assert_eq!(severity("serving-path", "[0.24.0]"), excused, "a rule of the owners");
}

#[test]
fn an_expired_exception_is_a_warning_and_covers_no_finding() {
    let run = validate(&tree("duplicate-key", "[0.24.0]", "2020-10-31"));
    assert_ne!(run.finding("duplicate-key")["severity"], "info");
    let expired = run.finding("waiver-expired");
    assert_eq!((&expired["severity"], &expired["path"]), (&"warning".into(), &FILE.into()));
    insta::assert_snapshot!(message(&expired), @"the exception of duplicate-key by owner ended on 2020-10-31");
    let unread = validate(&tree("duplicate-key", "[0.24.0]", "soon"));
    insta::assert_snapshot!(message(&unread.finding("waiver-unused")), @"standards_exceptions[0] excuses nothing: 'soon' is not a date: write YYYY-MM-DD, such as 2027-12-31");
}

#[test]
fn an_exception_added_by_a_change_does_not_cover_that_change() {
    let tree = tree("duplicate-key", "[0.23.0]", "2999-10-31");
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6)]));
    tree.commit();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (1, 0.5), (2, 0.6)]));
    let text = std::fs::read_to_string(tree.path().join(FILE)).unwrap();
    tree.file(FILE, text.replace("0.23.0", "0.24.0"));
    let run = tree.sanity(&["--base-ref", "HEAD", "--only", "duplicate-key"]);
    assert_ne!(run.finding("duplicate-key")["severity"], "info");
}
