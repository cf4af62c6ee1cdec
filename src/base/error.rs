//! The one error of the tool: it could not do its work (exit code 2).
//!
//! Whatever is wrong with the data is a [`Finding`](crate::findings::Finding), never an error.

use std::error::Error as StdError;

/// One line that says what failed and why, and one that says what to do.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What failed, and why where that is known, without a full stop.
    pub message: String,
    /// What to try; may be empty.
    pub hint: String,
    /// The error that brought it about. Its text is part of the message already, so that whoever prints
    /// the message alone loses nothing; this is for callers that want its type.
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// A result whose error ends the run.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error with a hint.
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into(), source: None }
    }

    /// An error with a hint, whose message is what failed and, after a colon, its cause.
    pub fn caused(
        failed: impl Into<String>,
        hint: impl Into<String>,
        cause: impl StdError + Send + Sync + 'static,
    ) -> Self {
        Self::new(format!("{}: {cause}", failed.into()), hint).because(cause)
    }

    /// The same error with its cause, which the message names already.
    pub fn because(self, cause: impl StdError + Send + Sync + 'static) -> Self {
        Self { source: Some(Box::new(cause)), ..self }
    }
}

/// The nearest spelling of a name among those that there are, where one is near.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let scored = known.into_iter().map(|k| (strsim::jaro_winkler(name, k), k));
    let near = scored.filter(|(score, _)| *score > 0.75);
    near.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, near)| near)
}

/// `name` is unknown among `known`: says what exists, and the nearest spelling.
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
