//! States whether the collector of a failed table changed since the table was measured.

use std::path::Path;

use crate::database::source;

/// Compares the collector that measured a table with that in a folder, in a sentence. `commit` is the
/// commit that the sidecar states, and `module` the Python module of the table's collector.
pub fn origin(commit: Option<&str>, folder: &Path, module: &str) -> String {
    let file = format!("{}.py", module.replace('.', "/"));
    let Some(commit) = commit else {
        return "its sidecar does not state a collector: the table was measured differently, or its collector \
                changed since"
            .to_owned();
    };
    let short: String = commit.chars().take(9).collect();
    let changed = source::open(folder, None).and_then(|source| source.changed_since(commit));
    match changed {
        Ok(paths) if paths.iter().any(|path| path.ends_with(&file)) => {
            format!("its collector, {file}, changed since commit {short}, which measured the table")
        }
        Ok(_) => format!(
            "{file} is as in commit {short}, which measured the table: the table was measured differently, \
             or what the collector imports changed"
        ),
        Err(_) => format!(
            "the table was measured differently, or its collector changed since commit {short}"
        ),
    }
}
