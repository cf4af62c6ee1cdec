//! What the rules are, for people: one source, the rule files.

use std::collections::BTreeMap;
use std::fmt::Write;

use textwrap::{Options, fill, indent};

use crate::checks::rule::{ExampleTree, Rule, Rules};

/// All rules, a line each.
pub fn list(rules: &Rules) -> String {
    let mut out = String::new();
    let width = rules.ids().map(str::len).max().unwrap_or(0);
    for rule in rules.all() {
        let _ = writeln!(out, "{:width$}  {:7}  {}", rule.id, rule.severity.name(), rule.summary);
    }
    out
}

/// Lines of an example's file that the page shows.
const LINES: usize = 12;

/// The rules as a page, `docs/rules.md`: a table, then a section for each.
pub fn page(rules: &Rules) -> String {
    let mut out = String::from(
        "# Rules\n\n\
         Each rule is one file in `rules/` with its text, parameters and examples. This page is generated from these files. `perfdb-gate\n\
         explain RULE` prints the same with whole examples. The severity is that of most findings; single findings can have another.\n\n\
         | rule | severity | finds |\n|---|---|---|\n",
    );
    for rule in rules.all() {
        let Rule { id, severity, summary, .. } = &**rule;
        let _ = writeln!(out, "| [{id}](#{id}) | {} | {summary} |", severity.name());
    }
    for rule in rules.all() {
        out += &section(rule);
    }
    out
}

fn section(rule: &Rule) -> String {
    let mut out = format!("\n## {}\n\n{}: {}.\n", rule.id, rule.severity.name(), rule.summary);
    for (title, text, details) in parts(rule) {
        let _ = write!(out, "\n**{title}.** {}\n", literal(text.trim()));
        if !details.is_empty() {
            out.push('\n');
        }
        for detail in details {
            let _ = writeln!(out, "- {}", literal(detail.trim()));
        }
    }
    out += "\n<details><summary>An example that it finds, and one that is right (synthetic)</summary>\n\n```text\n";
    out += &shortened(&rule.bad);
    out += "```\n\n```text\n";
    out += &shortened(&rule.good);
    out + "```\n\n</details>\n"
}

/// A text in which Markdown sees nothing but words.
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

/// An example's files: the first lines of each, and those that show the finding.
fn shortened(example: &ExampleTree) -> String {
    let (mut out, mut after) = (said(example), "");
    if let Some(base) = &example.base {
        // Lines of the base show how it was right.
        out += &contents(base, "before: ", LINES, |_, _| false);
        after = "after: ";
    }
    out + &contents(&example.files, after, LINES, |path, line| example.is_marked(path, line))
}

/// What the rule finds in an example, in a line.
fn said(example: &ExampleTree) -> String {
    example.finds.as_ref().map_or_else(String::new, |found| {
        let on = if found.lines.is_empty() { format!("on {}", found.path) } else { "(→)".into() };
        format!("Finding {on}: {}\n\n", found.message)
    })
}

/// A rule's texts with their titles, and the list that follows each.
fn parts(rule: &Rule) -> [(&'static str, &str, &[String]); 3] {
    [
        ("What it looks for", &rule.what, &rule.details),
        ("Why that matters", &rule.why, &[]),
        ("What to do instead", &rule.instead, &[]),
    ]
}

/// All that a rule's file says, in lines of at most `width` columns.
pub fn story(rule: &Rule, width: usize) -> String {
    let mut out = format!("{} ({}): {}\n", rule.id, rule.severity.name(), rule.summary);
    let text = Options::new(width).initial_indent("  ").subsequent_indent("  ");
    let item = Options::new(width).initial_indent("  - ").subsequent_indent("    ");
    for (title, said, details) in parts(rule) {
        let _ = writeln!(out, "\n{title}\n{}", fill(&words(said), &text));
        for detail in details {
            let _ = writeln!(out, "{}", fill(&words(detail), &item));
        }
    }
    for (title, example) in
        [("An example that it finds", &rule.bad), ("One that is right", &rule.good)]
    {
        let _ = write!(out, "\n{title}\n");
        if example.finds.is_some() {
            let _ = writeln!(out, "{}\n", fill(said(example).trim_end(), &text));
        }
        out += &files(example);
    }
    out
}

/// A text with one blank between words, wherever its file breaks lines.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// An example's files as a whole, indented.
fn files(example: &ExampleTree) -> String {
    let mut out = String::new();
    if let Some(base) = &example.base {
        let before = contents(base, "", usize::MAX, |_, _| false);
        out += &format!("before:\n{before}after:\n");
    }
    out += &contents(&example.files, "", usize::MAX, |path, line| example.is_marked(path, line));
    indent(&out, "  ")
}

/// Files with their lines; those that show the finding begin with an arrow. Of a long file, the first
/// `most` lines and the marked ones are shown.
fn contents(
    files: &BTreeMap<String, String>,
    when: &str,
    most: usize,
    is_marked: impl Fn(&str, usize) -> bool,
) -> String {
    let mut out = String::new();
    for (path, text) in files {
        let _ = writeln!(out, "{when}{path}");
        let mut skipped = 0;
        for (number, line) in (1..).zip(text.trim_end().lines()) {
            let is_marked = is_marked(path, number);
            if number > most && !is_marked {
                skipped += 1;
                continue;
            }
            write_skipped(&mut out, &mut skipped);
            let mark = if is_marked { "→ " } else { "  " };
            let _ = writeln!(out, "{}", format!("{mark}{line}").trim_end());
        }
        write_skipped(&mut out, &mut skipped);
    }
    out
}

/// Says how many lines were left out, if any were.
fn write_skipped(out: &mut String, skipped: &mut usize) {
    if *skipped > 0 {
        let _ = writeln!(out, "  … {skipped} more");
        *skipped = 0;
    }
}
