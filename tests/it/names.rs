//! Pages and help texts name what there is: commands, flags, files and other names, and the figures of the code.

use std::collections::BTreeSet;
use std::path::Path;

use regex::Regex;

use crate::common::{commands, run};
use crate::docs::pages;

/// Names that pages quote from elsewhere: other programs, GitHub, the public database's own checks, examples.
const FOREIGN: [&str; 34] = [
    "--entrypoint",
    "HF_HUB_OFFLINE",
    "cargo-insta",
    "check_collector_data",
    "collection_provenance",
    "collection_summary",
    "directory_identity",
    "duplicate_columns",
    "duplicate_physical_key",
    "empty_case_plan",
    "empty_table",
    "family_identity",
    "finite_nonnull",
    "full-ci-selection-cases",
    "inferno-flamegraph",
    "operation_identity",
    "power-throttled",
    "power_schema",
    "rank-3",
    "readable_artifact",
    "required_columns",
    "row_identity",
    "select-full-ci",
    "select_full_ci",
    "shape_boundary",
    "shape_type",
    "sidecar_identity",
    "sidecar_rows",
    "timing_boundary",
    "timing_schema",
    "timing_type",
    "vllm-openai",
    "wideep_deepep_normal",
    ".github/full-ci-selection-cases.yml",
];

/// Folders with what a page may name.
const NAMED: [&str; 10] =
    [".ci", ".github", "benches", "charts", "data", "fuzz", "rules", "selftest", "src", "tests"];

/// The texts that people read: pages, the action, and the help of every command.
fn texts() -> Vec<(String, String)> {
    let mut paths: Vec<String> = pages().iter().map(|page| page.display().to_string()).collect();
    paths.extend(["CONTRIBUTING.md", "SECURITY.md", "action.yml"].map(str::to_owned));
    let read = |path: String| (path.clone(), std::fs::read_to_string(path).unwrap());
    let mut texts: Vec<(String, String)> = paths.into_iter().map(read).collect();
    for command in commands() {
        texts.push((format!("{command} --help"), run(&[&command, "--help"]).out()));
    }
    texts
}

/// The words of everything that pages describe, paths included.
fn words() -> BTreeSet<String> {
    let mut all = String::new();
    for folder in NAMED.map(Path::new).iter().filter(|folder| folder.exists()) {
        for entry in walkdir::WalkDir::new(folder).into_iter().map(Result::unwrap) {
            let path = entry.path();
            // This file and snapshots repeat what pages say.
            let is_text = !["md", "snap", "parquet"]
                .iter()
                .any(|end| path.extension().is_some_and(|e| e == *end));
            if entry.file_type().is_file() && is_text && !path.ends_with("names.rs") {
                all += &path.display().to_string();
                all += &String::from_utf8_lossy(&std::fs::read(path).unwrap());
            }
        }
    }
    for file in [
        "action.yml",
        "Cargo.toml",
        ".pre-commit-hooks.yaml",
        "deny.toml",
        "pyproject.toml",
        "Dockerfile",
    ] {
        all += &std::fs::read_to_string(file).unwrap();
    }
    let word = Regex::new(r"[A-Za-z0-9_-]+").unwrap();
    word.find_iter(&all).map(|found| found.as_str().to_owned()).collect()
}

/// The quoted names of a text that are not among `known`, and the quoted files that are not there.
fn unknown(text: &str, known: &BTreeSet<String>) -> Vec<String> {
    let block = Regex::new(r"(?s)```.*?```").unwrap();
    let text = block.replace_all(text, "");
    let quoted = Regex::new(r"`([^`\n]+)`").unwrap();
    let name = Regex::new(r"--[a-z][a-z-]+|[A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)+").unwrap();
    let mut wrong = Vec::new();
    for quoted in quoted.captures_iter(&text).map(|found| found.get(1).unwrap().as_str()) {
        let first = quoted.split('/').next().unwrap();
        let is_file = quoted.contains('/')
            && quoted.chars().all(|c| c.is_alphanumeric() || "./_-".contains(c));
        if is_file && NAMED.contains(&first) && !Path::new(quoted).exists() {
            wrong.push(quoted.to_owned());
        }
        let names = name.find_iter(quoted).map(|found| found.as_str());
        let is_known = |name: &&str| {
            let bare = name.trim_start_matches('-');
            [*name, bare, &bare.replace('-', "_")].iter().any(|form| known.contains(*form))
        };
        wrong.extend(names.filter(|name| !is_known(name)).map(str::to_owned));
    }
    wrong.retain(|name| !FOREIGN.contains(&name.as_str()));
    wrong
}

#[test]
fn every_name_and_file_quoted_on_the_pages_exists() {
    let known = words();
    let of_text = |(at, text): &(String, String)| {
        unknown(text, &known).into_iter().map(|name| format!("{at}: {name}")).collect::<Vec<_>>()
    };
    let texts = texts();
    assert!(texts.len() > 30, "{}", texts.len());
    let wrong: Vec<String> = texts.iter().flat_map(of_text).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_quoted_name_that_does_not_exist_is_found() {
    let known = ["json-lines", "rules"].map(str::to_owned).into();
    let seen = |text: &str| unknown(text, &known);
    assert_eq!(seen("`json-lines`, not `no-such-rule`"), ["no-such-rule"]);
    assert_eq!(seen("`perfdb-gate validate --watched x`"), ["perfdb-gate", "--watched"]);
    assert_eq!(seen("`src/no/such.rs` and `src/lib.rs`"), ["src/no/such.rs"]);
    assert_eq!(seen("```\n`no-such-rule`\n```\nno-such-rule"), [""; 0]);
}

#[test]
fn every_command_and_flag_named_on_the_pages_exists() {
    let commands = commands();
    assert!(commands.len() > 15, "{commands:?}");
    let called = Regex::new(r"`perfdb-gate ([a-z]+)((?:[^`\n]|\n[^`\n])*)`").unwrap();
    let flag = Regex::new(r"(?:^|\s)(--[a-z][a-z-]*)").unwrap();
    let mut wrong = Vec::new();
    let mut seen = 0;
    for (at, text) in texts() {
        for call in called.captures_iter(&text) {
            if !commands.iter().any(|command| *command == call[1]) {
                wrong.push(format!("{at}: {}", &call[1]));
                continue;
            }
            let help = run(&[&call[1], "--help"]).out();
            for flag in flag.captures_iter(&call[2]) {
                seen += 1;
                let has = help.split([' ', '\n', '[', '=', ',']).any(|word| *word == flag[1]);
                if !has {
                    wrong.push(format!("{at}: {} {}", &call[1], &flag[1]));
                }
            }
        }
    }
    assert!(seen > 10, "{seen}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Figures of pages and help texts: the file, the words before and after the figure, and the constant with its unit.
const FIGURES: [(&str, &str, &str, &str, &str, u64); 15] = [
    ("src/jobs/waive.rs", "YYYY-MM-DD; ", " days from today", "src/jobs/waive.rs", "DAYS", 1),
    (
        "src/jobs/remeasure/draw.rs",
        "Tables that are not judged, ",
        " points each",
        "src/jobs/remeasure/mod.rs",
        "CONTROL_POINTS",
        1,
    ),
    (
        "src/cli/validate.rs",
        "without it, more than ",
        " are grouped by cause",
        "src/report/triage.rs",
        "GLANCE",
        1,
    ),
    (
        "docs/sanity.md",
        "Most comments have at most ",
        " characters",
        "src/report/comment/mod.rs",
        "READ",
        1,
    ),
    ("docs/sanity.md", "none has more than ", ".", "src/report/comment/mod.rs", "LONGEST", 1),
    (
        "src/cli/sanity.rs",
        "at most ",
        " characters long",
        "src/report/comment/mod.rs",
        "LONGEST",
        1,
    ),
    ("docs/validate.md", "`), at most ", " characters", "src/report/markdown.rs", "LONGEST", 1),
    (
        "docs/validate.md",
        "more than ",
        " million cells",
        "src/database/limits.rs",
        "MOST_CELLS",
        1_000_000,
    ),
    (
        "docs/validate.md",
        "million cells, ",
        " MiB of file",
        "src/database/limits.rs",
        "MOST_BYTES",
        1 << 20,
    ),
    (
        "docs/validate.md",
        "name longer than ",
        " KiB",
        "src/database/limits.rs",
        "LONGEST_TEXT",
        1 << 10,
    ),
    (
        "docs/explore.md",
        "A page has at most ",
        " MB",
        "src/report/explore/mod.rs",
        "LARGEST",
        1_000_000,
    ),
    (
        "docs/impact.md",
        "then up to ",
        " other changed versions",
        "src/planner/mod.rs",
        "MOST_VERSIONS",
        1,
    ),
    (
        "docs/impact.md",
        "process of its own, at most ",
        " at a time",
        "src/planner/ask.rs",
        "PROCESSES",
        1,
    ),
    ("docs/impact.md", "an answer takes more than ", " seconds", "src/planner/mod.rs", "ANSWER", 1),
    ("docs/impact.md", "or all answers more than ", " seconds", "src/planner/ask.rs", "LONGEST", 1),
];

/// The value of a constant: a number, `1 << n`, or a duration in seconds.
fn constant(file: &str, name: &str) -> u64 {
    let code = std::fs::read_to_string(file).unwrap();
    let value = Regex::new(&format!(r"const {name}: [A-Za-z0-9]+ = ([^;]+);")).unwrap();
    let value =
        value.captures(&code).unwrap_or_else(|| panic!("{file} has no {name}"))[1].to_owned();
    let value =
        value.trim_start_matches("Duration::from_secs(").trim_end_matches(')').replace('_', "");
    let number = |text: &str| {
        text.trim().parse::<u64>().unwrap_or_else(|_| panic!("{file}: {name} = {text}"))
    };
    value.split_once("<<").map_or_else(|| number(&value), |(one, by)| number(one) << number(by))
}

/// A number with a comma before every three digits.
fn grouped(n: u64) -> String {
    if n < 1000 { n.to_string() } else { format!("{},{:03}", grouped(n / 1000), n % 1000) }
}

/// Replaces the figures of help texts that repeat a constant, and default numbers, by `[n]`.
pub(crate) fn without_figures(help: &str) -> String {
    let default = Regex::new(r"\[default: \d+\]").unwrap();
    let mut help = default.replace_all(help, "[default: [n]]").into_owned();
    for (_, before, after, file, name, unit) in FIGURES.iter().filter(|f| f.0.starts_with("src/")) {
        let figure = grouped(constant(file, name) / unit);
        help = help.replace(&format!("{before}{figure}{after}"), &format!("{before}[n]{after}"));
    }
    help
}

#[test]
fn figures_on_the_pages_equal_the_constants_of_the_code() {
    for (page, before, after, file, name, unit) in FIGURES {
        let text = std::fs::read_to_string(page).unwrap();
        let text = text.replace("\n    /// ", " ").replace('\n', " ");
        let figure = grouped(constant(file, name) / unit);
        let sentence = format!("{before}{figure}{after}");
        assert!(text.contains(&sentence), "{page} lacks \"{sentence}\", as {name} in {file} says");
    }
}
