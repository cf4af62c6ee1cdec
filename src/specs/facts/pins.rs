//! Figures that a loader's source code holds for a text.

use std::collections::BTreeMap;

/// Figures by text.
pub type Pins = BTreeMap<String, f64>;

/// The figures of the match arms `"text" => Some(number)` that follow `after` in Rust code, up to the end
/// of that function: the next line that is a closing brace alone. None where `after` or all arms are
/// missing, so that a loader that was rewritten does not pass for one that knows nothing.
pub fn pins_of(code: &str, after: &str) -> Option<Pins> {
    let body = &code[code.find(after)? + after.len()..];
    let body = body.lines().take_while(|line| *line != "}");
    let pins: Pins = body.filter_map(arm).flatten().collect();
    (!pins.is_empty()).then_some(pins)
}

/// The figure of an arm, for each of its patterns.
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
