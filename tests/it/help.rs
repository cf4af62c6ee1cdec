//! The help of every command: its own options, and the options that commands share.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::snapshot::redact;
use crate::common::{commands, run};
use crate::names::without_figures;

/// The commands that select tables by system, backend, version and name.
const SELECTING: [&str; 6] = ["convert", "dedupe", "plan", "remeasure", "status", "validate"];

/// The commands that print a report with findings.
const REPORTING: [&str; 3] = ["remeasure", "sanity", "validate"];

/// The commands that do not read a database below `--root`.
const ROOTLESS: [&str; 5] = ["completions", "explain", "measure", "merge", "schema"];

/// The commands that do not read rules and specs from a folder given by `--rules`.
const RULELESS: [&str; 5] = ["completions", "init", "new", "schema", "waive"];

/// The help of one command, without line breaks and padding.
struct Help {
    /// The description, the example and the usage.
    head: String,
    /// The headings of the options with one line for each option: its names and its text.
    sections: Vec<(String, Vec<String>)>,
}

impl Help {
    /// Parses printed help. An option starts at most six columns from the left, and its text is continued further right.
    fn parse(text: &str) -> Self {
        let (mut head, mut sections) = (String::new(), Vec::<(String, Vec<String>)>::new());
        let mut in_options = false;
        for line in text.lines() {
            let words = line.split_whitespace().collect::<Vec<_>>().join(" ");
            let indent = line.len() - line.trim_start().len();
            in_options |= indent == 0 && line.ends_with(':') && line != "Example:";
            if !in_options {
                head += &format!("{line}\n");
            } else if words.is_empty() {
            } else if indent == 0 {
                sections.push((words, Vec::new()));
            } else if let Some((_, options)) = sections.last_mut() {
                match options.last_mut() {
                    Some(option) if indent > 6 => *option += &format!(" {words}"),
                    _ => options.push(words),
                }
            }
        }
        Self { head: head.trim().to_owned(), sections }
    }

    /// The help that a command prints.
    fn of(command: &str) -> Self {
        let help = run(&[command, "--help"]);
        assert_eq!((help.code(), help.err().as_str()), (0, ""), "{command}");
        let widest = help.out().lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(100), "{command} has a line of {widest:?} columns");
        Self::parse(&redact(&help.out()))
    }

    fn options(&self) -> impl Iterator<Item = &str> {
        self.sections.iter().flat_map(|(_, options)| options.iter().map(String::as_str))
    }

    /// The line of the option with a flag such as `--root`.
    fn option(&self, flag: &str) -> Option<&str> {
        self.options().find(|option| flags(option).any(|name| name == flag))
    }
}

/// The flags at the beginning of an option's line: `-q` and `--quiet`.
fn flags(option: &str) -> impl Iterator<Item = &str> {
    option.split(' ').map(|word| word.trim_end_matches(',')).take_while(|w| w.starts_with('-'))
}

/// The help of every command, by the command's name.
fn all() -> BTreeMap<String, Help> {
    commands().into_iter().map(|name| (name.clone(), Help::of(&name))).collect()
}

/// The lines of the options that the program shows without a command.
fn program_s_options() -> Vec<String> {
    let help = run(&["--help"]).out();
    let (_, options) = help.split_once("\nOptions:\n").expect("options");
    let (options, _) = options.split_once("\nExit codes").expect("exit codes");
    Help::parse(&format!("Options:\n{options}")).sections.remove(0).1
}

/// The commands that show an option, for each line of an option that several commands show.
fn shared(all: &BTreeMap<String, Help>) -> BTreeMap<&str, Vec<&str>> {
    let mut shown = BTreeMap::<&str, Vec<&str>>::new();
    for (name, help) in all {
        help.options().for_each(|option| shown.entry(option).or_default().push(name));
    }
    shown.retain(|_, commands| commands.len() > 1);
    shown
}

#[test]
fn the_program_s_help_lists_the_commands_and_the_exit_codes() {
    let help = redact(&run(&["--help"]).out());
    let (commands_of_help, rest) = help.split_once("\nOptions:\n").expect("options");
    let (_, exit_codes) = rest.split_once("\nExit codes").expect("exit codes");
    insta::assert_snapshot!("help", format!("{commands_of_help}\n\nExit codes{exit_codes}"));
    // clap itself adds `help`.
    let completions = run(&["completions", "fish"]).out();
    let known = completions
        .lines()
        .filter(|line| line.contains("__fish_perfdb_gate_needs_command\" -f -a"));
    let commands = commands();
    assert_eq!(known.count(), commands.len() + 1, "every command is in a group: {commands:?}");
}

/// The snapshot has every option that only one command has, with the headings under which it is shown.
#[test]
fn the_own_options_of_every_command_equal_the_snapshot() {
    let all = all();
    let shared = shared(&all);
    let mut text = String::new();
    for (name, help) in &all {
        text += &format!("# {name}\n\n{}\n", help.head);
        for (heading, options) in &help.sections {
            let mut own = options.iter().filter(|option| !shared.contains_key(option.as_str()));
            if let Some(first) = own.next() {
                text += &format!("\n{heading}\n  {first}\n");
                own.for_each(|option| text += &format!("  {option}\n"));
            }
        }
        text.push('\n');
    }
    insta::assert_snapshot!("own_options", without_figures(&text));
}

/// The snapshot has every option that several commands have, once, below the names of these commands.
#[test]
fn the_options_that_commands_share_equal_the_snapshot() {
    let all = all();
    let mut groups = BTreeMap::<Vec<&str>, Vec<&str>>::new();
    for (option, commands) in shared(&all) {
        groups.entry(commands).or_default().push(option);
    }
    let mut text = format!("# the program\n\n{}\n", program_s_options().join("\n"));
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(commands, _)| std::cmp::Reverse(commands.len()));
    for (commands, options) in groups {
        let names =
            if commands.len() == all.len() { "all commands".into() } else { commands.join(", ") };
        text += &format!("\n# {names}\n\n{}\n", options.join("\n"));
    }
    insta::assert_snapshot!("shared_options", without_figures(&text));
}

/// One option stands for each group of options that a struct of the code declares.
#[test]
fn every_command_shows_the_groups_of_options_that_it_shares() {
    let all = all();
    let names: Vec<&str> = all.keys().map(String::as_str).collect();
    let except =
        |left_out: &[&str]| names.iter().copied().filter(|n| !left_out.contains(n)).collect();
    for (flag, commands) in [
        ("--color", names.clone()),
        ("--threads", names.clone()),
        ("--rules", except(&RULELESS)),
        ("--table", SELECTING.to_vec()),
        ("--format", REPORTING.to_vec()),
        ("--only", vec!["sanity", "validate"]),
        ("--cases", vec!["impact", "sanity"]),
        ("--device", vec!["measure", "remeasure"]),
        ("--keep", vec!["dedupe"]),
    ] {
        let option = all[commands[0]].option(flag).expect("an option");
        let shown: Vec<&str> =
            names.iter().copied().filter(|name| all[*name].option(flag) == Some(option)).collect();
        assert_eq!(shown, commands, "{flag}");
    }
    // The text of this option differs.
    let rooted: Vec<&str> =
        names.iter().copied().filter(|name| all[*name].option("--root").is_some()).collect();
    assert_eq!(rooted, except(&ROOTLESS), "--root");
}

#[test]
fn the_program_and_all_commands_have_the_same_terminal_options() {
    let program = program_s_options();
    let program: BTreeSet<&str> = program.iter().flat_map(|option| flags(option)).collect();
    for (name, help) in all() {
        let terminal = help.sections.iter().find(|(heading, _)| heading == "Terminal:");
        let (_, options) = terminal.expect("options for the terminal");
        let mut own: BTreeSet<&str> = options.iter().flat_map(|option| flags(option)).collect();
        own.extend(["-V", "--version"]);
        assert_eq!(own, program, "{name}");
    }
}

/// Options that select tables are shown before those for outputs.
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
