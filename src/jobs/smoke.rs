//! Runs a user's command that tries the database, such as the planner.

use std::process::{Command, Stdio};

use crate::base::error::{Error, Result};
use crate::report::comment::Smoke;

/// The maximum number of characters to keep of a command's output. The end of a longer output is kept.
const KEPT: usize = 4_000;

/// Runs a command with the shell in the current folder.
///
/// # Errors
///
/// Returns an error if there is no shell. A failing command is a valid result.
pub fn run(command: &str) -> Result<Smoke> {
    // A single pipe for both streams keeps their order.
    let joined = format!("{{ {command}\n}} 2>&1");
    let done = Command::new("sh").args(["-c", &joined]).stdin(Stdio::null()).output();
    let done = done.map_err(|e| {
        Error::caused("cannot run --smoke-command", "the command is run with `sh -c`", e)
    })?;
    let mut text = String::from_utf8_lossy(&done.stdout).into_owned();
    // Syntax errors of the shell itself are not in the pipe.
    text += &String::from_utf8_lossy(&done.stderr);
    let start = text.char_indices().rev().nth(KEPT).map_or(0, |(at, _)| at);
    Ok(Smoke {
        command: command.to_owned(),
        passed: done.status.success(),
        ended: done.status.to_string(),
        output: text[start..].trim_end().to_owned(),
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::run;

    #[test]
    fn output_and_exit_status_of_a_smoke_command_are_recorded() {
        let smoke = run("echo one; echo two >&2; exit 3").unwrap();
        assert_eq!((smoke.passed, smoke.output.as_str()), (false, "one\ntwo"));
        assert!(smoke.ended.contains('3'), "{}", smoke.ended);
        let torn = run("echo \"never closed").unwrap();
        assert!(!torn.passed && !torn.output.is_empty(), "{torn:?}");
        let long = run("head -c 9000 /dev/zero | tr '\\0' x; echo end").unwrap();
        assert!(long.passed && long.output.len() < 4_100 && long.output.ends_with("xend"));
    }
}
