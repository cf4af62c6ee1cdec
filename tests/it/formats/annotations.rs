//! Annotations of GitHub Actions.

use super::{assert_plain, hostile, list, validate};
use crate::common::{Tree, gemm};
use std::collections::BTreeSet;

/// Kind, properties, message.
type Annotation = (String, Vec<(String, String)>, String);

/// Reads annotations by the runner's grammar.
fn annotations(text: &str) -> Vec<Annotation> {
    let undo = |text: &str| text.replace("%3A", ":").replace("%2C", ",").replace("%25", "%");
    let read = |line: &str| {
        let (head, message) = line.strip_prefix("::")?.split_once("::")?;
        let (kind, properties) = head.split_once(' ')?;
        let properties = properties.split(',').map(|p| p.split_once('='));
        let properties: Option<Vec<_>> =
            properties.map(|p| p.map(|(k, v)| (k.to_owned(), undo(v)))).collect();
        Some((kind.to_owned(), properties?, undo(message)))
    };
    text.lines().map(|line| read(line).unwrap_or_else(|| panic!("{line}"))).collect()
}

#[test]
fn github_annotations_equal_the_findings_that_are_not_waived() {
    let tree = hostile();
    let text = validate(&tree, "github", &[]).out();
    assert_plain(&text);
    let json = validate(&tree, "json", &[]).json();
    let read = annotations(&text);
    let of = |kind: &str| read.iter().filter(|(k, ..)| k == kind).count() as u64;
    assert_eq!(of("error"), json["summary"]["errors"].as_u64().unwrap(), "{text}");
    assert_eq!(of("warning"), json["summary"]["warnings"].as_u64().unwrap(), "{text}");
    assert_eq!(of("notice"), 1, "{text}");
    let messages: BTreeSet<&str> = list(&json["findings"])
        .iter()
        .filter(|f| f["waived_by"].is_null())
        .filter_map(|f| f["message"].as_str())
        .collect();
    for (kind, properties, message) in read.iter().filter(|(k, ..)| k != "notice") {
        let names: Vec<&str> = properties.iter().map(|(name, _)| name.as_str()).collect();
        assert!(matches!(names[..], ["file", "title"] | ["file", "line", "title"]), "{kind}");
        assert!(messages.contains(&**message) || message.contains("\\u{"), "{message}");
    }
}

#[test]
fn github_annotations_stop_at_the_limit_of_github() {
    let tree = Tree::new();
    for version in 0..13 {
        let path = format!("systems/data/h200_sxm/vllm/0.{version}/gemm_perf.txt");
        tree.file(&path, gemm(&vec![(0, 0.5); version + 1]));
    }
    let run = validate(&tree, "github", &["--only", "key-out-of-range"]);
    let read = annotations(&run.out());
    let errors: Vec<_> = read.iter().filter(|(kind, ..)| kind == "error").collect();
    assert_eq!((run.code(), errors.len()), (1, 10));
    assert!(errors[0].1[0].1.contains("/0.12/"), "most rows first: {errors:?}");
    let (kind, _, notice) = read.last().unwrap();
    assert_eq!(kind, "notice");
    insta::assert_snapshot!(notice, @"13 errors, 0 warnings, 0 infos in 13 files; checked 13 tables, 91 rows; not shown as annotations: 3 more errors");
}
