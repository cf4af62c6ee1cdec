//! The flags that every job has, completions, and reports in several formats at once.

use crate::common::snapshot::{redact, shown};
use crate::common::{Tree, command, gemm, run};

fn tree() -> Tree {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (0, 0.6)]));
    tree
}

#[test]
fn colour_is_only_for_terminals_by_default() {
    let tree = tree();
    let root = tree.path().display().to_string();
    let out = |args: &[&str], no_color: bool| {
        let mut command = command();
        command.args(["validate", "--root", &root]).args(args);
        if no_color {
            command.env("NO_COLOR", "1");
        }
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    assert!(!out(&[], false).contains('\x1b'), "a pipe is no terminal");
    insta::assert_snapshot!(redact(&out(&["--color", "always"], false).replace('\x1b', "␛")));
    // What is said on the command line is nearer than what the environment says.
    assert!(out(&["--color", "always"], true).contains('\x1b'));
    assert!(!out(&["--color", "never"], false).contains('\x1b'));
    assert!(!out(&["--color", "always", "--format", "json"], false).contains('\x1b'));
}

#[test]
fn lines_are_wrapped_in_a_terminal_and_not_in_a_pipe() {
    let tree = tree();
    let root = tree.path().display().to_string();
    let out = |columns: Option<&str>, more: &[&str]| {
        let mut command = command();
        command.args(["validate", "--root", &root, "--full"]).args(more);
        command.envs(columns.map(|columns| ("COLUMNS", columns)));
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let whole = out(None, &[]);
    assert!(whole.lines().any(|line| line.chars().count() > 80), "{whole}");
    let words = |text: &str| -> Vec<String> {
        let words = text.split_whitespace().filter(|word| word.parse::<f64>().is_err());
        words.map(str::to_owned).collect()
    };
    for columns in [40, 60, 80] {
        let text = out(Some(&columns.to_string()), &[]);
        let is_long = |line: &&str| line.chars().count() > columns && line.trim().contains(' ');
        assert_eq!(text.lines().find(is_long), None);
        assert_eq!(words(&text), words(&whole), "{columns}");
    }
    // Programs read whole lines, and a file has them too.
    assert_eq!(out(Some("60"), &["--format", "concise"]), out(None, &["--format", "concise"]));
    // A rule has an address only where this program is published.
    let links = out(None, &["--color", "always"]).contains("\x1b]8;;http");
    assert_eq!(links, !env!("CARGO_PKG_REPOSITORY").contains("/OWNER/"));
}

#[test]
fn quiet_prints_only_the_summary_line() {
    let tree = tree();
    let run = tree.validate(&["--quiet"]);
    assert_eq!(run.code(), 1);
    insta::assert_snapshot!(run.shown(), @"
    $ perfdb-gate validate --root [tmp] --quiet
    1 error, 0 warnings, 0 infos in 1 file; checked 1 table, 2 rows
    (exit 1)
    ");
    // A format for programs is whole.
    assert!(tree.validate(&["-q", "--format", "json"]).json()["findings"].is_array());
    assert_eq!(tree.validate(&["--quiet", "--verbose"]).code(), 2);
}

#[test]
fn verbose_logs_are_written_to_standard_error() {
    let tree = tree();
    let args = ["--format", "json", "--only", "key-out-of-range", "--only", "unit-shift"];
    let plain = tree.validate(&args);
    let verbose = tree.validate(&[&args[..], &["-v"]].concat());
    assert_eq!(plain.json(), verbose.json());
    assert!(plain.err().is_empty());
    // A line begins with the time since the start.
    let log = verbose.err();
    let events: Vec<&str> =
        log.lines().filter_map(|line| Some(line.split_once("DEBUG ")?.1)).collect();
    insta::assert_snapshot!(redact(&events.join("\n")), @r#"
    listed roots=1 systems=1 tables=1 overlays=0 root="[tmp]"
    read path="systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt" rows=2 judge=true took=[time]
    compared tables rule="unit-shift" table="gemm_perf" took=[time]
    checked the database as a whole rule="unit-shift" took=[time]
    "#);
    // A name in the data cannot write to the terminal.
    tree.file("systems/data/h200_sxm/vllm/0.1\x1b[31m/gemm_perf.txt", gemm(&[(1, 0.5)]));
    assert!(!tree.validate(&["-v"]).err().contains('\x1b'));
}

#[test]
fn global_flags_are_accepted_before_and_after_the_command() {
    let tree = tree();
    let root = tree.path().display().to_string();
    let before = run(&["--quiet", "validate", "--root", &root]);
    assert_eq!(before.out(), tree.validate(&["--quiet"]).out());
}

#[test]
fn one_run_writes_several_formats() {
    let tree = tree();
    let file = |name: &str| tree.path().join(name).display().to_string();
    let sarif = format!("sarif={}", file("a.sarif"));
    let junit = format!("junit={}", file("b.xml"));
    let run = tree.validate(&["--format", "github", "--report", &sarif, "--report", &junit]);
    assert_eq!(run.out(), tree.validate(&["--format", "github"]).out());
    for (name, format) in [("a.sarif", "sarif"), ("b.xml", "junit")] {
        let text = std::fs::read_to_string(file(name)).unwrap();
        assert_eq!(text, tree.validate(&["--format", format]).out(), "{format}");
    }
    let wrong = ["pdf=x", "json", "json=-"].map(|bad| tree.validate(&["--report", bad]));
    assert!(wrong.iter().all(|run| run.code() == 2));
    insta::assert_snapshot!(shown(&wrong), @"
    $ perfdb-gate validate --root [tmp] --report pdf=x
    2> perfdb-gate: invalid value 'pdf=x' for '--report <FORMAT=FILE>': 'pdf' is not a format: the formats are human, concise, json, sarif, github, junit, markdown, stages, audit
    2> hint: `perfdb-gate validate --help` lists what it takes
    (exit 2)

    $ perfdb-gate validate --root [tmp] --report json
    2> perfdb-gate: invalid value 'json' for '--report <FORMAT=FILE>': write FORMAT=FILE, for example sarif=perfdb.sarif
    2> hint: `perfdb-gate validate --help` lists what it takes
    (exit 2)

    $ perfdb-gate validate --root [tmp] --report json=-
    2> perfdb-gate: invalid value 'json=-' for '--report <FORMAT=FILE>': the name of the file is missing; --format sets the format of standard output
    2> hint: `perfdb-gate validate --help` lists what it takes
    (exit 2)
    ");
    // All of them or none.
    let lost = format!("json={}", file("none/there.json"));
    let before = file("c.sarif");
    let run = tree.validate(&["--report", &format!("sarif={before}"), "--report", &lost]);
    assert_eq!(run.code(), 2);
    assert!(!std::path::Path::new(&before).exists());
}

#[test]
fn completions_list_every_flag() {
    for (shell, start) in [
        ("bash", "complete -F _perfdb"),
        ("zsh", "#compdef perfdb-gate"),
        ("fish", "function __fish"),
    ] {
        let script = run(&["completions", shell]);
        assert_eq!(script.code(), 0, "{shell}");
        let script = script.out();
        assert!(script.contains(start), "{shell}");
        for word in ["remeasure", "output-md-file", "markdown", "quiet"] {
            assert!(script.contains(word), "{word} of {shell}");
        }
    }
    assert_eq!(run(&["completions", "csh"]).code(), 2);
}

/// The shell reads the script that is meant for it.
fn reads_its_completions(shell: &str) {
    let mut command = std::process::Command::new(shell);
    let mut child = command
        .arg("-n")
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap_or_else(|e| panic!("the completions are read by {shell}: install it ({e})"));
    let script = run(&["completions", shell]).out();
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), script.as_bytes()).unwrap();
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success(), "{shell}");
}

#[test]
fn bash_accepts_its_completions() {
    reads_its_completions("bash");
}

#[test]
#[ignore = "needs zsh on the path"]
fn zsh_accepts_its_completions() {
    reads_its_completions("zsh");
}
