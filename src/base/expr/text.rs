//! Functions of texts. Each is computed once per text of the dictionary. A null number is a column that
//! the table lacks.

use std::sync::Arc;

use super::{NULL_CODE, Vals, Value};

/// Returns true for texts that match a pattern of SQL's LIKE.
pub(super) fn like(value: Value<'_>, pattern: &str) -> Result<Vals<'static, bool>, String> {
    match value {
        Value::Text(codes, dict) => {
            let hits: Vec<bool> = dict.iter().map(|t| matches(t, pattern)).collect();
            Ok(codes.map(|c| c != NULL_CODE && hits[c as usize]))
        }
        Value::Number(Vals::One(n)) if n.is_nan() => Ok(Vals::One(false)),
        Value::Number(_) | Value::Bool(_) => Err("LIKE needs a text column".into()),
    }
}

/// Returns for each text the number that `find` returns; NaN if `find` returns `None`.
pub(super) fn lookup(
    value: Value<'_>,
    find: impl Fn(&str) -> Option<f64>,
) -> Result<Vals<'static, f64>, String> {
    match value {
        Value::Text(codes, dict) => {
            let known: Vec<f64> = dict.iter().map(|t| find(t).unwrap_or(f64::NAN)).collect();
            Ok(codes.map(|c| known.get(c as usize).copied().unwrap_or(f64::NAN)))
        }
        Value::Number(Vals::One(n)) if n.is_nan() => Ok(Vals::One(f64::NAN)),
        Value::Number(_) | Value::Bool(_) => Err("a lookup needs a text column".into()),
    }
}

/// Parses each text as a number; NaN for a text that is not a number. Truth values become 0 and 1.
pub(super) fn number(value: Value<'_>) -> Vals<'_, f64> {
    match value {
        Value::Text(codes, dict) => {
            let parsed: Vec<f64> = dict.iter().map(|t| t.parse().unwrap_or(f64::NAN)).collect();
            codes.map(|c| parsed.get(c as usize).copied().unwrap_or(f64::NAN))
        }
        Value::Number(n) => n,
        Value::Bool(b) => b.map(f64::from),
    }
}

/// Skips the first `first` characters of each text and returns at most `count` of the following characters.
pub(super) fn part(value: Value<'_>, first: usize, count: usize) -> Result<Value<'_>, String> {
    match value {
        Value::Text(codes, dict) => {
            let part = |t: &Arc<str>| -> Arc<str> {
                t.chars().skip(first).take(count).collect::<String>().into()
            };
            Ok(Value::Text(codes, dict.iter().map(part).collect::<Vec<_>>().into()))
        }
        Value::Number(Vals::One(n)) if n.is_nan() => Ok(Value::Number(Vals::One(n))),
        Value::Number(_) | Value::Bool(_) => Err("substr needs a text column".into()),
    }
}

/// Returns true if a text matches a LIKE pattern. `%` stands for any number of characters. Unlike in SQL, `_` stands
/// only for itself, since many names contain it.
fn matches(text: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('%');
    let first = parts.next().unwrap_or("");
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut tail: Option<&str> = None;
    for part in parts {
        if let Some(middle) = tail.replace(part) {
            match rest.find(middle) {
                Some(at) => rest = &rest[at + middle.len()..],
                None => return false,
            }
        }
    }
    match tail {
        None => rest.is_empty(),
        Some(end) => rest.ends_with(end),
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn like_matches_as_sql_does() {
        for (text, pattern, want) in [
            ("abc", "abc", true),
            ("abc", "a%", true),
            ("abc", "%c", true),
            ("abc", "%b%", true),
            ("abc", "a%c%d", false),
            ("aXbXc", "a%b%c", true),
            ("ab", "ab%b", false),
        ] {
            assert_eq!(matches(text, pattern), want, "{text} LIKE {pattern}");
        }
    }
}
