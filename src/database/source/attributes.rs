//! Evaluates `.gitattributes` to find the files that are stored in git-LFS.
//!
//! libgit2 only reads attributes of a checkout, so attributes of a commit are read here. User and machine
//! settings are ignored, because they would make the verdict depend on who runs the program.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use globset::GlobMatcher;

use crate::base::glob::{GlobScope, matcher};

/// The name of attribute files.
pub(super) const FILE: &str = ".gitattributes";

/// The `.gitattributes` files of a source, each read once.
#[derive(Default)]
pub(super) struct Attributes(Mutex<BTreeMap<String, Arc<Vec<FilterLine>>>>);

/// A line of `.gitattributes` that sets the attribute `filter`.
struct FilterLine {
    glob: GlobMatcher,
    /// True if the pattern contains no slash. Such a pattern is compared with the file's name instead of the path.
    of_name: bool,
    /// True if the line sets the filter to `lfs`; false for any other filter or none.
    is_lfs: bool,
}

impl Attributes {
    /// Returns true if the filter of a file is `lfs`. `path` starts at the repository's top, and `read` reads
    /// a file of the source.
    pub(crate) fn is_in_lfs(&self, path: &str, read: impl Fn(&str) -> Option<Vec<u8>>) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        let below = path.match_indices('/').map(|(at, _)| at + 1);
        // Deeper files override higher ones, and later lines override earlier ones.
        let mut is_lfs = false;
        for start in std::iter::once(0).chain(below) {
            let (folder, inside) = path.split_at(start);
            for line in self.lines(folder, &read).iter() {
                if line.glob.is_match(if line.of_name { name } else { inside }) {
                    is_lfs = line.is_lfs;
                }
            }
        }
        is_lfs
    }

    /// Returns the parsed lines of the `.gitattributes` file in a folder. `folder` is empty or ends in `/`.
    fn lines(&self, folder: &str, read: impl Fn(&str) -> Option<Vec<u8>>) -> Arc<Vec<FilterLine>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let parsed = || {
            let bytes = read(&format!("{folder}{FILE}")).unwrap_or_default();
            Arc::new(parse(&String::from_utf8_lossy(&bytes)))
        };
        known.entry(folder.to_owned()).or_insert_with(parsed).clone()
    }
}

/// Parses a `.gitattributes` file. Malformed lines are ignored, as in git.
fn parse(text: &str) -> Vec<FilterLine> {
    let mut macros: BTreeMap<&str, bool> = BTreeMap::new();
    let mut lines = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        let (pattern, said) = match line.strip_prefix('"').and_then(|rest| rest.split_once('"')) {
            Some(quoted) => quoted,
            None => line.split_once([' ', '\t']).unwrap_or((line, "")),
        };
        let mut filters = said.split_whitespace().filter_map(|word| match word {
            "filter=lfs" => Some(true),
            "filter" | "-filter" | "!filter" => Some(false),
            word if word.starts_with("filter=") => Some(false),
            word => macros.get(word).copied(),
        });
        let Some(is_lfs) = filters.next_back() else { continue };
        match pattern.strip_prefix("[attr]") {
            Some(name) => drop(macros.insert(name, is_lfs)),
            None => lines.extend(FilterLine::new(pattern, is_lfs)),
        }
    }
    lines
}

impl FilterLine {
    fn new(pattern: &str, is_lfs: bool) -> Option<Self> {
        // A pattern for folders and a negated pattern match no file.
        if pattern.ends_with('/') || pattern.starts_with('!') {
            return None;
        }
        // Braces are literal in git's patterns.
        let glob = pattern.trim_start_matches('/').replace('{', "\\{").replace('}', "\\}");
        Some(Self {
            glob: matcher(&glob, GlobScope::Paths).ok()?,
            of_name: !pattern.contains('/'),
            is_lfs,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Synthetic: evaluates attribute files, given as path and text, for a path.
    fn is_in_lfs(files: &[(&str, &str)], path: &str) -> bool {
        let read = |at: &str| {
            let file = files.iter().find(|(path, _)| *path == at)?;
            Some(file.1.as_bytes().to_vec())
        };
        Attributes::default().is_in_lfs(path, read)
    }

    #[test]
    fn patterns_of_gitattributes_match_as_in_git() {
        let path = "a/systems/data/x/gemm_perf.txt";
        for (pattern, matches) in [
            ("*.txt", true),
            ("a/systems/**/*.txt", true),
            ("/a/systems/**", true),
            ("**/gemm_perf.txt", true),
            ("systems/**/*.txt", false),
            ("a/*.txt", false),
            ("a/systems/", false),
            ("!*.txt", false),
            ("{*.txt}", false),
            ("*.parquet", false),
            ("\"*.txt\"", true),
        ] {
            let text = format!("{pattern} filter=lfs diff=lfs -text\n");
            assert_eq!(is_in_lfs(&[(".gitattributes", &text)], path), matches, "{pattern}");
        }
    }

    #[test]
    fn the_last_line_of_the_deepest_gitattributes_file_applies() {
        let top = (".gitattributes", "*.txt filter=lfs\n*.txt text\nNOTES.txt -filter\n");
        assert!(is_in_lfs(&[top], "a/gemm_perf.txt"));
        assert!(!is_in_lfs(&[top], "a/NOTES.txt"));
        let deeper = ("a/.gitattributes", "gemm_perf.txt !filter\n");
        assert!(!is_in_lfs(&[top, deeper], "a/gemm_perf.txt"));
        assert!(is_in_lfs(&[top, deeper], "b/gemm_perf.txt"));
        let own = (".gitattributes", "[attr]big filter=lfs -text\n# a note\n*.txt big\n");
        assert!(is_in_lfs(&[own], "gemm_perf.txt"));
        assert!(!is_in_lfs(&[(".gitattributes", "*.txt filter=crypt\n")], "gemm_perf.txt"));
    }
}
