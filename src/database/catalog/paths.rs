//! Paths in a database: joining, hidden folders, conventional folders.

/// Returns the two usual paths of the data directory of the system `name`: `data/<name>` in `folder`, and `data/<name>`
/// in the parent of `folder`. `folder` contains the system's YAML.
pub(super) fn usual_places(folder: &str, name: &str) -> [String; 2] {
    [format!("data/{name}"), format!("../data/{name}")].map(|dir| join(folder, &dir))
}

/// Returns true if a file is in a hidden folder that is itself inside a folder named `systems` or `data`. For example,
/// returns true for `data/.old/x`, but false for `.cache/data/x`.
pub(super) fn in_hidden_folder(path: &str) -> bool {
    let mut parts = path.split('/').rev().skip(1).skip_while(|part| !is_hidden(part)).skip(1);
    parts.any(|part| part == "systems" || part == "data")
}

/// Returns true if the loader skips a file because of the name of a folder above it. Such a folder is hidden, or is a
/// version directory whose name starts with an underscore.
pub(crate) fn is_passed_over(path: &str) -> bool {
    let version = path.rsplit('/').nth(1).unwrap_or_default();
    in_hidden_folder(path) || version.starts_with('_')
}

/// Returns true if a folder's name starts with a dot. The names `.` and `..` do not count as hidden.
pub(super) fn is_hidden(name: &str) -> bool {
    name.starts_with('.') && !name.trim_matches('.').is_empty()
}

/// Returns true if a path is a folder or is below it.
pub(crate) fn is_within(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Joins a relative path to a folder and resolves `.` and `..`.
pub(crate) fn join(folder: &str, relative: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|p| !p.is_empty()).collect();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Returns the relative path that leads from `folder` to `to`, the inverse of [`join`].
pub(super) fn relative(folder: &str, to: &str) -> String {
    let parts = |path: &'_ str| -> Vec<String> {
        path.split('/').filter(|p| !p.is_empty()).map(str::to_owned).collect()
    };
    let (from, to) = (parts(folder), parts(to));
    let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = from[shared..].iter().map(|_| "..");
    up.chain(to[shared..].iter().map(String::as_str)).collect::<Vec<_>>().join("/")
}

/// Returns true if a relative path, starting at `folder`, leads out of the source by means of `..`.
pub(super) fn leaves(folder: &str, relative: &str) -> bool {
    let mut depth = folder.split('/').filter(|p| !p.is_empty()).count();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." if depth == 0 => return true,
            ".." => depth -= 1,
            _ => depth += 1,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_path_resolves_to_the_original_path() {
        for (folder, to) in
            [("systems", "systems/data/x"), ("a/systems", "a/data/x"), ("", "data/x")]
        {
            assert_eq!(join(folder, &relative(folder, to)), to);
        }
        assert_eq!(relative("a/systems", "a/data/x"), "../data/x");
    }

    #[test]
    fn data_folders_are_relative_to_the_system_s_yaml() {
        assert_eq!(join("a/systems", "data/x"), "a/systems/data/x");
        assert_eq!(join("systems", "../data/x/"), "data/x");
        assert_eq!(join("", "data/x"), "data/x");
    }
}
