//! The rooms of `src/`: a room imports only rooms above it in the list that `src/lib.rs` shows.

use std::path::{Path, PathBuf};

/// The rooms in their order, as lib.rs declares them.
fn rooms() -> Vec<String> {
    let lib = std::fs::read_to_string("src/lib.rs").unwrap();
    let declared = lib.lines().filter_map(|l| l.strip_prefix("pub mod ")?.strip_suffix(';'));
    declared.map(str::to_owned).collect()
}

fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    let mut items: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|item| item.unwrap().path()).collect();
    items.sort();
    for item in items {
        if item.is_dir() {
            sources(&item, into);
        } else if item.extension().is_some_and(|e| e == "rs") {
            into.push(item);
        }
    }
}

/// The identifier that a text begins with.
fn word(text: &str) -> String {
    text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// The names at the top of a group of imports, `a::b, c::{d, e}}`, after its opening brace.
fn members(group: &str) -> Vec<String> {
    let (mut names, mut item, mut depth) = (Vec::new(), String::new(), 0);
    for c in group.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => names.push(word(&std::mem::take(&mut item))),
            _ if depth == 0 => item.push(c),
            _ => {}
        }
    }
    names.push(word(&item));
    names.retain(|name| !name.is_empty());
    names
}

/// What code names of this crate, `crate::room` or each of `use crate::{room, other::thing}`, by line.
fn named(code: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let line_start = code[..at].rfind('\n').map_or(0, |n| n + 1);
        if code[line_start..at].contains("//") {
            continue;
        }
        let line = code[..line_start].lines().count() + 1;
        let rest = &code[at + "crate::".len()..];
        match rest.strip_prefix('{') {
            Some(group) => found.extend(members(group).into_iter().map(|name| (line, name))),
            None => found.push((line, word(rest))),
        }
    }
    found
}

/// Imports of a room in `code` that stands below it, or of something that is not a room.
fn upward(room: &str, rooms: &[String], code: &str) -> Vec<String> {
    let place = |name: &str| rooms.iter().position(|r| r == name);
    let own = place(room).expect("a room of lib.rs");
    let wrong = |(_, name): &(usize, String)| place(name).is_none_or(|other| other > own);
    let found = named(code).into_iter().filter(wrong);
    found.map(|(line, name)| format!("line {line}: {room} imports {name}")).collect()
}

#[test]
fn no_room_imports_upwards() {
    let rooms = rooms();
    assert!(rooms.len() >= 9, "{rooms:?}");
    let mut wrong = Vec::new();
    for room in &rooms {
        let mut files = Vec::new();
        sources(&Path::new("src").join(room), &mut files);
        assert!(!files.is_empty(), "{room} is empty");
        for file in files {
            let code = std::fs::read_to_string(&file).unwrap();
            let found = upward(room, &rooms, &code);
            wrong.extend(found.into_iter().map(|w| format!("{}: {w}", file.display())));
        }
    }
    assert!(wrong.is_empty(), "imports that point upwards:\n{}", wrong.join("\n"));
}

#[test]
fn every_folder_of_src_is_a_room() {
    let rooms = rooms();
    for item in std::fs::read_dir("src").unwrap() {
        let name = item.unwrap().file_name().to_string_lossy().into_owned();
        let binary = ["main.rs", "lib.rs", "cli"].contains(&name.as_str());
        assert!(binary || rooms.contains(&name), "src/{name} is in no room");
    }
}

#[test]
fn an_upward_import_is_seen_however_it_is_written() {
    let rooms = ["base", "database", "jobs"].map(str::to_owned);
    let seen = |code: &str| !upward("database", &rooms, code).is_empty();
    assert!(seen("use crate::jobs::validate;"));
    assert!(seen("use crate::{base::error, jobs};"));
    assert!(seen("use crate::{\n    base::{error, files},\n    jobs::x,\n};"));
    assert!(seen("fn f() -> crate::jobs::Report {}"));
    assert!(seen("use crate::elsewhere;"));
    assert!(!seen("use crate::base::error;\nuse crate::{base::{a, b}, database::c};"));
    assert!(!seen("// use crate::jobs"));
}
