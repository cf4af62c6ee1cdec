//! The settings that a judged tree may decide, as SECURITY.md lists them, and the files of code that start programs.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;

use crate::common::{Tree, gemm};
use crate::imports::sources;
use perfdb_gate::findings::exceptions;
use perfdb_gate::specs::KINDS;

/// The files of SECURITY.md's table of settings, each with whether it is honoured.
fn listed() -> BTreeMap<String, bool> {
    let text = std::fs::read_to_string("SECURITY.md").unwrap();
    let row = Regex::new(r"(?m)^\| `([^`]+)` \| (yes|no) \|").unwrap();
    row.captures_iter(&text).map(|row| (row[1].to_owned(), &row[2] == "yes")).collect()
}

/// The source files that contain a text outside of comments, relative to `src/`.
fn files_with(text: &str) -> BTreeSet<String> {
    let has = |code: &str| code.lines().any(|l| !l.trim().starts_with("//") && l.contains(text));
    let files = sources("src").into_iter();
    let found = files.filter(|file| has(&std::fs::read_to_string(file).unwrap()));
    found.map(|file| file.strip_prefix("src").unwrap().display().to_string()).collect()
}

/// The names that the code compares paths below `.perfdb-gate` with.
fn read_by_name() -> Vec<String> {
    let code = std::fs::read_to_string("src/checks/settings.rs").unwrap();
    let arm = Regex::new(r#""([^"]+)" =>\s*\{"#).unwrap();
    arm.captures_iter(&code).map(|arm| format!(".perfdb-gate/{}", &arm[1])).collect()
}

#[test]
fn the_security_page_lists_every_setting_read_from_a_tree() {
    let mut expected: BTreeMap<String, bool> = BTreeMap::new();
    expected.extend(read_by_name().into_iter().map(|name| (name, true)));
    assert_eq!(expected.len(), 2, "{expected:?}");
    expected.extend(KINDS.map(|(kind, own)| (format!(".perfdb-gate/rules/{kind}"), own)));
    expected.insert(exceptions::PATH.to_owned(), true);
    expected.extend(["json", "csv"].map(|end| (format!("{}.{end}", exceptions::MISSES), true)));
    assert_eq!(listed(), expected);
}

/// Files of settings are read in one place, so that the list above is whole.
#[test]
fn settings_of_a_tree_are_read_in_one_source_file() {
    let own = |found: BTreeSet<String>| -> Vec<String> {
        found.into_iter().filter(|file| !file.starts_with("database/source/")).collect()
    };
    assert_eq!(own(files_with(".settings()")), ["checks/settings.rs"]);
    assert_eq!(own(files_with(".top_file(")), ["checks/settings.rs"]);
    // `waive` adds to the file of waivers, `new` writes a spec. `init` writes files and validates with them.
    assert_eq!(own(files_with("SETTINGS")), ["jobs/new/files.rs", "jobs/waive.rs"]);
    let named = own(files_with("\".perfdb-gate"));
    assert_eq!(named, ["base/folder.rs", "checks/settings.rs", "jobs/init/mod.rs"]);
}

#[test]
fn setting_files_that_are_not_trusted_are_not_read() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6)]));
    let validate = || tree.validate(&["--format", "json"]);
    let before = validate();
    for (kind, _) in KINDS.iter().filter(|(_, own)| !own) {
        tree.file(&format!(".perfdb-gate/rules/{}", kind.replace('*', "some")), "[");
    }
    let after = validate();
    assert_eq!((after.code(), after.findings()), (before.code(), before.findings()));
    tree.file(".perfdb-gate/rules/limits.yaml", "[");
    assert_eq!(tree.validate(&[]).code(), 2, "one that is honoured is read");
    tree.remove(".perfdb-gate/rules/limits.yaml");
    tree.file(".perfdb-gate/rules/runner/some.yaml", "[");
    assert_eq!(tree.validate(&[]).code(), 2, "a folder that is misspelt is an error");
}

/// A program of ours is isolated in `base/child.rs`. The other two places start the caller's own commands.
#[test]
fn programs_are_started_in_three_source_files() {
    let found: Vec<String> = files_with("Command::new(").into_iter().collect();
    assert_eq!(found, ["base/child.rs", "gpu/process/program.rs", "jobs/smoke.rs"]);
    for file in ["src/gpu/process/program.rs", "src/jobs/smoke.rs"] {
        let code = std::fs::read_to_string(file).unwrap();
        let calls: Vec<&str> = code.lines().filter(|l| l.contains("Command::new(")).collect();
        assert!(calls.iter().all(|call| call.contains("\"sh\"")), "{file}: {calls:?}");
    }
}
