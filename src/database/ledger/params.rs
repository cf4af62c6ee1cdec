//! The parameters of a failed case, as Python prints them or as JSON.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::database::coverage::Cell;

/// States which measurements of the failed operation a failure affects.
#[derive(Debug, PartialEq)]
pub(super) enum FailedCases {
    /// All measurements of the failed operation.
    Operation,
    /// All measurements of the failed operation with the dtypes of the failure.
    Group,
    /// One measurement, by the names and values of its parameters. A parameter that is a list has several values.
    Named(BTreeMap<String, Vec<Cell>>),
    /// One measurement, by the values of its parameters, which have no names. A parameter that is a list has several
    /// values.
    Values(Vec<Vec<Cell>>),
}

impl FailedCases {
    /// Parses the field `task_params` of a failure: a text as Python prints it, or JSON. `None` if there are no
    /// parameters.
    pub(super) fn parse(params: &Json) -> Option<Self> {
        let mut named = BTreeMap::new();
        let mut values: Vec<Vec<Cell>> = Vec::new();
        match params {
            Json::String(text) => {
                let mut last = None;
                for Token { name, cell, list } in tokens(text) {
                    match (name, values.last_mut()) {
                        (Some(name), _) => add(&mut named, name, cell),
                        // All items of a list belong to one parameter.
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

/// A number or a text in a value that Python has printed.
struct Token<'a> {
    /// The name of the parameter that contains the token; `None` if the parameter has no name.
    name: Option<&'a str>,
    cell: Cell,
    /// The nested list that contains the token: 1 for the first list in the text, 2 for the second; `None` outside of
    /// nested lists.
    list: Option<usize>,
}

/// Splits a value that Python has printed into numbers and texts, each with the name of its parameter. For example,
/// `Case(m=[1, 2], dtype='fp8')` has the numbers 1 and 2 of the parameter `m`.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut scanner = Scanner { rest: text, keyword: None, depth: 0, lists: 0, tokens: Vec::new() };
    while let Some(next) = scanner.rest.chars().next() {
        match next {
            '\'' | '"' => scanner.quoted(next),
            _ if is_word(next) => scanner.word(),
            _ => scanner.punctuation(next),
        }
    }
    scanner.tokens
}

/// Returns true if a character is part of a number or an unquoted name.
fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '+')
}

/// A scanner for values that Python has printed, from left to right. It reads every text to the end, even if the text
/// is malformed.
struct Scanner<'a> {
    /// The text that is still to be read.
    rest: &'a str,
    /// The name of the current parameter, and the number of brackets that were open when the parameter began. `None` if
    /// the current parameter has no name.
    keyword: Option<(&'a str, usize)>,
    /// The number of open brackets.
    depth: usize,
    /// The number of nested lists that have been opened so far. The outermost bracket does not count.
    lists: usize,
    tokens: Vec<Token<'a>>,
}

impl<'a> Scanner<'a> {
    /// Reads a quoted text. The text is a key of a dict if a colon follows, and otherwise a value. A text without a
    /// closing quote extends to the end.
    fn quoted(&mut self, quote: char) {
        let inner = &self.rest[quote.len_utf8()..];
        let (text, rest) = inner.split_once(quote).unwrap_or((inner, ""));
        self.rest = rest;
        match rest.trim_start().strip_prefix(':') {
            Some(after) => self.start_keyword(text, after),
            None => self.push(Cell::Text(text.into())),
        }
    }

    /// Reads an unquoted word. It is the name of a parameter if `=` follows, the name of a type if `(` follows, and
    /// otherwise a value.
    fn word(&mut self) {
        let end = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        if let Some(after) = rest.strip_prefix('=') {
            self.start_keyword(word, after);
        } else if !rest.starts_with('(') && word != "None" {
            self.push(value(word));
        }
    }

    /// Reads a bracket, comma or space. A parameter with a name ends at the next comma outside of its own brackets, or
    /// where the bracket around the parameter closes.
    fn punctuation(&mut self, c: char) {
        match c {
            '(' | '[' | '{' => {
                self.depth += 1;
                self.lists += usize::from(self.depth == 2);
            }
            ')' | ']' | '}' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        let depth = self.depth;
        self.keyword = self.keyword.filter(|(_, at)| depth > *at || (depth == *at && c != ','));
        self.rest = &self.rest[c.len_utf8()..];
    }

    fn start_keyword(&mut self, name: &'a str, rest: &'a str) {
        self.keyword = Some((name, self.depth));
        self.rest = rest;
    }

    fn push(&mut self, cell: Cell) {
        let name = self.keyword.map(|(name, _)| name);
        let list = (self.depth > 1).then_some(self.lists);
        self.tokens.push(Token { name, cell, list });
    }
}

/// Parses a number, a flag or an unquoted name.
fn value(word: &str) -> Cell {
    match word {
        "True" => Cell::Text("true".into()),
        "False" => Cell::Text("false".into()),
        _ => word.parse().map_or_else(|_| Cell::Text(word.into()), Cell::Number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_a_case_in_python_syntax_are_read() {
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
    fn a_list_in_the_parameters_of_a_case_is_one_value() {
        let values = |params: serde_json::Value| match FailedCases::parse(&params) {
            Some(FailedCases::Values(values)) => values.iter().map(Vec::len).collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        };
        let expected: Vec<usize> = vec![1, 3, 1, 2];
        assert_eq!(values("('fp8', [1, 2, 4], 256, (8, 9))".into()), expected);
        assert_eq!(values(serde_json::json!(["fp8", [1, 2, 4], 256, [8, 9]])), expected);
    }

    #[test]
    fn a_case_with_a_hundred_thousand_parameters_is_read() {
        let text: Vec<String> = (0..100_000).map(|i| format!("a{i}={i}")).collect();
        let Some(FailedCases::Named(named)) = FailedCases::parse(&text.join(", ").into()) else {
            panic!()
        };
        assert_eq!(named.len(), 100_000);
    }
}
