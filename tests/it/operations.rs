//! `perfdb-gate rules --check-root`, on small trees.

use crate::common::{Run, Tree, gemm, run};

fn check(tree: &Tree) -> Run {
    run(&["rules", "--check-root", &tree.path().display().to_string()])
}

/// A catalog that lists just what specs are written for.
fn catalog() -> String {
    let specs = perfdb_gate::specs::Specs::embedded().expect("the shipped specs");
    let mut families: std::collections::BTreeMap<&str, Vec<&str>> = Default::default();
    for spec in specs.tables.values() {
        families.entry(&spec.family).or_default().push(&spec.name);
    }
    let line = |(family, tables): (&str, Vec<&str>)| {
        format!("- family: {family}\n  op_files: [{}]\n  default: any\n", tables.join(", "))
    };
    format!("schema_version: 1\nfamilies:\n{}", families.into_iter().map(line).collect::<String>())
}

const CATALOG: &str = "collector/op_backend_catalog.yaml";

#[test]
fn a_catalog_that_specs_match_is_clean() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5)]));
    tree.file(CATALOG, catalog());
    let run = check(&tree);
    assert_eq!(run.code(), 0, "{}{}", run.out(), run.err());
    assert!(run.out().starts_with(CATALOG), "{}", run.out());
}

#[test]
fn both_directions_are_told() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5)]));
    tree.gemm("warp_perf.txt", gemm(&[(1, 0.5)]));
    let text = catalog()
        .replace("gemm_perf", "sparse_gemm_perf")
        .replace("[mamba2_perf", "[gdn2_perf, mamba2_perf");
    tree.file(CATALOG, text.replace("family: kda\n", "family: linear\n"));
    let run = check(&tree);
    assert_eq!(run.code(), 1, "{}", run.err());
    let out = run.out();
    assert!(out.contains("in the catalog, without a spec:\n"), "{out}");
    assert!(out.contains("\n  sparse_gemm_perf (gemm): it has no data\n"), "{out}");
    assert!(
        out.contains("with a spec, not in the catalog:\n  gemm_perf (gemm): it has data\n"),
        "{out}"
    );
    assert!(out.contains("in the database, without a spec:\n  warp_perf\n"), "{out}");
    assert!(out.contains("of another family:\n  kda_perf: linear, its spec says kda\n"), "{out}");

    // A spec of the repository's own answers it.
    tree.file(
        ".perfdb-gate/rules/tables/warp.yaml",
        "family: warp\ntables:\n  warp_perf:\n    about: Synthetic.\n    columns: {side: int, latency: ms}\n    key: [side]\n    serves: last\n",
    );
    assert!(!check(&tree).out().contains("in the database, without a spec"));
}

#[test]
fn without_a_catalog_nothing_is_green() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5)]));
    let run = check(&tree);
    assert_eq!(run.code(), 3);
    assert!(run.out().contains("no op_backend_catalog.yaml below the root"), "{}", run.out());
    tree.file(CATALOG, "families: 7\n");
    let run = check(&tree);
    assert_eq!(run.code(), 2);
    assert!(run.err().contains(CATALOG) && run.err().contains("line 1"), "{}", run.err());
}
