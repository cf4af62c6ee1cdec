//! `validate` as users run it: selection, exit codes, output, sources.

mod conditions;
mod curves;
mod judged;
mod legal;
mod rules;
mod sources;
mod stored;
mod tables;

use crate::common::snapshot::{redact, shown};
use crate::common::{self, SHIPPED, Tree, gemm, run};

fn clean() -> Tree {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6)]));
    tree
}

fn faulty() -> Tree {
    let tree = clean();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.0)]));
    tree
}

#[test]
fn exit_codes_follow_the_findings_in_every_format() {
    for format in ["human", "json"] {
        assert_eq!(clean().validate(&["--format", format]).code(), 0);
        assert_eq!(faulty().validate(&["--format", format]).code(), 1);
        assert_eq!(faulty().validate(&["--format", format, "--fail-on", "never"]).code(), 0);
    }
    let warned = Tree::new();
    warned.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (1, 0.5)]));
    assert_eq!(warned.validate(&[]).code(), 0);
    assert_eq!(warned.validate(&["--fail-on", "warning"]).code(), 1);
}

/// A system's YAML is a file that was judged, and no table of it was.
#[test]
fn a_system_without_tables_never_passes() {
    let tree = Tree::new();
    let l4 = std::fs::read_to_string("systems/l4.yaml").expect("a shipped system");
    tree.file("systems/l4.yaml", l4.replace("../data/", "data/"));
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5)]));
    let all = tree.validate(&[]);
    assert_eq!(all.code(), 0, "{}", all.out());
    let l4 = tree.validate(&["--system", "l4"]);
    assert_eq!(l4.code(), 3, "{}", l4.out());
    // Rules on systems find what they look for.
    let systems = tree.validate(&["--system", "l4", "--only", "system-invalid"]);
    assert_eq!(systems.code(), 0, "{}", systems.out());
    insta::assert_snapshot!(shown([&all, &l4, &systems]), @"
    $ perfdb-gate validate --root [tmp]
    0 errors, 0 warnings, 0 infos; checked 1 table, 1 row in [seconds] s
    (exit 0)

    $ perfdb-gate validate --root [tmp] --system l4
    nothing was checked: 0 errors, 0 warnings, 0 infos; checked 0 tables, 0 rows in [seconds] s
    (exit 3)

    $ perfdb-gate validate --root [tmp] --system l4 --only system-invalid
    0 errors, 0 warnings, 0 infos; checked 1 file, 0 rows in [seconds] s
    (exit 0)
    ");
}

#[test]
fn a_run_that_checked_nothing_never_passes() {
    let tree = Tree::new();
    let run = tree.validate(&["--only", "duplicate-key", "--backend", "*"]);
    assert_eq!(run.code(), 2, "{}", run.err());
    let other = clean();
    other.commit();
    let since = other.validate(&["--since", "HEAD"]);
    assert_eq!(since.code(), 3);
    insta::assert_snapshot!(shown([&run, &since]), @"
    $ perfdb-gate validate --root [tmp] --only duplicate-key --backend *
    2> perfdb-gate: no backend matches '*'
    2> hint: there are no backends
    (exit 2)

    $ perfdb-gate validate --root [tmp] --since HEAD
    nothing was checked: 0 errors, 0 warnings, 0 infos; checked 0 tables, 0 rows in [seconds] s
    (exit 3)
    ");
}

#[test]
fn a_folder_without_a_database_is_an_error_with_a_hint() {
    let tree = tempfile::TempDir::new().unwrap();
    let empty = run(&["validate", "--root", &tree.path().display().to_string()]);
    assert_eq!(empty.code(), 2);
    let missing = run(&["validate", "--root", "/no/such/folder"]);
    assert_eq!(missing.code(), 2);
    insta::assert_snapshot!(shown([&empty, &missing]), @"
    $ perfdb-gate validate --root [tmp]
    2> perfdb-gate: no perf database found
    2> hint: --root takes a repository or folder that contains systems/<system>.yaml and the data
    (exit 2)

    $ perfdb-gate validate --root /no/such/folder
    2> perfdb-gate: cannot open /no/such/folder: No such file or directory (os error 2)
    2> hint: --root takes a repository or a folder that holds a perf database
    (exit 2)
    ");
}

#[test]
fn unknown_names_are_refused_with_the_existing_names() {
    let runs = [
        ("--system", "h20_sxm"),
        ("--backend", "vlm"),
        ("--version", "0.24.1"),
        ("--table", "gem"),
        ("--only", "duplicate-keys"),
        ("--skip", "duplicates"),
    ]
    .map(|(flag, name)| clean().validate(&[flag, name]));
    for run in &runs {
        assert_eq!((run.code(), run.out().as_str()), (2, ""), "{}", run.shown());
    }
    insta::assert_snapshot!(shown(&runs));
}

#[test]
fn selection_takes_globs_and_short_table_names() {
    let tree = faulty();
    let bad = "systems/data/h200_sxm/sglang/0.5.14/moe_perf.parquet";
    tree.file(bad, "nothing of the kind");
    let only = |args: &[&str]| {
        let mut all = vec!["--format", "json"];
        all.extend(args);
        tree.validate(&all).findings()
    };
    assert_eq!(only(&[]).len(), 2);
    assert_eq!(only(&["--backend", "sg*"]), [format!("table-unreadable error {bad}")]);
    assert_eq!(only(&["--table", "moe"]), [format!("table-unreadable error {bad}")]);
    assert_eq!(only(&["--version", "0.24.*"]).len(), 1);
    assert_eq!(only(&["--only", "table-unreadable"]).len(), 1);
    assert_eq!(only(&["--skip", "table-unreadable"]).len(), 1);
}

#[test]
fn the_validate_report_is_the_same_for_any_number_of_threads() {
    let tree = faulty();
    for name in ["moe_perf", "context_mla_perf", "nccl_perf", "kda_perf"] {
        tree.gemm(&format!("{name}.parquet"), SHIPPED);
        tree.gemm(&format!("{name}.txt"), gemm(&[(1, 0.0), (1, 0.2)]));
    }
    let one = tree.validate(&["--format", "json", "--threads", "1"]).json();
    for threads in ["2", "7"] {
        assert_eq!(tree.validate(&["--format", "json", "--threads", threads]).json(), one);
    }
}

#[test]
fn an_output_file_is_written_completely_or_not_at_all() {
    let tree = faulty();
    let report = tree.path().join("report.json").display().to_string();
    let run = tree.validate(&["--format", "json", "--output", &report]);
    assert_eq!((run.code(), run.out().as_str()), (1, ""));
    let text = std::fs::read_to_string(&report).unwrap();
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&text).unwrap()["schema"],
        "perfdb-gate/v1"
    );

    let nowhere = tree.path().join("no/such/report.json").display().to_string();
    let run = tree.validate(&["--output", &nowhere]);
    assert_eq!(run.code(), 2);
    insta::assert_snapshot!(run.shown(), @"
    $ perfdb-gate validate --root [tmp] --output [tmp]/no/such/report.json
    2> perfdb-gate: cannot write [tmp]/no/such/report.json: the folder [tmp]/no/such does not exist
    2> hint: `mkdir -p [tmp]/no/such` creates it
    (exit 2)
    ");
    // A run that fails leaves no report behind.
    let missing = tree.path().join("missing.json").display().to_string();
    assert_eq!(tree.validate(&["--ref", "none", "--output", &missing]).code(), 2);
    assert!(!std::path::Path::new(&missing).exists());
}

#[test]
fn a_closed_output_pipe_is_not_a_failure() {
    use std::process::Stdio;
    let tree = faulty();
    let mut child = common::command()
        .args(["validate", "--root", &tree.path().display().to_string()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let out = child.wait_with_output().unwrap();
    assert_eq!((out.status.code(), out.stderr.len()), (Some(1), 0), "{out:?}");
}

#[test]
fn the_human_report_equals_its_snapshot() {
    let tree = faulty();
    tree.gemm("moe_perf.parquet", "");
    insta::assert_snapshot!(tree.validate(&[]).shown(), @"
    $ perfdb-gate validate --root [tmp]
    systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt
      error   latency-not-positive: latency is zero in 1 row
          line 3: gemm_dtype=bfloat16 m=2 n=128 k=128 → latency=0

    systems/data/h200_sxm/vllm/0.24.0/moe_perf.parquet
      error   table-unreadable: cannot be read: the file is empty, 0 bytes

    latency-not-positive: Remove the rows and collect their points again.
    table-unreadable: Damaged table: fetch or collect it again; if it came through git, compare its object with the one that was pushed. No permission: make the file readable. Stale sha256: update it once you know that the table is right.
    `perfdb-gate explain RULE` explains a rule, `perfdb-gate waive` accepts a finding

    2 errors, 0 warnings, 0 infos in 2 files; checked 2 tables, 2 rows in [seconds] s
    (exit 1)
    ");
}

#[test]
fn the_shipped_data_has_no_finding_besides_power_coverage() {
    let run = run(&["validate", "--root", ".", "--system", "h200_sxm", "--format", "json"]);
    // Power was measured at a sample of the points.
    let mut found = run.findings();
    found.retain(|finding| !finding.starts_with("power-coverage info"));
    assert_eq!(found, [] as [&str; 0]);
    assert_eq!(run.json()["summary"]["rows"], 2736);
}

#[test]
fn a_run_with_no_rule_left_is_refused() {
    let run = clean().validate(&["--only", "torn-row", "--skip", "torn-row"]);
    assert_eq!(run.code(), 2);
    insta::assert_snapshot!(run.shown(), @"
    $ perfdb-gate validate --root [tmp] --only torn-row --skip torn-row
    2> perfdb-gate: no rule is left to run
    2> hint: --skip excludes every rule that --only selects
    (exit 2)
    ");
}

#[test]
fn findings_of_the_baseline_are_known_and_further_rows_are_new() {
    let tree = faulty();
    let file = tree.path().join("baseline.json").display().to_string();
    assert_eq!(tree.validate(&["--write-baseline", &file]).code(), 1);
    let known = tree.validate(&["--baseline", &file, "--format", "json"]);
    assert_eq!((known.code(), &known.json()["summary"]["baselined"]), (0, &1.into()));
    assert_eq!(known.finding("latency-not-positive")["new"], false);
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.0), (2, 0.0)]));
    assert_eq!(tree.validate(&["--baseline", &file]).code(), 1);
    // In its place in the repository it holds without being named, in a commit too.
    tree.file(".perfdb-gate/baseline.json", std::fs::read(&file).unwrap());
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.0)]));
    assert_eq!(tree.validate(&[]).code(), 0);
    tree.commit();
    assert_eq!(tree.validate(&["--ref", "HEAD"]).code(), 0);
}

#[cfg(unix)]
#[test]
fn output_to_a_device_or_link_does_not_replace_it() {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
    let tree = faulty();
    let device = tree.validate(&["--output", "/dev/null"]);
    assert_eq!(device.code(), 1);
    assert!(std::fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    let target = tree.file("target.txt", "old");
    std::fs::set_permissions(&target, std::fs::Permissions::from_mode(0o600)).unwrap();
    let link = tree.path().join("link.txt");
    symlink("target.txt", &link).unwrap();
    tree.validate(&["--output", &link.display().to_string()]);
    let printed = redact(&tree.validate(&["--output", "-"]).out());
    assert_eq!(redact(&std::fs::read_to_string(&target).unwrap()), printed);
    assert!(link.is_symlink() && printed.lines().count() > 2, "{printed}");
    assert_eq!(std::fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o600);
}
