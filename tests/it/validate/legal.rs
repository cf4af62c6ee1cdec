//! A corpus of legal oddities: small trees that look strange, each with the physics or the habit that explains it. No rule
//! warns about them.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::common::Tree;

/// A legal oddity.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Oddity {
    /// The physics, or the habit of collectors, that explains the rows.
    reason: String,
    /// Where that is known from.
    source: String,
    /// The texts of the tables by path.
    files: BTreeMap<String, String>,
}

#[test]
fn legal_peculiarities_of_databases_have_no_warning() {
    let folder = std::fs::read_dir("tests/it/fixtures/legal").unwrap();
    let mut count = 0;
    for file in folder.map(|entry| entry.unwrap().path()) {
        let oddity: Oddity =
            serde_yaml::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        assert!(!oddity.reason.is_empty() && !oddity.source.is_empty(), "{}", file.display());
        let tree = Tree::new();
        for (path, rows) in &oddity.files {
            tree.file(path, rows.clone());
        }
        let run = tree.validate(&["--format", "json"]);
        let json = run.json();
        // The rows are only tables: nothing states their origin.
        let found = json["findings"].as_array().unwrap().iter();
        let found = found.filter(|f| f["severity"] != "info" && f["rule"] != "sidecar-missing");
        let found: Vec<String> =
            found.map(|f| format!("{}: {}", f["rule"], f["message"])).collect();
        assert!(found.is_empty(), "{}: {found:#?}", file.display());
        count += 1;
    }
    assert!(count >= 10, "{count} oddities");
}
