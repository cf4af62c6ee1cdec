//! Finds out if the collector of a failed table changed since the table was measured.

use std::collections::BTreeSet;
use std::path::Path;

use crate::base::read::read_text;
use crate::base::words::{names, plural};
use crate::database::source;

/// Returns a sentence that states whether the collector changed since it measured a table. `commit` is the collector's
/// commit in the table's sidecar; `folder` and `module` name the present collector.
pub(crate) fn origin(commit: Option<&str>, folder: &Path, module: &str) -> String {
    let file = format!("{}.py", module.replace('.', "/"));
    // Collectors write such a text if they do not know their commit.
    let Some(commit) = commit.filter(|text| !["", "unknown", "none"].contains(text)) else {
        return "its sidecar does not state a collector: the table was measured differently, or its collector \
                changed since"
            .to_owned();
    };
    let short: String = commit.chars().take(9).collect();
    let Ok(paths) = source::open(folder, None).and_then(|source| source.changed_since(commit))
    else {
        return format!(
            "the table was measured differently, or its collector changed since commit {short}"
        );
    };
    let is_changed = |file: &&str| {
        let mut folders = paths.iter().filter_map(|path| path.strip_suffix(*file));
        folders.any(|folder| folder.is_empty() || folder.ends_with('/'))
    };
    let imports = imports(folder, &file);
    let files = std::iter::once(&file).chain(&imports).map(String::as_str);
    let changed = names(files.filter(is_changed));
    if changed.is_empty() {
        let files = plural(1 + imports.len(), "file");
        return format!(
            "its collector ({files}) is as in commit {short}, which measured the table: the table was measured \
             differently"
        );
    }
    format!("its collector changed since commit {short}, which measured the table: {changed}")
}

/// Returns the files in the folder that `file` imports, directly or indirectly.
fn imports(folder: &Path, file: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut unread = vec![file.to_owned()];
    while let Some(path) = unread.pop() {
        let text = read_text(&folder.join(path)).unwrap_or_default();
        for name in text.lines().filter_map(imported) {
            let Some(path) = path_of(name) else { continue };
            if path != file && folder.join(&path).is_file() && found.insert(path.clone()) {
                unread.push(path);
            }
        }
    }
    found
}

/// Returns the module that a line of Python imports; `None` if it imports none.
fn imported(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let rest = line.strip_prefix("from ").or_else(|| line.strip_prefix("import "))?;
    rest.split([' ', ',']).next()
}

/// Returns the path that a module of the folder `collector` would have; `None` for a module of another package.
fn path_of(module: &str) -> Option<String> {
    let module = module.trim_end();
    match module.split_once('.') {
        Some(("collector", rest)) => Some(format!("collector/{}.py", rest.replace('.', "/"))),
        Some(_) => None,
        None => Some(format!("collector/{module}.py")),
    }
}
