//! The action's own shell steps, run as the runner does: in a clean environment, with what the
//! site's expressions would say put in.

mod comment;
mod first_run;
mod hooks;
mod planner;
mod release;
mod settings;
mod trusted;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use crate::common::snapshot::redact;
use crate::common::{BINARY, Tree, gemm};
use serde_json::Value;

fn action() -> Value {
    read("action.yml")
}

fn read(path: &str) -> Value {
    serde_yaml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// A program of a tree's folder `bin/`, which stands in for the one of that name.
fn program(tree: &Tree, name: &str, script: &str) {
    let path = tree.file(&format!("bin/{name}"), format!("#!/usr/bin/env bash\nset -eu\n{script}"));
    assert!(Command::new("chmod").arg("+x").arg(path).status().unwrap().success());
}

/// A run of the action's steps.
struct Action {
    /// Exit of the first step that failed, or of the last.
    code: i32,
    log: String,
    outputs: BTreeMap<String, String>,
    summary: String,
    /// The runner's temporary directory, which holds what was written.
    temporary: tempfile::TempDir,
}

/// Runs the steps in the tree, with inputs and what the event says.
fn act(tree: &Tree, inputs: &[(&str, &str)], event: &[(&str, &str)]) -> Action {
    let action = action();
    let scratch = tempfile::TempDir::new().unwrap();
    let mut says: BTreeMap<String, String> = BTreeMap::new();
    for (name, input) in action["inputs"].as_object().unwrap() {
        let default = input["default"].as_str().unwrap_or_else(|| panic!("{name} has a default"));
        says.insert(format!("inputs.{name}"), default.to_owned());
    }
    says.insert("inputs.binary".into(), BINARY.into());
    says.insert("runner.temp".into(), scratch.path().display().to_string());
    says.insert("github.action_path".into(), env!("CARGO_MANIFEST_DIR").into());
    for (name, value) in inputs {
        assert!(says.insert(format!("inputs.{name}"), (*value).into()).is_some(), "{name}");
    }
    says.extend(event.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())));

    let summary = scratch.path().join("summary");
    let mut result = Action {
        code: 0,
        log: String::new(),
        outputs: BTreeMap::new(),
        summary: String::new(),
        temporary: scratch,
    };
    for step in ["find", "requirement", "planner", "judge", "gate"] {
        let steps = action["runs"]["steps"].as_array().unwrap();
        let step = steps.iter().find(|s| s["id"] == step).unwrap();
        if !holds(&step["if"], &says) {
            continue;
        }
        let file = result.temporary.path().join(format!("output-{}", step["id"].as_str().unwrap()));
        std::fs::write(&file, "").unwrap();
        let out = run_step(tree.path(), step, &says, &file, &summary);
        result.code = out.status.code().unwrap();
        result.log += &String::from_utf8_lossy(&out.stdout);
        result.log += &String::from_utf8_lossy(&out.stderr);
        for line in std::fs::read_to_string(&file).unwrap().lines() {
            let (name, value) = line.split_once('=').expect("name=value");
            let step = step["id"].as_str().unwrap();
            says.insert(format!("steps.{step}.outputs.{name}"), value.to_owned());
            result.outputs.insert(name.to_owned(), value.to_owned());
        }
        if result.code != 0 {
            break;
        }
    }
    result.summary = std::fs::read_to_string(summary).unwrap_or_default();
    result
}

/// True if a step runs: it has no condition, or every comparison in its condition holds.
fn holds(condition: &Value, says: &BTreeMap<String, String>) -> bool {
    condition.as_str().into_iter().flat_map(|all| all.split(" && ")).all(|test| {
        let [name, operator @ ("==" | "!="), text] = test.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{test}")
        };
        (format!("'{}'", says[name]) == text) == (operator == "==")
    })
}

fn run_step(
    tree: &Path,
    step: &Value,
    says: &BTreeMap<String, String>,
    output: &Path,
    summary: &Path,
) -> Output {
    let script = step["run"].as_str().unwrap();
    assert!(!script.contains("${{"), "an expression in a script is its text: {script}");
    let mut command = Command::new("bash");
    command.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script]).current_dir(tree);
    let path = std::env::var("PATH").unwrap_or_default();
    // Programs that stand in for others come first.
    let first = says.get("programs").map(|folder| format!("{folder}:")).unwrap_or_default();
    command.env_clear().env("PATH", format!("{first}{path}"));
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GITHUB_OUTPUT", output);
    command.env("GITHUB_STEP_SUMMARY", summary);
    if let Some(base) = says.get("github.base_ref") {
        command.env("GITHUB_BASE_REF", base);
    }
    for (name, value) in step["env"].as_object().into_iter().flatten() {
        command.env(name, fill(value.as_str().unwrap(), says));
    }
    command.output().expect("the steps of the action run in bash: install it")
}

/// A text with its expressions replaced; `a || b` is the first that says something.
fn fill(text: &str, says: &BTreeMap<String, String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${{") {
        let (expression, after) = after.split_once("}}").expect("an end");
        let values = expression.split("||").map(|name| says.get(name.trim()));
        out += before;
        out += values.flatten().find(|v| !v.is_empty()).map_or("", String::as_str);
        rest = after;
    }
    out + rest
}

/// A repository whose `main` has an error from long ago, with a branch checked out.
fn indebted() -> (Tree, String) {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (0, 0.6)]));
    let before = tree.commit();
    tree.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    tree.git(&["checkout", "-qb", "more"]);
    (tree, before)
}

#[test]
fn existing_findings_pass_and_new_errors_fail_the_action() {
    let (tree, before) = indebted();
    let push = [("github.event.before", before.as_str())];
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (0, 0.6), (2, 0.7)]));
    tree.commit();
    let first = act(&tree, &[], &push);
    assert_eq!((first.code, first.outputs["verdict"].as_str()), (0, "passed"), "{}", first.log);
    assert_eq!(first.outputs["errors"], "0");
    insta::assert_snapshot!("summary", redact(&first.summary));
    assert_eq!(act(&tree, &[("gate", "all")], &push).code, 1);
    assert_eq!(act(&tree, &[("gate", "all"), ("fail-on", "never")], &push).code, 0);

    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (0, 0.6), (2, 0.7), (0, 0.8)]));
    tree.commit();
    let second = act(&tree, &[], &push);
    assert_eq!((second.code, second.outputs["verdict"].as_str()), (1, "failed"), "{}", second.log);
    assert_ne!(second.outputs["errors"], "0");
    insta::assert_snapshot!("log", redact(&second.log));
    for output in ["report", "sarif", "html"] {
        let path = tree.path().join(&second.outputs[output]);
        assert!(std::fs::metadata(path).unwrap().len() > 1000, "{output}");
    }
    let left_out = act(&tree, &[("args", "--skip 'key-out-of-range' --skip duplicate-key")], &push);
    assert_eq!(left_out.code, 0, "{}", left_out.log);
}

#[test]
fn the_action_compares_a_pull_request_with_its_base() {
    let (tree, _) = indebted();
    let event = [("github.base_ref", "main"), ("github.event.pull_request.number", "17")];
    let sanity = |inputs: &[(&str, &str)]| {
        let mut all = vec![("job", "sanity")];
        all.extend(inputs);
        act(&tree, &all, &event)
    };
    let more: Vec<(u64, f64)> = (2..12).map(|m| (m, 0.5 + 0.01 * m as f64)).collect();
    let with = |row: &[(u64, f64)]| gemm(&[&[(1, 0.5), (0, 0.6)], &more[..], row].concat());
    tree.gemm("gemm_perf.txt", with(&[]));
    tree.commit();
    let clean = sanity(&[]);
    assert_eq!((clean.code, clean.outputs["verdict"].as_str()), (0, "passed"), "{}", clean.log);
    let comment = std::fs::read_to_string(tree.path().join(&clean.outputs["comment"])).unwrap();
    assert_eq!(clean.summary, comment);
    assert!(std::fs::read_dir(tree.path().join(&clean.outputs["charts"])).unwrap().count() > 0);
    let folder = Path::new(&clean.outputs["folder"]);
    assert_eq!(std::fs::read_to_string(folder.join("pull-request")).unwrap(), "17\n");

    tree.gemm("gemm_perf.txt", with(&[(12, -0.7)]));
    tree.commit();
    let wrong = sanity(&[("summary", "false"), ("annotations", "false")]);
    assert_eq!((wrong.code, wrong.outputs["errors"].as_str()), (1, "1"), "{}", wrong.log);
    assert!(wrong.summary.is_empty() && !wrong.log.contains("::error"), "{}", wrong.log);

    // What changes no data was not compared, and that is not green unless it is asked for.
    tree.git(&["checkout", "-qb", "docs", "main"]);
    tree.file("README", "words");
    tree.commit();
    let nothing = sanity(&[]);
    assert_eq!((nothing.code, nothing.outputs["verdict"].as_str()), (3, "inconclusive"));
    assert_eq!(sanity(&[("inconclusive", "pass")]).code, 0);
}

#[test]
fn without_a_base_commit_only_findings_outside_the_baseline_fail_the_action() {
    let (tree, _) = indebted();
    let nightly = act(&tree, &[], &[]);
    let verdict = nightly.outputs["verdict"].as_str();
    assert_eq!((nightly.code, verdict), (0, "ungated"), "{}", nightly.log);
    insta::assert_snapshot!("log_without_a_base", redact(&nightly.log));
    assert_ne!(nightly.outputs["errors"], "0", "they are told all the same");

    let baseline = tree.file(".perfdb-gate/baseline.json", "");
    std::fs::remove_file(&baseline).unwrap();
    let frozen = tree.validate(&["--write-baseline", &baseline.display().to_string()]);
    assert_eq!(frozen.code(), 1);
    tree.commit();
    let nightly = act(&tree, &[], &[]);
    assert_eq!(nightly.outputs["verdict"], "passed", "{}", nightly.log);
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (0, 0.6), (0, 0.7), (0, 0.8)]));
    assert_eq!(act(&tree, &[], &[]).code, 1, "it has grown");
    assert_eq!(act(&tree, &[("head-ref", "HEAD")], &[]).code, 0, "the commit has not");
}

#[test]
fn the_action_judges_traces_like_tables() {
    let (tree, _) = indebted();
    tree.file("traces/old/experiment_metrics.csv", "");
    let before = tree.commit();
    let push = [("github.event.before", before.as_str())];
    let traces = |more: &[(&str, &str)]| {
        let mut all = vec![("traces", "traces")];
        all.extend(more);
        act(&tree, &all, &push)
    };
    tree.file("words", "that change no trace");
    tree.commit();
    let old = traces(&[]);
    assert_eq!((old.code, old.outputs["verdict"].as_str()), (0, "passed"), "{}", old.log);
    assert_eq!(traces(&[("gate", "all")]).code, 1);
    tree.file("traces/new/experiment_metrics.csv", "");
    tree.commit();
    for head in ["", "HEAD"] {
        let new = traces(&[("head-ref", head)]);
        assert_eq!((new.code, new.outputs["errors"].as_str()), (1, "1"), "{}", new.log);
        // The database is not judged.
        insta::allow_duplicates! {
            insta::assert_snapshot!(redact(&new.log), @"
            perfdb-gate [version]
            The base, [commit]: 1 error, 0 warnings, 0 infos in 1 file; checked 1 file, 0 rows (exit 0)
            ::error file=traces/new/experiment_metrics.csv,title=trace-unreadable::the file is empty
            ::notice title=perfdb-gate::1 error, 0 warnings, 0 infos, 1 in the baseline in 1 file; checked 2 files, 0 rows
            ");
        }
    }
}

#[test]
fn invalid_inputs_of_the_action_are_reported_and_nothing_runs() {
    let (tree, _) = indebted();
    let wrong: [&[(&str, &str)]; 8] = [
        &[("job", "guess")],
        &[("gate", "some")],
        &[("base-ref", "nowhere")],
        &[("job", "sanity")],
        &[("args", "--no-such-flag")],
        &[("root", "nothing here")],
        &[("traces", "."), ("job", "sanity"), ("base-ref", "HEAD")],
        &[("traces", "."), ("system", "h200_sxm")],
    ];
    let mut logs = String::new();
    for inputs in wrong {
        let run = act(&tree, inputs, &[]);
        assert_eq!(run.code, 2, "{inputs:?}: {}", run.log);
        assert!(run.log.contains("::error"), "{inputs:?}: {}", run.log);
        assert!(!run.outputs.contains_key("verdict"), "{inputs:?}");
        logs += &format!("{inputs:?}\n{}\n", redact(&run.log));
    }
    insta::assert_snapshot!(logs);
    let names = "args base-ref head-ref system root traces fail-on artifact planner";
    let jobs: [&[(&str, &str)]; 2] = [&[], &[("job", "sanity"), ("base-ref", "HEAD")]];
    for (name, job) in names.split(' ').flat_map(|name| jobs.map(|job| (name, job))) {
        let evil = (name, "x\"; touch pwned; $(touch pwned) `touch pwned` '");
        act(&tree, &[job, &[evil]].concat(), &[]);
        assert!(!tree.path().join("pwned").exists(), "{name} {job:?}");
    }
}

/// What a pull request commits where the action once kept its files changes nothing and is not kept.
#[test]
fn files_of_the_checkout_are_not_used_as_files_of_the_action() {
    let (tree, before) = indebted();
    let push = [("github.event.before", before.as_str())];
    let bad = gemm(&[(1, 0.5), (0, 0.6), (0, 0.7), (0, 0.8)]);
    tree.gemm("gemm_perf.txt", &bad);
    let frozen = tree.file("perfdb-gate/base.json", "");
    tree.remove("perfdb-gate/base.json");
    tree.validate(&["--write-baseline", &frozen.display().to_string()]);
    tree.file("perfdb-gate/comment.md", "a comment of somebody else");
    let outside = tree.file("elsewhere/report.json", "untouched");
    #[cfg(unix)]
    std::os::unix::fs::symlink(&outside, tree.path().join("perfdb-gate/report.json")).unwrap();
    tree.commit();

    let run = act(&tree, &[], &push);
    assert_eq!((run.code, run.outputs["verdict"].as_str()), (1, "failed"), "{}", run.log);
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "untouched");
    assert_eq!(tree.git(&["status", "--porcelain"]), "", "the checkout is left alone");

    // A base that cannot be judged leaves no baseline, and what cannot be done leaves no comment.
    let event = [("github.base_ref", "main"), ("github.event.pull_request.number", "17")];
    let stopped = act(&tree, &[("job", "sanity"), ("args", "--no-such-flag")], &event);
    assert_eq!(stopped.code, 2, "{}", stopped.log);
    let folder = Path::new(&stopped.outputs["folder"]);
    assert!(!folder.starts_with(tree.path()));
    let kept: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|item| item.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(kept, ["pull-request"]);
}

#[test]
fn every_expression_of_the_action_names_an_existing_input_or_step() {
    let action = action();
    let text = std::fs::read_to_string("action.yml").unwrap();
    let inputs = action["inputs"].as_object().unwrap();
    for (at, _) in text.match_indices("inputs.") {
        let rest = &text[at + 7..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap();
        assert!(inputs.contains_key(&rest[..end]), "inputs.{}", &rest[..end]);
    }
    for name in inputs.keys() {
        assert!(text.contains(&format!("inputs.{name}")), "{name} is read by nothing");
    }
}
