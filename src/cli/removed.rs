//! The commands and flags that older versions had, with what to use instead.

use clap::Command;
use clap::error::{ContextKind, ContextValue};
use perfdb_gate::base::error::Error;

/// Removed commands and flags, each with a hint on the line below it.
const REMOVED: &str = "\
compare
commit the tables and run `perfdb-gate sanity`, whose table of slices compares two commits; `perfdb-gate remeasure` compares a table with a GPU
reach
`perfdb-gate impact` shows the steps that a change moves, with the tables behind each move
rules
`perfdb-gate explain` without an argument lists the rules; `--check-root` is the command `catalog` of the crate selftest/ in a clone of perfdb-gate
selftest
in a clone of perfdb-gate: `cargo run --manifest-path selftest/Cargo.toml -- faults --help`
noise
in a clone of perfdb-gate: `cargo run --manifest-path selftest/Cargo.toml -- noise --help`
plan --coverage
`perfdb-gate plan --from REPORT --only RULE` plans the rows of findings, such as those of power-coverage
plan --predictions
`perfdb-gate impact` shows the steps that a change moves; `perfdb-gate plan --from REPORT` plans the rows of findings
sanity --system
`perfdb-gate explore --system NAME --table NAME` writes a page of a table
status --all
`perfdb-gate status` without it shows all systems
status --evidence
nothing takes its place: the repository's own check of evidence_policy.yaml reports what a change owes
status --ledger
`perfdb-gate validate --ledger DIR` explains missing keys by a collector's recorded failures
suggest --layout
docs/other-databases.md shows a layout to start from; `perfdb-gate suggest TABLE` prints a first spec of one of its tables
validate --watch
`perfdb-gate validate --root DIR` checks the tables once the run has ended";

/// Returns the error for a removed command or flag; `None` if the mistake is another one.
pub fn of(error: &clap::Error, command: Option<&Command>) -> Option<Error> {
    let named = |kind| match error.get(kind) {
        Some(ContextValue::String(name)) => Some(name.as_str()),
        _ => None,
    };
    let (name, what) = match named(ContextKind::InvalidSubcommand) {
        Some(name) => (name.to_owned(), "command"),
        None => (format!("{} {}", command?.get_name(), named(ContextKind::InvalidArg)?), "flag"),
    };
    let hint = REMOVED.lines().skip_while(|line| **line != name).nth(1)?;
    Some(Error::new(format!("the {what} `{name}` was removed"), hint))
}
