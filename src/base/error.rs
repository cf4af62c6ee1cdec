//! The error type of the program: the tool could not do its work (exit code 2).
//!
//! Problems in the data are [`Finding`](crate::findings::Finding)s, never errors.

use std::error::Error as StdError;

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

/// Returns the known name that is spelled most like `name`, in upper or lower case, or `None` if no known name
/// is similar.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    let scored = known.into_iter().map(|k| (strsim::jaro_winkler(&name, &k.to_lowercase()), k));
    let near = scored.filter(|(score, _)| *score > 0.75);
    near.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, near)| near)
}

/// Creates the error for a name that is not in `known`. The hint lists the known names and the most similar
/// one.
pub fn unknown<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Error {
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
