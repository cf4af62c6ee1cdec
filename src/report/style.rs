//! Colours for the terminal. A report is always written with colours; [`plain`] removes them for
//! other outputs. Data cannot contain colour codes, because it is escaped.

use std::fmt::Display;

use anstyle::{AnsiColor, Style};

use crate::findings::Severity;
use crate::gpu::judge::Outcome;

/// The style of names and important figures.
pub(super) const BOLD: Style = Style::new().bold();
/// The style of secondary text.
pub(super) const DIM: Style = Style::new().dimmed();

const RED: Style = AnsiColor::Red.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
const GREEN: Style = AnsiColor::Green.on_default().bold();
const CYAN: Style = AnsiColor::Cyan.on_default();

/// Formats a text in a style.
pub(super) fn styled(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Returns the style of a severity.
pub(super) fn of_severity(severity: Severity) -> Style {
    match severity {
        Severity::Error => RED,
        Severity::Warning => YELLOW,
        Severity::Info => CYAN,
    }
}

/// Returns the style of a sample's outcome.
pub(super) fn of_outcome(outcome: Outcome) -> Style {
    match outcome {
        Outcome::Pass => GREEN,
        Outcome::Inconclusive => YELLOW,
        Outcome::Fail => RED,
    }
}

/// Formats a text as a hyperlink of the terminal; without a page it stays a text.
pub(super) fn linked(text: &str, page: Option<&str>) -> String {
    match page {
        Some(page) => format!("\x1b]8;;{page}\x1b\\{text}\x1b]8;;\x1b\\"),
        None => text.to_owned(),
    }
}

/// Removes the styles and links from a text.
pub(super) fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_without_its_styles_is_the_same_text() {
        let link = linked("5 %", Some("https://example.com/a#b"));
        let text = format!("{} — {}\n", styled(RED, "FAIL"), styled(DIM, format!("{link} … × –")));
        assert!(text.starts_with("\x1b["), "{text:?}");
        assert_eq!(plain(&text), "FAIL — 5 % … × –\n");
    }
}
