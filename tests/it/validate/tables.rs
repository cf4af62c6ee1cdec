//! Table specs on synthetic rows: a good table of each, and one more row that each condition of its loader refuses.

use std::collections::BTreeSet;

use crate::common::{Tree, gemm};

/// The tables in `fixtures/tables`: a title, the place of the table, the good table, and cases. A line
/// `# what | rules` starts a case, whose row follows. `{a}` and `{b}` stand for digests.
macro_rules! fixtures {
    ($($name:ident),* $(,)?) => {
        $(#[test]
        fn $name() {
            judge(include_str!(concat!("../fixtures/tables/", stringify!($name), ".csv")));
        })*
    };
}

fixtures!(
    dsv411_module_perf,
    dsv41_module_perf,
    glm53_attention_module_perf,
    glm53_mamba_state_copy_perf,
    glm53flash_module_perf,
    moe_expert_compute_perf,
    sglang_prefill_attention_sequence_perf,
    sglang_prefill_comm_norm_boundary_perf,
);

fn judge(fixture: &str) {
    let fixture = fixture.replace("{a}", &"a".repeat(64)).replace("{b}", &"b".repeat(64));
    let mut lines = fixture.lines();
    assert!(lines.next().is_some_and(|title| title.starts_with("# Synthetic")));
    let place = lines.next().and_then(|line| line.strip_prefix("# ")).expect("a place");
    let lines: Vec<&str> = lines.collect();
    let cases = lines.iter().position(|line| line.starts_with("# ")).expect("cases");
    let good = lines[..cases].join("\n") + "\n";
    assert_eq!(rules(place, &good), BTreeSet::new(), "the good rows of {place}");
    for case in lines[cases..].chunks(2) {
        let &[what, row] = case else { panic!("a case without a row: {case:?}") };
        let (what, expected) = what[2..].split_once(" | ").expect("rules");
        let expected = expected.split(", ").filter(|rule| *rule != "nothing").map(str::to_owned);
        let found = rules(place, &format!("{good}{row}\n"));
        assert_eq!(found, expected.collect(), "{what} in {place}");
    }
}

/// The rules that find something in a table other than that its sidecar is missing.
fn rules(place: &str, text: &str) -> BTreeSet<String> {
    let tree = Tree::new();
    if place.contains("vr_nvl72") {
        let yaml = include_str!("../../../systems/vr_nvl72.yaml");
        // The device of the synthetic rows.
        let yaml = yaml.replace("../data/", "data/") + "devices: [NVIDIA Graphics Device]\n";
        tree.file("systems/vr_nvl72.yaml", yaml);
    }
    tree.file(place, text);
    let run = tree.validate(&["--format", "json", "--fail-on", "never"]);
    let rules = run.findings().into_iter().map(|found| found.split(' ').next().unwrap().to_owned());
    rules.filter(|rule| rule != "sidecar-missing").collect()
}

#[test]
fn an_extra_column_or_a_null_is_an_error_if_the_loader_refuses_it() {
    let fixture = include_str!("../fixtures/tables/sglang_prefill_attention_sequence_perf.csv");
    let lines: Vec<&str> = fixture.lines().skip(1).collect();
    let place = &lines[0][2..];
    let good: Vec<&str> = lines[1..].iter().copied().take_while(|l| !l.starts_with('#')).collect();
    let with = |header: &str, value: &str| {
        let rows = good[1..].iter().map(|row| format!("{row}{value}\n"));
        format!("{}{header}\n{}", good[0], rows.collect::<String>())
    };
    assert_eq!(rules(place, &with("", "")), BTreeSet::new());
    assert_eq!(rules(place, &with(",power", ",700.0")), ["header-mismatch".to_owned()].into());
    let last = good[good.len() - 1];
    let end = last.rfind(',').unwrap();
    let without = with("", "").replace(last, &last[..=end]);
    assert!(rules(place, &without).contains("key-out-of-range"));
}

#[test]
fn a_dtype_spelled_with_other_letters_than_in_other_tables_is_an_error() {
    let tree = Tree::new();
    let rows = gemm(&[(1, 0.5), (2, 0.6)]);
    let upper = |from: &str, to: &str| rows.replace("0.24.0", "0.25.0").replace(from, to);
    let put = |version: &str, text: String| {
        tree.file(&format!("systems/data/h200_sxm/vllm/{version}/gemm_perf.txt"), text);
    };
    let judge = || tree.validate(&["--only", "key-out-of-range", "--format", "json"]);
    put("0.25.0", upper("bfloat16", "BFLOAT16"));
    assert_eq!(judge().finding("key-out-of-range")["severity"], "warning", "nothing else has it");
    put("0.24.0", rows.clone());
    let found = judge().finding("key-out-of-range");
    assert_eq!(found["severity"], "error");
    insta::assert_snapshot!(found["message"].as_str().unwrap(), @"the gemm_dtype BFLOAT16, which other tables here call bfloat16, in 2 rows");
    put("0.25.0", upper("bfloat16", "bfloat12"));
    assert_eq!(judge().finding("key-out-of-range")["severity"], "warning");
}
