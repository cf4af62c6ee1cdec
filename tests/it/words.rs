//! Plain words: what people read has none of the phrases that were hard to understand, and rules are short.

use std::path::{Path, PathBuf};

use perfdb_gate::checks::rule::Rules;
use perfdb_gate::specs::Library;
use regex::Regex;

/// Phrases that readers stumbled over, as patterns, each with what to write instead.
const BANNED: [(&str, &str); 12] = [
    (r"(?i)(?:\bthere )?\b(?:is|are|was|were) no [a-z]+\b", "is not a …"),
    (r"(?i)\b(?:tell|tells|told)\b", "report, show, state"),
    (r"(?i)\bfor one[.,:;)]", "for example, such as"),
    (r"(?i)\bbut for\b", "except"),
    (r"(?i)\bgoes by\b", "is, matches"),
    (r"(?i)\bso many\b", "the number"),
    (r"(?i)\bold debt\b", "existing findings"),
    (r"(?i)\bmend(?:s|ed)?\b", "fix, correct"),
    (r"(?i)\bto begin with\b", "a first …"),
    (r"(?i)\bof one's own\b", "your own"),
    (
        r"(?i)\b(?:line|file|row|object|finding|case|key) a (?:line|file|table|row|finding|rule|key|run|system)\b",
        "one … per …",
    ),
    (r"(?i)\b(?:bytes|FLOP|samples|points|rows|ms) a (?:second|row|point|table)\b", "… per …"),
];

/// What makes such a phrase right: "there is no table", "is no longer served".
const FINE: [&str; 4] = ["here ", "no longer", "no more", "no other"];

/// Words of a sentence in a rule, at most.
const WORDS: usize = 35;

/// Characters of a rule's `what`, at most: it stands in every comment on a pull request.
const WHAT: usize = 400;

/// The banned phrases of a text, each with what to write.
fn banned(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (pattern, instead) in BANNED {
        let pattern = Regex::new(pattern).unwrap();
        for phrase in pattern.find_iter(text) {
            if !FINE.iter().any(|fine| phrase.as_str().contains(fine)) {
                found.push(format!("\"{}\": write {instead}", phrase.as_str()));
            }
        }
    }
    found
}

/// The text of a Markdown page without its code.
fn prose(page: &str) -> String {
    let mut inside = false;
    let lines = page.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        inside ^= fence;
        !inside && !fence
    });
    let text: Vec<&str> = lines.collect();
    Regex::new("`[^`]*`").unwrap().replace_all(&text.join(" "), "…").into_owned()
}

fn sentences(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.split_inclusive(['.', ':', ';']).map(|part| part.split_whitespace().collect())
}

#[test]
fn a_forbidden_phrase_is_found() {
    assert_eq!(
        banned("A table that is no table is told, a line a table."),
        [
            "\"is no table\": write is not a …",
            "\"told\": write report, show, state",
            "\"line a table\": write one … per …",
        ]
    );
    assert!(banned("It is no longer served, and has no more than one row per table.").is_empty());
}

#[test]
fn texts_of_rules_are_short_and_plain() {
    let mut wrong = Vec::new();
    for rule in Rules::read(&Library::embedded()).unwrap().all() {
        let what = rule.what.split_whitespace().collect::<Vec<_>>().join(" ");
        if what.chars().count() > WHAT {
            wrong.push(format!("{}: what has {} characters", rule.id, what.chars().count()));
        }
        let texts = [&rule.summary, &rule.what, &rule.why, &rule.instead];
        for text in texts.into_iter().chain(&rule.details) {
            wrong.extend(banned(text).into_iter().map(|phrase| format!("{}: {phrase}", rule.id)));
            for words in sentences(text).filter(|words| words.len() > WORDS) {
                wrong.push(format!("{}: {} words: {}", rule.id, words.len(), words.join(" ")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn pages_have_no_forbidden_phrase() {
    let mut pages: Vec<_> = ["docs", "."]
        .into_iter()
        .flat_map(|folder| std::fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "md"))
        .collect();
    pages.sort();
    wrong_texts(
        pages.iter().map(|path| (path.as_path(), prose(&std::fs::read_to_string(path).unwrap()))),
    );
}

#[test]
fn help_texts_have_no_forbidden_phrase() {
    let commands = crate::common::commands();
    assert!(commands.len() > 10);
    let help = |command: &str| crate::common::run(&[command, "--help"]).out();
    let program = ("--help", crate::common::run(&["--help"]).out());
    let all = commands.iter().map(|command| (command.as_str(), help(command))).chain([program]);
    let all: Vec<(&str, String)> = all.collect();
    wrong_texts(all.into_iter().map(|(command, text)| (Path::new(command), text)));
}

/// The texts of string literals in a source file that people may read: those with two words or more, before
/// the file's tests.
fn literals(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let literal = Regex::new(r#"(?s)//[^\n]*|'(?:[^'\\]|\\.)'|"((?:[^"\\]|\\.)*)""#).unwrap();
    let wrap = Regex::new(r"\\\n\s*").unwrap();
    let all = literal.captures_iter(code).filter_map(|found| found.get(1));
    let texts = all.map(|text| wrap.replace_all(text.as_str(), "").into_owned());
    // Names of values are not words that people read.
    let value = Regex::new(r"\{[^{}]*\}").unwrap();
    let texts = texts.map(|text| value.replace_all(&text, "…").into_owned());
    texts.filter(|text| text.trim().contains(' ')).collect()
}

/// Files below a folder, as far as a name ends so.
fn below(folder: &Path, end: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            below(&entry, end, found);
        } else if entry.to_string_lossy().ends_with(end) {
            found.push(entry);
        }
    }
}

fn sources() -> Vec<PathBuf> {
    let mut files = Vec::new();
    below(Path::new("src"), ".rs", &mut files);
    files.retain(|path| !path.ends_with("tests.rs"));
    files.sort();
    files
}

#[test]
fn a_forbidden_phrase_in_a_message_is_found() {
    let source = "// A table that is told.\nlet quote = '\"';\n\
                  let m = format!(\"its {table} is no \\\n    table\");\n\
                  #[cfg(test)]\nmod tests { const T: &str = \"what is told\"; }";
    let texts = literals(source);
    assert_eq!(texts, ["its … is no table"]);
    assert_eq!(banned(&texts[0]), ["\"is no table\": write is not a …"]);
}

/// Messages of findings, errors and hints are literals of the sources, and of formulas' rules on traces.
#[test]
fn messages_have_no_forbidden_phrase() {
    let files = sources();
    assert!(files.len() > 300, "{}", files.len());
    let read = |path: &PathBuf| literals(&std::fs::read_to_string(path).unwrap()).join("\n");
    let texts: Vec<(&Path, String)> =
        files.iter().map(|path| (path.as_path(), read(path))).collect();
    assert!(texts.iter().map(|(_, text)| text.lines().count()).sum::<usize>() > 1000);
    wrong_texts(texts.into_iter());

    let mut specs = Vec::new();
    below(Path::new("rules"), ".yaml", &mut specs);
    let says = |text: String| {
        let lines = text.lines().map(str::trim_start).filter(|line| {
            ["says: ", "message: ", "reason: "].iter().any(|name| line.starts_with(name))
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    wrong_texts(
        specs.iter().map(|path| (path.as_path(), says(std::fs::read_to_string(path).unwrap()))),
    );
}

/// Doc comments, which `cargo doc` and `perfdb-gate schema` show.
#[test]
fn documentation_comments_have_no_forbidden_phrase() {
    let files = sources();
    let comment = Regex::new(r"(?m)^\s*//[/!](.*)$").unwrap();
    let code = Regex::new("`[^`]*`").unwrap();
    let read = |path: &PathBuf| {
        let source = std::fs::read_to_string(path).unwrap();
        let lines = comment.captures_iter(&source).map(|line| line[1].to_owned());
        code.replace_all(&lines.collect::<Vec<_>>().join("\n"), "…").into_owned()
    };
    wrong_texts(files.iter().map(|path| (path.as_path(), read(path))));
}

fn wrong_texts<'a>(texts: impl Iterator<Item = (&'a Path, String)>) {
    let wrong: Vec<String> = texts
        .flat_map(|(path, text)| {
            let name = path.display().to_string();
            banned(&text).into_iter().map(move |phrase| format!("{name}: {phrase}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
