//! The two meanings of a YAML text without quotes: that of PyYAML (YAML 1.1) and that of serde_yaml 0.9 (YAML 1.2).

use std::fmt;
use std::sync::LazyLock;

use regex::Regex;

/// The value that a YAML reader gives to a text without quotes, such as `yes` or `1e3`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Reading {
    Whole(i128),
    Fraction(f64),
    /// Any other value, as a description for messages, such as `a date` or `a number in base 60`.
    Other(&'static str),
}

pub(super) const NOTHING: Reading = Reading::Other("nothing");
pub(super) const TEXT: Reading = Reading::Other("text");
/// The reading of a number in base 60: YAML 1.1 reads `1:30` as 90.
pub(super) const BASE_60: Reading = Reading::Other("a number in base 60");
/// The reading of a text that the reader rejects with an error.
pub(super) const REFUSED: Reading = Reading::Other("an error");
const TRUE: Reading = Reading::Other("the boolean true");
const FALSE: Reading = Reading::Other("the boolean false");
const DATE: Reading = Reading::Other("a date");

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(number) => write!(f, "the number {number}"),
            Self::Fraction(number) => write!(f, "the number {number:?}"),
            Self::Other(words) => f.write_str(words),
        }
    }
}

impl Reading {
    /// Returns the number that was read; `None` if the reading is not a number.
    pub(super) fn number(self) -> Option<f64> {
        match self {
            Self::Whole(number) => Some(number as f64),
            Self::Fraction(number) => Some(number),
            Self::Other(_) => None,
        }
    }
}

/// Patterns of unquoted texts, each with a function that converts the matching text to a value. The first matching
/// pattern counts. A text that matches no pattern is read as text.
pub(super) struct Patterns(Vec<(Regex, Meaning)>);

type Meaning = fn(&str) -> Reading;

impl Patterns {
    fn new(rows: &[(&str, Meaning)]) -> Self {
        let regex = |pattern: &str| Regex::new(&format!(r"\A(?:{pattern})\z")).ok();
        Self(rows.iter().filter_map(|(pattern, read)| Some((regex(pattern)?, *read))).collect())
    }

    /// Returns the value that the patterns give to a text without quotes.
    pub(super) fn read(&self, text: &str) -> Reading {
        let row = self.0.iter().find(|(pattern, _)| pattern.is_match(text));
        row.map_or(TEXT, |(_, meaning)| meaning(text))
    }
}

const NULL: &str = "(~|null|Null|NULL)?";
const SPECIAL: &str = r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)";
const DECIMAL: &str = r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?";

/// The patterns of PyYAML's `SafeLoader` (its `resolver.py`).
pub(super) static PYTHON: LazyLock<Patterns> = LazyLock::new(|| {
    Patterns::new(&[
        (NULL, |_| NOTHING),
        ("yes|Yes|YES|true|True|TRUE|on|On|ON", |_| TRUE),
        ("no|No|NO|false|False|FALSE|off|Off|OFF", |_| FALSE),
        ("=|[-+]?0[bx]_+", |_| REFUSED),
        (SPECIAL, fraction),
        (r"[-+]?[0-9][0-9_]*\.[0-9_]*([eE][-+][0-9]+)?|\.[0-9][0-9_]*([eE][-+][0-9]+)?", fraction),
        ("[-+]?0b[01_]+", |text| whole(text, "0b", 2)),
        ("[-+]?0x[0-9a-fA-F_]+", |text| whole(text, "0x", 16)),
        ("[-+]?0[0-7_]+", |text| whole(text, "", 8)),
        ("[-+]?(0|[1-9][0-9_]*)", |text| whole(text, "", 10)),
        (r"[-+]?[1-9][0-9_]*(:[0-5]?[0-9])+", |_| BASE_60),
        (r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+\.[0-9_]*", |_| BASE_60),
        (r"[0-9]{4}-[0-9]{2}-[0-9]{2}", date),
        (
            r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(\.[0-9]*)?([ \t]*(Z|[-+][0-9]{1,2}(:[0-9]{2})?))?",
            |_| DATE,
        ),
    ])
});

/// The patterns of serde_yaml for a value whose type is not known before it is read.
pub(super) static CORE: LazyLock<Patterns> = LazyLock::new(|| {
    Patterns::new(&[
        (NULL, |_| NOTHING),
        ("true|True|TRUE", |_| TRUE),
        ("false|False|FALSE", |_| FALSE),
        ("[-+]?(0|[1-9][0-9]*)", |text| whole(text, "", 10)),
        ("[-+]?0x[0-9a-fA-F]+", |text| whole(text, "0x", 16)),
        ("[-+]?0o[0-7]+", |text| whole(text, "0o", 8)),
        ("[-+]?0b[01]+", |text| whole(text, "0b", 2)),
        ("[-+]?[0-9]+", |_| TEXT),
        (SPECIAL, fraction),
        (DECIMAL, finite),
    ])
});

/// The patterns of serde_yaml for a value that must be a float.
pub(super) static CORE_FLOAT: LazyLock<Patterns> =
    LazyLock::new(|| Patterns::new(&[(NULL, |_| NOTHING), (SPECIAL, fraction), (DECIMAL, finite)]));

/// Parses an integer after a prefix. Returns a float if the integer needs more than 128 bits.
fn whole(text: &str, prefix: &str, radix: u32) -> Reading {
    let digits = text.replace('_', "").replacen(prefix, "", 1);
    let decimal = || digits.parse().ok().filter(|_| radix == 10);
    let float = |_| Reading::Fraction(decimal().unwrap_or(f64::INFINITY));
    i128::from_str_radix(&digits, radix).map_or_else(float, Reading::Whole)
}

/// Parses a decimal number, `.inf` or `.nan`.
pub(super) fn fraction(text: &str) -> Reading {
    let digits = text.replace('_', "").to_lowercase().replace(".inf", "inf").replace(".nan", "nan");
    digits.parse().map_or(REFUSED, Reading::Fraction)
}

/// Parses a decimal number. A number that is too large for a float is read as text.
fn finite(text: &str) -> Reading {
    Some(fraction(text)).filter(|read| read.number().is_some_and(f64::is_finite)).unwrap_or(TEXT)
}

/// Returns the reading of a date. PyYAML rejects a date that does not exist in the calendar.
fn date(text: &str) -> Reading {
    text.parse::<jiff::civil::Date>().map_or(REFUSED, |_| DATE)
}
