//! YAML that the planner's two loaders read differently, or that one refuses: `readers.yaml` has their answers.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::common::{Run, Tree, gemm};

const ANSWERS: &str = include_str!("readers.yaml");

/// A changed YAML: its name, its text, and true if the loaders differ over it.
type Form = (String, String, bool);

fn answers() -> Value {
    serde_yaml::from_str(ANSWERS).expect("the answers")
}

/// The base with another value of a field.
fn with(base: &str, path: &str, value: &str) -> String {
    let key = format!("{}:", path.rsplit('.').next().expect("a key"));
    let line = |line: &str| {
        let indent = &line[..line.len() - line.trim_start().len()];
        let is_it = line.trim_start().starts_with(&key);
        if is_it { format!("{indent}{key} {value}\n") } else { format!("{line}\n") }
    };
    base.lines().map(line).collect()
}

fn forms() -> Vec<Form> {
    let answers = answers();
    let base = answers["base"].as_str().expect("a base");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let rows = |name: &str| answers[name].as_array().expect("rows").clone();
    let value = |row: Value| {
        let (path, value) = (text(&row[0]), text(&row[1]));
        (format!("{path}: {value}"), with(base, &path, &value), row[4] == "fault")
    };
    let document = |row: Value| {
        let (find, new) = (text(&row[1]), text(&row[2]));
        let crlf = find.is_empty();
        let changed = if crlf { base.replace('\n', "\r\n") } else { base.replacen(&find, &new, 1) };
        assert_ne!(changed, base, "{}", row[0]);
        (text(&row[0]), changed, row[5] == "fault")
    };
    rows("values")
        .into_iter()
        .map(value)
        .chain(rows("documents").into_iter().map(document))
        .collect()
}

/// The messages of `system-invalid` on each text, which is the YAML of a system of its own; empty without a finding.
fn messages(texts: &[&str]) -> Vec<String> {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6)]));
    for (i, text) in texts.iter().enumerate() {
        let text = text.replace("data/h200_sxm", &format!("data/s{i}"));
        tree.file(&format!("systems/s{i}.yaml"), text);
        tree.file(&format!("systems/data/s{i}/vllm/0.24.0/gemm_perf.txt"), gemm(&[(1, 0.5)]));
    }
    let run = tree.validate(&["--only", "system-invalid", "--format", "json"]);
    let mut by_path: BTreeMap<String, String> = BTreeMap::new();
    for finding in run.json()["findings"].as_array().expect("findings") {
        assert_eq!(finding["severity"], "error");
        let path = finding["path"].as_str().expect("a path").to_owned();
        by_path.entry(path).or_default().push_str(finding["message"].as_str().expect("a message"));
    }
    let message = |i| by_path.remove(&format!("systems/s{i}.yaml")).unwrap_or_default();
    (0..texts.len()).map(message).collect()
}

/// True for a message on what the loaders refuse or read differently.
fn is_of_loaders(message: &str) -> bool {
    ["PyYAML", "the planner's core", " is needed", "for the loaders"]
        .iter()
        .any(|w| message.contains(w))
}

#[test]
fn yaml_that_a_loader_refuses_or_that_two_loaders_read_differently_is_an_error() {
    let forms = forms();
    let texts: Vec<&str> = forms.iter().map(|(_, text, _)| text.as_str()).collect();
    let mut wrong = Vec::new();
    for ((name, _, is_fault), message) in forms.iter().zip(messages(&texts)) {
        if *is_fault && message.is_empty() || !is_fault && is_of_loaders(&message) {
            wrong.push(format!("{name}: {message}"));
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn the_suggested_spelling_is_read_equally_by_both_loaders() {
    let answers = answers();
    let base = answers["base"].as_str().expect("a base");
    let forms = forms();
    let texts: Vec<&str> = forms.iter().map(|(_, text, _)| text.as_str()).collect();
    let mut mended = Vec::new();
    for ((name, ..), message) in forms.iter().zip(messages(&texts)) {
        let hint =
            message.split_once("; write ").map(|(_, rest)| rest.split(';').next().expect("a hint"));
        let Some((path, hint)) = name.split_once(": ").map(|(path, _)| path).zip(hint) else {
            continue;
        };
        // The key of a map is not the value of the field.
        if path.contains('.') && path != "misc.nccl_mem" {
            mended.push(with(base, path, hint));
        }
    }
    assert!(mended.len() > 30, "{}", mended.len());
    let texts: Vec<&str> = mended.iter().map(String::as_str).collect();
    let still: Vec<String> =
        messages(&texts).into_iter().filter(|text| is_of_loaders(text)).collect();
    assert_eq!(still, [""; 0]);
}

#[test]
fn a_message_states_how_each_loader_reads_the_value() {
    let answers = answers();
    let base = answers["base"].as_str().expect("a base");
    let said = |path: &str, value: &str| messages(&[&with(base, path, value)]).remove(0);
    insta::assert_snapshot!(said("gpu.mem_bw", "864e9"), @"gpu.mem_bw: 864e9 is text for PyYAML (YAML 1.1) and the number 864000000000.0 for the planner's core (YAML 1.2); write 8.64e+11");
    insta::assert_snapshot!(said("gpu.mem_bw", "864_000_000_000"), @"gpu.mem_bw: 864_000_000_000 is the number 864000000000 for PyYAML (YAML 1.1), but the planner's core (YAML 1.2) needs a number; write 864000000000");
    insta::assert_snapshot!(said("gpu.sm_version", "89.0"), @"gpu.sm_version: 89.0 is the number 89.0 for PyYAML (YAML 1.1) and the planner's core (YAML 1.2), but a whole number from 0 to 4294967295 is needed; write 89");
    insta::assert_snapshot!(said("misc.nccl_mem", "[1, 2]"), @"misc.nccl_mem: it is a list, but a map whose keys are whole numbers is needed");
    insta::assert_snapshot!(said("misc.nccl_version", "2.27"), @"misc.nccl_version: 2.27 is the number 2.27 for PyYAML (YAML 1.1) and text for the planner's core (YAML 1.2); write '2.27'");
    insta::assert_snapshot!(said("gpu.mem_bw", "!x 1"), @"gpu.mem_bw: PyYAML (YAML 1.1) refuses the tag !x in line 3");
}

/// The messages on a file of a tree of GEMM.
fn on(path: &str, text: &str) -> String {
    let tree = Tree::new();
    let dir = "systems/data/h200_sxm/gemm/vllm";
    for version in ["0.22.0", "0.24.0"] {
        let meta = super::sidecar("gemm_perf").replace("0.24.0", version);
        tree.file(
            &format!("{dir}/{version}/gemm_perf.txt"),
            gemm(&[(1, 0.5)]).replace("0.24.0", version),
        );
        tree.file(&format!("{dir}/{version}/collection_meta.yaml"), meta);
    }
    tree.file(path, text);
    let rules = ["sidecar-invalid", "reuse-invalid", "facts-invalid"];
    let args = rules.iter().flat_map(|rule| ["--only", *rule]).chain(["--format", "json"]);
    let run: Run = tree.validate(&args.collect::<Vec<_>>());
    let findings = run.json()["findings"].clone();
    let messages = findings.as_array().expect("findings").iter();
    messages.map(|finding| finding["message"].as_str().expect("a message")).collect()
}

#[test]
fn sidecars_that_python_refuses_are_errors() {
    let meta = "systems/data/h200_sxm/gemm/vllm/0.24.0/collection_meta.yaml";
    let one = super::sidecar("gemm_perf");
    let dated = one.replace("complete}", "complete, collected_at: 2026-10-01, note: 1e5}");
    assert_eq!(on(meta, &dated), "", "schema 1 has no types");
    for (text, word) in [
        (one.replace("status: ", "status:\t"), "the tab"),
        (one.replace("status: ", "status: !x "), "the tag !x"),
        (one.replace("schema_version: 1", "schema_version: '1'"), "a number is needed"),
        (one.replace("complete}", "complete, note: 2026-02-31}"), "refuses 2026-02-31"),
        (format!("%FOO a\n---\n{one}"), "refuses %FOO a"),
    ] {
        let said = on(meta, &text);
        assert!(said.contains(word), "{text}\n{said}");
    }
    let two = "schema_version: 2\nruntime: {framework: vllm, version: 0.24.0}\ntables:\n  gemm_perf:\n    rows: 1\n    status: complete\n    collections:\n    - {collector_ref: abc, collector_hash: x, case_plan_hash: y, collected_at: '2026-10-01', rows: 1, status: complete}\n";
    assert_eq!(on(meta, two), "");
    for (from, to) in [
        ("'2026-10-01'", "2026-10-01"),
        ("abc", "1234567"),
        ("rows: 1,", "rows: 1.0,"),
        ("0.24.0", "0.24"),
    ] {
        let said = on(meta, &two.replace(from, to));
        assert!(!said.is_empty(), "{to}");
    }
    assert_eq!(on(meta, &two.replace("abc", "12e45")), "", "text for PyYAML, which alone looks");
}

#[test]
fn donors_that_a_loader_does_not_read_as_text_are_errors() {
    let reuse = "systems/data/h200_sxm/gemm/vllm/0.24.0/reuse.yaml";
    let text = "schema_version: 1\nreuse:\n- {table: gemm_perf, from_version: 0.22.0, reason: x, approved_by: me}\n";
    assert_eq!(on(reuse, text), "");
    let quoted = text.replace("reason: x", "reason: '1e5'").replace("me}", "!!str 7}");
    assert_eq!(on(reuse, &quoted), "");
    for value in ["0.22", "1e5", "2026-10-01", "yes", "0o17", "017", "1:30", "1_0", "true", "!x a"]
    {
        let said = on(reuse, &text.replace("reason: x", &format!("reason: {value}")));
        assert!(said.contains("reuse[0].reason"), "{value}: {said}");
    }
    let merged = text.replace("approved_by: me", "<<: {approved_by: me}");
    assert!(on(reuse, &merged).contains("ignores merge keys"), "{}", on(reuse, &merged));
}

#[test]
fn facts_that_python_refuses_or_cannot_find_are_errors() {
    let slots = |current: &str| {
        let text = format!("schema_version: 1\ndefaults:\n  vllm: {{current:{current}}}\n");
        on("systems/query_versions.yaml", &text)
    };
    assert_eq!(slots(" 0.24.0"), "");
    assert!(slots("\t0.24.0").contains("the tab"), "{}", slots("\t0.24.0"));
    let lanes = |version: &str, gpu: &str| {
        on("systems/attention_lane_defaults.yaml", &format!("vllm:\n  {version}: {{{gpu}: fa3}}\n"))
    };
    assert_eq!(lanes("0.24.0", "90"), "");
    assert_eq!(lanes("'0.24'", "90"), "");
    assert!(lanes("0.24", "90").contains("vllm: key 0.24"), "{}", lanes("0.24", "90"));
    assert!(lanes("0.24.0", "'90'").contains("vllm.0.24.0: key 90"), "{}", lanes("0.24.0", "'90'"));
}
