//! Fills the templates of pages and Markdown. HTML is escaped automatically, Markdown by filters.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{Environment, UndefinedBehavior};
use serde::Serialize;

use crate::base::error::{Error, Result};
use crate::base::escape::clean;

/// Fills a template with the values of `view`. If the template's name ends in `.html.j2`, the values are escaped for
/// HTML.
///
/// # Errors
///
/// If the template cannot be filled, which is a bug of this program.
pub(crate) fn fill(
    name: &'static str,
    template: &'static str,
    view: &impl Serialize,
) -> Result<String> {
    rendered(name, template, view)
        .map_err(|e| Error::new(format!("cannot fill {name}: {e}"), "please report it"))
}

fn rendered(
    name: &'static str,
    template: &'static str,
    view: &impl Serialize,
) -> std::result::Result<String, minijinja::Error> {
    let mut env = Environment::new();
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    env.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    env.add_filter("code", |text: String| code(&text));
    env.add_filter("inert", |text: String| inert(&text));
    env.add_filter("cut", |text: String| cut(&text, SENTENCE));
    env.add_filter("brief", |text: String| cut(&text, LINE));
    env.add_filter("row", |text: String| row(&text));
    env.add_filter("lines", |text: String| text.replace('\n', "<br>"));
    env.add_filter("tame", |text: String| tame(&text));
    env.add_filter("fenced", |text: String| fenced(&text));
    env.add_template(name, template)?;
    env.get_template(name)?.render(Value::from(Serde(view)))
}

/// The maximum number of characters of a sentence in a report. Longer sentences are cut.
const SENTENCE: usize = 400;

/// The maximum number of characters of a line in a list.
const LINE: usize = 160;

/// Cuts a text to a number of characters, if possible between two words.
fn cut(text: &str, length: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(length) else { return text.to_owned() };
    let start = &text[..end];
    let words = if text[end..].starts_with(' ') {
        start
    } else {
        start.rsplit_once(' ').map_or(start, |s| s.0)
    };
    format!("{words} …")
}

/// Shortens a row of the form `key → values` to the maximum length of a line. Only the key is shortened, never the
/// values.
fn row(text: &str) -> String {
    let Some((key, values)) = text.split_once(" → ") else { return cut(text, LINE) };
    let room = LINE.saturating_sub(values.chars().count()).max(LINE / 4);
    format!("{} → {values}", cut(key, room))
}

/// Formats text from a database as a code span, in which markup, mentions and links have no effect.
pub(crate) fn code(text: &str) -> String {
    format!("`{}`", clean(text).replace('`', "'").replace('|', "\\|"))
}

/// Escapes a line from a database for a code block, so that the line cannot end the block.
pub(crate) fn fenced(text: &str) -> String {
    clean(text).replace('`', "'")
}

/// Returns a name from a database if it is safe in HTML inside Markdown. A name with a special character becomes `…`,
/// because code spans and escapes have no effect inside HTML.
fn tame(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-+._: ".contains(c);
    if text.chars().all(is_plain) { text.to_owned() } else { "…".to_owned() }
}

/// Escapes text for Markdown. Words with special characters, which may come from a database, become code spans.
pub(crate) fn inert(text: &str) -> String {
    let text = clean(text).replace('`', "'");
    text.split(' ').map(inert_word).collect::<Vec<_>>().join(" ")
}

fn inert_word(word: &str) -> String {
    let bare = word.trim_end_matches([',', ';', ':', '.', ')']).trim_start_matches('(');
    let is_figure = bare.chars().all(|c| c.is_ascii_digit() || "/±.,%".contains(c));
    if is_figure || bare.chars().all(is_harmless) && !bare.starts_with("www.") {
        word.to_owned()
    } else {
        word.replacen(bare, &code(bare), 1)
    }
}

/// Returns true if a character has no special meaning in Markdown.
fn is_harmless(c: char) -> bool {
    c.is_alphanumeric() || "-−+=.,;:%()×→…'\" \u{a0}".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortened_row_keeps_its_measured_values_and_whole_words() {
        let key = ["num_tokens=4096"; 20].join(" ");
        let shown = row(&format!("row 3: {key} → latency_ms=0.25 ratio=2"));
        assert!(shown.ends_with("num_tokens=4096 … → latency_ms=0.25 ratio=2"), "{shown}");
        assert!(shown.chars().count() <= LINE + 5, "{shown}");
        assert_eq!(row("row 3: m=1 → latency_ms=0.25"), "row 3: m=1 → latency_ms=0.25");
        assert_eq!(cut("one two three", 9), "one two …");
        assert_eq!(cut("one two three", 7), "one two …");
        assert_eq!(cut("oneword", 3), "one …");
    }
}
