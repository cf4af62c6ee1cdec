//! The files that a comparison writes: details, the comment, charts.

use std::path::Path;

use super::{FLAT, repository};
use crate::common::snapshot::redact;
use crate::common::{SHIPPED, Tree, gemm, run};

#[test]
fn the_detail_files_list_the_changed_rows() {
    let tree = repository();
    tree.gemm("moe_perf.txt", gemm(&[(1, 0.5)]));
    tree.gemm(
        "gemm_perf.txt",
        gemm(&[(3, 0.7), (2, 0.9)]).replace('\n', ",\"a,b\"\n").replacen("\"a,b\"", "note", 1),
    );
    let out = tempfile::TempDir::new().unwrap();
    let folder = out.path().join("rows");
    tree.sanity(&["--base-ref", "main", "--detail-dir", &folder.display().to_string()]);
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    insta::assert_snapshot!(read("h200_sxm__vllm__0.24.0__gemm_perf.txt.csv"), @r#"
    change,base_row,head_row,framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,base_latency,head_latency,base_note,head_note,ratio
    changed,1,1,VLLM,0.24.0,NVIDIA H200,gemm,cutlass,bfloat16,2,128,128,0.6,0.9,,"a,b",1.5
    removed,0,,VLLM,0.24.0,NVIDIA H200,gemm,cutlass,bfloat16,1,128,128,0.5,,,,
    added,,0,VLLM,0.24.0,NVIDIA H200,gemm,cutlass,bfloat16,3,128,128,,0.7,,"a,b",
    "#);
    insta::assert_snapshot!(read("summary.csv"), @"
    path,old_path,status,base_rows,head_rows,added,removed,changed,median_ratio,ratio_p5,ratio_p95,share_beyond_5_percent,fault,details
    systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt,,modified,2,2,1,1,1,1.5,1.5,1.5,1,,h200_sxm__vllm__0.24.0__gemm_perf.txt.csv
    systems/data/h200_sxm/vllm/0.24.0/moe_perf.txt,,added,0,1,1,0,0,,,,,,h200_sxm__vllm__0.24.0__moe_perf.txt.csv
    ");
    assert_eq!(folder.read_dir().unwrap().count(), 3, "and nothing else");
}

#[test]
fn the_comment_and_the_human_report_equal_their_snapshots() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6), (9, 0.0)]));
    tree.commit();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.25), (2, 0.6), (3, 0.7), (9, 0.0)]));
    tree.file("systems/data/h200_sxm/sglang/0.5.14/gemm_perf.parquet", SHIPPED);
    tree.file(&format!("{FLAT}/collection_meta.yaml"), "schema_version: 1\n");
    let root = tree.path().display().to_string();
    let comment = tree.path().join("comment.md");
    let shown = comment.display().to_string();
    let run = run(&["sanity", "--root", &root, "--base-ref", "main", "--output-md-file", &shown]);
    assert_eq!(run.code(), 1, "{}", run.err());
    insta::assert_snapshot!("human", run.shown());
    let commit = regex::Regex::new("[0-9a-f]{40}").unwrap();
    insta::assert_snapshot!("comment", commit.replace_all(&read(&comment), "[commit]"));
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn charts_are_deterministic_and_the_comment_shows_the_smoke_command() {
    let tree = Tree::new();
    let rows = |factor: f64| -> Vec<(u64, f64)> {
        (0..10).map(|i| (1 << i, factor * (1.0 + i as f64))).collect()
    };
    tree.gemm("gemm_perf.txt", gemm(&rows(1.0)));
    tree.commit();
    tree.gemm("gemm_perf.txt", gemm(&rows(1.5)));
    let out = |name: &str| tree.path().join("out").join(name).display().to_string();
    let comment = tree.path().join("comment.md").display().to_string();
    let draw = |folder: &str, smoke: &str| {
        let folder = out(folder);
        let args = ["--base-ref", "HEAD", "--output-dir", &folder, "--output-md-file", &comment];
        tree.sanity(&[&args[..], &["--smoke-command", smoke]].concat())
    };
    let passed = draw("a", "echo planned");
    assert_ne!(passed.code(), 2, "{}", passed.err());
    let text = std::fs::read_to_string(&comment).unwrap();
    insta::assert_snapshot!("comment_with_charts", redact(&text));
    assert_eq!(draw("b", "exit 7").code(), 1, "a smoke command that fails fails the run");
    insta::assert_snapshot!("comment_with_a_failed_command", redact(&read(comment.as_ref())));
    let name = "h200_sxm-vllm-0.24.0-gemm_perf";
    let read = |folder| std::fs::read(format!("{}/{name}.svg", out(folder))).unwrap();
    assert_eq!(read("a"), read("b"));
    assert_eq!(std::fs::read_dir(out("a")).unwrap().count(), 1);
    let none = tree.sanity(&["--base-ref", "HEAD", "--output-dir", &out("c"), "--charts", "0"]);
    assert_ne!(none.code(), 2, "{}", none.err());
    assert_eq!(std::fs::read_dir(out("c")).unwrap().count(), 0);
}

#[test]
fn the_comment_on_a_power_overlay_draws_power() {
    let tree = repository();
    let rows: Vec<(u64, f64)> = (0..6).map(|i| (1 << i, 1.0 + i as f64)).collect();
    tree.gemm("gemm_perf.txt", gemm(&rows));
    tree.commit();
    let add = |(number, row): (usize, &str)| match number {
        0 => format!("{row},power,power_limit\n"),
        _ => format!("{row},{},700\n", 300 + 10 * number),
    };
    let powered: String = gemm(&rows).lines().enumerate().map(add).collect();
    tree.gemm("gemm_perf.txt", powered);
    let comment = tree.path().join("comment.md");
    tree.sanity(&["--base-ref", "HEAD", "--output-md-file", &comment.display().to_string()]);
    let text = read(&comment);
    assert!(text.contains("y-axis \"power, W (line: limit)\""), "{text}");
    assert!(text.contains("    line [310, 320, 330, 340, 350, 360]\n    line [700, "), "{text}");
    assert!(text.contains("grey: the limit"), "{text}");
}
