//! Fills the templates of pages and Markdown: HTML is escaped automatically, Markdown by filters.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{Environment, UndefinedBehavior};
use serde::Serialize;

use crate::base::error::{Error, Result};
use crate::base::escape::clean;

/// Fills a template. Values from `view` are escaped if the name ends in `.html.j2`.
///
/// # Errors
///
/// If the template fails, which is a bug of this program.
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
    env.add_filter("tame", |text: String| tame(&text));
    env.add_filter("fenced", |text: String| fenced(&text));
    env.add_template(name, template)?;
    env.get_template(name)?.render(Value::from(Serde(view)))
}

/// The most characters of a sentence that may contain a long list.
const SENTENCE: usize = 400;

/// The most characters of a line in a list.
const LINE: usize = 160;

/// Cuts a text to a number of characters.
fn cut(text: &str, length: usize) -> String {
    match text.char_indices().nth(length) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.to_owned(),
    }
}

/// Formats text from data as a code span, in which Markdown has no markup, mentions or links.
pub(crate) fn code(text: &str) -> String {
    format!("`{}`", clean(text).replace('`', "'").replace('|', "\\|"))
}

/// Escapes a line from data inside a code block, so that it cannot end the block.
pub(crate) fn fenced(text: &str) -> String {
    clean(text).replace('`', "'")
}

/// Returns a name from data for use inside HTML in Markdown, where code spans and escapes have no
/// effect. A name with other characters than those of backends and versions becomes `…`.
fn tame(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-+._: ".contains(c);
    if text.chars().all(is_plain) { text.to_owned() } else { "…".to_owned() }
}

/// Escapes text that may contain words from data: words with special characters become code spans.
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
    c.is_alphanumeric() || "-−+=.,;:%()×→…'\" ".contains(c)
}
