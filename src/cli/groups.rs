//! The groups of commands in the program's help, with an example for each command.

use clap::{Arg, ArgAction, Command, CommandFactory};
use textwrap::{Options, fill};

use super::{Cli, terminal};

/// The text that sorts the commands into groups for the help. Each group has a heading line. Below it is one line per
/// command with an example call, such as `explain duplicate-key`.
const GROUPS: &str = include_str!("groups.txt");

/// Returns a command's example call, such as `explain duplicate-key` for `explain`; `None` if no command has this name.
pub(crate) fn example(name: &str) -> Option<&'static str> {
    GROUPS.lines().find(|line| line.split(' ').next() == Some(name))
}

/// Returns the flag `-h`, `--help`. Both forms print the same help.
fn help() -> Arg {
    let help = Arg::new("help").short('h').long("help").action(ArgAction::HelpShort);
    help.help("Print this help").help_heading("Terminal")
}

/// Returns the command-line parser, whose help lists the commands in groups.
pub(crate) fn command() -> Command {
    let mut cli = Cli::command();
    let mut groups = String::new();
    for line in GROUPS.lines() {
        let name = line.split(' ').next().unwrap_or_default();
        let Some(about) = cli.find_subcommand(name).and_then(Command::get_about) else {
            groups += &format!("\n{line}\n");
            continue;
        };
        let (first, rest) = (format!("  {name:11}  "), " ".repeat(15));
        let lines = Options::new(terminal::columns()).initial_indent(&first);
        groups += &(fill(&about.to_string(), lines.subsequent_indent(&rest)) + "\n");
        let template = format!(
            "{{about-with-newline}}\nExample:\n  perfdb-gate {line}\n\n{{usage-heading}} {{usage}}\n\n{{all-args}}"
        );
        cli = cli.mut_subcommand(name, |command| {
            command.help_template(template).disable_help_flag(true).arg(help())
        });
    }
    cli.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{groups}\nOptions:\n{{options}}{{after-help}}"
    ))
}
