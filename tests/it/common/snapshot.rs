//! The output of runs for snapshots: complete, except for values that differ between runs.
//!
//! A snapshot is reviewed as a whole when texts change (`cargo insta review`). Exit codes, counts and fields are asserted
//! in addition.

use serde_json::Value;

use super::Run;

/// Replaces the path of this repository, temporary folders, durations, commits, digests and the program's version by
/// names in brackets.
pub fn redact(text: &str) -> String {
    let mut text = text.to_owned();
    let temporary = std::env::temp_dir();
    for folder in [temporary.canonicalize().unwrap_or_else(|_| temporary.clone()), temporary] {
        let folders = format!("{}/.tmp", folder.display());
        text = replace(&text, &folders, |c| c.is_ascii_alphanumeric(), "", "[tmp]");
    }
    text = text.replace(env!("CARGO_MANIFEST_DIR"), "[repository]");
    let number = |c: char| c.is_ascii_digit() || c == '.';
    for before in [" in ", "\nin "] {
        // At the end of a line, or before the end of its colour.
        for end in ["\n", "␛"] {
            let seconds = format!("{before}[seconds] s{end}");
            text = replace(&text, before, number, &format!(" s{end}"), &seconds);
        }
    }
    text = replace(&text, "\"elapsed_ms\": ", number, ",", "\"elapsed_ms\": [ms],");
    text = replace(&text, "\"elapsed_ms\": ", number, "\n", "\"elapsed_ms\": [ms]\n");
    text = replace(&text, "took=", |c| !c.is_whitespace(), "", "took=[time]");
    for name in ["\"version\": \"", "\"semanticVersion\": \"", "perfdb-gate ", "/blob/v"] {
        let own = format!("{name}{}", env!("CARGO_PKG_VERSION"));
        text = text.replace(&own, &format!("{name}[version]"));
    }
    without_digests(&text)
}

/// Replaces every match of `before`, one or more characters of a kind, and `after` by `with`.
fn replace(text: &str, before: &str, kind: fn(char) -> bool, after: &str, with: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(before) {
        let (head, tail) = rest.split_at(at + before.len());
        let run = tail.find(|c| !kind(c)).unwrap_or(tail.len());
        if run > 0 && tail[run..].starts_with(after) {
            out += &head[..at];
            out += with;
            rest = &tail[run + after.len()..];
        } else {
            out += head;
            rest = tail;
        }
    }
    out + rest
}

/// Replaces every date, with or without a time, and redacts the text like [`redact`].
pub fn without_days(text: &str) -> String {
    let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    let is_day = |word: &str| {
        let parts: Vec<&str> = word.get(..10).unwrap_or_default().split('-').collect();
        matches!(parts[..], [y, m, d] if [y.len(), m.len(), d.len()] == [4, 2, 2])
            && parts.iter().all(|p| digits(p))
    };
    let mut out = String::with_capacity(text.len());
    for word in text.split_inclusive([' ', '\n', '"', '\'', ',']) {
        let (name, end) = word.split_at(word.trim_end_matches([' ', '\n', '"', '\'', ',']).len());
        out += if is_day(name) { "[date]" } else { name };
        out += end;
    }
    redact(&out)
}

/// Replaces commits (SHA-1) and digests of files (SHA-256).
fn without_digests(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let name = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let hexadecimal = name.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'));
        out += match name.len() {
            40 if hexadecimal => "[commit]",
            64 if hexadecimal => "[sha256]",
            _ => name,
        };
        out += &word[name.len()..];
    }
    out
}

impl Run {
    /// Returns the redacted command line, standard output, standard error with `2>` before each line, and the exit code.
    pub fn shown(&self) -> String {
        let mut text = format!("$ perfdb-gate {}\n{}", self.args.join(" "), self.out());
        if !text.ends_with('\n') {
            text += "(no line break)\n";
        }
        for line in self.err().lines() {
            text += format!("2> {line}").trim_end();
            text.push('\n');
        }
        redact(&(text + &format!("(exit {})", self.code())))
    }
}

/// Returns the redacted message of a finding.
pub fn message(finding: &Value) -> String {
    redact(finding["message"].as_str().expect("a message"))
}

/// Returns the output of several runs for one snapshot, separated by blank lines.
pub fn shown<'a>(runs: impl IntoIterator<Item = &'a Run>) -> String {
    runs.into_iter().map(Run::shown).collect::<Vec<_>>().join("\n\n")
}
