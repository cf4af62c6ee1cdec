//! Formats counts, figures and names for sentences.

use std::fmt;

/// Joins the first five names and counts the further ones: `a, b, c, d, e and 2 more`. An empty name is shown as `''`,
/// and a name is cut after 200 characters.
pub(crate) fn names<'a>(mut all: impl Iterator<Item = &'a str>) -> String {
    const SHOWN: usize = 5;
    const LONGEST: usize = 200;
    let name = |name: &'a str| match name.char_indices().nth(LONGEST) {
        None if name.is_empty() => "''".to_owned(),
        None => name.to_owned(),
        Some((at, _)) => format!("{}…", &name[..at]),
    };
    let shown: Vec<String> = all.by_ref().take(SHOWN).map(name).collect();
    match all.count() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Joins the first `most` texts and the number of further texts, with `between` as separator: `a; b; 3 more`.
pub(crate) fn first_of(all: &[String], most: usize, between: &str) -> String {
    let rest = all.len().saturating_sub(most);
    let more = (rest > 0).then(|| format!("{} more", count(rest)));
    all.iter().take(most).cloned().chain(more).collect::<Vec<_>>().join(between)
}

/// A number formatted for people: plain digits such as `12.345` or, if it is very large or very small, scientific
/// notation such as `1e300`. Format options apply to the plain digits. Without a precision, the number is shown
/// exactly.
#[derive(Debug, Clone, Copy)]
pub struct Figure(pub f64);

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(value) = *self;
        let is_rounded = f.precision().is_some();
        // With a precision, small numbers are short as plain digits, too.
        let plain = if is_rounded { 0.0..1e6 } else { 1e-6..1e15 };
        let size = value.abs();
        let sign = if f.sign_plus() && value > 0.0 { "+" } else { "" };
        if value.is_nan() {
            f.write_str("unknown")
        } else if value.is_infinite() {
            f.write_str(if value > 0.0 { "over 1e308" } else { "under -1e308" })
        } else if size == 0.0 || plain.contains(&size) {
            fmt::Display::fmt(&value, f)
        } else if is_rounded {
            write!(f, "{sign}{value:.1e}")
        } else {
            write!(f, "{sign}{value:e}")
        }
    }
}

/// Formats a count with thousands separators: `8,505`.
pub(crate) fn count(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats a count with its noun and verb in the singular or plural: `1 row has`, `2 rows have`.
pub(crate) fn plural_verb(n: usize, what: &str, [one, many]: [&str; 2]) -> String {
    format!("{} {}", plural(n, what), if n == 1 { one } else { many })
}

/// Formats a count with its noun: `1 row`, `2 rows`.
pub fn plural(n: usize, what: &str) -> String {
    let end = if n == 1 { "" } else { "s" };
    format!("{} {what}{end}", count(n))
}

#[cfg(test)]
mod tests {
    use super::Figure;

    #[test]
    fn very_large_and_very_small_figures_are_short() {
        let shown = |value| [format!("{:.1}", Figure(value)), Figure(value).to_string()];
        assert_eq!(shown(12.345), ["12.3", "12.345"]);
        assert_eq!(shown(0.0), ["0.0", "0"]);
        assert_eq!(shown(1e300), ["1.0e300", "1e300"]);
        assert_eq!(shown(-2.56e9), ["-2.6e9", "-2560000000"]);
        assert_eq!(shown(1e-300), ["0.0", "1e-300"]);
        assert_eq!(shown(f64::INFINITY), ["over 1e308", "over 1e308"]);
        assert_eq!(shown(f64::NAN), ["unknown", "unknown"]);
        assert_eq!(format!("{:+.1} {:+.1}", Figure(3.0), Figure(3e9)), "+3.0 +3.0e9");
        assert_eq!(format!("{:>6.3}", Figure(1.5)), " 1.500");
    }
}
