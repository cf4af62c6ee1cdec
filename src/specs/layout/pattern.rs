//! Path patterns with named parts, and texts with names in braces.

use std::collections::BTreeMap;

use regex::Regex;

use crate::base::error::Reason;

/// The maximal length of a path pattern in bytes.
const LONGEST: usize = 500;

/// Returns the names that a text contains in braces.
pub(crate) fn braced(text: &str) -> impl Iterator<Item = &str> {
    text.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name)
}

/// Replaces each name in braces by its value. A name with a missing or empty value becomes `unknown`.
pub(crate) fn filled(text: &str, values: &BTreeMap<String, String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').unwrap_or((after, ""));
        out += before;
        let value = values.get(name).filter(|value| !value.is_empty());
        out += value.map_or("unknown", String::as_str);
        rest = after;
    }
    out + rest
}

/// Compiles a path pattern. The pattern matches paths that end with it, at any depth of folders.
pub(super) fn pattern(text: &str) -> Result<Regex, Reason> {
    let bad = |why: &str| Reason::from(format!("pattern `{text}`: {why}"));
    if text.len() > LONGEST {
        return Err(format!("a pattern has at most {LONGEST} bytes").into());
    }
    let mut regex = "^(?:.*/)?".to_owned();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let step = if rest.starts_with("**/") {
            regex += "(?:.*/)?";
            3
        } else if let Some(inside) = rest.strip_prefix('{') {
            let (part, _) = inside.split_once('}').ok_or_else(|| bad("a brace is not closed"))?;
            let (name, kind) = match part.strip_suffix('*') {
                Some(name) => (name, ".+"),
                None => match part.split_once(':') {
                    Some((name, "int")) => (name, "[0-9]+"),
                    Some(_) => return Err(bad("a part is `name`, `name*` or `name:int`")),
                    None => (part, "[^/]+?"),
                },
            };
            regex += &format!("(?P<{name}>{kind})");
            part.len() + 2
        } else {
            match c {
                '*' => regex += "[^/]*",
                '?' => regex += "[^/]",
                c => regex += &regex::escape(c.encode_utf8(&mut [0; 4])),
            }
            c.len_utf8()
        };
        rest = &rest[step..];
    }
    Regex::new(&(regex + "$"))
        .map_err(|_| bad("the name of a part is not valid, or is there twice"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_pattern_captures_named_parts_of_a_path() {
        let parts = |text: &str, path: &str| {
            let pattern = pattern(text).unwrap();
            let found = pattern.captures(path)?;
            let names = pattern.capture_names().flatten();
            Some(names.map(|name| found[name].to_owned()).collect::<Vec<_>>())
        };
        let path = "perf/{system}/{model*}/tp{tp:int}/a.csv";
        assert_eq!(parts(path, "x/perf/zx1/a/b/tp8/a.csv").unwrap(), ["zx1", "a/b", "8"]);
        assert_eq!(parts(path, "perf/zx1/a/tpx/a.csv"), None);
        assert!(parts("a/**/b_*.csv", "a/b_1.csv").is_some());
        assert!(parts("a/**/b_*.csv", "a/c/d/b_1.csv").is_some());
        assert_eq!(parts("a/*.csv", "a/b/c.csv"), None);
        for bad in ["{", "{a:text}", "{a}{a}", "{a-b}"] {
            assert!(pattern(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn names_in_braces_are_replaced_by_captured_parts() {
        let values = BTreeMap::from([("a".to_owned(), "1".to_owned())]);
        assert_eq!(filled("x{a}-{b}", &values), "x1-unknown");
        assert_eq!(braced("x{a}-{b}").collect::<Vec<_>>(), ["a", "b"]);
    }
}
