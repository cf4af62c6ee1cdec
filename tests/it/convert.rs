//! `perfdb-gate convert`, run on small trees of synthetic rows.

use crate::common::snapshot::shown;
use crate::common::{self, Run, Tree, gemm, gemm_parquet};
use perfdb_gate::database::catalog::Format;
use perfdb_gate::database::table::Table;

fn convert(tree: &Tree, args: &[&str]) -> Run {
    let root = tree.path().display().to_string();
    let mut all = vec!["convert", "--root", &root];
    all.extend(args);
    common::run(&all)
}

const DIR: &str = "systems/data/h200_sxm/vllm/0.24.0";

fn bytes(tree: &Tree) -> Vec<u8> {
    std::fs::read(tree.path().join(DIR).join("gemm_perf.parquet")).unwrap()
}

#[test]
fn a_dry_run_of_convert_writes_nothing() {
    let tree = Tree::new();
    let path = tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6)]));
    let run = convert(&tree, &[]);
    assert_eq!(run.code(), 0, "{}", run.err());
    insta::assert_snapshot!(run.shown(), @"
    $ perfdb-gate convert --root [tmp]
    systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt: 2 rows of 10 columns → gemm_perf.parquet, 192 → 3,539 bytes

    1 of 1 text table would be converted
    dry run: nothing was written; add --write to convert
    (exit 0)
    ");
    assert!(path.exists() && !path.with_extension("parquet").exists());
}

#[test]
fn convert_keeps_cells_and_writes_the_collector_s_types() {
    let tree = Tree::new();
    // A latency without a fraction, a version that looks like a number.
    let text = gemm(&[(1, 2.0), (2, 3.0)]).replace("0.24.0", "0.24");
    let path = tree.gemm("gemm_perf.txt", text);
    let run = convert(&tree, &["--write"]);
    assert_eq!(run.code(), 0, "{}", run.err());
    insta::assert_snapshot!(run.shown(), @"
    $ perfdb-gate convert --root [tmp] --write
    systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt: 2 rows of 10 columns → gemm_perf.parquet, 184 → 3,519 bytes

    1 of 1 text table converted
    (exit 0)
    ");
    assert!(!path.exists(), "the text is gone once its cells are in parquet");
    let bytes = bytes(&tree);
    let metadata = polars_parquet::read::read_metadata(&mut std::io::Cursor::new(&bytes)).unwrap();
    let schema = polars_parquet::read::infer_schema(&metadata).unwrap();
    let types: Vec<String> = schema.iter_values().map(|f| format!("{:?}", f.dtype)).collect();
    let (text, int) = ("Utf8View", "Int64");
    assert_eq!(types, [text, text, text, text, text, text, int, int, int, "Float64"]);
    let table = Table::decode(&bytes, Format::Parquet, &|_| false).unwrap();
    let cell = |name: &str| table.column(name).unwrap().json(1);
    assert_eq!((cell("version"), cell("latency")), ("0.24".into(), 3.into()));
    assert_eq!(table.columns().next().unwrap().0, "framework");
    // Once more, there is nothing left to do.
    assert_eq!(convert(&tree, &["--write"]).code(), 3);
}

#[test]
fn damaged_text_tables_are_not_converted() {
    let whole = gemm(&[(1, 0.5), (2, 0.6)]);
    let lfs = format!("version https://git-lfs.github.com/spec/v1\noid sha256:{:064}\nsize 9\n", 7);
    let mut runs = Vec::new();
    for text in [
        format!("{whole}VLLM,0.24.0\n"),
        whole.trim_end().to_owned(),
        lfs,
        common::GEMM.to_owned(),
        whole.replacen("cutlass", " cutlass", 1),
    ] {
        let tree = Tree::new();
        let path = tree.gemm("gemm_perf.txt", &text);
        let run = convert(&tree, &["--write"]);
        assert_eq!(run.code(), 1, "{}", run.shown());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        assert!(!path.with_extension("parquet").exists());
        runs.push(run);
    }
    insta::assert_snapshot!(shown(&runs));
}

#[test]
fn an_existing_parquet_file_is_not_overwritten_by_convert() {
    let tree = Tree::new();
    let text = tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6)]));
    let other = gemm_parquet(&[(1, 0.5), (2, 0.7)]);
    let path = tree.gemm("gemm_perf.parquet", &other);
    let run = convert(&tree, &["--write"]);
    assert_eq!(run.code(), 1);
    insta::assert_snapshot!(run.shown(), @"
    $ perfdb-gate convert --root [tmp] --write
    systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt: not changed: gemm_perf.parquet exists in the same folder with other cells; decide which of the two is right, or merge them

    0 of 1 text table converted
    (exit 1)
    ");
    assert!(text.exists());
    assert_eq!(std::fs::read(&path).unwrap(), other);

    // With the same cells, an earlier run was cut off before the text went.
    let same = gemm_parquet(&[(1, 0.5), (2, 0.6)]);
    tree.gemm("gemm_perf.parquet", &same);
    let run = convert(&tree, &["--write"]);
    assert_eq!(run.code(), 0, "{}", run.out());
    assert!(!text.exists());
    assert_eq!(std::fs::read(&path).unwrap(), same);
}

#[test]
fn two_text_tables_of_one_name_are_not_converted_into_one_table() {
    let tree = Tree::new();
    let csv = tree.gemm("gemm_perf.csv", gemm(&[(1, 0.5)]));
    let txt = tree.gemm("gemm_perf.txt", gemm(&[(2, 0.6)]));
    let run = convert(&tree, &["--write"]);
    assert_eq!(run.code(), 1);
    insta::assert_snapshot!(run.shown(), @"
    $ perfdb-gate convert --root [tmp] --write
    systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt: not changed: another text table would become gemm_perf.parquet, too
    systems/data/h200_sxm/vllm/0.24.0/gemm_perf.csv: 1 row of 10 columns → gemm_perf.parquet, 132 → 3,522 bytes

    1 of 2 text tables converted
    (exit 1)
    ");
    assert!(!csv.exists() && txt.exists());
}
