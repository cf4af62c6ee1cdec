//! Log ratios in words.

use crate::base::words::Figure;

/// A log ratio of measured over recorded times in words: `0.4 % longer`.
pub fn longer(log: f64) -> String {
    let size = size(log);
    match size.as_str() {
        "0.0 %" => "as long".to_owned(),
        _ if log > 0.0 => format!("{size} longer"),
        _ => format!("{size} shorter"),
    }
}

/// A log ratio as the end of a sentence: `0.4 % longer than recorded`.
pub fn against_recorded(log: f64) -> String {
    let words = longer(log);
    if words == "as long" {
        "as long as recorded".to_owned()
    } else {
        format!("{words} than recorded")
    }
}

/// A log ratio as a signed percentage.
pub fn percent(log: f64) -> String {
    format!("{:+.1} %", Figure((log.exp() - 1.0) * 100.0))
}

/// The size of a log ratio as a percentage.
pub fn size(log: f64) -> String {
    format!("{:.1} %", Figure((log.abs().exp() - 1.0) * 100.0))
}
