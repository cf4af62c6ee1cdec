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
fn a_consistent_profile_has_no_finding() {
    assert_eq!(contradictions(&tree()), [""; 0]);
}

#[test]
fn a_changed_system_yaml_contradicts_profiles_that_pin_its_digest() {
    let tree = tree();
    tree.file("systems/h200_sxm.yaml", yaml().replace("power: 700", "power: 701"));
    insta::assert_snapshot!(contradictions(&tree).join("\n"), @r"
    graph.profile.json: h200_sxm.yaml has another SHA-256 than the pinned one
    graph.profile.json: h200_sxm.yaml has another SHA-256 than the pinned one
    profile-evidence.json: no system's YAML has the SHA-256 32a3a984e56e of its hardware_yaml_sha256
    ");
}

#[test]
fn copies_of_a_profile_must_be_equal_and_match_the_digest_in_the_rows() {
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

#[test]
fn other_profile_documents_only_need_to_be_valid_json() {
    let tree = tree();
    let files = [
        "systems/profiles/x/hf_dataset.json",
        "systems/profiles/x/four_gpu_hf_dataset.json",
        "systems/x_fpm_hf.json",
        "systems/profiles/x/b300-tp4-provenance.json",
        "systems/fpe_support_matrix/index.json",
    ];
    files.iter().for_each(|path| drop(tree.file(path, "{\"format_version\": 1}\n")));
    tree.file("systems/profiles/y/hf_dataset.json", "{\"format_version\": 2}\n");
    assert_eq!(contradictions(&tree), [""; 0]);
    for path in files {
        tree.file(path, "{\"format_version\": 1\n");
        let name = path.rsplit('/').next().unwrap();
        let found = contradictions(&tree).join("\n");
        assert!(found.starts_with(&format!("{name}: EOF while parsing")), "{path}: {found}");
        tree.file(path, "{}\n");
    }
}

#[test]
fn a_file_listed_by_profile_documents_must_have_one_of_the_listed_digests() {
    let tree = tree();
    let table = |rows: &str| format!("framework,version,latency\n{rows}");
    let own = "data/h200_sxm/gemm/vllm/dev-1aa0e96/gemm_perf.txt";
    let root = |profile: &str, rows: &str| {
        let folder = format!("systems/profiles/x/{profile}");
        tree.file(&format!("{folder}/h200_sxm.yaml"), yaml());
        tree.file(&format!("{folder}/{own}"), table(rows));
    };
    root("full", "VLLM,1,0.5\n");
    root("bounded", "VLLM,1,0.6\n");
    let provenance = |file: &str, digests: &[String]| {
        let lists: Vec<String> = digests
            .iter()
            .map(|digest| format!("{{\"files\": {{\"{own}\": \"{digest}\"}}}}"))
            .collect();
        let text = format!("{{\"profiles\": [{}], \"launch_sha256\": \"x\"}}\n", lists.join(", "));
        tree.file(&format!("systems/profiles/x/{file}"), text);
    };
    let digest = |rows: &str| sha256(&table(rows));
    provenance("tp4-provenance.json", &[digest("VLLM,1,0.5\n")]);
    provenance("tp2-provenance.json", &[digest("VLLM,1,0.6\n"), digest("VLLM,1,0.7\n")]);
    let foreign = format!(
        "{{\"files\": [{{\"target\": \"h200_sxm.yaml\", \"sha256\": \"{}\"}}]}}",
        "0".repeat(64)
    );
    tree.file("systems/profiles/x/fpm_hf.json", foreign);
    let about = |found: Vec<String>| -> Vec<String> {
        found.into_iter().filter(|line| line.contains("another SHA-256")).collect()
    };
    assert_eq!(about(contradictions(&tree)), [""; 0]);
    root("full", "VLLM,1,0.8\n");
    let wrong = format!("systems/profiles/x/full/{own} has another SHA-256 than the listed one");
    let files = ["tp2-provenance.json", "tp4-provenance.json"];
    assert_eq!(about(contradictions(&tree)), files.map(|file| format!("{file}: {wrong}")));
}
