//! Causes of the comment: how findings are grouped, and the commands that find them again. All rows are synthetic.

use crate::common::{Run, Tree, command, gemm};

/// A sidecar that names tables, as people write it.
fn sidecar(tables: &str) -> String {
    let head = "schema_version: 1\nruntime:\n  framework: vllm\n  version: 0.24.0\ntables:\n";
    tables.split(' ').fold(head.to_owned(), |text, table| {
        text + &format!("  {table}:\n    status: complete\n    rows: 3\n")
    })
}

/// A repository whose head has two causes of errors and one of warnings: a GPU that is not the system's in two versions,
/// sidecars of two versions that name other tables, and a slow point.
fn repository() -> Tree {
    let tree = Tree::new();
    let rows: Vec<(u64, f64)> = (0..10).map(|i| (1 << i, 0.01 + 0.001 * f64::from(i))).collect();
    tree.gemm("gemm_perf.txt", gemm(&rows));
    tree.commit();
    tree.git(&["checkout", "-qb", "head"]);
    let mut slow = rows.clone();
    slow[4].1 *= 20.0;
    tree.gemm("gemm_perf.txt", gemm(&slow));
    for (version, tables) in [("0.22.0", "moe_perf"), ("0.23.0", "context_mla_perf moe_perf")] {
        let folder = format!("systems/data/h200_sxm/gemm/vllm/{version}");
        let other =
            gemm(&rows).replace("0.24.0", version).replace("NVIDIA H200", "NVIDIA A100-SXM4-80GB");
        tree.file(&format!("{folder}/gemm_perf.txt"), other);
        let sidecar = sidecar(tables).replace("0.24.0", version);
        tree.file(&format!("{folder}/collection_meta.yaml"), sidecar);
    }
    tree.commit();
    tree
}

/// The blocks of a comment's causes: mark, rule and extent, and the command.
fn blocks(comment: &str) -> Vec<(String, String)> {
    let blocks = comment.split("<details><summary>").skip(1);
    let block = |text: &str| {
        let (head, rest) = text.split_once("</summary>")?;
        let (_, rest) = rest.split_once("```sh\n")?;
        Some((head.to_owned(), rest.split_once("\n```")?.0.to_owned()))
    };
    blocks.filter_map(block).collect()
}

#[test]
fn the_command_of_each_cause_finds_the_same_findings() {
    let tree = repository();
    let file = tree.path().join("comment.md");
    let shown = file.display().to_string();
    let args = ["--base-ref", "main", "--head-ref", "head", "--output-md-file", &shown];
    let run = tree.sanity(&args);
    assert_eq!(run.code(), 1, "{}", run.err());
    let comment = std::fs::read_to_string(&file).unwrap();
    let blocks = blocks(&comment);
    let rules: Vec<&str> = blocks.iter().map(|(head, _)| head.split(' ').nth(1).unwrap()).collect();
    for rule in ["device-mismatch", "sidecar-contradiction", "latency-spike"] {
        assert_eq!(rules.iter().filter(|one| **one == rule).count(), 1, "{rule} in {rules:?}");
    }
    let (head, _) = &blocks[rules.iter().position(|rule| *rule == "device-mismatch").unwrap()];
    assert_eq!(head, "❌ device-mismatch 2 versions, 2 findings, 20 rows");
    for (head, words) in blocks {
        let mut words = words.split(' ');
        assert_eq!(words.next(), Some("perfdb-gate"));
        let mut again = command();
        again.args(words).args(["--format", "json"]).current_dir(tree.path());
        let found = Run::of(&mut again).unwrap().json();
        let severity = if head.starts_with('❌') { "error" } else { "warning" };
        let is_it = |f: &&serde_json::Value| f["severity"] == severity && f["new"] == true;
        let found = found["findings"].as_array().unwrap().iter().filter(is_it).count();
        let plural = if found == 1 { "" } else { "s" };
        assert!(head.contains(&format!("{found} finding{plural}")), "{head}: {found}");
    }
}
