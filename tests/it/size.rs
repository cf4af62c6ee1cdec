//! The size of the code: each room has a ceiling that only falls, and files, functions and structs stay
//! small.
//!
//! Lines of code are lines of `src/` that are not empty once comments and items under `#[cfg(test)]` are removed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use crate::imports::sources;

/// The ceiling of a room.
struct Ceiling {
    room: &'static str,
    /// Lines of code that the room may have.
    lines: usize,
    /// Lines of code that the room has to reach.
    target: usize,
}

/// The ceilings, largest room first; `top` is `main.rs` and `lib.rs`. Lower a ceiling when its room shrinks. Code that moves
/// to another room takes its lines along, so that the sum of the ceilings never rises.
const CEILINGS: [Ceiling; 12] = [
    Ceiling { room: "checks", lines: 12_740, target: 11_800 },
    Ceiling { room: "database", lines: 11_067, target: 10_400 },
    Ceiling { room: "jobs", lines: 7_265, target: 6_891 },
    Ceiling { room: "report", lines: 7_021, target: 6_500 },
    Ceiling { room: "gpu", lines: 4_482, target: 4_079 },
    Ceiling { room: "traces", lines: 2_973, target: 2_966 },
    Ceiling { room: "planner", lines: 2_031, target: 1_100 },
    Ceiling { room: "specs", lines: 2_150, target: 2_050 },
    Ceiling { room: "cli", lines: 1_190, target: 1_190 },
    Ceiling { room: "base", lines: 2_607, target: 1_700 },
    Ceiling { room: "findings", lines: 1_678, target: 1_500 },
    Ceiling { room: "top", lines: 52, target: 52 },
];

/// The maximum number of lines of a file.
const FILE_LINES: usize = 350;

/// Longer files, with their lines. This list only shrinks.
const LONG_FILES: [(&str, usize); 2] =
    [("src/report/chart/svg.rs", 356), ("src/report/chart/table.rs", 369)];

/// The maximum number of lines of a function, from its name to its closing brace.
const FUNCTION_LINES: usize = 80;

/// The maximum number of fields of a struct. Structs that mirror a document, a spec or a command line may have more.
const FIELDS: usize = 12;

/// Larger structs, with the number of their fields. This list only shrinks.
const LARGE_STRUCTS: [(&str, usize); 4] =
    [("Finding", 16), ("Report", 22), ("ReportView", 15), ("TableDiff", 14)];

/// Replaces comments by nothing and contents of strings by a letter; the number of lines stays.
fn stripped(text: &str) -> String {
    static RAW: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r##"^(?:b|c|br|cr)?r(#*)""##).unwrap());
    static CHARACTER: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^'(?:\\.[^']*|[^'\\])'").unwrap());
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let mut length = c.len_utf8();
        let raw = || {
            let follows_word = out.ends_with(|c: char| c.is_alphanumeric() || c == '_');
            RAW.captures(rest).filter(|_| !follows_word)
        };
        let raw = if matches!(c, 'r' | 'b' | 'c') { raw() } else { None };
        if rest.starts_with("//") {
            length = rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            length = comment(rest);
            out.extend(rest[..length].matches('\n'));
        } else if let Some(open) = raw {
            let (start, end) = (open[0].len(), format!("\"{}", &open[1]));
            let body = rest[start..].find(&end).unwrap_or(rest.len() - start);
            push_string(&mut out, &rest[start..start + body]);
            length = (start + body + end.len()).min(rest.len());
        } else if c == '"' {
            let body = string(&rest[1..]);
            push_string(&mut out, &rest[1..1 + body]);
            length = (body + 2).min(rest.len());
        } else if let Some(character) = (c == '\'').then(|| CHARACTER.find(rest)).flatten() {
            out.push_str("' '");
            length = character.len();
        } else {
            out.push(c);
        }
        rest = &rest[length..];
    }
    out
}

/// The length of a block comment, which may contain others.
fn comment(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if text[at..].starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// The length of a string's contents, up to its closing quote.
fn string(text: &str) -> usize {
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return at,
            '\\' => drop(chars.next()),
            _ => {}
        }
    }
    text.len()
}

fn push_string(out: &mut String, body: &str) {
    let lines: Vec<&str> =
        body.split('\n').map(|line| if line.is_empty() { "" } else { "S" }).collect();
    *out += &format!("\"{}\"", lines.join("\n"));
}

/// Removes the items under `#[cfg(test)]`. Returns the code and the names of the modules of tests that have files of
/// their own.
fn without_tests(mut code: String) -> (String, Vec<String>) {
    static TEST: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"#\[cfg\((?:test|all\(test[^\]]*)\)\]").unwrap());
    static ATTRIBUTE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^\s*#\[[^\]]*\]").unwrap());
    static MODULE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*;").unwrap());
    let mut modules = Vec::new();
    while let Some(test) = TEST.find(&code) {
        let mut start = test.end();
        while let Some(attribute) = ATTRIBUTE.find(&code[start..]) {
            start += attribute.end();
        }
        let end = start + item(&code[start..]);
        modules.extend(MODULE.captures(&code[start..end]).map(|module| module[1].to_owned()));
        let lines = "\n".repeat(code[test.start()..end].matches('\n').count());
        code.replace_range(test.start()..end, &lines);
    }
    (code, modules)
}

/// The length of an item, up to its semicolon or closing brace.
fn item(code: &str) -> usize {
    let mut depth = 0_usize;
    for (at, c) in code.char_indices() {
        match c {
            ';' if depth == 0 => return at + 1,
            '{' => depth += 1,
            '}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
    }
    code.len()
}

/// A file of `src/`.
struct File {
    /// The file's path in the repository.
    path: String,
    /// The number of the file's lines, with comments and tests.
    lines: usize,
    /// The file's code without comments, contents of strings and tests.
    code: String,
}

impl File {
    fn room(&self) -> &str {
        let path = self.path.strip_prefix("src/").unwrap_or(&self.path);
        path.split_once('/').map_or("top", |(room, _)| room)
    }

    fn code_lines(&self) -> usize {
        self.code.split('\n').filter(|line| !line.trim().is_empty()).count()
    }
}

/// The files of `src/`; modules of tests have no code.
static FILES: LazyLock<Vec<File>> = LazyLock::new(read_files);

fn read_files() -> Vec<File> {
    let mut files = Vec::new();
    let mut tests = Vec::new();
    for path in sources("src") {
        let text = std::fs::read_to_string(&path).unwrap();
        let path = path.to_str().unwrap().replace('\\', "/");
        let (code, modules) = without_tests(stripped(&text));
        let name = path.strip_suffix(".rs").unwrap();
        let folder = match name.strip_suffix("mod") {
            Some(folder) => folder.to_owned(),
            None if ["src/lib", "src/main"].contains(&name) => "src/".to_owned(),
            None => format!("{name}/"),
        };
        tests.extend(modules.into_iter().map(|module| format!("{folder}{module}")));
        files.push(File { lines: text.matches('\n').count(), path, code });
    }
    for file in &mut files {
        let is_test = |test: &String| {
            file.path.strip_prefix(test).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
        };
        if tests.iter().any(is_test) {
            file.code.clear();
        }
    }
    files
}

/// Compares what is too large with a list of exceptions, which only shrinks.
fn check_exceptions(found: &BTreeMap<String, usize>, known: &[(&str, usize)], limit: usize) {
    let known: BTreeMap<String, usize> =
        known.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect();
    let mut wrong = Vec::new();
    for (name, size) in found {
        let most = known.get(name).copied().unwrap_or(limit);
        if *size > most {
            wrong.push(format!("{name} has {size}, {} more than allowed", size - most));
        }
    }
    for (name, size) in &known {
        let now = found.get(name).copied().unwrap_or_default();
        if now < *size {
            wrong.push(format!(
                "{name} has become smaller than {size}: lower its exception, or remove it"
            ));
        }
    }
    assert!(wrong.is_empty(), "at most {limit}, and exceptions only shrink:\n{}", wrong.join("\n"));
}

#[test]
fn every_room_has_at_most_its_allowed_lines_of_code() {
    let mut rooms: BTreeMap<String, usize> = BTreeMap::new();
    for file in FILES.iter() {
        *rooms.entry(file.room().to_owned()).or_default() += file.code_lines();
    }
    let known: BTreeSet<&str> = CEILINGS.iter().map(|ceiling| ceiling.room).collect();
    assert!(rooms.keys().all(|room| known.contains(room.as_str())), "{rooms:?}");
    let mut over = Vec::new();
    for Ceiling { room, lines, target } in CEILINGS {
        assert!(target <= lines, "the ceiling of {room} is below its target: lower the target");
        let now = rooms.get(room).copied().unwrap_or_default();
        if now > lines {
            over.push(format!(
                "{room} has {now} lines of code, {} above its ceiling of {lines}",
                now - lines
            ));
        }
    }
    assert!(
        over.is_empty(),
        "{}\na ceiling only falls: shorten code of the room before you add to it",
        over.join("\n")
    );
}

#[test]
fn files_have_at_most_the_allowed_number_of_lines() {
    let long = FILES.iter().filter(|file| file.lines > FILE_LINES);
    check_exceptions(
        &long.map(|file| (file.path.clone(), file.lines)).collect(),
        &LONG_FILES,
        FILE_LINES,
    );
}

#[test]
fn functions_have_at_most_the_allowed_number_of_lines() {
    let name = Regex::new(r"\bfn\s+\w+").unwrap();
    let mut long = BTreeMap::new();
    let mut seen = 0;
    for File { path, code, .. } in FILES.iter() {
        for found in name.find_iter(code) {
            let text = &code[found.start()..];
            let body = text.find(['{', ';']).unwrap_or(text.len());
            if !text[body..].starts_with('{') {
                continue;
            }
            let lines = 1 + text[..body + item(&text[body..])].matches('\n').count();
            seen += 1;
            if lines > FUNCTION_LINES {
                long.insert(format!("{path}: {}", found.as_str()), lines);
            }
        }
    }
    assert!(seen > 3000, "{seen}");
    check_exceptions(&long, &[], FUNCTION_LINES);
}

#[test]
fn structs_have_at_most_the_allowed_number_of_fields() {
    let head = Regex::new(r"((?:#\[[^\]]*\]\s*)*)(?:pub(?:\([^)]*\))?\s+)?struct\s+(\w+)[^{;(]*\{")
        .unwrap();
    let mirror = Regex::new(r"\b(?:Serialize|Deserialize|Args|Parser)\b").unwrap();
    let field = Regex::new(r"\b\w+\s*:(?:[^:]|$)").unwrap();
    let mut large = BTreeMap::new();
    let mut seen = 0;
    for file in FILES.iter() {
        for found in head.captures_iter(&file.code) {
            seen += 1;
            let name = &found[2];
            if mirror.is_match(&found[1]) || name.ends_with("Options") || file.room() == "specs" {
                continue;
            }
            // Only what is not nested in the type of a field.
            let (mut depth, mut own) = (0, String::new());
            for c in file.code[found.get(0).unwrap().end()..].chars() {
                match c {
                    '{' | '(' | '[' | '<' => depth += 1,
                    '}' | ')' | ']' | '>' => depth -= 1,
                    _ if depth == 0 => own.push(c),
                    _ => {}
                }
                if depth < 0 {
                    break;
                }
            }
            let fields = field.find_iter(&own).count();
            if fields > FIELDS {
                large.insert(name.to_owned(), fields);
            }
        }
    }
    assert!(seen > 500, "{seen}");
    check_exceptions(&large, &LARGE_STRUCTS, FIELDS);
}

#[test]
fn comments_blanks_and_tests_are_not_counted_as_code() {
    let lines = |text: &str| {
        let (code, modules) = without_tests(stripped(text));
        (code.split('\n').filter(|line| !line.trim().is_empty()).count(), modules)
    };
    assert_eq!(lines("// a\n\n/* b\n/* c */\n*/\nfn f() {} // d\n"), (1, Vec::new()));
    assert_eq!(lines("let a = \"x\n// no comment\n\";\nlet b = r#\"\"// \"#;\n"), (4, Vec::new()));
    assert_eq!(lines("let a = '\"'; // x\nlet b: &'a str = \"\\\"//\"; // y\n"), (2, Vec::new()));
    assert_eq!(
        lines(
            "fn f() {}\n#[cfg(test)]\n#[path = \"x\"]\nmod tests {\n    fn g() {}\n}\nfn h() {}\n"
        ),
        (2, Vec::new())
    );
    assert_eq!(lines("#[cfg(test)]\nmod tests;\nfn f() {}\n"), (1, vec!["tests".to_owned()]));
}
