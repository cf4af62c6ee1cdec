//! Files of facts that cannot be read, or do not have the shape that they should.

use super::{CATALOG, catalog, news};
use crate::common::{Run, Tree, gemm};

const MANIFEST: &str = "systems/perf_data_reuse_manifest.yaml";
const VERSIONS: &str = "systems/query_versions.yaml";
const LANES: &str = "systems/attention_lane_defaults.yaml";
const MATRIX: &str = "systems/support_matrix/h200_sxm.csv";

const KERNELS: &str = "collector/kernel_source_backends.yaml";

const GOOD_MANIFEST: &str = "groups:\n- {op_file: gemm_perf.parquet, kernel_source: k, tier: shared, systems: [h200_sxm], frameworks: [sglang, vllm]}\n";
const GOOD_VERSIONS: &str =
    "schema_version: 1\ndefaults:\n  vllm: {current: 0.24.0, previous: null}\n";
const GOOD_LANES: &str = "sglang:\n  '0.5.14': {90: fa3}\n";
const GOOD_KERNELS: &str = "mappings:\n- {framework: vllm, kernel_source: k, backend: triton}\n";
const GOOD_MATRIX: &str = "HuggingFaceID,Architecture,System,Backend,Version,Mode,Status,ErrMsg,Command,Source\nacme/A,A,h200_sxm,vllm,0.24.0,agg,FAIL,,plan,\n";

fn good() -> [(&'static str, String); 6] {
    [
        (CATALOG, catalog("gemm")),
        (MANIFEST, GOOD_MANIFEST.to_owned()),
        (VERSIONS, GOOD_VERSIONS.to_owned()),
        (LANES, GOOD_LANES.to_owned()),
        (KERNELS, GOOD_KERNELS.to_owned()),
        (MATRIX, GOOD_MATRIX.to_owned()),
    ]
}

/// A tree with a table and all files of facts.
fn tree() -> Tree {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6)]));
    good().iter().for_each(|(path, text)| drop(tree.file(path, text)));
    tree
}

fn validate(tree: &Tree, args: &[&str]) -> Run {
    tree.validate(&[&["--format", "json"], args].concat())
}

/// What is wrong, as a change of a good text: the last is the whole of it.
fn faults(path: &str) -> Vec<Vec<u8>> {
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:295fbe9dcc8054085cfc8bc35ac46d59574d54f34183fcd5149222b65c4d1802\nsize 690924\n";
    let good = good().into_iter().find(|(p, _)| *p == path).unwrap().1;
    let own: &[&str] = match path {
        CATALOG => &[
            "families: 7\n",
            "families:\n- {family: gemm, op_file: [a]}\n",
            "families:\n- {family: gemm, op_files: a}\n",
        ],
        MANIFEST => &[
            "groups:\n- {op_file: a}\n",
            "group: []\n",
            "groups:\n- {op_file: a, kernel_source: k, tier: any, frameworks: []}\n",
        ],
        VERSIONS => &[
            "defaults: 7\n",
            "defaults: {vllm: {current: {a: '0.24.0'}}}\n",
            "overrides: {h200_sxm: vllm}\n",
        ],
        KERNELS => &["mapping: []\n", "mappings:\n- {framework: vllm, backend: triton}\n"],
        LANES => {
            &["sglang: fa3\n", "sglang: {'1': {hopper: fa3}}\n", "sglang: {'1': {90: [fa3]}}\n"]
        }
        _ => &["a,b\n1,2\n", "HuggingFaceID\n"],
    };
    let torn = &good[..good.len() - 8];
    let twice = format!("{good}{good}");
    let mut texts = vec![
        Vec::new(),
        b"- 1\n".to_vec(),
        b"x: [\n".to_vec(),
        pointer.into(),
        [good.as_bytes(), b"\xff\n"].concat(),
    ];
    texts.extend(own.iter().map(|text| text.as_bytes().to_vec()));
    if path == MATRIX {
        texts.push(torn.into());
    } else {
        texts.push(twice.into());
    }
    texts
}

#[test]
fn readable_facts_have_no_finding() {
    let tree = tree();
    assert_eq!(validate(&tree, &[]).findings(), [""; 0]);
}

#[test]
fn every_unreadable_file_of_facts_is_an_error() {
    let tree = tree();
    tree.commit();
    for (path, text) in good() {
        for fault in faults(path) {
            tree.file(path, &fault);
            let shown = String::from_utf8_lossy(&fault).into_owned();
            let alone = validate(&tree, &["--only", "facts-invalid"]);
            assert_eq!(
                alone.findings(),
                [format!("facts-invalid error {path}")],
                "{path}: {shown}"
            );
            assert_eq!(alone.code(), 1);
            let run = tree.sanity(&["--base-ref", "main", "--only", "facts-invalid"]);
            assert_eq!(news(&run), [format!("+facts-invalid error {path}")], "{path}: {shown}");
            assert_eq!(run.code(), 1);
        }
        tree.file(path, text);
    }
    assert_eq!(tree.sanity(&["--base-ref", "main"]).code(), 3, "nothing changed");
}

#[test]
fn a_directory_or_a_link_in_place_of_facts_is_an_error() {
    for (path, _) in good() {
        let tree = tree();
        tree.commit();
        tree.remove(path);
        tree.file(&format!("{path}/inside"), "words");
        let run = tree.sanity(&["--base-ref", "HEAD"]);
        tree.commit();
        for run in [run, tree.sanity(&["--base-ref", "HEAD~1", "--head-ref", "HEAD"])] {
            // A folder of code is not the loader's file.
            let found = run.findings();
            assert!(found.contains(&format!("facts-invalid error {path}")), "{path}: {found:?}");
            assert_eq!(run.code(), 1);
        }
        #[cfg(unix)]
        {
            std::fs::remove_dir_all(tree.path().join(path)).unwrap();
            std::os::unix::fs::symlink("/elsewhere", tree.path().join(path)).unwrap();
            assert_eq!(validate(&tree, &[]).code(), 1, "{path}");
        }
    }
}

#[test]
fn changed_facts_are_listed_in_the_change() {
    for (path, text) in good() {
        let tree = tree();
        tree.commit();
        tree.file(path, text.replace("h200_sxm,vllm", "h200_sxm,sglang") + "\n");
        let run = tree.sanity(&["--base-ref", "HEAD"]);
        assert_ne!(run.code(), 3, "{path}: {}", run.out());
        let json = run.json();
        assert_eq!(json["files"], serde_json::json!([{"path": path, "status": "modified"}]));
        let since = validate(&tree, &["--since", "HEAD", "--only", "facts-invalid"]);
        assert_eq!(since.code(), 0, "{path}: {}", since.out());
    }
}

#[test]
fn invalid_facts_that_change_but_stay_invalid_are_new() {
    let tree = tree();
    tree.file(MANIFEST, "groups: 3\n");
    tree.commit();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.61)]));
    let only = ["--base-ref", "main", "--only", "facts-invalid"];
    assert_eq!(news(&tree.sanity(&only)), [""; 0], "nobody touched it");
    tree.file(MANIFEST, "groups: 4\n");
    let error = format!("+facts-invalid error {MANIFEST}");
    assert_eq!(news(&tree.sanity(&only)), [error]);
}

#[test]
fn deleted_facts_are_a_warning() {
    for (path, _) in good() {
        let tree = tree();
        tree.commit();
        tree.remove(path);
        let run = tree.sanity(&["--base-ref", "HEAD", "--only", "facts-invalid"]);
        assert_eq!(news(&run), [format!("+facts-invalid warning {path}")]);
    }
}

#[test]
fn a_list_removed_from_the_loader_is_an_info() {
    let tree = tree();
    tree.file(
        super::LOADER,
        "pub fn heads(model: &str) -> Option<u32> {\n    PINS.get(model)\n}\n",
    );
    let run = validate(&tree, &[]);
    assert_eq!(run.findings(), [format!("facts-invalid info {}", super::LOADER)]);
}

#[test]
fn slots_with_lists_and_a_manifest_with_the_old_name_are_read() {
    let tree = tree();
    tree.file(VERSIONS, "schema_version: 2\ndefaults:\n  vllm: {current: 0.24.0, previous: [0.22.0, 0.23.0], stable: 0.20.0}\n");
    tree.remove(MANIFEST);
    let old = "systems/op_kernel_source_manifest.yaml";
    tree.file(old, GOOD_MANIFEST);
    let run = validate(&tree, &[]);
    assert_eq!(run.findings(), [""; 0]);
    let json = run.json();
    let facts = json["facts"].as_array().unwrap();
    let manifest = facts.iter().find(|fact| fact["name"] == "reuse-manifest").unwrap();
    assert_eq!(manifest["path"], old);
}
