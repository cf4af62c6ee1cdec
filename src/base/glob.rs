//! Glob patterns for names and paths.

use globset::{Glob, GlobBuilder, GlobMatcher};

use crate::base::error::Reason;
use crate::base::words::names;

/// The maximal length of a pattern in bytes. globset parses patterns by recursion, so that long ones could
/// overflow the stack.
const LONGEST: usize = 1000;

/// The maximal nesting depth of `{…}` alternatives.
const DEEPEST: usize = 8;

/// The kind of text that a pattern matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GlobScope {
    /// Names of tables, systems and the like: `*` matches any characters.
    Names,
    /// Paths: `*` matches within one folder, `**` across folders.
    Paths,
}

/// Compiles a pattern. The error is one line.
pub(crate) fn matcher(pattern: &str, of: GlobScope) -> Result<GlobMatcher, Reason> {
    Ok(parse(pattern, of)?.compile_matcher())
}

/// Parses a pattern without compiling it, which is much faster. The error is one line.
pub(crate) fn parse(pattern: &str, of: GlobScope) -> Result<Glob, Reason> {
    if pattern.len() > LONGEST {
        return Err(malformed(pattern, &format!("it is longer than {LONGEST} bytes")));
    }
    let mut depth = 0usize;
    for c in pattern.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEEPEST {
            let why = format!("braces are nested more than {DEEPEST} deep");
            return Err(malformed(pattern, &why));
        }
    }
    let glob = GlobBuilder::new(pattern).literal_separator(of == GlobScope::Paths).build();
    glob.map_err(|e| malformed(pattern, &e.kind().to_string()))
}

fn malformed(pattern: &str, why: &str) -> Reason {
    format!("'{}' is not a valid pattern: {why}", names(std::iter::once(pattern))).into()
}

#[cfg(test)]
mod tests {
    use super::{GlobScope, matcher};

    #[test]
    fn a_pattern_that_is_too_long_or_too_deep_is_refused() {
        let nested = |n: usize| "{".repeat(n) + "a" + &"}".repeat(n);
        assert!(matcher(&nested(8), GlobScope::Names).unwrap().is_match("a"));
        for pattern in [nested(9), nested(100_000), "a".repeat(1001), "[".into(), "{".repeat(8)] {
            let why = matcher(&pattern, GlobScope::Paths).unwrap_err().to_string();
            assert!(why.len() < 300 && why.lines().count() == 1, "{why}");
        }
    }

    #[test]
    fn a_star_matches_a_slash_in_names_but_not_in_paths() {
        for (of, matches) in [(GlobScope::Names, true), (GlobScope::Paths, false)] {
            assert_eq!(matcher("a*", of).unwrap().is_match("a/b"), matches);
        }
    }
}
