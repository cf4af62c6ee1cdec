//! The commands and flags that older versions had, with what to use instead.

use clap::Command;
use clap::error::{ContextKind, ContextValue};
use perfdb_gate::base::error::Error;

/// Commands and flags of older versions. The line below each of them is a hint on what to use instead.
const REMOVED: &str = include_str!("removed.txt");

/// Returns an error with a hint if the user typed a command or flag that only older versions have; `None` for any
/// other mistake.
pub(crate) fn of(error: &clap::Error, command: Option<&Command>) -> Option<Error> {
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
