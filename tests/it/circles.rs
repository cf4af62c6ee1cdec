//! Files and folders of a room import each other in one way only: none imports, over any number of others, itself.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use crate::imports::{CodePath, paths, sources};

/// A module's path, such as `["checks", "frame"]`.
pub type Module = Vec<String>;

/// A path in the code, resolved to the crate, such as `["checks", "frame", "Terms"]`.
type Item = Vec<String>;

/// The code of the modules below `src/`, without unit tests.
pub fn modules() -> BTreeMap<Module, String> {
    let module = |file: PathBuf| {
        let text = std::fs::read_to_string(&file).unwrap();
        Some((module(&file)?, text.split("#[cfg(test)]\nmod tests").next()?.to_owned()))
    };
    sources("src").into_iter().filter_map(module).collect()
}

/// The module of a file; `None` for the roots of the crate and for unit tests.
fn module(file: &Path) -> Option<Module> {
    let path = file.strip_prefix("src").unwrap().with_extension("");
    let mut parts: Module = path.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
    let is_root = parts.len() == 1 && ["lib", "main"].contains(&parts[0].as_str());
    let is_test = parts.iter().any(|part| part == "tests");
    if is_root || is_test {
        return None;
    }
    if parts.last().is_some_and(|name| name == "mod") {
        parts.pop();
    }
    Some(parts)
}

/// The imports of a module: paths in the crate, and whether the module re-exports them.
fn imports(module: &Module, code: &str) -> Vec<(bool, Item)> {
    static CHILD: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\bmod\s+(\w+)\s*;").unwrap());
    let children: BTreeSet<String> =
        CHILD.captures_iter(code).map(|found| found[1].to_owned()).collect();
    let resolved = |CodePath { parts, is_reexported }: CodePath| {
        let ups = parts.iter().take_while(|part| *part == "super").count();
        let item = match parts[0].as_str() {
            "crate" => parts[1..].to_vec(),
            "self" => [&module[..], &parts[1..]].concat(),
            "super" => [&module[..module.len().checked_sub(ups)?], &parts[ups..]].concat(),
            child if children.contains(child) => [&module[..], &parts[..]].concat(),
            _ => return None,
        };
        Some((is_reexported, item))
    };
    paths(code).into_iter().filter_map(resolved).collect()
}

/// The module that defines an item: re-exports are followed.
fn definer(
    item: &[String],
    modules: &BTreeMap<Module, String>,
    reexported: &BTreeMap<(Module, String), Item>,
    depth: usize,
) -> Option<Module> {
    let length = (1..=item.len()).rev().find(|n| modules.contains_key(&item[..*n]))?;
    let module = item[..length].to_vec();
    let name = item.get(length).cloned().unwrap_or_default();
    match reexported.get(&(module.clone(), name)) {
        Some(target) if target != item && depth < 8 => {
            let target = [&target[..], &item[length + 1..]].concat();
            definer(&target, modules, reexported, depth + 1)
        }
        _ => Some(module),
    }
}

/// The imports between files of a room, by file.
pub fn graph(modules: &BTreeMap<Module, String>) -> BTreeMap<Module, BTreeSet<Module>> {
    let imports: BTreeMap<&Module, Vec<(bool, Item)>> =
        modules.iter().map(|(module, code)| (module, imports(module, code))).collect();
    let mut reexported = BTreeMap::new();
    for (module, paths) in &imports {
        for (_, item) in paths.iter().filter(|(is_pub, _)| *is_pub) {
            let name = item.last().cloned().unwrap_or_default();
            reexported.insert(((*module).clone(), name), item.clone());
        }
    }
    let mut graph = BTreeMap::new();
    for (module, paths) in imports {
        let own: &mut BTreeSet<Module> = graph.entry(module.clone()).or_default();
        for (is_pub, item) in paths {
            if is_pub && item.starts_with(module) {
                continue;
            }
            let of = definer(&item, modules, &reexported, 0);
            own.extend(of.filter(|other| other != module && other[0] == module[0]));
        }
    }
    graph
}

/// The modules that a module imports, over any number of others.
fn reachable<'g, T: Ord>(graph: &'g BTreeMap<T, BTreeSet<T>>, from: &'g T) -> BTreeSet<&'g T> {
    let mut found = BTreeSet::new();
    let mut next = vec![from];
    while let Some(module) = next.pop() {
        next.extend(graph[module].iter().filter(|other| found.insert(*other)));
    }
    found
}

/// The modules of circles.
fn circular(graph: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<String> {
    let is_circular = |module: &&Module| reachable(graph, module).contains(module);
    graph.keys().filter(is_circular).map(|module| module.join("/")).collect()
}

/// The circles of folders: the neighbours in a folder, files or folders with all that is in them, that import each
/// other over any number of neighbours. Each as `folder: neighbour, neighbour`.
fn folder_circles(graph: &BTreeMap<Module, BTreeSet<Module>>) -> BTreeSet<String> {
    let mut folders: BTreeMap<&[String], BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for (module, imported) in graph {
        for length in 1..module.len() {
            let (folder, own) = (&module[..length], &module[length]);
            let neighbours = folders.entry(folder).or_default();
            let others = imported.iter().filter(|other| other.starts_with(folder));
            let others = others.filter_map(|other| other.get(length)).filter(|other| *other != own);
            let others: BTreeSet<String> = others.cloned().collect();
            for other in &others {
                neighbours.entry(other.clone()).or_default();
            }
            neighbours.entry(own.clone()).or_default().extend(others);
        }
    }
    let mut circles = BTreeSet::new();
    for (folder, neighbours) in &folders {
        for name in neighbours.keys() {
            let mut circle = reachable(neighbours, name);
            circle.retain(|other| reachable(neighbours, other).contains(name));
            if !circle.is_empty() {
                let circle: Vec<&str> = circle.into_iter().map(String::as_str).collect();
                circles.insert(format!("{}: {}", folder.join("/"), circle.join(", ")));
            }
        }
    }
    circles
}

/// Circles of folders that are left. This list only shrinks.
const KNOWN_CIRCLES: [&str; 1] = ["checks: compare, context, judge"];

#[test]
fn folders_of_a_room_have_no_import_cycle() {
    let found = folder_circles(&graph(&modules()));
    let known: BTreeSet<String> = KNOWN_CIRCLES.iter().map(|known| (*known).to_owned()).collect();
    let new: Vec<&String> = found.difference(&known).collect();
    assert!(new.is_empty(), "folders that import each other: {new:#?}");
    let gone: Vec<&String> = known.difference(&found).collect();
    assert!(gone.is_empty(), "remove from KNOWN_CIRCLES what is no circle any more: {gone:#?}");
}

#[test]
fn files_of_a_room_have_no_import_cycle() {
    let modules = modules();
    assert!(modules.len() > 300, "{}", modules.len());
    let graph = graph(&modules);
    let edges: usize = graph.values().map(BTreeSet::len).sum();
    assert!(edges > 600, "{edges}");
    assert_eq!(circular(&graph), [""; 0], "files that import each other");
}

#[test]
fn an_import_cycle_is_found_in_every_spelling() {
    let module = |path: &str| -> Module { path.split('/').map(str::to_owned).collect() };
    let seen = |files: &[(&str, &str)]| {
        let modules: BTreeMap<Module, String> =
            files.iter().map(|(path, text)| (module(path), (*text).to_owned())).collect();
        circular(&graph(&modules))
    };
    let child = ("a/b", "use super::Thing;");
    assert_eq!(seen(&[("a", "mod b;\nuse self::b::x;\nstruct Thing;"), child]), ["a", "a/b"]);
    assert_eq!(seen(&[("a", "mod b;\nfn f() { b::x(); }\nstruct Thing;"), child]), ["a", "a/b"]);
    assert_eq!(
        seen(&[("a/b", "use super::c::{d, e};"), ("a/c", "fn f(_: crate::a::b::X) {}"), ("a", "")]),
        ["a/b", "a/c"]
    );
    // A parent may re-export its children, and children may import what it re-exports.
    let parent = ("a", "mod b;\nmod c;\npub use self::{b::B, c::C};");
    assert_eq!(seen(&[parent, ("a/b", "use super::C;"), ("a/c", "struct C;")]), [""; 0]);
    assert_eq!(
        seen(&[parent, ("a/b", "use super::C;"), ("a/c", "use crate::a::B;")]),
        ["a/b", "a/c"]
    );
    assert_eq!(
        seen(&[("a", "mod b;\nuse self::b::x; // use super"), ("a/b", "// use super::Thing;")]),
        [""; 0]
    );
}

#[test]
fn an_import_cycle_between_folders_is_found() {
    let module = |path: &str| -> Module { path.split('/').map(str::to_owned).collect() };
    let seen = |files: &[(&str, &str)]| {
        let modules: BTreeMap<Module, String> =
            files.iter().map(|(path, text)| (module(path), (*text).to_owned())).collect();
        folder_circles(&graph(&modules)).into_iter().collect::<Vec<_>>()
    };
    let (b, c) = (("a/b/x", "use crate::a::c::y::Y;"), ("a/c/y", ""));
    assert_eq!(seen(&[b, c]), [""; 0]);
    // No file imports itself, but the folders do.
    assert_eq!(seen(&[b, c, ("a/c/z", "use crate::a::b::w;"), ("a/b/w", "")]), ["a: b, c"]);
    let over = ("a/d", "use crate::a::b::w;");
    assert_eq!(seen(&[b, c, ("a/c/z", "use crate::a::d;"), over, ("a/b/w", "")]), ["a: b, c, d"]);
    // Below another folder, and from a folder to the files of the folder around it.
    let below =
        [("r/a/b/x", "use super::super::c::Y;"), ("r/a/c", "use super::b::w;"), ("r/a/b/w", "")];
    assert_eq!(seen(&below), ["r/a: b, c"]);
    assert_eq!(seen(&[("a/b", "use super::b::x::X;"), ("a/b/x", ""), ("a", "")]), [""; 0]);
}
