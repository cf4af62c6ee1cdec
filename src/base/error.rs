//! Exit codes, and the error of a run that could not do its work (exit code 2).
//!
//! Problems in the data are [`Finding`](crate::findings::Finding)s, never errors. A [`Reason`] may become either.

use std::error::Error as StdError;
use std::process::ExitCode;

/// An error that ends the run: one line that says what failed and why, and one line that says what to do.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// The problem and, if known, its cause; without a full stop.
    pub message: String,
    /// A suggestion for the user; may be empty.
    pub hint: String,
    /// The underlying error, for callers that need its type; `None` if there is none. `message` already contains its
    /// text.
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// A result whose error ends the run.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Creates an error with a hint and without a cause.
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into(), source: None }
    }

    /// Creates an error whose message is `failed`, a colon and the text of `cause`.
    pub fn caused(
        failed: impl Into<String>,
        hint: impl Into<String>,
        cause: impl StdError + Send + Sync + 'static,
    ) -> Self {
        Self::new(format!("{}: {cause}", failed.into()), hint).because(cause)
    }

    /// Attaches a cause. The message should already contain the cause's text.
    pub fn because(self, cause: impl StdError + Send + Sync + 'static) -> Self {
        Self { source: Some(Box::new(cause)), ..self }
    }
}

/// Returns the known name whose spelling is most similar to `name`, ignoring case; `None` if no known name is similar.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    let scored = known.into_iter().map(|k| (strsim::jaro_winkler(&name, &k.to_lowercase()), k));
    let near = scored.filter(|(score, _)| *score > 0.75);
    near.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, near)| near)
}

/// Creates the error for a name that is not in `known`. The hint lists the known names and the most similar
/// one.
pub(crate) fn unknown<'a>(
    what: &str,
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Error {
    let mut known: Vec<&str> = known.into_iter().collect();
    known.sort_unstable();
    known.dedup();
    let near = nearest(name, known.iter().copied());
    let list = match known.len() {
        0 => format!("there are no {what}s"),
        1..=20 => format!("known: {}", known.join(", ")),
        n => format!("known: {}, … ({n} in total)", known[..20].join(", ")),
    };
    let hint = match near {
        Some(near) => format!("did you mean {near}? {list}"),
        None => list,
    };
    Error::new(format!("no {what} matches '{name}'"), hint)
}

/// The reason why a file cannot be used: one line without a full stop and without the file's name. The caller adds the
/// name and reports the line as a finding or as an [`Error`].
///
/// Unlike a `String`, this type shows in a signature that the text describes a failure. A function whose callers must
/// distinguish kinds of failure returns an enum instead, such as [`ReadError`](crate::database::source::ReadError).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Reason(String);

impl From<String> for Reason {
    fn from(line: String) -> Self {
        Self(line)
    }
}

impl From<&str> for Reason {
    fn from(line: &str) -> Self {
        Self(line.to_owned())
    }
}

impl From<serde_json::Error> for Reason {
    fn from(error: serde_json::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<Reason> for String {
    fn from(reason: Reason) -> Self {
        reason.0
    }
}

/// The outcome of a run. The variants are ordered from mildest to gravest; if a run has several outcomes, the gravest
/// one counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Everything was checked, and no finding fails the run.
    Clean,
    /// Nothing was checked or compared, or the measurements were too noisy to decide.
    Inconclusive,
    /// At least one finding fails the run.
    Findings,
    /// The program could not do its work.
    Failed,
}

impl Exit {
    /// Returns the process's exit code.
    pub const fn code(self) -> u8 {
        match self {
            Self::Clean => 0,
            Self::Findings => 1,
            Self::Failed => 2,
            Self::Inconclusive => 3,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::Exit;

    #[test]
    fn a_failure_outweighs_findings_and_findings_outweigh_an_inconclusive_run() {
        let mut endings = [Exit::Clean, Exit::Findings, Exit::Failed, Exit::Inconclusive];
        endings.sort();
        assert_eq!(endings.map(Exit::code), [0, 3, 1, 2]);
    }
}
