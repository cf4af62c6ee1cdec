//! The help of every command, as people read it.

use crate::common::run;
use crate::common::snapshot::redact;

/// The commands that the program's own help lists.
fn commands() -> Vec<String> {
    let help = run(&["--help"]).out();
    let (_, list) = help.split_once("\nCommands:\n").expect("a list of commands");
    let lines = list.lines().take_while(|line| !line.is_empty());
    // A line that is indented further goes on with the description before it.
    let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn the_help_of_every_command_reads_as_shown() {
    insta::assert_snapshot!("help", redact(&run(&["--help"]).out()));
    let commands = commands();
    assert!(commands.len() > 10, "{commands:?}");
    for name in commands.iter().filter(|name| *name != "help") {
        let help = run(&[name, "--help"]);
        assert_eq!((help.code(), help.err().as_str()), (0, ""), "{name}");
        insta::assert_snapshot!(format!("help_{name}"), redact(&help.out()));
    }
}
