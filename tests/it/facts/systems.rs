//! The figures of systems against what is known of them; synthetic rows.

use crate::common::snapshot::message;
use crate::common::{H200, Run, Tree, gemm};

/// The rules on systems over a tree.
fn judged(tree: &Tree) -> Run {
    tree.validate(&["--only", "system-suspicious", "--only", "system-invalid", "--format", "json"])
}

#[test]
fn the_shipped_systems_have_no_finding() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6)]));
    for file in std::fs::read_dir("systems").expect("the shipped systems") {
        let path = file.expect("a file").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        // The database of these GPUs has no such files, and nothing is known of their nodes.
        if name.starts_with("gfx") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a system").replace("../data/", "data/");
        // These lists are for perfdb-gate's own files; a database states its figures alone.
        let own = text.split("\n# Further right values").next().expect("figures").to_owned();
        let own = own.split("\n# The public file calls").next().expect("figures").to_owned();
        tree.file(&format!("systems/{name}"), own);
    }
    assert_eq!(judged(&tree).findings(), [""; 0]);
}

/// perfdb-gate's own repository describes such machines beside those of its own data.
#[test]
fn the_yaml_of_a_machine_without_a_perf_database_is_not_a_system() {
    const CARD: &str = "gpu:\n  bf16_flops_per_cu: 4300657894736\n";
    const PATH: &str = "systems/gfx942_304.yaml";
    let of = |text: &str| {
        let tree = Tree::new();
        tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6)]));
        tree.file(PATH, text);
        tree
    };
    let named = format!("layout: aiter\n{CARD}");
    assert_eq!(judged(&of(&named)).findings(), [""; 0]);
    // The loader reads every YAML beside the systems, so that any other one is a system.
    let error = [format!("system-invalid error {PATH}")];
    for text in [
        CARD.to_owned(),
        named.replace("aiter", "aitre"),
        named.replace("aiter", "public"),
        format!("data_dir: data/gfx942_304\n{named}"),
        format!("{named}node: {{\n"),
    ] {
        assert_eq!(judged(&of(&text)).findings(), error, "{text}");
    }
    for data in ["systems/data/gfx942_304", "data/gfx942_304"] {
        let tree = of(&named);
        tree.file(&format!("{data}/vllm/0.24.0/gemm_perf.txt"), gemm(&[(1, 0.5), (2, 0.6)]));
        assert_eq!(judged(&tree).findings(), error, "{data}");
    }
}

#[test]
fn figures_of_a_gpu_other_than_the_rows_device_are_reported_as_copied() {
    let tree = Tree::new();
    // An older file, without the figures that were added since.
    let figures = H200.lines().filter(|line| !line.contains("fp32_flops"));
    let figures: Vec<&str> = figures.filter(|line| !line.contains("NVIDIA H200\"")).collect();
    let yaml = figures.join("\n").replace("../data/h200_sxm", "data/ours").replace("devices:", "");
    tree.file("systems/ours.yaml", yaml);
    let rows = gemm(&[(1, 0.5), (2, 0.6)]).replace("NVIDIA H200", "NVIDIA X1");
    tree.file("systems/data/ours/vllm/0.24.0/gemm_perf.txt", rows);
    insta::assert_snapshot!(message(&judged(&tree).finding("system-suspicious")), @"every figure of the GPU is that of h200_sxm, but its rows are of NVIDIA X1");
}
