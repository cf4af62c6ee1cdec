//! The two meanings of a YAML text without quotes: that of PyYAML (YAML 1.1) and that of serde_yaml 0.9 (YAML 1.2).

use std::fmt;
use std::num::IntErrorKind;
use std::sync::LazyLock;

use regex::Regex;

/// The value that a reader takes a text for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Reading {
    Nothing,
    Flag(bool),
    Whole(i128),
    Fraction(f64),
    Text,
    Date,
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
            Self::Text => f.write_str("text"),
            Self::Date => f.write_str("a date"),
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

/// The patterns of PyYAML's resolver for numbers, in the order in which it tries them, and of dates.
static PATTERNS: LazyLock<Option<[Regex; 3]>> = LazyLock::new(|| {
    let fraction = r"^([-+]?[0-9][0-9_]*\.[0-9_]*([eE][-+][0-9]+)?|\.[0-9][0-9_]*([eE][-+][0-9]+)?|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$";
    let whole = r"^([-+]?0b[01_]+|[-+]?0[0-7_]+|[-+]?(0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+|[-+]?[1-9][0-9_]*(:[0-5]?[0-9])+)$";
    let date = r"^([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})(?:(?:[Tt]|[ \t]+)([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]*)?(?:[ \t]*(?:Z|[-+][0-9]{1,2}(?::[0-9]{2})?))?)?$";
    let all = [fraction, whole, date].map(|pattern| Regex::new(pattern).ok());
    let [fraction, whole, date] = all;
    Some([fraction?, whole?, date?])
});

/// Returns the value of a plain text for PyYAML's `SafeLoader`.
pub(super) fn python(text: &str) -> Reading {
    match text {
        "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Reading::Flag(true)
        }
        "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Reading::Flag(false)
        }
        "" | "~" | "null" | "Null" | "NULL" => Reading::Nothing,
        "=" => Reading::Refused,
        _ => python_number(text),
    }
}

fn python_number(text: &str) -> Reading {
    let Some([fraction, whole, date]) = PATTERNS.as_ref() else { return Reading::Text };
    if fraction.is_match(text) {
        return python_float(text);
    }
    if whole.is_match(text) {
        return python_int(text);
    }
    let Some(parts) = date.captures(text) else { return Reading::Text };
    let part =
        |at: usize| parts.get(at).and_then(|part| part.as_str().parse::<i8>().ok()).unwrap_or(0);
    let year: i16 = parts[1].parse().unwrap_or(0);
    // A date without a time needs two digits each.
    if parts.get(4).is_none() && text.len() != "2026-10-01".len() {
        return Reading::Text;
    }
    let exists = jiff::civil::DateTime::new(year, part(2), part(3), part(4), part(5), part(6), 0);
    if exists.is_ok() && year > 0 { Reading::Date } else { Reading::Refused }
}

/// Returns the number that PyYAML makes of a text with the tag `!!float`.
pub(super) fn python_float(text: &str) -> Reading {
    let text = text.replace('_', "").to_lowercase();
    let (sign, digits) = signed(&text);
    let number = match digits {
        ".inf" => Some(f64::INFINITY),
        ".nan" => Some(f64::NAN),
        _ => base_60(digits),
    };
    number.map_or(Reading::Refused, |number| Reading::Fraction(f64::from(sign) * number))
}

/// Returns the number that PyYAML makes of a text with the tag `!!int`. Beyond 128 bits it is infinite here.
pub(super) fn python_int(text: &str) -> Reading {
    let text = text.replace('_', "");
    let (sign, digits) = signed(&text);
    let (digits, radix) = match digits {
        "0" => ("0", 10),
        _ if digits.starts_with("0b") => (&digits[2..], 2),
        _ if digits.starts_with("0x") => (&digits[2..], 16),
        _ if digits.starts_with('0') => (digits, 8),
        _ => (digits, 10),
    };
    if digits.contains(':') {
        let number =
            base_60(digits).map(|number| Reading::Whole((f64::from(sign) * number) as i128));
        return number.unwrap_or(Reading::Refused);
    }
    match i128::from_str_radix(digits, radix) {
        Ok(number) => Reading::Whole(i128::from(sign) * number),
        Err(why) if *why.kind() == IntErrorKind::PosOverflow => Reading::Fraction(f64::INFINITY),
        Err(_) => Reading::Refused,
    }
}

fn signed(text: &str) -> (i8, &str) {
    match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// Returns the number of digits between colons: `1:30` is 90.
fn base_60(digits: &str) -> Option<f64> {
    digits.split(':').try_fold(0.0, |sum, digit| Some(sum * 60.0 + digit.parse::<f64>().ok()?))
}

/// Returns the value of a plain text for serde_yaml, where no type is asked for.
pub(super) fn core(text: &str) -> Reading {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Reading::Nothing,
        "true" | "True" | "TRUE" => return Reading::Flag(true),
        "false" | "False" | "FALSE" => return Reading::Flag(false),
        _ => {}
    }
    let fraction = || core_float(text).filter(|_| !is_digits(text)).map(Reading::Fraction);
    core_int(text).map(Reading::Whole).or_else(fraction).unwrap_or(Reading::Text)
}

/// Returns the integer of a plain text for serde_yaml.
pub(super) fn core_int(text: &str) -> Option<i128> {
    let (sign, digits) = signed(text);
    if digits.starts_with(['+', '-']) || is_digits(text) {
        return None;
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(digits) = digits.strip_prefix(prefix).filter(|d| !d.starts_with(['+', '-'])) {
            return Some(i128::from(sign) * i128::from_str_radix(digits, radix).ok()?);
        }
    }
    Some(i128::from(sign) * digits.parse::<i128>().ok()?)
}

/// Returns the number of a plain text for serde_yaml, where a float is asked for.
pub(super) fn core_float(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix('+').unwrap_or(text);
    match unsigned {
        ".inf" | ".Inf" | ".INF" => Some(f64::INFINITY),
        _ if matches!(text, "-.inf" | "-.Inf" | "-.INF") => Some(f64::NEG_INFINITY),
        _ if matches!(text, ".nan" | ".NaN" | ".NAN") => Some(f64::NAN),
        _ if text.len() > unsigned.len() && unsigned.starts_with(['+', '-']) => None,
        _ => unsigned.parse().ok().filter(|number: &f64| number.is_finite()),
    }
}

/// Returns true for digits after a leading zero, which YAML 1.2 reads as text.
fn is_digits(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    digits.len() > 1 && digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit())
}
