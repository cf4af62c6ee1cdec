//! The commands and flags that older versions had, with what to use instead.

use clap::Command;
use clap::error::{ContextKind, ContextValue};
use perfdb_gate::base::error::Error;

/// Removed commands, each with a hint.
const COMMANDS: &[(&str, &str)] = &[
    (
        "compare",
        "commit the tables and run `perfdb-gate sanity`, whose table of slices compares two commits; \
         `perfdb-gate remeasure` compares a table with a GPU",
    ),
    (
        "reach",
        "`perfdb-gate impact` shows the steps that a change moves, with the tables behind each move",
    ),
    ("rules", "`perfdb-gate explain` without an argument lists the rules"),
];

/// Removed flags, each with its command and a hint.
const FLAGS: &[(&str, &str, &str)] = &[
    (
        "plan",
        "--coverage",
        "`perfdb-gate plan --from REPORT --only RULE` plans the rows of findings, such as those of power-coverage",
    ),
    (
        "sanity",
        "--system",
        "`perfdb-gate explore --system NAME --table NAME` writes a page of a table",
    ),
    (
        "status",
        "--evidence",
        "nothing takes its place: the repository's own check of evidence_policy.yaml reports what a change owes",
    ),
    ("status", "--all", "`perfdb-gate status` without it shows all systems"),
    (
        "status",
        "--ledger",
        "`perfdb-gate validate --ledger DIR` explains missing keys by a collector's recorded failures",
    ),
    (
        "suggest",
        "--layout",
        "docs/other-databases.md shows a layout to start from; `perfdb-gate suggest TABLE` prints a first spec of one of its tables",
    ),
    (
        "validate",
        "--watch",
        "`perfdb-gate validate --root DIR` checks the tables once the run has ended",
    ),
];

/// Returns the error for a removed command or flag; `None` if the mistake is another one.
pub fn of(error: &clap::Error, command: Option<&Command>) -> Option<Error> {
    let named = |kind| match error.get(kind) {
        Some(ContextValue::String(name)) => Some(name.as_str()),
        _ => None,
    };
    if let Some(name) = named(ContextKind::InvalidSubcommand) {
        let (_, hint) = COMMANDS.iter().find(|(removed, _)| *removed == name)?;
        return Some(Error::new(format!("the command `{name}` was removed"), *hint));
    }
    let (command, name) = (command?.get_name(), named(ContextKind::InvalidArg)?);
    let is_named = |(of, flag, _): &&(&str, &str, &str)| *of == command && *flag == name;
    let (_, _, hint) = FLAGS.iter().find(is_named)?;
    Some(Error::new(format!("`{name}` of `{command}` was removed"), *hint))
}
