//! Whose settings count where the action judges a pull request.

use super::{act, indebted};
use crate::common::gemm;

/// A pull request that adds an error, and with it what would hide the error: a waiver, or a rule of its own.
#[test]
fn settings_that_a_pull_request_adds_do_not_hide_its_errors() {
    let (tree, before) = indebted();
    let bad = gemm(&[(1, 0.5), (0, 0.6), (0, 0.7), (2, -0.7)]);
    tree.gemm("gemm_perf.txt", bad);
    let waiver = "- rule: RULE\n  path: '**'\n  reason: r\n  evidence: e\n  approved_by: me\n  until: 2999-01-01\n";
    let mut waivers = "waivers:\n".to_owned();
    for rule in ["key-out-of-range", "duplicate-key", "latency-not-positive"] {
        waivers += &waiver.replace("RULE", rule);
        let text = std::fs::read_to_string(format!("rules/{rule}.yaml")).unwrap();
        let weaker = text.replacen("severity: error", "severity: info", 1);
        tree.file(&format!(".perfdb-gate/rules/{rule}.yaml"), weaker);
    }
    tree.file(".perfdb-gate/waivers.yaml", waivers);
    tree.commit();
    assert_eq!(tree.validate(&[]).code(), 0, "by its own settings nothing is wrong");

    let pull_request = [("github.base_ref", "main"), ("github.event.pull_request.number", "17")];
    let push = [("github.event.before", before.as_str())];
    for event in [&pull_request[..], &push] {
        for inputs in [&[][..], &[("gate", "all")], &[("head-ref", "HEAD")]] {
            let run = act(&tree, inputs, event);
            let verdict = run.outputs["verdict"].as_str();
            assert_eq!((run.code, verdict), (1, "failed"), "{inputs:?}: {}", run.log);
            assert_ne!(run.outputs["errors"], "0", "{}", run.log);
        }
    }
    // Merged, they count.
    tree.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    assert_eq!(act(&tree, &[], &pull_request).code, 0);
}
