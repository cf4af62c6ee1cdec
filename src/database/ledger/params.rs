//! A failure's parameters, as Python prints them or as JSON.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::database::coverage::Cell;

/// Which case of an operation failed.
#[derive(Debug, PartialEq)]
pub(super) enum Case {
    /// All of the operation.
    Operation,
    /// All of the group's dtypes.
    Group,
    /// One, by the names of its parameters.
    Named(BTreeMap<String, Vec<Cell>>),
    /// One, by its parameters' values, of a list all that it holds.
    Values(Vec<Vec<Cell>>),
}

impl Case {
    /// The case of a failure's `task_params`: a text as Python prints it, or JSON.
    pub(super) fn parse(params: &Json) -> Option<Self> {
        let mut named = BTreeMap::new();
        let mut values: Vec<Vec<Cell>> = Vec::new();
        match params {
            Json::String(text) => {
                let mut last = None;
                for Token { name, cell, list } in tokens(text) {
                    match (name, values.last_mut()) {
                        (Some(name), _) => add(&mut named, name, cell),
                        // What one list holds is one value's.
                        (None, Some(value)) if list.is_some() && list == last => value.push(cell),
                        (None, _) => values.push(vec![cell]),
                    }
                    last = list;
                }
            }
            Json::Object(map) => {
                for (name, value) in map {
                    flatten(value, &mut |cell| add(&mut named, name, cell));
                }
            }
            Json::Array(items) => {
                for item in items {
                    let mut one = Vec::new();
                    flatten(item, &mut |cell| one.push(cell));
                    values.extend((!one.is_empty()).then_some(one));
                }
            }
            other => flatten(other, &mut |cell| values.push(vec![cell])),
        }
        match (named.is_empty(), values.is_empty()) {
            (false, _) => Some(Self::Named(named)),
            (true, false) => Some(Self::Values(values)),
            (true, true) => None,
        }
    }
}

fn add(named: &mut BTreeMap<String, Vec<Cell>>, name: &str, cell: Cell) {
    named.entry(name.to_owned()).or_default().push(cell);
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

/// A number or a name of a Python value.
struct Token<'a> {
    /// The keyword it stands under.
    name: Option<&'a str>,
    cell: Cell,
    /// Which of the lists inside the value it stands in.
    list: Option<usize>,
}

/// Numbers and names of a Python value as it is printed, each with the keyword it stands under:
/// `Case(m=[1, 2], dtype='fp8')` has 1 and 2 under `m`.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let (mut name, mut depth): (Option<(&str, usize)>, usize) = (None, 0);
    let mut lists = 0;
    let list = |depth: usize, lists: usize| (depth > 1).then_some(lists);
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
                found.push(Token {
                    name: name.map(|n| n.0),
                    cell: Cell::Text(word.into()),
                    list: list(depth, lists),
                });
            }
            continue;
        }
        let end = rest.find(|c: char| !c.is_alphanumeric() && !"_.-+".contains(c));
        let word = &rest[..end.unwrap_or(rest.len())];
        if word.is_empty() {
            match c {
                '(' | '[' | '{' => {
                    depth += 1;
                    lists += usize::from(depth == 2);
                }
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
            found.push(Token {
                name: name.map(|n| n.0),
                cell: Cell::Number(number),
                list: list(depth, lists),
            });
        } else if word != "None" {
            let word = match word {
                "True" => "true",
                "False" => "false",
                other => other,
            };
            found.push(Token {
                name: name.map(|n| n.0),
                cell: Cell::Text(word.into()),
                list: list(depth, lists),
            });
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
            let show = |Token { name, cell, .. }: Token<'_>| match name {
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

    #[test]
    fn a_list_is_one_value() {
        let values = |params: serde_json::Value| match Case::parse(&params) {
            Some(Case::Values(values)) => values.iter().map(Vec::len).collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        };
        let expected: Vec<usize> = vec![1, 3, 1, 2];
        assert_eq!(values("('fp8', [1, 2, 4], 256, (8, 9))".into()), expected);
        assert_eq!(values(serde_json::json!(["fp8", [1, 2, 4], 256, [8, 9]])), expected);
    }

    #[test]
    fn a_case_of_many_names_is_read_at_once() {
        let text: Vec<String> = (0..100_000).map(|i| format!("a{i}={i}")).collect();
        let Some(Case::Named(named)) = Case::parse(&text.join(", ").into()) else { panic!() };
        assert_eq!(named.len(), 100_000);
    }
}
