//! Profiles of measured operations against their copies, their tables and what they pin; synthetic rows.

use sha2::{Digest, Sha256};

use crate::common::snapshot::message;
use crate::common::{H200, Tree};

const ATTENTION: &str = "data/h200_sxm/sparse_attention/sglang/0.5.18";
const COMM: &str = "data/h200_sxm/comm/sglang/0.5.18";
const NAME: &str = "graph.profile.json";

fn sha256(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The YAML of a tree's only system.
fn yaml() -> String {
    H200.replace("../data/", "data/")
}

fn profile() -> String {
    let yaml = sha256(&yaml());
    format!(
        "{{\"tables\": {{\"attention\": {{\"relative_path\": \"{ATTENTION}/a_perf.txt\"}}, \"communication\": {{\"relative_path\": \"{COMM}/c_perf.txt\"}}}}, \"retained_files\": [{{\"path\": \"h200_sxm.yaml\", \"sha256\": \"{yaml}\"}}]}}\n"
    )
}

/// A tree with two copies of a profile, the evidence, and a table whose rows name the profile.
fn tree() -> Tree {
    let tree = Tree::new();
    for folder in [ATTENTION, COMM] {
        tree.file(&format!("systems/{folder}/{NAME}"), profile());
    }
    let id = sha256(&profile());
    let rows = format!("framework,profile_id,latency\nSGLang,{id},0.5\n");
    tree.file(&format!("systems/{COMM}/sglang_prefill_comm_norm_boundary_perf.txt"), rows);
    let evidence =
        format!("{{\"inputs\": [{{\"hardware_yaml_sha256\": \"{}\"}}]}}\n", sha256(&yaml()));
    tree.file("systems/profile-evidence.json", evidence);
    tree
}

fn contradictions(tree: &Tree) -> Vec<String> {
    let run = tree.validate(&[
        "--only",
        "sidecar-contradiction",
        "--only",
        "sidecar-invalid",
        "--format",
        "json",
    ]);
    let findings = run.json()["findings"].as_array().unwrap().clone();
    let line = |finding: &serde_json::Value| {
        let name = finding["path"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        format!("{name}: {}", message(finding))
    };
    findings.iter().map(line).collect()
}

#[test]
fn a_profile_that_is_as_it_says_has_no_finding() {
    assert_eq!(contradictions(&tree()), [""; 0]);
}

#[test]
fn a_changed_yaml_breaks_what_pins_it() {
    let tree = tree();
    tree.file("systems/h200_sxm.yaml", yaml().replace("power: 700", "power: 701"));
    insta::assert_snapshot!(contradictions(&tree).join("\n"), @r"
    graph.profile.json: h200_sxm.yaml has another SHA-256 than the pinned one
    graph.profile.json: h200_sxm.yaml has another SHA-256 than the pinned one
    profile-evidence.json: no system's YAML has the SHA-256 32a3a984e56e of its hardware_yaml_sha256
    ");
}

#[test]
fn copies_are_equal_and_rows_name_them() {
    let changed = tree();
    changed.file(&format!("systems/{COMM}/{NAME}"), profile().replace("}\n", "} \n"));
    insta::assert_snapshot!(contradictions(&changed).join("\n"), @r"
    graph.profile.json: the rows of sglang_prefill_comm_norm_boundary_perf name the profile 2f7e23bda2fd, but its SHA-256 is 3624f38be8ad
    graph.profile.json: its copy systems/data/h200_sxm/comm/sglang/0.5.18/graph.profile.json differs
    ");
    let missing = tree();
    missing.remove(&format!("systems/{COMM}/{NAME}"));
    insta::assert_snapshot!(contradictions(&missing).join("\n"), @"graph.profile.json: systems/data/h200_sxm/comm/sglang/0.5.18 has no copy of it");
    let torn = tree();
    torn.file("systems/profile-evidence.json", "{");
    insta::assert_snapshot!(contradictions(&torn).join("\n"), @"profile-evidence.json: EOF while parsing an object at line 1 column 1");
}
