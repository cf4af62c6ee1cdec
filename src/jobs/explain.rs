//! What the rules are, for people: one source, the rule files.

use std::fmt::Write;

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

/// The rules as a Markdown table, for the README.
pub fn markdown(rules: &Rules) -> String {
    let mut out = String::from("| rule | severity | finds |\n|---|---|---|\n");
    for rule in rules.all() {
        let _ = writeln!(out, "| {} | {} | {} |", rule.id, rule.severity.name(), rule.summary);
    }
    out
}

/// All that a rule's file says.
pub fn story(rule: &Rule) -> String {
    let mut out = format!("{} ({}): {}\n", rule.id, rule.severity.name(), rule.summary);
    for (title, text) in [
        ("What it looks for", &rule.what),
        ("Why that matters", &rule.why),
        ("What to do instead", &rule.instead),
    ] {
        let _ = write!(out, "\n{title}\n{}", indent(text.trim()));
    }
    for (title, example) in
        [("An example that it finds", &rule.bad), ("One that is right", &rule.good)]
    {
        let _ = write!(out, "\n{title}\n{}", files(example));
    }
    out
}

fn files(example: &ExampleTree) -> String {
    let mut out = String::new();
    for (path, text) in &example.files {
        let _ = write!(out, "  {path}\n{}", indent(&indent(text.trim_end())));
    }
    out
}

fn indent(text: &str) -> String {
    text.lines().map(|l| if l.is_empty() { "\n".into() } else { format!("  {l}\n") }).collect()
}
