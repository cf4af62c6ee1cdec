//! The rooms of `src/`: a room imports only rooms above it in the list that `src/lib.rs` shows.

use crate::imports::{paths, sources};

/// The rooms in their order, as lib.rs declares them.
fn rooms() -> Vec<String> {
    let lib = std::fs::read_to_string("src/lib.rs").unwrap();
    let declared = lib.lines().filter_map(|l| l.strip_prefix("pub mod ")?.strip_suffix(';'));
    declared.map(str::to_owned).collect()
}

/// Imports of a room in `code` that stands below it, or of something that is not a room.
fn upward(room: &str, rooms: &[String], code: &str) -> Vec<String> {
    let place = |name: &str| rooms.iter().position(|r| r == name);
    let own = place(room).expect("a room of lib.rs");
    let found = paths(code).into_iter().filter(|path| path.parts[0] == "crate");
    let wrong = found.filter(|path| {
        path.parts.get(1).is_none_or(|name| place(name).is_none_or(|other| other > own))
    });
    wrong.map(|path| format!("{room} imports {}", path.parts.join("::"))).collect()
}

#[test]
fn no_room_imports_upwards() {
    let rooms = rooms();
    assert!(rooms.len() >= 9, "{rooms:?}");
    let mut wrong = Vec::new();
    for room in &rooms {
        let files = sources(&format!("src/{room}"));
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
