//! YAML values with their line numbers.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_yaml::Spanned;

use crate::base::error::Reason;
use crate::base::words::Figure;

/// A YAML value and its line, counted from 1.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct YamlNode {
    pub line: u64,
    pub value: YamlValue,
}

/// A value of a YAML document.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum YamlValue {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<YamlNode>),
    Map(Vec<(YamlNode, YamlNode)>),
}

impl YamlNode {
    /// Parses a YAML document. An error is one line with the place and the problem.
    pub(crate) fn parse(text: &str) -> Result<Self, Reason> {
        crate::base::yaml::parse(text.strip_prefix('\u{feff}').unwrap_or(text))
    }

    /// Returns the members of a map, each with its name, the line number of its name, and its value. Empty if this
    /// value is not a map.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&str, u64, &YamlNode)> {
        let members = match &self.value {
            YamlValue::Map(members) => &members[..],
            _ => &[],
        };
        members.iter().filter_map(|(key, node)| match &key.value {
            YamlValue::Text(name) => Some((name.as_str(), key.line, node)),
            _ => None,
        })
    }

    /// Describes the value for a message.
    pub(crate) fn shown(&self) -> String {
        match &self.value {
            YamlValue::Null => "nothing".into(),
            YamlValue::Bool(b) => b.to_string(),
            YamlValue::Number(n) => Figure(*n).to_string(),
            YamlValue::Text(t) => format!("'{}'", brief(t)),
            YamlValue::List(_) => "a list".into(),
            YamlValue::Map(_) => "a map".into(),
        }
    }
}

/// Returns the first 60 characters of a text from a file, so that a hostile file cannot make a message long.
pub fn brief(text: &str) -> String {
    const SHOWN: usize = 60;
    match text.char_indices().nth(SHOWN) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}

impl<'de> Deserialize<'de> for YamlNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<YamlValue>::deserialize(deserializer)?;
        Ok(Self { line: spanned.referenced.line(), value: spanned.value })
    }
}

impl<'de> Deserialize<'de> for YamlValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Any)
    }
}

struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = YamlValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, v: bool) -> Result<YamlValue, E> {
        Ok(YamlValue::Bool(v))
    }

    fn visit_i64<E>(self, v: i64) -> Result<YamlValue, E> {
        Ok(YamlValue::Number(v as f64))
    }

    fn visit_u64<E>(self, v: u64) -> Result<YamlValue, E> {
        Ok(YamlValue::Number(v as f64))
    }

    fn visit_i128<E>(self, v: i128) -> Result<YamlValue, E> {
        Ok(YamlValue::Number(v as f64))
    }

    fn visit_u128<E>(self, v: u128) -> Result<YamlValue, E> {
        Ok(YamlValue::Number(v as f64))
    }

    fn visit_f64<E>(self, v: f64) -> Result<YamlValue, E> {
        Ok(YamlValue::Number(v))
    }

    fn visit_str<E>(self, v: &str) -> Result<YamlValue, E> {
        Ok(YamlValue::Text(v.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<YamlValue, E> {
        Ok(YamlValue::Null)
    }

    fn visit_none<E>(self) -> Result<YamlValue, E> {
        Ok(YamlValue::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, d: D) -> Result<YamlValue, D::Error> {
        d.deserialize_any(Self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<YamlValue, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(YamlValue::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<YamlValue, A::Error> {
        let mut map = Vec::new();
        while let Some(member) = members.next_entry()? {
            map.push(member);
        }
        Ok(YamlValue::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_keys_of_yaml_have_line_numbers() {
        let node = YamlNode::parse("---\na: 1\nb:\n  c: [x, ~, 2.5]\n  d: '4'\n").unwrap();
        let (name, line, b) = node.members().nth(1).unwrap();
        assert_eq!((name, line), ("b", 3));
        let members: Vec<_> = b.members().collect();
        let YamlValue::List(items) = &members[0].2.value else { panic!("{members:?}") };
        assert_eq!((items[0].line, &items[1].value), (4, &YamlValue::Null));
        assert_eq!((members[1].1, &members[1].2.value), (5, &YamlValue::Text("4".into())));
    }

    #[test]
    fn text_that_is_not_yaml_is_an_error_of_one_line() {
        for text in
            ["a: b: c\n", "a:\n    i\n    d: 1\n", "a: 1\na: 2\n", "[[[[", "*x", "a: !!binary x"]
        {
            let error = YamlNode::parse(text).unwrap_err().to_string();
            assert_eq!(error.lines().count(), 1, "{error}");
        }
        let deep = "[".repeat(100_000);
        assert!(YamlNode::parse(&deep).is_err());
    }
}
