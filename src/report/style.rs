//! Colours for the terminal. A report is always written with colours; [`plain`] removes them for
//! other outputs. Data cannot contain colour codes, because it is escaped.

use std::fmt::Display;

use anstyle::{AnsiColor, Style};
use textwrap::core::display_width;
use textwrap::{Options, WordSplitter, fill};

use crate::findings::Severity;
use crate::gpu::judge::Outcome;

/// The text style of names and important numbers.
pub(super) const BOLD: Style = Style::new().bold();
/// The text style of secondary text.
pub(super) const DIM: Style = Style::new().dimmed();

/// The number of columns by which a wrapped line's continuation is indented more than its first line.
const HANGING: usize = 4;

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

/// Returns the style of a measured sample's outcome.
pub(super) fn of_outcome(outcome: Outcome) -> Style {
    match outcome {
        Outcome::Pass => GREEN,
        Outcome::Inconclusive => YELLOW,
        Outcome::Fail => RED,
    }
}

/// Formats a text as a terminal hyperlink to `page`; without `page`, returns the plain text.
pub(super) fn linked(text: &str, page: Option<&str>) -> String {
    match page {
        Some(page) => format!("\x1b]8;;{page}\x1b\\{text}\x1b]8;;\x1b\\"),
        None => text.to_owned(),
    }
}

/// Wraps the lines of a text at `width` columns. Continuation lines are indented deeper than the line that they
/// continue. Words, such as paths, are not split.
pub(super) fn wrapped(text: &str, width: Option<usize>) -> String {
    let Some(width) = width else { return text.to_owned() };
    let fit = |line: &str| {
        if display_width(line) <= width {
            return line.to_owned();
        }
        let indent = line.len() - line.trim_start().len() + HANGING;
        let indent = " ".repeat(indent.min(width / 2));
        let options = Options::new(width).subsequent_indent(&indent).break_words(false);
        fill(line, options.word_splitter(WordSplitter::NoHyphenation))
    };
    text.split('\n').map(fit).collect::<Vec<_>>().join("\n")
}

/// Removes the styles and links from a text.
pub(super) fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_wrapped_between_words() {
        let path = "systems/data/h200_sxm/gemm/vllm/0.24.0/gemm_perf.parquet";
        let text = format!("  {} one two three four\n{path}\n\nshort\n", styled(RED, "error"));
        assert_eq!(wrapped(&text, None), text);
        let narrow = wrapped(&text, Some(18));
        let expected =
            format!("  {} one two\n      three four\n{path}\n\nshort\n", styled(RED, "error"));
        assert_eq!(narrow, expected);
        let link = linked("rule", Some("https://example.com/a-long-address#b"));
        assert_eq!(wrapped(&link, Some(5)), link);
    }

    #[test]
    fn removing_styles_keeps_the_text() {
        let link = linked("5 %", Some("https://example.com/a#b"));
        let text = format!("{} — {}\n", styled(RED, "FAIL"), styled(DIM, format!("{link} … × –")));
        assert!(text.starts_with("\x1b["), "{text:?}");
        assert_eq!(plain(&text), "FAIL — 5 % … × –\n");
    }
}
