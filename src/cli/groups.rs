//! The groups of commands in the program's help, with an example for each command.

use clap::{Command, CommandFactory};
use textwrap::{Options, fill};

use super::{Cli, terminal};

/// The commands by group, each with the example that its own help shows.
const GROUPS: &[(&str, &[(&str, &str)])] = &[
    (
        "Check",
        &[
            ("validate", "perfdb-gate validate --system h200_sxm"),
            ("sanity", "perfdb-gate sanity --base-ref origin/main --output-md-file comment.md"),
            ("remeasure", "perfdb-gate remeasure --system h200_sxm --table gemm --sample 20"),
            ("explain", "perfdb-gate explain duplicate-key"),
        ],
    ),
    (
        "Look",
        &[
            ("status", "perfdb-gate status --system h200_sxm"),
            ("explore", "perfdb-gate explore --system h200_sxm --table gemm --output gemm.html"),
            ("impact", "perfdb-gate impact --base-ref origin/main --planner planner/bin/python"),
        ],
    ),
    (
        "Collect",
        &[
            (
                "new",
                "perfdb-gate new --system h200_sxm --table gemm --backend vllm --version 1.2.3 --from rows.csv",
            ),
            ("plan", "perfdb-gate plan --from report.json --output rerun.yaml"),
            ("measure", "perfdb-gate measure --plan rerun.yaml --output-dir again"),
            ("merge", "perfdb-gate merge gemm_perf.parquet --with again --only rerun.yaml --write"),
        ],
    ),
    (
        "Repair",
        &[
            ("dedupe", "perfdb-gate dedupe --system h200_sxm --write"),
            ("convert", "perfdb-gate convert --system h200_sxm --write"),
            (
                "waive",
                "perfdb-gate waive 0123456789abcdef --reason 'measured twice' --until 2027-12-31",
            ),
        ],
    ),
    (
        "Set up",
        &[
            ("init", "perfdb-gate init --repository OWNER/perfdb-gate"),
            ("completions", "perfdb-gate completions bash"),
            ("schema", "perfdb-gate schema rule"),
            ("suggest", "perfdb-gate suggest warp --output .perfdb-gate/rules/tables/warp.yaml"),
        ],
    ),
    (
        "Measure the gate itself",
        &[
            ("selftest", "perfdb-gate selftest --root CLONE --samples 20"),
            ("noise", "perfdb-gate noise --root CLONE --output rules/noise.yaml"),
        ],
    ),
];

/// Returns the command line, with its commands in groups.
pub fn command() -> Command {
    let mut cli = Cli::command();
    let mut groups = String::new();
    for (group, commands) in GROUPS {
        groups += &format!("{group}:\n");
        for (name, example) in *commands {
            let about = cli.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let (first, rest) = (format!("  {name:11}  "), " ".repeat(15));
            let lines = Options::new(terminal::columns()).initial_indent(&first);
            groups += &(fill(&about, lines.subsequent_indent(&rest)) + "\n");
            let with_example = |c: Command| c.after_help(format!("Example:\n  {example}"));
            cli = cli.mut_subcommand(name, with_example);
        }
        groups.push('\n');
    }
    cli.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}{{after-help}}"
    ))
}
