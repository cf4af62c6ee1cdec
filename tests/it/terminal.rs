//! The flags that every job has, completions, and reports in several formats at once.

use crate::common::{Tree, command, gemm, run};

fn tree() -> Tree {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (0, 0.6)]));
    tree
}

#[test]
fn colour_is_for_terminals_unless_told() {
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
    assert!(out(&["--color", "always"], false).contains("\x1b[31;1merror"));
    // What is said on the command line is nearer than what the environment says.
    assert!(out(&["--color", "always"], true).contains('\x1b'));
    assert!(!out(&["--color", "never"], false).contains('\x1b'));
    assert!(!out(&["--color", "always", "--format", "json"], false).contains('\x1b'));
}

#[test]
fn quiet_is_the_line_that_sums_it_up() {
    let tree = tree();
    let run = tree.validate(&["--quiet"]);
    assert_eq!(run.code(), 1);
    let out = run.out();
    assert_eq!(out.lines().count(), 1, "{out}");
    assert!(out.contains("1 error") && out.ends_with("1 table, 2 rows judged\n"), "{out}");
    // A format for programs is whole.
    assert!(tree.validate(&["-q", "--format", "json"]).json()["findings"].is_array());
    assert_eq!(tree.validate(&["--quiet", "--verbose"]).code(), 2);
}

#[test]
fn verbose_goes_to_standard_error() {
    let tree = tree();
    let (plain, verbose) =
        (tree.validate(&["--format", "json"]), tree.validate(&["--format", "json", "-v"]));
    assert_eq!(plain.json(), verbose.json());
    assert!(plain.err().is_empty());
    let log = verbose.err();
    assert!(
        log.contains("listed") && log.contains("gemm_perf.txt") && log.contains("took="),
        "{log}"
    );
    // A name in the data cannot write to the terminal.
    tree.file("systems/data/h200_sxm/vllm/0.1\x1b[31m/gemm_perf.txt", gemm(&[(1, 0.5)]));
    assert!(!tree.validate(&["-v"]).err().contains('\x1b'));
}

#[test]
fn flags_stand_before_and_after_the_job() {
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
    for (bad, why) in [("pdf=x", "pdf"), ("json", "FORMAT=FILE"), ("json=-", "name of a file")] {
        let run = tree.validate(&["--report", bad]);
        assert_eq!(run.code(), 2, "{bad}");
        assert!(run.err().contains(why), "{bad}: {}", run.err());
    }
    // All of them or none.
    let lost = format!("json={}", file("none/there.json"));
    let before = file("c.sarif");
    let run = tree.validate(&["--report", &format!("sarif={before}"), "--report", &lost]);
    assert_eq!(run.code(), 2);
    assert!(!std::path::Path::new(&before).exists());
}

#[test]
fn completions_know_every_flag() {
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
    let script = run(&["completions", shell]).0.stdout;
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), &script).unwrap();
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success(), "{shell}");
}

#[test]
fn bash_reads_its_completions() {
    reads_its_completions("bash");
}

#[test]
#[ignore = "needs zsh on the path"]
fn zsh_reads_its_completions() {
    reads_its_completions("zsh");
}
