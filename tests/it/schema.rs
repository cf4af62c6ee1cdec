//! The schemas that `schema` prints, against what the program reads and writes.

use std::path::{Path, PathBuf};

use crate::common::{Tree, gemm, json_schema, run};
use perfdb_gate::checks::rule::Rules;
use perfdb_gate::findings::waiver::Waivers;
use perfdb_gate::gpu::rerun::RerunList;
use perfdb_gate::specs::{Library, Specs};
use serde_json::{Value, json};

const WAIVERS: &str = "waivers:\n- rule: duplicate-key\n  path: '**/0.24.0/*'\n  where: rows <= 5\n  \
                       reason: r\n  evidence: e\n  approved_by: m\n  until: 2999-01-01\n";

fn schema(name: &str) -> Value {
    let printed = run(&["schema", name]);
    assert_eq!(printed.code(), 0, "{}", printed.err());
    serde_json::from_str(&printed.out()).unwrap()
}

fn yaml(text: &str) -> Value {
    serde_yaml::from_str(text).unwrap()
}

/// The shipped files of a folder that are rules or tables, with their texts.
fn shipped(folder: &str) -> Vec<(PathBuf, String)> {
    let rules = Rules::read(&Library::embedded()).unwrap();
    // What else lies beside rules has no id.
    let is_rule = |path: &Path| rules.contains(path.file_stem().unwrap().to_str().unwrap());
    let files = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path());
    let mut files: Vec<PathBuf> = files
        .filter(|p| p.extension().is_some_and(|e| e == "yaml"))
        .filter(|p| folder != "rules" || is_rule(p))
        .collect();
    files.sort();
    let read = |p: PathBuf| (p.clone(), std::fs::read_to_string(p).unwrap());
    files.into_iter().map(read).collect()
}

/// Every object of a document with an unknown field in it, one at a time.
fn misspelt(document: &Value) -> Vec<Value> {
    fn places(value: &Value, at: String, found: &mut Vec<String>) {
        match value {
            Value::Object(map) => {
                for (name, value) in map {
                    let name = name.replace('~', "~0").replace('/', "~1");
                    places(value, format!("{at}/{name}"), found);
                }
                found.push(at);
            }
            Value::Array(items) => {
                let items = items.iter().enumerate();
                items.for_each(|(i, item)| places(item, format!("{at}/{i}"), found));
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    places(document, String::new(), &mut found);
    let spoil = |at: String| {
        let mut copy = document.clone();
        copy.pointer_mut(&at).unwrap()["misspelt"] = json!("int");
        copy
    };
    found.into_iter().map(spoil).collect()
}

/// The schema refuses an unknown field where the program does, and nowhere else.
fn agree(schema: &Value, document: &Value, read: impl Fn(&str) -> Result<(), String>) -> usize {
    assert_eq!(json_schema::faults(schema, document), Vec::<String>::new());
    let mut refused = 0;
    for wrong in misspelt(document) {
        let error = read(&wrong.to_string()).err();
        let faults = json_schema::faults(schema, &wrong);
        // The program also refuses formulas that read what is not there; no schema can tell that.
        let unknown = error.as_ref().is_some_and(|e| e.contains("unknown field"));
        assert!(!unknown || !faults.is_empty(), "only the program refuses: {error:?}");
        assert!(faults.is_empty() || error.is_some(), "only the schema refuses: {faults:?}");
        refused += usize::from(!faults.is_empty());
    }
    refused
}

#[test]
fn shipped_rules_and_tables_match_their_schemas_and_misspelt_ones_do_not() {
    for (name, folder) in
        [("rule", "rules"), ("tables", "rules/tables"), ("layout", "rules/layouts")]
    {
        let schema = schema(name);
        let files = shipped(folder);
        assert!(files.len() > 2, "{folder}");
        for (path, text) in files {
            let inside = path.strip_prefix("rules").unwrap().display().to_string();
            let read = |text: &str| {
                let mut library = Library::embedded();
                library.add(&inside, &inside, text.to_owned());
                Rules::read(&library).and(Specs::read(library).map(drop)).map_err(|e| e.message)
            };
            let refused = agree(&schema, &yaml(&text), read);
            assert!(refused >= 2, "{} refused {refused}", path.display());
        }
    }
}

#[test]
fn waivers_match_their_schema_and_misspelt_ones_do_not() {
    let read = |text: &str| Waivers::parse("w", text).map(drop).map_err(String::from);
    assert_eq!(agree(&schema("waivers"), &yaml(WAIVERS), read), 2);
    // What is left out is missed by both.
    let unsigned = WAIVERS.replace("  approved_by: m\n", "");
    assert!(read(&unsigned).is_err());
    assert!(!json_schema::faults(&schema("waivers"), &yaml(&unsigned)).is_empty());
}

#[test]
fn rerun_lists_match_their_schema() {
    const LIST: &str = "schema: perfdb-gate/rerun/v1\nabout: synthetic\noperations:\n- system: h200_sxm\n  family: gemm\n  backend: vllm\n  version: 0.24.0\n  table: gemm_perf\n  points:\n  - {key: {m: 1}, reason: r, latency_ms: 0.5}\n";
    let read = |text: &str| RerunList::parse(text).map(drop).map_err(String::from);
    assert!(agree(&schema("rerun"), &yaml(LIST), read) >= 3);
}

#[test]
fn json_reports_match_their_schema() {
    let schema = schema("report");
    let fits =
        |report: &Value| assert_eq!(json_schema::faults(&schema, report), Vec::<String>::new());
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6)]));
    tree.commit();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (0, 0.6)]));
    tree.file(".perfdb-gate/waivers.yaml", WAIVERS.replace("duplicate-key", "key-out-of-range"));
    let validate = tree.validate(&["--format", "json"]).json();
    assert!(!validate["findings"][0]["examples"].as_array().unwrap().is_empty());
    fits(&validate);
    let sanity = tree.sanity(&["--base-ref", "main"]).json();
    assert!(!sanity["diff"].as_array().unwrap().is_empty());
    fits(&sanity);
    // Figures of a sample of which nothing is judged are figures, too.
    for answer in ["", r#",\"proxy\":\"another kernel\""#] {
        let answers = format!(r#"echo "{{\"id\":$i,\"samples_ms\":[9]{answer}}}"; i=$((i+1))"#);
        let command = format!(
            r#"read l; echo '{{"device":"NVIDIA H200"}}'; i=0; while read l; do {answers}; done"#
        );
        let root = tree.path().display().to_string();
        let args = ["remeasure", "--root", &root, "--format", "json", "--device", "process"];
        let measured = run(&[&args[..], &["--command", &command]].concat()).json();
        assert_eq!(measured["remeasure"]["tables"][0]["verdict"], "INCONCLUSIVE", "{measured}");
        fits(&measured);
    }

    let mut wrong = validate;
    wrong["findings"][0]["rows"] = json!("two");
    assert!(!json_schema::faults(&schema, &wrong).is_empty());
}

/// The examples of a page: what follows a fence ```json NAME, a document each.
fn examples(page: &str, name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(page).unwrap();
    let fence = format!("```json {name}\n");
    let blocks = text.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.map(|block| serde_json::from_str(block).unwrap()).collect()
}

#[test]
fn the_example_lines_of_the_runner_protocol_match_its_schema_and_others_do_not() {
    let schema = schema("runner");
    let mut seen = 0;
    for name in ["hello", "about", "request", "reply"] {
        for line in examples("docs/runner-protocol.md", name) {
            assert_eq!(json_schema::faults(&schema, &line), Vec::<String>::new(), "{line}");
            seen += 1;
        }
    }
    assert_eq!(seen, 7);
    for wrong in [json!({"id": 0}), json!({"id": 0, "samples_ms": "fast"}), json!([1])] {
        assert!(!json_schema::faults(&schema, &wrong).is_empty(), "{wrong}");
    }
}
