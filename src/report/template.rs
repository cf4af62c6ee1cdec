//! Templates that people can read, filled: pages are escaped as HTML, Markdown by its filters.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{Environment, UndefinedBehavior};
use serde::Serialize;

use crate::base::error::{Error, Result};
use crate::base::escape::clean;

/// Fills a template; what comes from `view` is escaped where its name ends in `.html.j2`.
///
/// # Errors
///
/// When the template fails, which is a fault of this program.
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

/// Characters of a sentence that may list much.
const SENTENCE: usize = 400;

/// Characters of a line that is one of many.
const LINE: usize = 160;

/// A text, cut to what is read.
fn cut(text: &str, length: usize) -> String {
    match text.char_indices().nth(length) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.to_owned(),
    }
}

/// Text from data as code, in which a site looks for no markup, mentions or links.
pub(crate) fn code(text: &str) -> String {
    format!("`{}`", clean(text).replace('`', "'").replace('|', "\\|"))
}

/// A line from data inside a code block, which it cannot end.
pub(crate) fn fenced(text: &str) -> String {
    clean(text).replace('`', "'")
}

/// A name from data inside HTML, where neither code spans nor escapes keep a site from reading markup,
/// mentions or links into it: one that holds more than backends and versions do is left out.
fn tame(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-+._: ".contains(c);
    if text.chars().all(is_plain) { text.to_owned() } else { "…".to_owned() }
}

/// Text that may hold words from data: what the site would read more into stands as code.
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

/// Whether a site reads nothing into a character.
fn is_harmless(c: char) -> bool {
    c.is_alphanumeric() || "-−+=.,;:%()×→…'\" ".contains(c)
}
