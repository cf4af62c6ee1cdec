//! The groups of commands in the program's help, with an example for each command.

use clap::{Command, CommandFactory};
use textwrap::{Options, fill};

use super::{Cli, terminal};

/// The groups, each followed by its commands with the arguments of an example.
const GROUPS: &str = "\
Check:
validate --system h200_sxm
sanity --base-ref origin/main --output-md-file comment.md
remeasure --system h200_sxm --table gemm --sample 20
explain duplicate-key
Look:
status --system h200_sxm
explore --system h200_sxm --table gemm --output gemm.html
impact --base-ref origin/main --planner planner/bin/python
Collect:
new --system h200_sxm --table gemm --backend vllm --version 1.2.3 --from rows.csv
plan --from report.json --output rerun.yaml
measure --plan rerun.yaml --output-dir again
merge gemm_perf.parquet --with again --only rerun.yaml --write
Repair:
dedupe --system h200_sxm --write
convert --system h200_sxm --write
waive 0123456789abcdef --reason 'measured twice' --until 2027-12-31
Set up:
init --repository OWNER/perfdb-gate
completions bash
schema rule
suggest warp --output .perfdb-gate/rules/tables/warp.yaml";

/// Returns the command line, with its commands in groups.
pub fn command() -> Command {
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
        let example = format!("Example:\n  perfdb-gate {line}");
        cli = cli.mut_subcommand(name, |command| command.after_help(example));
    }
    cli.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{groups}\nOptions:\n{{options}}{{after-help}}"
    ))
}
