//! Mistakes that people make on the command line: each is answered in one line, with a hint.

use crate::common::snapshot::redact;
use crate::common::{Run, Tree, command, gemm};

/// The mistakes, each as the words after the program's name, in a repository with one table.
const MISTAKES: &[&[&str]] = &[
    &["validat"],
    &["check"],
    &["lint", "--system", "h200_sxm"],
    &["sanity"],
    &["sanity", "origin/main"],
    &["impact", "origin/main"],
    &["sanity", "--base-ref", "v0.1.0"],
    &["validate", "--rows", "rows.csv"],
    &["validate", "--rows", "systems/h200_sxm.yaml"],
    &["validate", "--json"],
    &["validate", "-f", "json"],
    &["validate", "--seed", "2"],
    &["explain", "--rule", "duplicate-key"],
    &["merge", "gemm_perf.parquet", "again"],
    &["validate", "--sytem", "h200_sxm"],
    &["validate", "h200_sxm"],
    &["validate", "systems/data"],
    &["explore", "gemm"],
    &["validate", "--system", "H200_SXM"],
    &["validate", "--system", "h20_sxm"],
    &["validate", "--backend", "vlm"],
    &["validate", "--version", "0.24"],
    &["validate", "--table", "gem"],
    &["validate", "--only", "duplicate-keys"],
    &["validate", "--format", "pdf"],
    &["validate", "--report", "foo=bar"],
    &["validate", "--report", "sarif"],
    &["validate", "--threads", "-1"],
    &["validate", "--fail-on", "errors"],
    &["validate", "--draw", "0"],
    &["remeasure", "--sample", "-1"],
    &["validate", "--root", "nowhere"],
    &["validate", "--output", "no/such/report.json"],
    &["validate", "--ref", "refs/pull/12/head"],
    &["validate", "--since", "develop"],
    &["validate", "--root", "systems/data/h200_sxm"],
    &["sanity", "--base-ref", "origin/main"],
    &["sanity", "--base", "main"],
    &["explain", "sidecar-mising"],
    &["rules"],
    &["schema", "sidecars"],
    &["merge", "gemm_perf.parquet"],
    &["plan", "--from", "systems/h200_sxm.yaml"],
    &["waive", "0123456789abcdef", "--reason", "measured twice"],
    &["waive", "0123456789abcdef"],
    &["waive", "0123456789abcdef", "--reason", "measured twice", "--until", "31.12.2027"],
    &["new", "--system", "h200", "--table", "gemm", "--backend", "vllm", "--version", "1.2.3"],
    &["new", "--system", "h200_sxm", "--table", "gems", "--backend", "vllm", "--version", "1.2.3"],
    &["new", "--system", "h200_sxm", "--table", "gemm", "--backend", "vllm", "--version", "../1"],
    &["completions", "nushell"],
    &["reach", "--system", "h200_sxm"],
    &["selftest", "--samples", "2"],
    &["noise", "--root", "."],
    &["rules", "--check-root", "."],
    &["compare", "run", "systems", "--format", "json"],
    &["validate", "--watch", "stage"],
    &["sanity", "--system", "h200_sxm", "--output-dir", "charts"],
    &["plan", "--coverage", "power=90"],
];

/// A repository with one table, without a remote.
fn repository() -> Tree {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6)]));
    tree.commit();
    tree
}

fn run(tree: &Tree, args: &[&str]) -> Run {
    // A GPU of this machine would answer what `new` asks.
    let mut command = command();
    Run::of(command.args(args).current_dir(tree.path()).env("CUDA_VISIBLE_DEVICES", "")).unwrap()
}

/// Leaves out long lists of known names, which grow with the rules, tables and systems.
fn without_lists(text: &str) -> String {
    let shortened = |line: &str| {
        let Some((before, list)) = line.split_once("known: ") else { return line.to_owned() };
        let (names, after) = list.split_once("; ").unwrap_or((list, ""));
        let after = if after.is_empty() { String::new() } else { format!("; {after}") };
        let names = if names.matches(", ").count() > 8 { "[names]" } else { names };
        format!("{before}known: {names}{after}")
    };
    text.lines().map(|line| shortened(line) + "\n").collect()
}

#[test]
fn every_wrong_option_is_reported_in_one_line_with_a_hint() {
    let tree = repository();
    let mut all = String::new();
    for args in MISTAKES {
        let run = run(&tree, args);
        let said = run.err();
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!((run.code(), run.out()), (2, String::new()), "{args:?}: {said}");
        assert!(
            matches!(lines[..], [what, hint] if what.starts_with("perfdb-gate: ") && hint.starts_with("hint: ")),
            "{args:?}: {said}"
        );
        all += &format!("$ perfdb-gate {}\n{said}\n", args.join(" "));
    }
    assert!(MISTAKES.len() >= 30);
    insta::assert_snapshot!(without_lists(&redact(&all)));
}

#[test]
fn hints_suggest_the_intended_name() {
    let tree = repository();
    for (args, right) in [
        (&["validate", "--system", "H200_SXM"][..], "h200_sxm"),
        (&["validate", "--backend", "vlm"], "vllm"),
        (&["validate", "--version", "0.24"], "0.24.0"),
        (&["validate", "--table", "gem"], "gemm"),
        (&["explain", "sidecar-mising"], "sidecar-missing"),
    ] {
        let hint = run(&tree, args).err();
        assert!(hint.contains(&format!("did you mean {right}?")), "{hint}");
        let (_, before) = args.split_last().unwrap();
        assert_ne!(run(&tree, &[before, &[right]].concat()).code(), 2, "{right}");
    }
    let hint = run(&tree, &["validate", "h200_sxm"]).err();
    assert!(hint.contains("did you mean `--system h200_sxm`?"), "{hint}");
}

#[test]
fn a_mistake_in_the_settings_is_reported_in_one_line_with_a_hint() {
    let until = |until: &str| {
        format!(
            "waivers:\n- rule: duplicate-key\n  path: \"**\"\n  reason: r\n  evidence: e\n  approved_by: me\n  until: {until}\n"
        )
    };
    let mut all = String::new();
    for (file, text) in [
        ("waivers.yml", until("2027-12-31")),
        ("waivers.yaml", until("31.12.2027")),
        ("waivers.yaml", until("2027-12-31").replace("duplicate-key", "duplicate-keys")),
    ] {
        let tree = repository();
        tree.file(&format!(".perfdb-gate/{file}"), text);
        let run = run(&tree, &["validate"]);
        assert_eq!((run.code(), run.err().lines().count()), (2, 2), "{}", run.err());
        all += &run.err();
    }
    insta::assert_snapshot!(without_lists(&redact(&all)), @r#"
    perfdb-gate: .perfdb-gate/waivers.yml: files of settings are only read if their name ends in .yaml
    hint: `git mv .perfdb-gate/waivers.yml .perfdb-gate/waivers.yaml` renames it
    perfdb-gate: .perfdb-gate/waivers.yaml: waivers[0]: '31.12.2027' is not a date: write YYYY-MM-DD, such as 2027-12-31
    hint: docs/validate.md explains how a waiver is written, in "The repository's own settings"; `perfdb-gate schema waivers` prints its fields for an editor
    perfdb-gate: .perfdb-gate/waivers.yaml: no rule matches 'duplicate-keys'
    hint: did you mean duplicate-key? known: [names]
    "#);
}

#[test]
fn an_empty_waiver_file_has_no_waivers() {
    for text in ["", "# none yet\n", "waivers:\n", "waivers: []\n"] {
        let tree = repository();
        tree.file(".perfdb-gate/waivers.yaml", text);
        let run = run(&tree, &["validate"]);
        assert_eq!((run.code(), run.err().as_str()), (0, ""), "{text}");
    }
    // A misspelt list is not an empty one.
    let tree = repository();
    tree.file(".perfdb-gate/waivers.yaml", "waiver: []\n");
    assert_eq!(run(&tree, &["validate"]).code(), 2);
}

/// The command that a hint names makes the reference known, so that the same command runs.
#[test]
fn hints_on_shallow_clones_and_tags_name_a_command_that_solves_the_problem() {
    let tree = repository();
    tree.git(&["tag", "v0.1.0"]);
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6), (3, 0.7)]));
    tree.commit();
    tree.git(&["branch", "next"]);
    let from = format!("file://{}", tree.path().display());
    for (options, reference) in [
        (&["--depth", "1"][..], "v0.1.0"),
        (&["--depth", "1"], "origin/next"),
        (&["--no-tags"], "v0.1.0"),
    ] {
        let clones = tempfile::TempDir::new().unwrap();
        let git = |args: &[&str]| {
            let mut git = std::process::Command::new("git");
            let done = git.args(args).current_dir(clones.path()).output().unwrap();
            assert!(done.status.success(), "{args:?}: {done:?}");
        };
        git(&[&["clone", "-q"], options, &[from.as_str(), "."]].concat());
        let sanity = || {
            let mut command = command();
            let args = ["sanity", "--base-ref", reference, "--fail-on", "never"];
            Run::of(command.args(args).current_dir(clones.path())).unwrap()
        };
        let failed = sanity();
        assert_eq!((failed.code(), failed.err().lines().count()), (2, 2), "{}", failed.err());
        let hint = failed.err();
        let named = hint.split('`').find(|part| part.starts_with("git fetch")).unwrap();
        let words: Vec<String> =
            named.split(' ').map(|w| w.trim_matches('\'').to_owned()).collect();
        git(&words[1..].iter().map(String::as_str).collect::<Vec<_>>());
        assert_ne!(sanity().code(), 2, "{hint}");
    }
}

#[test]
fn naming_a_commit_outside_a_repository_is_an_error_with_a_usable_hint() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6)]));
    for args in [["validate", "--since", "HEAD"], ["validate", "--ref", "main"]] {
        let failed = run(&tree, &args);
        assert_eq!(failed.code(), 2);
        assert!(
            failed
                .err()
                .contains("is not in a git repository\nhint: only a repository has commits")
        );
    }
}

#[test]
fn findings_on_misspelt_cells_name_the_line_and_the_right_spelling() {
    let tree = Tree::new();
    let rows = gemm(&[(1, 0.5), (2, 0.6), (0, 0.7), (4, 0.8), (5, 0.9)]);
    let rows = rows.replace(",m,n,k,", ",m,n,kk,").replace(",2,128,128,0.6", ",2,128,128,abc");
    tree.gemm("gemm_perf.txt", rows.replacen("bfloat16", "BFLOAT16", 1));
    // As copied from the systems of this program, with the data where the README puts it.
    tree.file("systems/h200_sxm.yaml", crate::common::H200);
    let run = run(&tree, &["validate", "--full"]);
    insta::assert_snapshot!(redact(&run.out()), @"
    systems/data/h200_sxm
      error   system-invalid: systems/h200_sxm.yaml says data_dir: ../data/h200_sxm, which is data/h200_sxm, so the loader cannot find this data; `data_dir: data/h200_sxm` names it

    systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt
      error   key-out-of-range: m is zero in 1 row
          line 4: gemm_dtype=bfloat16 m=0 n=128 k=null → m=0
      error   torn-row: 1 damaged row, line 3: latency is 'abc', not a number; the other rows were checked
          line 3: why=latency is 'abc', not a number
      warning header-mismatch: the columns are not those of gemm_perf: k is missing, kk is not a known column (did you mean k?)
      warning key-out-of-range: the gemm_dtype BFLOAT16 (did you mean bfloat16?) in 1 row is not known to perfdb-gate [version], whose facts are of 2026-10
          line 2: gemm_dtype=BFLOAT16 m=1 n=128 k=null → gemm_dtype=BFLOAT16

    header-mismatch: Write the columns that this table's collector writes. For a new table or column, add it to rules/tables; `perfdb-gate suggest TABLE` prints a first spec. Write Parquet with zstd or snappy, whole numbers as int64 and measurements as float64, as pandas does.
    key-out-of-range: Remove the rows and fix the sweep that produced them.
    system-invalid: Add or correct `systems/<system>.yaml`: its data_dir, and figures in SI units (bytes, bytes per second, FLOP per second of dense arithmetic, seconds, watts).
    torn-row: Remove the damaged rows and collect their points again.
    `perfdb-gate explain RULE` explains a rule, `perfdb-gate waive` accepts a finding

    3 errors, 2 warnings, 0 infos in 2 files; checked 1 table, 4 rows in [seconds] s
    ");
}
