//! Findings that a pull request adds, and existing ones.

use super::{FAMILY, FLAT, POINTER, human, repository};
use crate::common::{self, Tree, gemm};

/// What the files on disk bring and leave: `rule severity path rows`, old ones after a `was`.
/// Paths begin below the systems' data.
fn news(tree: &Tree, args: &[&str]) -> Vec<String> {
    let run = tree.sanity(&[&["--base-ref", "main"], args].concat());
    let json = run.json();
    let findings = json["findings"].as_array().unwrap_or_else(|| panic!("{}", run.err()));
    let text = |f: &serde_json::Value, name: &str| f[name].as_str().unwrap().to_owned();
    let mut told: Vec<String> = findings
        .iter()
        .map(|f| {
            let path = text(f, "path").replace("systems/data/h200_sxm/", "");
            let was = if f["new"] == true { "" } else { "was " };
            let waived = if f["waived_by"].is_null() { "" } else { " waived" };
            let (rule, severity) = (text(f, "rule"), text(f, "severity"));
            format!("{was}{rule} {severity} {path} {}{waived}", f["rows"])
        })
        .collect();
    told.sort();
    let failed = findings
        .iter()
        .any(|f| f["new"] == true && f["severity"] == "error" && f["waived_by"].is_null());
    assert_eq!(run.code(), i32::from(failed), "{told:?}");
    told
}

#[test]
fn a_finding_is_split_into_new_and_existing_rows() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.0), (2, 0.6), (3, -1.0)]));
    tree.commit();
    // A bad row stays, one is mended, a good one turns bad and a bad one comes, before the others.
    tree.gemm("gemm_perf.txt", gemm(&[(4, 0.0), (1, 0.0), (2, -0.6), (3, 1.0), (5, 0.9)]));
    let path = "vllm/0.24.0/gemm_perf.txt";
    assert_eq!(
        news(&tree, &[]),
        [
            format!("latency-not-positive error {path} 2"),
            format!("was latency-not-positive error {path} 1"),
        ]
    );
    let run = tree.sanity(&["--base-ref", "main"]);
    let json = run.json();
    assert_eq!(json["findings"][0]["examples"][0]["row"], 0);
    assert_eq!(json["findings"][1]["examples"][0]["row"], 1);
    assert_eq!(json["summary"]["errors"], 1, "old debt does not count");
    assert_eq!(json["summary"]["baselined"], 0);
    // Without the new ones there is debt alone.
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.0), (2, 0.6), (3, -1.0), (5, 0.9)]));
    assert_eq!(news(&tree, &[]), [format!("was latency-not-positive error {path} 2")]);
    // Of what was there before no row is shown.
    insta::assert_snapshot!(human(&tree).shown(), @"
    $ perfdb-gate sanity --root [tmp] --base-ref main
    modified  systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt
        +1 -0 ~0 rows, 3 → 4
    Rows added: 1 table (gemm) of h200_sxm vllm 0.24.0; 1 new key; the 3 existing keys keep their latencies
    Change: append-only; tables: 1 modified; rows: 1 added, 0 removed, 0 changed

    existing findings: 1 (1 latency-not-positive); --format json lists them

    0 new errors, 0 new warnings, 0 new infos; tables: 1 modified; rows: 1 added, 0 removed, 0 changed; compared in [seconds] s
    (exit 0)
    ");
}

#[test]
fn an_added_copy_is_the_duplicate_at_any_position() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6), (2, 0.61)]));
    tree.commit();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.52), (1, 0.5), (2, 0.6), (2, 0.61), (3, 0.7)]));
    let path = "vllm/0.24.0/gemm_perf.txt";
    assert_eq!(
        news(&tree, &[]),
        [format!("duplicate-key warning {path} 1"), format!("was duplicate-key warning {path} 1")]
    );
}

#[test]
fn a_defect_of_a_whole_file_is_not_new_if_the_base_has_it() {
    let with = |columns: &str, rows: &[(u64, f64)]| {
        let cells = ",x".repeat(columns.matches(',').count());
        gemm(rows).replace('\n', &format!("{cells}\n")).replacen(&cells, columns, 1)
    };
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", with(",note", &[(1, 0.5), (2, 0.6)]));
    tree.commit();
    let path = "vllm/0.24.0/gemm_perf.txt";
    tree.gemm("gemm_perf.txt", with(",note", &[(1, 0.5), (2, 0.6), (3, 0.7)]));
    assert_eq!(news(&tree, &[]), [format!("was header-mismatch warning {path} 3")]);
    tree.gemm("gemm_perf.txt", with(",note,mood", &[(1, 0.5), (2, 0.6)]));
    let found = format!("header-mismatch warning {path} 2");
    assert_eq!(news(&tree, &[]), [found.clone(), format!("was {found}")], "one for each column");
    // The same in another place is the same; one that comes anew is not.
    tree.remove(&format!("{FLAT}/gemm_perf.txt"));
    tree.file(&format!("{FAMILY}/gemm_perf.txt"), with(",note", &[(1, 0.5), (2, 0.6)]));
    let moved = "was header-mismatch warning gemm/vllm/0.24.0/gemm_perf.txt 2";
    assert!(news(&tree, &[]).contains(&moved.to_owned()), "{:?}", news(&tree, &[]));
    tree.rename(
        &format!("{FAMILY}/gemm_perf.txt"),
        "systems/data/h200_sxm/gemm/vllm/0.25.0/gemm_perf.txt",
    );
    // Of another version the rows are judged anew, and the same finding was there, too.
    let moved = "was header-mismatch warning gemm/vllm/0.25.0/gemm_perf.txt 2";
    assert!(news(&tree, &[]).contains(&moved.to_owned()), "{:?}", news(&tree, &[]));
}

#[test]
fn rows_moved_to_another_version_are_judged_at_the_new_version() {
    let tree = repository();
    tree.rename(
        &format!("{FLAT}/gemm_perf.txt"),
        "systems/data/h200_sxm/vllm/0.19.0/gemm_perf.txt",
    );
    assert_eq!(news(&tree, &[]), ["version-mismatch warning vllm/0.19.0/gemm_perf.txt 2"]);
}

#[test]
fn an_lfs_pointer_is_new_if_it_replaces_a_table_and_not_if_it_replaces_a_pointer() {
    let tree = repository();
    tree.gemm("moe_perf.txt", POINTER);
    tree.commit();
    tree.gemm("gemm_perf.txt", POINTER);
    tree.gemm("moe_perf.txt", POINTER.replace("295f", "395f"));
    assert_eq!(news(&tree, &[]), ["lfs-pointer error vllm/0.24.0/gemm_perf.txt 0"]);
}

#[test]
fn the_added_table_is_the_copy_of_the_existing_one() {
    let rows: Vec<(u64, f64)> = (1..60).map(|m| (m, 0.01 + 0.0137 * m as f64)).collect();
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&rows));
    tree.commit();
    // Its path comes first, and its rows name no version that tells them apart.
    let text = gemm(&rows).replace("VLLM,0.24.0", "SGLang,0.5.14");
    tree.file("systems/data/h200_sxm/sglang/0.5.14/gemm_perf.txt", text);
    let copied = "copied-table error sglang/0.5.14/gemm_perf.txt 59";
    assert_eq!(news(&tree, &["--only", "copied-table"]), [copied]);
    // Once it is there, rows that come beside it make it no newer.
    tree.commit();
    let more: Vec<(u64, f64)> = rows.iter().copied().chain([(99, 2.0)]).collect();
    let text = gemm(&more).replace("VLLM,0.24.0", "SGLang,0.5.14");
    tree.file("systems/data/h200_sxm/sglang/0.5.14/gemm_perf.txt", text);
    assert_eq!(news(&tree, &["--only", "copied-table"]), [format!("was {copied}")]);
}

#[test]
fn a_changed_original_does_not_become_the_copy() {
    let rows: Vec<(u64, f64)> = (1..60).map(|m| (m, 0.01 + 0.0137 * m as f64)).collect();
    let tree = Tree::new();
    // Both name another version than their folder's, so neither is the copy by what it says.
    let named = |rows: &[(u64, f64)]| gemm(rows).replace("0.24.0", "0.11.0");
    tree.gemm("gemm_perf.txt", named(&rows));
    tree.commit();
    let other = "systems/data/h200_sxm/sglang/0.5.14/gemm_perf.txt";
    tree.file(other, named(&rows).replace("VLLM", "SGLang"));
    tree.commit();
    // One row is corrected and one comes, which names that version, too: of its rule there are two findings.
    let mut touched = rows.clone();
    touched[7].1 *= 1.01;
    touched.push((99, 2.0));
    tree.gemm("gemm_perf.txt", named(&touched));
    assert_eq!(news(&tree, &["--only", "copied-table"]), [""; 0]);
}

#[test]
fn a_deletion_makes_findings_on_dependent_tables_new() {
    let of = |version: &str| format!("systems/data/h200_sxm/gemm/vllm/{version}");
    let tree = Tree::new();
    let reuse = "schema_version: 1\nreuse:\n- {table: gemm_perf, from_version: 0.19.0, reason: the same kernels, approved_by: me}\n";
    tree.file(
        &format!("{}/gemm_perf.txt", of("0.19.0")),
        gemm(&[(1, 0.5)]).replace("0.24.0", "0.19.0"),
    );
    tree.file(&format!("{}/reuse.yaml", of("0.24.0")), reuse);
    tree.commit();
    tree.remove(&format!("{}/gemm_perf.txt", of("0.19.0")));
    let told = "reuse-invalid error gemm/vllm/0.24.0/reuse.yaml 0";
    assert_eq!(news(&tree, &["--only", "reuse-invalid"]), [told]);
    // A second donor that is not there is new beside the first.
    tree.commit();
    let second =
        "- {table: gemm_perf, from_version: 0.18.0, reason: the same kernels, approved_by: me}\n";
    tree.file(&format!("{}/reuse.yaml", of("0.24.0")), reuse.to_owned() + "# again\n");
    assert_eq!(news(&tree, &["--only", "reuse-invalid"]), [format!("was {told}")]);
    tree.file(&format!("{}/reuse.yaml", of("0.24.0")), reuse.to_owned() + second);
    assert_eq!(news(&tree, &["--only", "reuse-invalid"]), [told]);
}

#[test]
fn changed_system_figures_make_findings_on_unchanged_rows_new() {
    let tree = repository();
    let yaml = common::H200.replace("../data/", "data/");
    tree.file("systems/h200_sxm.yaml", yaml.replace("NVIDIA H200\"", "NVIDIA X1\""));
    let told = "device-mismatch error vllm/0.24.0/gemm_perf.txt 2";
    assert_eq!(news(&tree, &["--only", "device-mismatch"]), [told]);
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.7)]));
    assert_eq!(news(&tree, &["--only", "device-mismatch"]), [told]);
}

#[test]
fn a_waiver_added_by_a_pull_request_does_not_apply_to_it() {
    let waiver = |condition: &str| {
        format!(
            "waivers:\n- rule: latency-not-positive\n  path: \"**/gemm_perf.txt\"\n  where: {condition}\n  reason: x\n  evidence: x\n  approved_by: me\n  until: 2999-01-31\n"
        )
    };
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.0), (2, 0.0), (3, 0.5)]));
    tree.commit();
    tree.file(".perfdb-gate/waivers.yaml", waiver("rows <= 9"));
    tree.file(".perfdb-gate/rules/latency-not-positive.yaml", "id: nonsense\n");
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.0), (2, 0.0), (3, 0.0)]));
    let path = "vllm/0.24.0/gemm_perf.txt";
    let split = |mark: &str| {
        vec![
            format!("latency-not-positive error {path} 1{mark}"),
            format!("was latency-not-positive error {path} 2{mark}"),
        ]
    };
    let broken = "facts-invalid error .perfdb-gate/rules/latency-not-positive.yaml 0".to_owned();
    assert_eq!(news(&tree, &[]), [vec![broken], split("")].concat());
    // From the base it holds, for as many rows as it is signed for: both halves together.
    tree.remove(".perfdb-gate/rules/latency-not-positive.yaml");
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.0), (2, 0.0), (3, 0.5)]));
    tree.commit();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.0), (2, 0.0), (3, 0.0)]));
    assert_eq!(news(&tree, &[]), split(" waived"));
    tree.file(".perfdb-gate/waivers.yaml", waiver("rows <= 2"));
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.0), (2, 0.0), (3, 0.5)]));
    tree.commit();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.0), (2, 0.0), (3, 0.0)]));
    assert_eq!(news(&tree, &[]), split(""));
}

#[test]
fn a_baseline_covers_a_number_of_new_and_existing_rows_together() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.0), (2, 0.0), (3, 0.5)]));
    let baseline = tree.path().join(".perfdb-gate/baseline.json").display().to_string();
    std::fs::create_dir(tree.path().join(".perfdb-gate")).unwrap();
    tree.validate(&["--write-baseline", &baseline]);
    tree.commit();
    let path = "vllm/0.24.0/gemm_perf.txt";
    // As many as were known, another row among them.
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.0), (2, 0.6), (3, 0.0)]));
    let run = tree.sanity(&["--base-ref", "main"]);
    assert_eq!((run.code(), run.json()["summary"]["baselined"].clone()), (0, 1.into()));
    // More.
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.0), (2, 0.0), (3, 0.0)]));
    assert!(news(&tree, &[]).contains(&format!("latency-not-positive error {path} 1")));
}

#[test]
fn options_select_the_failing_severity_and_the_rules() {
    let tree = repository();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6), (2, 0.61)]));
    let code = |args: &[&str]| tree.sanity(&[&["--base-ref", "main"], args].concat()).code();
    assert_eq!(code(&[]), 0);
    assert_eq!(code(&["--fail-on", "warning"]), 1);
    assert_eq!(code(&["--fail-on", "warning", "--skip", "duplicate-key"]), 0);
    assert_eq!(code(&["--only", "duplicate-kye"]), 2);
}

/// A sidecar that a pull request changes makes findings new that read it, and no others.
#[test]
fn a_finding_is_new_if_the_sidecar_that_its_condition_reads_changed() {
    let tree = repository();
    let rule = |id: &str, condition: &str| {
        let text = format!(
            "id: {id}\nseverity: error\nsummary: s\nwhat: w\nwhy: w\ninstead: i\ncheck:\n  where:\n    condition: {condition}\n    says: x\n\
             bad: {{files: {{}}}}\ngood: {{files: {{}}}}\n"
        );
        tree.file(&format!(".perfdb-gate/rules/{id}.yaml"), text);
    };
    rule("own-status", "sidecar.status = 'partial'");
    rule("own-size", "m > 1 AND coalesce(sidecar.note, '') <> 'x'");
    let sidecar = |status: &str| {
        let text = format!(
            "schema_version: 1\nruntime: {{framework: vllm, version: 0.24.0}}\ntables:\n  gemm_perf: {{status: {status}}}\n"
        );
        tree.file(&format!("{FLAT}/collection_meta.yaml"), text);
    };
    sidecar("complete");
    tree.commit();
    sidecar("partial");
    let run = tree.sanity(&["--base-ref", "main", "--fail-on", "never"]);
    // The other finding was there before.
    assert_eq!(run.findings(), [format!("own-status error {FLAT}/gemm_perf.txt")]);
}
