//! Renders rules as text for people, from the rule files.

use std::collections::BTreeMap;

use textwrap::{Options, fill, indent};

use crate::checks::rule::{ExampleTree, Rule, Rules};
use crate::specs::ShippedFacts;

/// Returns a text with one line per rule.
pub fn list(rules: &Rules) -> String {
    let mut out = String::new();
    let width = rules.ids().map(str::len).max().unwrap_or(0);
    for rule in rules.all() {
        let Rule { id, severity, confidence, summary, .. } = &**rule;
        let (severity, confidence) = (severity.into_str(), confidence.into_str());
        out += &format!("{id:width$}  {severity:7}  {confidence:7}  {summary}\n");
    }
    out
}

/// The maximum number of lines of an example file that the page `docs/rules.md` shows.
const LINES: usize = 12;

/// Renders the page `docs/rules.md`: a table of all rules, then one section per rule.
pub fn page(rules: &Rules) -> String {
    let mut out = String::from(
        "# Rules\n\n\
         Each rule is one file in `rules/` with its text, parameters and examples. This page is generated from these files. `perfdb-gate\n\
         explain RULE` prints the same with whole examples. The severity is that of most findings; single findings can have another.\n\
         The confidence says how often warnings and infos were right, judged by hand (docs/precision.md): certain from 95 % on, likely\n\
         from 75 % on, else look. Errors are certain.\n\n\
         | rule | severity | confidence | finds |\n|---|---|---|---|\n",
    );
    for rule in rules.all() {
        let Rule { id, severity, confidence, summary, .. } = &**rule;
        let (severity, confidence) = (severity.into_str(), confidence.into_str());
        out += &format!("| [{id}](#{id}) | {severity} | {confidence} | {summary} |\n");
    }
    for rule in rules.all() {
        out += &section(rule);
    }
    out
}

fn section(rule: &Rule) -> String {
    let Rule { id, severity, confidence, summary, .. } = rule;
    let (severity, confidence) = (severity.into_str(), confidence.into_str());
    let mut out = format!("\n## {id}\n\n{severity}, {confidence}: {summary}.\n");
    for (title, text, details) in parts(rule) {
        out += &format!("\n**{title}.** {}\n", literal(text.trim()));
        if !details.is_empty() {
            out.push('\n');
        }
        for detail in details {
            out += &format!("- {}\n", literal(detail.trim()));
        }
    }
    out += "\n<details><summary>An example that it finds, and one that is right (synthetic)</summary>\n\n```text\n";
    out += &shortened(&rule.bad);
    out += "```\n\n```text\n";
    out += &shortened(&rule.good);
    out + "```\n\n</details>\n"
}

/// Escapes the characters of a text that have a meaning in Markdown.
fn literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '~' | '$') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Renders the files of a rule's example. A long file is shortened to its first lines and the lines with the finding,
/// which are marked by an arrow.
fn shortened(example: &ExampleTree) -> String {
    let (mut out, mut after) = (finding_line(example), "");
    if let Some(base) = &example.base {
        // The base is correct, so that no line of it is marked.
        out += &contents(base, "before: ", LINES, |_, _| false);
        after = "after: ";
    }
    out + &contents(&example.files, after, LINES, |path, line| example.is_marked(path, line))
}

/// Returns one line with the finding that a rule reports in its example. Empty if the rule reports nothing there.
fn finding_line(example: &ExampleTree) -> String {
    example.finds.as_ref().map_or_else(String::new, |found| {
        let on = if found.lines.is_empty() { format!("on {}", found.path) } else { "(→)".into() };
        format!("Finding {on}: {}\n\n", found.message)
    })
}

/// Returns the three sections on a rule: what it looks for, why that matters, what to do instead. Each section has a
/// title, a text and a list of details.
fn parts(rule: &Rule) -> [(&'static str, &str, &[String]); 3] {
    [
        ("What it looks for", &rule.what, &rule.details),
        ("Why that matters", &rule.why, &[]),
        ("What to do instead", &rule.instead, &[]),
    ]
}

/// Renders everything about a rule as plain text, with lines of at most `width` characters.
pub fn rule_text(rule: &Rule, shipped: &ShippedFacts, width: usize) -> String {
    let mut out = format!(
        "{} ({}, {}): {}\n",
        rule.id,
        rule.severity.into_str(),
        rule.confidence.into_str(),
        rule.summary
    );
    let text = Options::new(width).initial_indent("  ").subsequent_indent("  ");
    let item = Options::new(width).initial_indent("  - ").subsequent_indent("    ");
    for (title, said, details) in parts(rule) {
        out += &format!("\n{title}\n{}\n", fill(&words(said), &text));
        for detail in details {
            out += &format!("{}\n", fill(&words(detail), &item));
        }
    }
    let mut lists = shipped.of_rule(&rule.id).peekable();
    if lists.peek().is_some() {
        out += "\nThe shipped lists that it uses, with their age\n";
        lists.for_each(|list| out += &format!("{}\n", fill(&list, &item)));
    }
    for (title, example) in
        [("An example that it finds", &rule.bad), ("One that is right", &rule.good)]
    {
        out += &format!("\n{title}\n");
        if example.finds.is_some() {
            out += &format!("{}\n\n", fill(finding_line(example).trim_end(), &text));
        }
        out += &files(example);
    }
    out
}

/// Replaces each sequence of white space by one space.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Renders all files of an example, indented.
fn files(example: &ExampleTree) -> String {
    let mut out = String::new();
    if let Some(base) = &example.base {
        let before = contents(base, "", usize::MAX, |_, _| false);
        out += &format!("before:\n{before}after:\n");
    }
    out += &contents(&example.files, "", usize::MAX, |path, line| example.is_marked(path, line));
    indent(&out, "  ")
}

/// Renders the files of an example. Each file begins with a line that contains its path, after the prefix `when`, such
/// as `before: `. Its first `most` lines follow, and then the later lines for which `is_marked` returns true. Marked
/// lines begin with an arrow.
fn contents(
    files: &BTreeMap<String, String>,
    when: &str,
    most: usize,
    is_marked: impl Fn(&str, usize) -> bool,
) -> String {
    let mut out = String::new();
    for (path, text) in files {
        out += &format!("{when}{path}\n");
        let is_shown = |number: usize| number <= most || is_marked(path, number);
        let lines: Vec<(usize, &str)> = (1..).zip(text.trim_end().lines()).collect();
        for part in lines.chunk_by(|(a, _), (b, _)| is_shown(*a) == is_shown(*b)) {
            if !is_shown(part[0].0) {
                out += &format!("  … {} more\n", part.len());
                continue;
            }
            for (number, line) in part {
                let mark = if is_marked(path, *number) { "→ " } else { "  " };
                out += format!("{mark}{line}").trim_end();
                out.push('\n');
            }
        }
    }
    out
}
