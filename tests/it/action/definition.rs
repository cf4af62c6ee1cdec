//! What `action.yml` says: its expressions, the actions that it uses, the build of its own checkout.

use super::{action, run_step};
use crate::common::{BINARY, Tree};
use std::collections::BTreeMap;
use std::process::Command;

#[test]
fn other_actions_are_named_by_their_commit() {
    for path in ["action.yml", "docs/ci.md"] {
        let text = std::fs::read_to_string(path).unwrap();
        let uses = text.lines().filter_map(|l| l.split_once("uses: "));
        let mut seen = 0;
        for (_, name) in uses {
            let commit = name.split_once('@').unwrap_or_else(|| panic!("{path}: {name}")).1;
            let commit = commit.split(' ').next().unwrap();
            let is_hex = commit.len() == 40 && commit.bytes().all(|b| b.is_ascii_hexdigit());
            assert!(is_hex, "{path}: {name}");
            seen += 1;
        }
        assert!(seen > 0, "{path} names no action");
    }
}

#[test]
fn it_builds_its_own_checkout_once() {
    let action = action();
    let steps = action["runs"]["steps"].as_array().unwrap();
    let step = |id: &str| steps.iter().find(|s| s["id"] == id).unwrap();
    let tree = Tree::new();
    // A cargo that notes what it is asked for, and what it would have built.
    let cargo = format!(
        "#!/usr/bin/env bash\nset -e\necho \"$*\" >> '{0}/asked'\nmkdir -p '{0}/perfdb-gate-built/bin'\n\
         cp '{BINARY}' '{0}/perfdb-gate-built/bin/perfdb-gate'\n",
        tree.path().display()
    );
    let path = tree.file("bin/cargo", cargo);
    let mut run = Command::new("chmod");
    assert!(run.arg("+x").arg(&path).status().unwrap().success());
    let here = tree.path().display().to_string();
    let mut says: BTreeMap<String, String> = BTreeMap::new();
    says.insert("runner.temp".into(), here.clone());
    says.insert("github.action_path".into(), env!("CARGO_MANIFEST_DIR").into());

    let output = tree.file("output", "");
    let sources = run_step(tree.path(), step("sources"), &says, &output, &output);
    let key = std::fs::read_to_string(&output).unwrap();
    assert!(sources.status.success() && key.trim().len() > "key=".len() + 39, "{key}");

    let mut build = step("find").clone();
    build["run"] =
        format!("PATH={here}/bin:$PATH\n{}", step("find")["run"].as_str().unwrap()).into();
    for _ in 0..2 {
        let out = run_step(tree.path(), &build, &says, &output, &output);
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    }
    let built = format!("binary={here}/perfdb-gate-built/bin/perfdb-gate\n");
    assert!(std::fs::read_to_string(&output).unwrap().ends_with(&built));
    let asked = std::fs::read_to_string(tree.path().join("asked")).unwrap();
    let root = env!("CARGO_MANIFEST_DIR");
    let expected = format!(
        "install --quiet --locked --profile dist --path {root} --root {here}/perfdb-gate-built\n"
    );
    assert_eq!(asked, expected, "once");
}

#[test]
fn every_expression_names_what_there_is() {
    let action = action();
    let text = std::fs::read_to_string("action.yml").unwrap();
    let inputs = action["inputs"].as_object().unwrap();
    for (at, _) in text.match_indices("inputs.") {
        let rest = &text[at + 7..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap();
        assert!(inputs.contains_key(&rest[..end]), "inputs.{}", &rest[..end]);
    }
    for name in inputs.keys() {
        assert!(text.contains(&format!("inputs.{name}")), "{name} is read by nothing");
    }
}
