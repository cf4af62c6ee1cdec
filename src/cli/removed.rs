//! The commands and flags that older versions had, with what to use instead.

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
];

/// Returns the error for a removed command; `None` if the mistake is another one.
pub fn of(error: &clap::Error) -> Option<Error> {
    let ContextValue::String(name) = error.get(ContextKind::InvalidSubcommand)? else {
        return None;
    };
    let (_, hint) = COMMANDS.iter().find(|(removed, _)| removed == name)?;
    Some(Error::new(format!("the command `{name}` was removed"), *hint))
}
