//! What the planner answers about synthetic tables. A shell script stands for the package (`fixtures/planner.sh`): the time
//! of a step is the sum of the last latencies of the version's tables.

use crate::common::planner::FakePlanner;
use crate::common::snapshot::message;
use crate::common::{Run, Tree, command, gemm, run};

/// Where the flat layout has the version's tables.
const VERSION: &str = "systems/data/h200_sxm/vllm/0.24.0";

/// Another table of the version; its rows are not judged here.
const OTHER: &str = "framework,version,device,op_name,kernel_source,latency\nVLLM,0.24.0,NVIDIA H200,other,x,0.25\n";

/// A repository whose `main` has a GEMM table, after which `change` was made.
fn changed(change: impl FnOnce(&Tree)) -> Tree {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 1.0)]));
    tree.gemm("other_perf.txt", OTHER);
    tree.commit();
    change(&tree);
    tree
}

/// The rules on the planner's answers.
const RULES: [&str; 8] = [
    "--only",
    "planner-refuses",
    "--only",
    "prediction-lost",
    "--only",
    "prediction-moved",
    "--only",
    "workflow-incomplete",
];

fn sanity(tree: &Tree, planner: &FakePlanner) -> Run {
    let own = planner.args();
    let mut args = vec!["--base-ref", "main"];
    args.extend(own.iter().map(String::as_str));
    args.extend(RULES);
    tree.sanity(&args)
}

fn impact(tree: &Tree, planner: &FakePlanner, args: &[&str]) -> Run {
    let (root, own) = (tree.path().display().to_string(), planner.args());
    let mut all = vec!["impact", "--root", &root];
    all.extend(own.iter().map(String::as_str));
    all.extend(args);
    run(&all)
}

#[test]
fn a_predicted_step_time_changes_with_the_table_behind_it() {
    let tree = changed(|tree| {
        tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 3.0)]));
    });
    let planner = FakePlanner::new("");
    let json = impact(&tree, &planner, &["--base-ref", "main", "--format", "json"]).json();
    let point = &json["cases"][0]["points"][0];
    assert_eq!((&point["before_ms"], &point["after_ms"]), (&1.25.into(), &3.25.into()));
    let op = &point["ops"][0];
    assert_eq!(
        (&op["name"], &op["source_after"]),
        (&"context_gemm_perf".into(), &"silicon".into())
    );
    assert_eq!(op["tables"], serde_json::json!([format!("{VERSION}/gemm_perf.txt")]));
    assert_eq!(op["cause"], "h200_sxm/vllm/0.24.0/gemm_perf.txt: bfloat16 × 2.00");
    assert_eq!((&json["summary"]["moved"], &json["summary"]["values"]), (&2.into(), &2.into()));

    let found = sanity(&tree, &planner).finding("prediction-moved");
    assert_eq!(found["severity"], "info");
    insta::assert_snapshot!(message(&found), @"2 of 2 predicted step times move; the largest move is some/model tp 1, prefill 1 × 1024, +160.0 % (context_gemm_perf: h200_sxm/vllm/0.24.0/gemm_perf.txt: bfloat16 × 2.00)");
}

#[test]
fn the_impact_report_for_people_has_one_line_per_cause() {
    let tree = changed(|tree| {
        tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 3.0)]));
    });
    let planner = FakePlanner::new("");
    let out = impact(&tree, &planner, &["--base-ref", "main"]).out();
    let out = out.replace(&planner.script().display().to_string(), "PLANNER");
    insta::assert_snapshot!(out);
    let one = impact(&tree, &planner, &[]).out();
    insta::assert_snapshot!(one.replace(&planner.script().display().to_string(), "PLANNER"));
}

#[test]
fn a_prediction_that_loses_its_table_or_its_measurement_is_a_finding() {
    let tree = changed(|tree| tree.remove(&format!("{VERSION}/gemm_perf.txt")));
    let planner = FakePlanner::new("");
    let run = sanity(&tree, &planner);
    assert_eq!(run.code(), 1, "{}", run.err());
    let found = run.finding("prediction-lost");
    insta::assert_snapshot!(message(&found), @"2 predicted step times of the current version become an error or a guess, because PerfDataNotAvailableError: no rows of gemm_perf.txt (2 of some/model)");

    let tree = changed(|tree| {
        tree.gemm("other_perf.txt", OTHER.replace(",x,", ",guessed,"));
    });
    let found = sanity(&tree, &planner).finding("prediction-lost");
    insta::assert_snapshot!(message(&found), @"2 predicted step times of the current version become an error or a guess, because context_other_perf is answered by sol instead of silicon (2 of some/model)");
}

#[test]
fn a_table_that_the_planner_no_longer_loads_is_an_error() {
    let planner = FakePlanner::new("");
    let tree = changed(|tree| {
        tree.gemm("other_perf.txt", OTHER.replace(",x,", ",bfloat17,"));
    });
    let run = sanity(&tree, &planner);
    assert_eq!(run.code(), 1, "{}", run.err());
    let found = run.finding("planner-refuses");
    assert_eq!(found["path"], format!("{VERSION}/other_perf.txt"));
    insta::assert_snapshot!(message(&found), @"aisimulate 0.13.0 cannot load this table: ValueError: error at data/h200_sxm/vllm/0.24.0/other_perf.txt: unknown dtype bfloat17; it loads the state before the change");
}

#[test]
fn a_new_table_that_the_planner_refuses_is_an_error_unless_the_tree_has_a_newer_planner() {
    let planner = FakePlanner::new("");
    let severity = |version: Option<&str>| {
        let tree = changed(|tree| {
            tree.gemm("new_perf.txt", OTHER.replace(",x,", ",bfloat17,"));
            if let Some(version) = version {
                let text = format!("[project]\nname = \"aisimulate\"\nversion = \"{version}\"\n");
                tree.file("pyproject.toml", text);
            }
        });
        let found = sanity(&tree, &planner).finding("planner-refuses");
        (found["severity"].as_str().unwrap().to_owned(), message(&found))
    };
    let (unknown, words) = severity(None);
    assert_eq!(unknown, "warning");
    assert!(
        words.ends_with("the version of the planner in the judged tree is not known"),
        "{words}"
    );
    assert_eq!(severity(Some("0.13.0")).0, "error");
    let (newer, words) = severity(Some("0.14.0"));
    assert_eq!(newer, "warning");
    assert!(words.ends_with("the planner in the judged tree is newer, 0.14.0"), "{words}");
}

#[test]
fn a_failing_planner_given_by_option_is_an_error_of_one_line_with_a_hint() {
    let tree = changed(|tree| {
        tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 3.0)]));
    });
    for (fails, why) in [
        ("die", "does not answer: it ended (exit status: 3): the package is broken"),
        ("schema", "it speaks perfdb-gate/planner/v9, and perfdb-gate/planner/v1 is needed"),
    ] {
        let run = sanity(&tree, &FakePlanner::new(fails));
        assert_eq!((run.code(), run.out()), (2, String::new()));
        assert!(run.err().contains(why), "{}", run.err());
        assert_eq!(run.err().lines().count(), 2, "{}", run.err());
    }
    let missing = tree.sanity(&["--base-ref", "main", "--planner", "/no/python"]);
    assert_eq!(missing.code(), 2);
    assert!(
        missing.err().contains("the planner of /no/python does not answer"),
        "{}",
        missing.err()
    );
}

#[test]
fn other_output_of_the_planner_is_skipped_and_a_nan_is_not_an_answer() {
    let tree = changed(|tree| {
        tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 3.0)]));
    });
    let talks = sanity(&tree, &FakePlanner::new("print")).json();
    assert_eq!(talks["predictions"]["moved"], 2);
    let run = sanity(&tree, &FakePlanner::new("nan"));
    assert_eq!(run.code(), 0, "what was not asked changes no exit code: {}", run.err());
    let gap = run.json()["predictions"]["gaps"][0].as_str().unwrap().to_owned();
    assert!(
        gap.contains("h200_sxm vllm 0.24.0 not asked: a reply that is not understood"),
        "{gap}"
    );
}

#[test]
fn findings_of_other_rules_do_not_depend_on_the_planner() {
    let tree = changed(|tree| {
        tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.0), (4, 0.7)]));
    });
    let planner = FakePlanner::new("");
    let own = planner.args();
    let mut asked = vec!["--base-ref", "main"];
    asked.extend(own.iter().map(String::as_str));
    let with = tree.sanity(&asked).json();
    let without = tree.sanity(&["--base-ref", "main", "--planner", "none"]).json();
    assert_eq!(without["predictions"]["not_asked"], "--planner none");
    let of_others = |json: &serde_json::Value| {
        let all = json["findings"].as_array().unwrap().iter();
        let others = all.filter(|f| !RULES.contains(&f["rule"].as_str().unwrap()));
        let mut texts: Vec<String> = others
            .map(|f| format!("{} {} {}", f["fingerprint"], f["severity"], f["message"]))
            .collect();
        texts.sort();
        texts
    };
    assert!(!of_others(&without).is_empty());
    assert_eq!(of_others(&with), of_others(&without));
}

#[test]
fn a_limited_number_of_changed_versions_is_predicted_and_the_others_are_listed() {
    let tree = changed(|tree| {
        for minor in 10..16 {
            tree.file(
                &format!("systems/data/h200_sxm/vllm/0.{minor}.0/gemm_perf.txt"),
                gemm(&[(1, 0.5), (minor, 2.0)]).replace("0.24.0", &format!("0.{minor}.0")),
            );
        }
    });
    let planner = FakePlanner::new("");
    let own = planner.args();
    let mut args = vec!["--base-ref", "main", "--planner-versions", "2"];
    args.extend(own.iter().map(String::as_str));
    let json = tree.sanity(&args).json();
    assert_eq!(json["predictions"]["versions"], 2);
    assert_eq!(
        json["predictions"]["gaps"][0],
        "h200_sxm vllm 0.12.0 and 3 more not asked: more than 2 changed versions (--planner-versions)"
    );
}

#[test]
fn validate_asks_a_planner_only_on_request() {
    let tree = changed(|_| ());
    tree.gemm("other_perf.txt", OTHER.replace(",x,", ",bfloat17,"));
    let quiet = tree.validate(&["--format", "json"]);
    assert_eq!(quiet.json()["predictions"], serde_json::Value::Null);
    let planner = FakePlanner::new("");
    let script = planner.script().display().to_string();
    let asked = tree.validate(&["--format", "json", "--planner", &script]);
    assert_eq!(asked.finding("planner-refuses")["severity"], "warning");
    let name = asked.json()["predictions"]["planner"].as_str().unwrap().to_owned();
    assert!(name.starts_with("aisimulate 0.13.0 ("), "{name}");
}

#[test]
fn validate_reports_selected_tables_that_the_planner_refuses() {
    let tree = changed(|_| ());
    tree.gemm("other_perf.txt", OTHER.replace(",x,", ",bfloat17,"));
    let planner = FakePlanner::new("");
    let script = planner.script().display().to_string();
    let found = |selection: &[&str]| {
        let args = ["--format", "json", "--planner", &script, "--only", "planner-refuses"];
        tree.validate(&[&args[..], selection].concat()).findings().len()
    };
    assert_eq!((found(&["--table", "other"]), found(&["--table", "gemm"])), (1, 0));
    assert_eq!((found(&["--version", "0.2*"]), found(&["--since", "HEAD"])), (1, 1));
    tree.commit();
    assert_eq!(found(&["--since", "HEAD"]), 0, "nothing changed since");
}

#[test]
fn an_invalid_file_of_cases_is_refused_with_its_line() {
    let tree = changed(|_| ());
    let planner = FakePlanner::new("");
    let script = planner.script().display().to_string();
    let cases = tree.file("cases.yaml", "cases:\n- {model: a, parallel: {tp: 1}}\npoints: []\n");
    let (root, cases) = (tree.path().display().to_string(), cases.display().to_string());
    let run = run(&["impact", "--root", &root, "--planner", &script, "--cases", &cases]);
    assert_eq!(run.code(), 2);
    assert!(run.err().contains("line 2"), "{}", run.err());
}

#[test]
fn recorded_replies_of_the_planner_s_package_are_read() {
    let tree = Tree::new();
    for (family, table) in [
        ("gemm", "gemm_perf"),
        ("attention", "context_attention_perf"),
        ("attention", "generation_attention_perf"),
        ("mla_bmm", "mla_bmm_perf"),
    ] {
        let path = format!("systems/data/h200_sxm/{family}/vllm/0.24.0/{table}.parquet");
        tree.file(&path, crate::common::gemm_parquet(&[(1, 0.5)]));
    }
    let planner = FakePlanner::recorded();
    let json = impact(&tree, &planner, &["--format", "json"]).json();
    let recorded = include_str!("fixtures/planner-replies.jsonl").lines().nth(4).unwrap();
    let recorded: serde_json::Value = serde_json::from_str(recorded).unwrap();
    let cases = json["cases"].as_array().unwrap();
    assert_eq!(cases[0]["quant"], recorded["quant"]);
    for (point, said) in
        cases[0]["points"].as_array().unwrap().iter().zip(recorded["points"].as_array().unwrap())
    {
        assert_eq!((&point["after_ms"], &point["error"]), (&said["ms"], &serde_json::Value::Null));
    }
    let error = |case: usize| cases[case]["points"][0]["error"].as_str().unwrap().to_owned();
    assert!(error(1).starts_with("PerfDataNotAvailableError: "), "{}", error(1));
    assert_eq!(error(2), "NotKnown: nobody/nothing is not known to this package");

    let script = planner.script().display().to_string();
    let found =
        tree.validate(&["--format", "json", "--planner", &script, "--only", "planner-refuses"]);
    let found = found.finding("planner-refuses");
    assert_eq!(found["path"], "systems/data/h200_sxm/mla_bmm/vllm/0.24.0/mla_bmm_perf.parquet");
    insta::assert_snapshot!(message(&found), @"aiconfigurator-core 0.12.0 cannot load this table: ValueError: Parquet error at data/h200_sxm/mla_bmm/vllm/0.24.0/mla_bmm_perf.parquet: Parquet error: Cannot access Str as Double; the version of the planner in the judged tree is not known");
}

#[test]
fn a_planner_is_found_by_a_relative_path() {
    let tree = changed(|tree| {
        tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 3.0)]));
    });
    let planner = FakePlanner::new("");
    let root = tree.path().display().to_string();
    let mut command = command();
    command.current_dir(planner.script().parent().unwrap());
    command.args(["impact", "--root", &root, "--planner", "./planner.sh", "--cases", "cases.yaml"]);
    let run = Run::of(&mut command).unwrap();
    assert_eq!(run.code(), 0, "{}", run.err());
}

#[test]
fn a_version_with_an_unfetched_lfs_pointer_is_not_predicted() {
    let pointer = format!(
        "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 12\n",
        "0".repeat(64)
    );
    let tree = changed(|tree| {
        tree.gemm("gemm_perf.txt", &pointer);
    });
    let run = sanity(&tree, &FakePlanner::new(""));
    assert_eq!(run.findings(), Vec::<String>::new());
    let gap = run.json()["predictions"]["gaps"][0].as_str().unwrap().to_owned();
    assert!(gap.contains("gemm_perf.txt: a git-LFS pointer whose object was not fetched"), "{gap}");
}

#[test]
fn a_version_that_the_planner_can_no_longer_open_is_an_error() {
    let tree = changed(|tree| {
        let yaml = crate::common::H200.replace("../data/", "data/");
        tree.file("systems/h200_sxm.yaml", yaml + "# broken\n");
    });
    let found = sanity(&tree, &FakePlanner::new("")).finding("planner-refuses");
    assert_eq!((&found["severity"], &found["path"]), (&"error".into(), &VERSION.into()));
    insta::assert_snapshot!(message(&found), @"aisimulate 0.13.0 cannot open this version: YAMLError: the YAML is broken; it opens the state before the change");
}

#[test]
fn a_next_version_slower_than_the_current_one_is_noted() {
    let tree = changed(|tree| {
        tree.file("systems/query_versions.yaml", "defaults:\n  vllm:\n    current: '0.24.0'\n");
        tree.commit();
        let next = gemm(&[(1, 4.0), (2, 9.0)]).replace("0.24.0", "0.25.0");
        tree.file("systems/data/h200_sxm/vllm/0.25.0/gemm_perf.txt", next);
    });
    let notes = sanity(&tree, &FakePlanner::new("")).json()["predictions"]["notes"].clone();
    assert_eq!(
        notes[0],
        "h200_sxm vllm 0.25.0 is slower than the current version 0.24.0: decode 16 × 1024 of some/model tp 1 takes 7.4 times as long"
    );
}

/// The planner's real package, if `PERFDB_GATE_PLANNER` names an interpreter.
#[test]
fn the_planner_s_package_reads_only_the_given_tree() {
    let Some(python) = std::env::var_os("PERFDB_GATE_PLANNER").filter(|name| name != "none") else {
        println!(
            "skipped: PERFDB_GATE_PLANNER does not name an interpreter with the planner's package"
        );
        return;
    };
    let tree = Tree::new();
    tree.file(
        "systems/only_here.yaml",
        crate::common::H200.replace("../data/h200_sxm", "data/only_here"),
    );
    tree.file(
        "systems/data/only_here/gemm/vllm/0.24.0/gemm_perf.parquet",
        crate::common::gemm_parquet(&[(1, 0.5), (2, 1.0)]),
    );
    tree.file("torch.py", "raise SystemExit('a module of the judged tree was imported')");
    let root = tree.path().display().to_string();
    let python = python.to_string_lossy().into_owned();
    let ask = |system: &str| {
        run(&[
            "impact",
            "--root",
            &root,
            "--planner",
            &python,
            "--system",
            system,
            "--format",
            "json",
        ])
    };
    let json = ask("only_here").json();
    let cases = json["cases"].as_array().expect("cases");
    assert!(!cases.is_empty());
    for point in cases.iter().flat_map(|case| case["points"].as_array().unwrap()) {
        let error =
            point["error"].as_str().unwrap_or_else(|| panic!("a step of no table: {point}"));
        assert!(!error.contains("site-packages"), "{error}");
    }
    let other = ask("gb200");
    assert_eq!(other.code(), 2, "the package's own systems are not asked: {}", other.out());
}

#[test]
fn changed_predictions_are_ranked_by_factor_with_one_per_cause() {
    let of = |version: &str, name: &str| format!("systems/data/h200_sxm/vllm/{version}/{name}");
    let rows = |version: &str, last: f64| gemm(&[(1, 0.5), (2, last)]).replace("0.24.0", version);
    let tree = Tree::new();
    for (version, last) in [("0.10.0", 3.0), ("0.11.0", 1.0)] {
        tree.file(&of(version, "gemm_perf.txt"), rows(version, last));
    }
    // A version without GEMM rows has no step.
    tree.file("systems/data/h200_sxm/vllm/0.09.0/other_perf.txt", OTHER);
    tree.commit();
    for (version, last) in [("0.09.0", 1.0), ("0.10.0", 0.1), ("0.11.0", 2.0), ("0.12.0", 7.0)] {
        tree.file(&of(version, "gemm_perf.txt"), rows(version, last));
    }
    let json = sanity(&tree, &FakePlanner::new("")).json();
    let predictions = &json["predictions"];
    let numbers = ["versions", "values", "moved", "gained", "lost"].map(|name| &predictions[name]);
    assert_eq!(numbers, [4, 8, 4, 2, 0], "those of 0.09.0 were errors, 0.12.0 is new");
    let movers = predictions["movers"].as_array().unwrap();
    let told: Vec<(f64, &str, &str)> = movers
        .iter()
        .map(|mover| {
            let [before, after] =
                ["before_ms", "after_ms"].map(|name| mover[name].as_f64().unwrap());
            let text = |name: &str| mover[name].as_str().unwrap();
            (after / before, text("because"), text("cause"))
        })
        .collect();
    let [(fall, fell, cause), (rise, rose, _)] = told[..] else { panic!("{movers:?}") };
    assert!(fall < 0.11 && (1.5..2.5).contains(&rise), "÷ 9 is more than × 2: {told:?}");
    assert_eq!((fell, rose), ("context_gemm_perf −2.900 ms", "context_gemm_perf +1.000 ms"));
    assert_eq!(cause, "h200_sxm/vllm/0.10.0/gemm_perf.txt: bfloat16 × 0.52");
}
