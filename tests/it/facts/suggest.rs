//! `perfdb-gate suggest`, on small trees of synthetic rows.

use crate::common::{Run, Tree, run};

/// All-to-all of two phases in µs, with an id and a constant.
fn table(last: &str) -> String {
    let mut text =
        "framework,version,device,op_name,kernel_source,phase,comm_dtype,lane,tokens,run_id,\
                    transmit_us,notify_us,latency\n"
            .to_owned();
    for (number, phase) in ["dispatch", "combine"].iter().enumerate() {
        for tokens in [1u32, 2, 4, 8, 16, 32, 64, 128] {
            let time = 20 + 3 * tokens;
            text += &format!(
                "VLLM,0.24.0,NVIDIA H200,a2a,deepep,{phase},default,1,{tokens},r{number}-{tokens},{time},0,{time}\n"
            );
        }
    }
    text + last
}

fn suggest(tree: &Tree, args: &[&str]) -> Run {
    let root = tree.path().display().to_string();
    run(&[&["suggest", "--root", &root], args].concat())
}

#[test]
fn a_suggested_spec_is_learned_from_rows_and_accepted() {
    let tree = Tree::new();
    let path = "systems/data/h200_sxm/comm/vllm/0.24.0/warp_perf.txt";
    tree.file(path, table(""));
    let printed = suggest(&tree, &["warp"]);
    assert_eq!(printed.code(), 0, "{}", printed.err());
    insta::assert_snapshot!(printed.shown(), @r#"
    $ perfdb-gate suggest --root [tmp] warp
    # Learned from 16 rows of 1 file: check each line against the loader of the table.
    # Save it as tables/<family>.yaml in a folder for --rules, or in .perfdb-gate/rules/.
    family: comm
    tables:
      warp_perf:
        about: "To do: describe the content."
        columns:
          phase: text
          comm_dtype: text
          lane: int
          tokens: int
          run_id: text
          transmit_us: us
          notify_us: us
          latency: us
        key:
          - phase
          - comm_dtype # always "default"
          - lane # always 1
          - tokens
        # Not in the key: run_id.
        # Which row of a repeated key its loader serves: first, last or error.
        serves: first
        # In ms.
        latency:
          latency: latency / 1000
        # Some rows are zero: state for which rows that is right.
        zero:
          notify_us: true
        # Along tokens, the latency falls by more than 5 % in 0 of 14 pairs.
        sweep: [tokens]
    (exit 0)
    "#);
    // What is printed is what --rules takes, and by it the table is known.
    let rules = tree.file("rules/tables/comm.yaml", printed.out());
    let rules = rules.ancestors().nth(2).unwrap().display().to_string();
    let only = ["header-mismatch", "duplicate-key", "latency-not-positive"].map(|r| ["--only", r]);
    let args = [&["--rules", &rules, "--format", "json"], only.as_flattened()].concat();
    let known = tree.validate(&args);
    assert_eq!(known.findings(), [""; 0], "{}", known.err());
}

#[test]
fn suggest_notes_that_a_table_already_has_a_spec() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", crate::common::gemm(&[(1, 0.5), (2, 0.6)]));
    let said = "# A spec of gemm_perf exists already; this one would replace it.\n";
    assert!(suggest(&tree, &["gemm"]).out().contains(said));
    tree.file("systems/data/h200_sxm/comm/vllm/0.24.0/warp_perf.txt", table(""));
    assert!(!suggest(&tree, &["warp"]).out().contains("exists already"));
}

#[test]
fn a_table_without_a_latency_gets_no_suggested_spec() {
    let tree = Tree::new();
    tree.file("systems/data/h200_sxm/vllm/0.24.0/warp_perf.txt", "expert,share\n1,0.5\n");
    let unlike = suggest(&tree, &["warp"]);
    assert_eq!(unlike.code(), 2);
    insta::assert_snapshot!(unlike.err(), @"
    perfdb-gate: no column of warp_perf looks like a latency
    hint: name the column latency, *_ms or *_us
    ");
    assert_eq!(suggest(&tree, &["weft"]).code(), 2);
}

#[test]
fn column_names_are_escaped_in_a_suggested_spec() {
    let tree = Tree::new();
    let header =
        "framework,version,device,op_name,kernel_source,\"a: [b\",\"no\",\"# x\",latency\n";
    let rows = "VLLM,0.24.0,NVIDIA H200,w,k,1,2,3,0.5\nVLLM,0.24.0,NVIDIA H200,w,k,2,2,3,0.6\n";
    tree.file("systems/data/h200_sxm/vllm/0.24.0/warp_perf.txt", format!("{header}{rows}"));
    let printed = suggest(&tree, &["warp"]);
    assert_eq!(printed.code(), 0, "{}", printed.err());
    assert!(printed.out().contains("\"a: [b\": int"), "{}", printed.out());
}
