//! The two meanings of a YAML text without quotes: that of PyYAML (YAML 1.1) and that of serde_yaml 0.9 (YAML 1.2).

use std::fmt;
use std::sync::LazyLock;

use regex::Regex;

/// The value that a reader takes a text for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Reading {
    Nothing,
    Flag(bool),
    Whole(i128),
    Fraction(f64),
    /// A number such as `1:30`.
    BaseSixty,
    Date,
    Text,
    /// The reader fails.
    Refused,
}

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing"),
            Self::Flag(flag) => write!(f, "the boolean {flag}"),
            Self::Whole(number) => write!(f, "the number {number}"),
            Self::Fraction(number) => write!(f, "the number {number:?}"),
            Self::BaseSixty => f.write_str("a number in base 60"),
            Self::Date => f.write_str("a date"),
            Self::Text => f.write_str("text"),
            Self::Refused => f.write_str("an error"),
        }
    }
}

impl Reading {
    /// Returns the number, if the text is one.
    pub(super) fn number(self) -> Option<f64> {
        match self {
            Self::Whole(number) => Some(number as f64),
            Self::Fraction(number) => Some(number),
            _ => None,
        }
    }
}

/// The meaning of texts by pattern; the first pattern that matches decides. Other texts are text.
struct Patterns(Vec<(Regex, Meaning)>);

type Meaning = fn(&str) -> Reading;

impl Patterns {
    fn new(rows: &[(&str, Meaning)]) -> Self {
        let regex = |pattern: &str| Regex::new(&format!(r"\A(?:{pattern})\z")).ok();
        Self(rows.iter().filter_map(|(pattern, read)| Some((regex(pattern)?, *read))).collect())
    }

    fn read(&self, text: &str) -> Reading {
        let row = self.0.iter().find(|(pattern, _)| pattern.is_match(text));
        row.map_or(Reading::Text, |(_, meaning)| meaning(text))
    }
}

const NULL: &str = "(~|null|Null|NULL)?";
const SPECIAL: &str = r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)";
const DECIMAL: &str = r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?";

/// The patterns of PyYAML's `resolver.py`.
static PYTHON: LazyLock<Patterns> = LazyLock::new(|| {
    Patterns::new(&[
        (NULL, |_| Reading::Nothing),
        ("yes|Yes|YES|true|True|TRUE|on|On|ON", |_| Reading::Flag(true)),
        ("no|No|NO|false|False|FALSE|off|Off|OFF", |_| Reading::Flag(false)),
        ("=|[-+]?0[bx]_+", |_| Reading::Refused),
        (SPECIAL, fraction),
        (r"[-+]?[0-9][0-9_]*\.[0-9_]*([eE][-+][0-9]+)?|\.[0-9][0-9_]*([eE][-+][0-9]+)?", fraction),
        ("[-+]?0b[01_]+", |text| whole(text, "0b", 2)),
        ("[-+]?0x[0-9a-fA-F_]+", |text| whole(text, "0x", 16)),
        ("[-+]?0[0-7_]+", |text| whole(text, "", 8)),
        ("[-+]?(0|[1-9][0-9_]*)", |text| whole(text, "", 10)),
        (r"[-+]?[1-9][0-9_]*(:[0-5]?[0-9])+", |_| Reading::BaseSixty),
        (r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+\.[0-9_]*", |_| Reading::BaseSixty),
        (r"[0-9]{4}-[0-9]{2}-[0-9]{2}", date),
        (
            r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(\.[0-9]*)?([ \t]*(Z|[-+][0-9]{1,2}(:[0-9]{2})?))?",
            |_| Reading::Date,
        ),
    ])
});

/// The patterns of serde_yaml where no type is asked for.
static CORE: LazyLock<Patterns> = LazyLock::new(|| {
    Patterns::new(&[
        (NULL, |_| Reading::Nothing),
        ("true|True|TRUE", |_| Reading::Flag(true)),
        ("false|False|FALSE", |_| Reading::Flag(false)),
        ("[-+]?(0|[1-9][0-9]*)", |text| whole(text, "", 10)),
        ("[-+]?0x[0-9a-fA-F]+", |text| whole(text, "0x", 16)),
        ("[-+]?0o[0-7]+", |text| whole(text, "0o", 8)),
        ("[-+]?0b[01]+", |text| whole(text, "0b", 2)),
        ("[-+]?[0-9]+", |_| Reading::Text),
        (SPECIAL, fraction),
        (DECIMAL, finite),
    ])
});

/// The patterns of serde_yaml where a float is asked for.
static CORE_FLOAT: LazyLock<Patterns> = LazyLock::new(|| {
    Patterns::new(&[(NULL, |_| Reading::Nothing), (SPECIAL, fraction), (DECIMAL, finite)])
});

/// Returns the value of a plain text for PyYAML's `SafeLoader`.
pub(super) fn python(text: &str) -> Reading {
    PYTHON.read(text)
}

/// Returns the value of a plain text for serde_yaml, where no type is asked for.
pub(super) fn core(text: &str) -> Reading {
    CORE.read(text)
}

/// Returns the value of a plain text for serde_yaml, where a float is asked for.
pub(super) fn core_float(text: &str) -> Reading {
    Some(CORE_FLOAT.read(text)).filter(|read| *read != Reading::Text).unwrap_or(Reading::Refused)
}

/// Returns the integer of digits after a prefix, or a float if it has more than 128 bits.
fn whole(text: &str, prefix: &str, radix: u32) -> Reading {
    let digits = text.replace('_', "").replacen(prefix, "", 1);
    let float = |_| Reading::Fraction(digits.parse().unwrap_or(f64::INFINITY));
    i128::from_str_radix(&digits, radix).map_or_else(float, Reading::Whole)
}

/// Returns the number of decimal digits, of `.inf` or of `.nan`.
pub(super) fn fraction(text: &str) -> Reading {
    let digits = text.replace('_', "").to_lowercase().replace(".inf", "inf").replace(".nan", "nan");
    digits.parse().map_or(Reading::Refused, Reading::Fraction)
}

/// Returns the number of decimal digits; text if a float cannot hold it.
fn finite(text: &str) -> Reading {
    let is_finite = |read: &Reading| read.number().is_some_and(f64::is_finite);
    Some(fraction(text)).filter(is_finite).unwrap_or(Reading::Text)
}

/// Returns a date, which PyYAML refuses if the calendar does not have it.
fn date(text: &str) -> Reading {
    text.parse::<jiff::civil::Date>().map_or(Reading::Refused, |_| Reading::Date)
}
