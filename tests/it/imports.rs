//! Reads the source files below `src/` and the paths that they import.

use std::path::PathBuf;
use std::sync::LazyLock;

use regex::Regex;

/// The source files below a folder, sorted.
pub fn sources(folder: &str) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![PathBuf::from(folder)]);
    while let Some(folder) = folders.pop() {
        for item in std::fs::read_dir(&folder).unwrap().map(|item| item.unwrap().path()) {
            if item.is_dir() {
                folders.push(item);
            } else if item.extension().is_some_and(|e| e == "rs") {
                found.push(item);
            }
        }
    }
    found.sort();
    found
}

/// A path in code, such as `["crate", "base", "error"]`.
pub struct CodePath {
    pub parts: Vec<String>,
    /// True if a `pub use` re-exports it.
    pub is_reexported: bool,
}

/// The paths that code imports or names, in comments not.
pub fn paths(code: &str) -> Vec<CodePath> {
    static COMMENT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"//[^\n]*").unwrap());
    static USE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?m)^\s*(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);").unwrap());
    static PATH: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b\w+(?:::\w+)+").unwrap());
    let code = COMMENT.replace_all(code, "");
    let mut found = Vec::new();
    for import in USE.captures_iter(&code) {
        let is_reexported = import.get(1).is_some();
        let paths = leaves(&import[2]).into_iter();
        found.extend(paths.map(|parts| CodePath { parts, is_reexported }));
    }
    let body = USE.replace_all(&code, "");
    for named in PATH.find_iter(&body) {
        let before = &body[..named.start()];
        if !before.ends_with("::") && !before.ends_with("pub(in ") {
            let parts = named.as_str().split("::").map(str::to_owned).collect();
            found.push(CodePath { parts, is_reexported: false });
        }
    }
    found
}

/// The paths of a `use` tree, `a::{b, c::d as e}`.
fn leaves(tree: &str) -> Vec<Vec<String>> {
    let tree = tree.trim();
    let Some((prefix, group)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default();
        return vec![path.split("::").map(|part| part.trim().to_owned()).collect()];
    };
    let prefix: Vec<String> =
        prefix.split("::").map(|part| part.trim().to_owned()).filter(|p| !p.is_empty()).collect();
    let (mut found, mut depth, mut item) = (Vec::new(), 0, String::new());
    for c in group[..group.rfind('}').unwrap()].chars().chain([',']) {
        depth += i32::from(c == '{') - i32::from(c == '}');
        if c == ',' && depth == 0 {
            if !item.trim().is_empty() {
                let inner = leaves(&std::mem::take(&mut item)).into_iter();
                found.extend(inner.map(|path| [&prefix[..], &path[..]].concat()));
            }
            item.clear();
        } else {
            item.push(c);
        }
    }
    found
}
