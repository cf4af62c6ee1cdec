//! `perfdb-gate explain --check-root`, on small trees.

use crate::common::snapshot::shown;
use crate::common::{Run, Tree, gemm, run};

fn check(tree: &Tree) -> Run {
    run(&["explain", "--check-root", &tree.path().display().to_string()])
}

/// A catalog that lists just what specs are written for.
fn catalog() -> String {
    let specs = perfdb_gate::specs::Specs::embedded().expect("the shipped specs");
    let mut families: std::collections::BTreeMap<&str, Vec<&str>> = Default::default();
    for spec in specs.tables.values().filter(|spec| !spec.family.is_empty()) {
        // Tables of other layouts are not of the public database.
        if specs.layouts.declare(&spec.name) {
            continue;
        }
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
    insta::assert_snapshot!(run.shown(), @"
    $ perfdb-gate explain --check-root [tmp]
    collector/op_backend_catalog.yaml: 54 tables; the database has data of 1; 55 specs
    operation-catalog: collector/op_backend_catalog.yaml
    (exit 0)
    ");
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
    insta::assert_snapshot!(run.shown(), @"
    $ perfdb-gate explain --check-root [tmp]
    in the catalog but without a spec:
      sparse_gemm_perf (gemm): it has no data
    in the catalog under another family than in the spec:
      kda_perf: linear, but its spec says kda
    in the database but without a spec:
      warp_perf
    with a spec but not in the catalog:
      gemm_perf (gemm): it has data
    collector/op_backend_catalog.yaml: 54 tables; the database has data of 2; 55 specs
    operation-catalog: collector/op_backend_catalog.yaml
    (exit 1)
    ");

    // A spec of the repository's own answers it.
    tree.file(
        ".perfdb-gate/rules/tables/warp.yaml",
        "family: warp\ntables:\n  warp_perf:\n    about: Synthetic.\n    columns: {side: int, latency: ms}\n    key: [side]\n    serves: last\n",
    );
    insta::assert_snapshot!(check(&tree).shown(), @"
    $ perfdb-gate explain --check-root [tmp]
    in the catalog but without a spec:
      sparse_gemm_perf (gemm): it has no data
    in the catalog under another family than in the spec:
      kda_perf: linear, but its spec says kda
    with a spec but not in the catalog:
      gemm_perf (gemm): it has data
      warp_perf (warp): it has data
    collector/op_backend_catalog.yaml: 54 tables; the database has data of 2; 56 specs
    operation-catalog: collector/op_backend_catalog.yaml
    (exit 1)
    ");
}

#[test]
fn without_a_catalog_nothing_is_green() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5)]));
    let none = check(&tree);
    assert_eq!(none.code(), 3);
    tree.file(CATALOG, "families: 7\n");
    let broken = check(&tree);
    assert_eq!(broken.code(), 2);
    insta::assert_snapshot!(shown([&none, &broken]), @"
    $ perfdb-gate explain --check-root [tmp]
    the root contains no op_backend_catalog.yaml, so the expected tables are not known; the database has data of 1 table; 55 specs
    (exit 3)

    $ perfdb-gate explain --check-root [tmp]
    2> perfdb-gate: collector/op_backend_catalog.yaml: expected sequence start at line 1, column 11
    2> hint: the file must list families and their op_files
    (exit 2)
    ");
}
