//! Pins: figures that a loader's source code assigns to texts, such as model names.

use std::collections::BTreeMap;

/// Pinned figures by text.
pub type Pins = BTreeMap<String, f64>;

/// Reads the match arms `"text" => Some(number)` of the Rust function whose code starts with `after`. The
/// function ends at the next line that is only a closing brace. `None` if `after` is missing or has no such
/// arms, so that a rewritten loader is not taken for one without figures.
pub fn pins_of(code: &str, after: &str) -> Option<Pins> {
    let body = &code[code.find(after)? + after.len()..];
    let body = body.lines().take_while(|line| *line != "}");
    let pins: Pins = body.filter_map(arm).flatten().collect();
    (!pins.is_empty()).then_some(pins)
}

/// Parses a match arm `"a" | "b" => Some(3),` into its texts, each with the figure; `None` for any other line.
fn arm(line: &str) -> Option<Vec<(String, f64)>> {
    let (patterns, value) = line.trim().split_once("=>")?;
    let value = value.trim().strip_prefix("Some(")?.split(')').next()?;
    let value: f64 = value.replace('_', "").parse().ok()?;
    let text =
        |pattern: &str| pattern.trim().strip_prefix('"')?.strip_suffix('"').map(str::to_owned);
    let texts = patterns.split('|').map(text).collect::<Option<Vec<_>>>()?;
    Some(texts.into_iter().map(|text| (text, value)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "
fn other(model: &str) -> Option<u32> {
    match model {
        \"x\" => Some(7),
    }
}
fn heads(model: &str) -> Option<u32> {
    match model {
        // \"no\" => Some(1),
        \"a/b\" => Some(128),
        \"c\" | \"d-e\" => Some(96), // 96
        _ => None,
    }
}
fn last() { \"z\" => Some(3) }
";

    #[test]
    fn the_arms_of_one_function_are_read() {
        let pins = pins_of(CODE, "fn heads(").unwrap();
        let pins: Vec<(&str, f64)> = pins.iter().map(|(t, v)| (t.as_str(), *v)).collect();
        assert_eq!(pins, [("a/b", 128.0), ("c", 96.0), ("d-e", 96.0)]);
    }

    #[test]
    fn a_loader_that_was_rewritten_says_nothing() {
        assert_eq!(pins_of(CODE, "fn gone("), None);
        assert_eq!(pins_of("fn heads(m: &str) {\n    TABLE.get(m)\n}\n", "fn heads("), None);
    }
}
