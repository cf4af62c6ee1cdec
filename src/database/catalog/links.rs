//! Symbolic links that lead to a database judged elsewhere in the same source.

use std::collections::BTreeMap;

use super::{Catalog, Places, holds_files, is_within};
use crate::database::source::{Entry, EntryKind};

/// The maximum number of path components that are visited while a symbolic link is followed, including those of further
/// links. A link that needs more counts as broken.
const LONGEST_WAY: usize = 256;

/// The path of each symbolic link of a source with the path to which it leads. Links that do not lead to a file or
/// folder of the source are left out.
pub(super) struct Links(BTreeMap<String, String>);

impl Links {
    /// Follows all symbolic links among the files of a source. `files` must be sorted by path.
    pub(crate) fn of(files: &[Entry]) -> Self {
        let links = files.iter().filter(|entry| matches!(entry.kind, EntryKind::Link(_)));
        let led = links.filter_map(|link| Some((link.path.clone(), follow(files, &link.path)?)));
        Self(led.collect())
    }

    /// Finds the checked database into which a symbolic link leads, and returns the database's index in `roots`.
    /// Returns `None` if the link leads to anything else. Also returns `None` if the paths of the link and of its
    /// target state different systems, backends or versions.
    pub(crate) fn judged_root(
        &self,
        link: &str,
        roots: &[Catalog],
        places: &[Places],
    ) -> Option<usize> {
        let target = self.0.get(link)?;
        if is_within(link, target) {
            return None;
        }
        let is_judged = |root: &Catalog| root.is_root() && !root.systems.is_empty();
        let own = roots.iter().zip(places).filter(|(root, places)| places.has(&root.folder, link));
        let own = own.map(|(root, _)| &*root.folder).max_by_key(|folder| folder.len());
        let led = roots.iter().zip(places).enumerate();
        let led =
            led.filter(|(_, (root, places))| is_judged(root) && places.has(&root.folder, target));
        let (number, (root, _)) = led.max_by_key(|(_, (root, _))| root.folder.len())?;
        let is_same_place = |folder: &str| {
            folder != root.folder && link.strip_prefix(folder) == target.strip_prefix(&*root.folder)
        };
        own.is_none_or(is_same_place).then_some(number)
    }
}

/// Returns the path of the file or folder to which a symbolic link leads; `None` if it does not exist or is outside of
/// the source.
fn follow(files: &[Entry], link: &str) -> Option<String> {
    let mut at: Vec<&str> = Vec::new();
    let mut ahead: Vec<&str> = link.rsplit('/').collect();
    let mut steps = 0;
    while let Some(name) = ahead.pop() {
        steps += 1;
        if steps > LONGEST_WAY {
            return None;
        }
        match name {
            "" | "." => continue,
            ".." => {
                at.pop()?;
                continue;
            }
            name => at.push(name),
        }
        let path = at.join("/");
        match files.binary_search_by(|file| file.path.as_str().cmp(&path)) {
            Err(_) if holds_files(files, &path) => {}
            Err(_) => return None,
            Ok(found) => match &files[found].kind {
                EntryKind::Link(to) if !to.is_empty() && !to.starts_with('/') => {
                    at.pop();
                    ahead.extend(to.rsplit('/'));
                }
                EntryKind::Path(_) | EntryKind::Blob(_) => {}
                EntryKind::Link(_)
                | EntryKind::Submodule(_)
                | EntryKind::Assembled(_)
                | EntryKind::Broken(_)
                | EntryKind::Refused(..) => return None,
            },
        }
    }
    Some(at.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Synthetic: returns the target of a link at `a/link`, beside a file `b/c/file` and other links.
    fn leads(to: &str, others: &[(&str, &str)]) -> Option<String> {
        let entry = |path: &str, kind| Entry { path: path.to_owned(), kind, size: 0 };
        let link = |(path, to): &(&str, &str)| entry(path, EntryKind::Link((*to).to_owned()));
        let mut files: Vec<Entry> = others.iter().map(link).collect();
        files.push(link(&("a/link", to)));
        files.push(entry("b/c/file", EntryKind::Path("x".into())));
        files.sort_by(|a, b| a.path.cmp(&b.path));
        follow(&files, "a/link")
    }

    #[test]
    fn a_symbolic_link_is_resolved_only_within_the_source() {
        assert_eq!(leads("../b/c", &[]).as_deref(), Some("b/c"));
        assert_eq!(leads("./../b/./c/file", &[]).as_deref(), Some("b/c/file"));
        assert_eq!(leads("next", &[("a/next", "../b")]).as_deref(), Some("b"));
        // `..` is resolved at the link's target, not at the link.
        assert_eq!(leads("deep/../c", &[("a/deep", "../b/c")]).as_deref(), Some("b/c"));
        assert_eq!(leads("deep/../c", &[("a/deep", "../b")]).as_deref(), None);
        assert_eq!(leads("deep/../b/c", &[("a/deep", "../b")]).as_deref(), Some("b/c"));
        for nowhere in ["../../b", "/b/c", "../b/d", "link", "", "../b/c/file/x"] {
            assert_eq!(leads(nowhere, &[]), None, "{nowhere}");
        }
        assert_eq!(leads("next", &[("a/next", "link")]), None);
        assert_eq!(leads(&"../a/".repeat(500), &[]), None);
    }
}
