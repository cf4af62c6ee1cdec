//! Strict YAML: duplicate keys and bare words for booleans are refused.

mod node;
mod reading;
mod two_readers;

use serde::de::DeserializeOwned;

use crate::base::error::Reason;

pub(crate) use self::two_readers::{LoaderFields, MisreadValue};

/// Parses YAML. The error is one line with the position and the problem.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, Reason> {
    let options = serde_yaml::options! { strict_booleans: true, with_snippet: false };
    serde_yaml::from_str_with_options(text, options).map_err(|e| in_one_line(&e))
}

/// Converts an error to one line, without the library's advice to programmers (`…, set X in Options …`).
fn in_one_line(error: &serde_yaml::Error) -> Reason {
    let message = error.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    let place = message.rfind(" at line ").map_or("", |at| &message[at..]);
    let advice = [", set ", "; use ", ", use "].iter().filter_map(|a| message.find(a)).min();
    match advice {
        Some(at) => format!("{}{place}", &message[..at]).into(),
        None => message.into(),
    }
}
