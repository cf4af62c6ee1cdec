//! The help of every command, as people read it.

use crate::common::snapshot::redact;
use crate::common::{commands, run};

#[test]
fn the_help_of_every_command_reads_as_shown() {
    insta::assert_snapshot!("help", redact(&run(&["--help"]).out()));
    let commands = commands();
    // clap itself adds `help`.
    let completions = run(&["completions", "fish"]).out();
    let known = completions
        .lines()
        .filter(|line| line.contains("__fish_perfdb_gate_needs_command\" -f -a"));
    assert_eq!(known.count(), commands.len() + 1, "every command is in a group: {commands:?}");
    for name in &commands {
        let help = run(&[name, "--help"]);
        assert_eq!((help.code(), help.err().as_str()), (0, ""), "{name}");
        insta::assert_snapshot!(format!("help_{name}"), redact(&help.out()));
    }
}

/// The help of a command begins with an example; options that select tables come before those for outputs.
#[test]
fn the_help_of_the_main_commands_is_short_and_starts_with_an_example() {
    for command in ["validate", "sanity", "remeasure"] {
        let help = run(&[command, "--help"]).out();
        assert!(help.lines().count() <= 90, "{command} has {} lines", help.lines().count());
        let at = |text: &str| help.find(text).unwrap_or_else(|| panic!("{command}: {text}"));
        let example = at(&format!("\nExample:\n  perfdb-gate {command} "));
        let order = [example, at("\nUsage:"), at("\nWhat to "), at("\nOutput:"), at("\nTerminal:")];
        assert!(order.is_sorted(), "{command}: {order:?}");
        let headings = help.lines().filter(|l| l.ends_with(':') && !l.starts_with(' '));
        let last: Vec<&str> = headings.collect();
        assert!(last.ends_with(&["Output:", "Terminal:"]), "{command}: {last:?}");
        // Both flags show the same.
        assert_eq!(run(&[command, "-h"]).out(), help, "{command}");
    }
}

/// One state is `--ref`, two are `--base-ref` and `--head-ref`, `--since` is what changed, and `--settings-ref` has
/// the settings: no command has another name for a commit.
#[test]
fn flags_for_commits_have_the_same_names_in_every_command() {
    let mut seen = 0;
    for command in commands() {
        let help = run(&[&command, "--help"]).out();
        let flags: Vec<&str> = help
            .lines()
            .filter(|line| line.contains("<REF>") && !line.starts_with("Usage:"))
            .filter_map(|line| line.trim_start().split(' ').next())
            .collect();
        seen += flags.len();
        let known = ["--ref", "--base-ref", "--head-ref", "--since", "--settings-ref"];
        assert!(flags.iter().all(|flag| known.contains(flag)), "{command}: {flags:?}");
        let has = |flag| flags.contains(&flag);
        assert!(!has("--head-ref") || has("--base-ref") && !has("--ref"), "{command}: {flags:?}");
    }
    assert!(seen > 12, "{seen}");
}

#[test]
fn other_names_of_commit_flags_are_accepted_and_not_listed() {
    let unknown = "unexpected argument";
    for (command, flag, more) in
        [("sanity", "--ref", Some("--base-ref=HEAD")), ("explore", "--head-ref", None)]
    {
        let mut args = vec![command, flag, "no-such-commit", "--root", "no-such-folder"];
        args.extend(more);
        let ended = run(&args);
        assert_eq!(ended.code(), 2, "{command}");
        assert!(!ended.err().contains(unknown), "{command}: {}", ended.err());
        let help = run(&[command, "--help"]).out();
        assert!(!help.contains(&format!("{flag} <")), "{command} lists {flag}");
    }
    assert!(run(&["validate", "--head-ref", "HEAD"]).err().contains(unknown));
}
