//! A failure's parameters, as Python prints them or as JSON.

use serde_json::Value as Json;

use crate::coverage::Cell;

/// Which case of an operation failed.
#[derive(Debug, PartialEq)]
pub(super) enum Case {
    /// All of the operation.
    Operation,
    /// All of the group's dtypes.
    Group,
    /// One, by the names of its parameters.
    Named(Vec<(String, Vec<Cell>)>),
    /// One, by its parameters' values.
    Values(Vec<Cell>),
}

impl Case {
    /// The case of a failure's `task_params`: a text as Python prints it, or JSON.
    pub(super) fn parse(params: &Json) -> Option<Self> {
        let mut named = Vec::new();
        let mut values = Vec::new();
        match params {
            Json::String(text) => {
                for (name, token) in tokens(text) {
                    match name {
                        Some(name) => add(&mut named, name, token),
                        None => values.push(token),
                    }
                }
            }
            Json::Object(map) => {
                for (name, value) in map {
                    flatten(value, &mut |cell| add(&mut named, name, cell));
                }
            }
            other => flatten(other, &mut |cell| values.push(cell)),
        }
        match (named.is_empty(), values.is_empty()) {
            (false, _) => Some(Self::Named(named)),
            (true, false) => Some(Self::Values(values)),
            (true, true) => None,
        }
    }
}

fn add(named: &mut Vec<(String, Vec<Cell>)>, name: &str, cell: Cell) {
    match named.iter_mut().find(|(n, _)| n == name) {
        Some((_, values)) => values.push(cell),
        None => named.push((name.to_owned(), vec![cell])),
    }
}

fn flatten(value: &Json, take: &mut impl FnMut(Cell)) {
    match value {
        Json::Null => {}
        Json::Bool(b) => take(Cell::Text(b.to_string().into())),
        Json::Number(n) => take(Cell::Number(n.as_f64().unwrap_or(f64::NAN))),
        Json::String(t) => take(Cell::Text(t.as_str().into())),
        Json::Array(items) => items.iter().for_each(|i| flatten(i, take)),
        Json::Object(map) => map.values().for_each(|i| flatten(i, take)),
    }
}

/// Numbers and names of a Python value as it is printed, each with the keyword it stands under:
/// `Case(m=[1, 2], dtype='fp8')` has 1 and 2 under `m`.
fn tokens(text: &str) -> Vec<(Option<&str>, Cell)> {
    let mut found = Vec::new();
    let (mut name, mut depth): (Option<(&str, usize)>, usize) = (None, 0);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if c == '\'' || c == '"' {
            let inner = &rest[1..];
            let end = inner.find(c).unwrap_or(inner.len());
            let word = &inner[..end];
            rest = inner.get(end + 1..).unwrap_or("");
            // A key of a printed dict stands before a colon.
            if let Some(after) = rest.trim_start().strip_prefix(':') {
                (name, rest) = (Some((word, depth)), after);
            } else {
                found.push((name.map(|n| n.0), Cell::Text(word.into())));
            }
            continue;
        }
        let end = rest.find(|c: char| !c.is_alphanumeric() && !"_.-+".contains(c));
        let word = &rest[..end.unwrap_or(rest.len())];
        if word.is_empty() {
            match c {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            // A keyword holds for its value, to the comma at its own depth.
            if name.is_some_and(|(_, at)| depth < at || (c == ',' && depth == at)) {
                name = None;
            }
            rest = &rest[c.len_utf8()..];
            continue;
        }
        rest = &rest[word.len()..];
        if let Some(after) = rest.strip_prefix('=') {
            (name, rest) = (Some((word, depth)), after);
        } else if rest.starts_with('(') {
            // The name of a type.
        } else if let Ok(number) = word.parse::<f64>() {
            found.push((name.map(|n| n.0), Cell::Number(number)));
        } else if word != "None" {
            let word = match word {
                "True" => "true",
                "False" => "false",
                other => other,
            };
            found.push((name.map(|n| n.0), Cell::Text(word.into())));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_as_python_prints_them() {
        let shown = |text: &str| {
            let show = |(name, cell): (Option<&str>, Cell)| match name {
                Some(name) => format!("{name}={cell}"),
                None => cell.to_string(),
            };
            tokens(text).into_iter().map(show).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            shown("MoeCase(num_tokens=[1, 2], dtype='fp8', tp=8, model=None)"),
            "num_tokens=1 num_tokens=2 dtype=fp8 tp=8"
        );
        assert_eq!(shown("(1, 128, 0.5, 'fp8_block', True)"), "1 128 0.5 fp8_block true");
        assert_eq!(shown("{'m': 4, 'inner': {'n': 5}, 'k': -1}"), "m=4 n=5 k=-1");
        assert_eq!(shown("('unterminated"), "unterminated");
        assert_eq!(shown("é(ü=[ß"), "ü=ß");
    }
}
