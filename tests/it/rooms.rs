//! The rooms of `src/`: a room imports only rooms above it in the list that `src/lib.rs` shows, and a job imports no
//! other job.

use std::collections::BTreeSet;

use crate::circles::{graph, modules};
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
fn rooms_import_only_from_rooms_above_them_in_the_list() {
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

/// Parts of `jobs/` that jobs may import.
const SHARED: [&str; 5] = [
    // Learns a spec from the rows of a table without one.
    "learn",
    // Selects rows by conditions.
    "rows",
    // Opens one state of a database.
    "site",
    // Opens and judges the two states of a pull request.
    "pull_request",
    // Judges a database, for the jobs that show or use its findings.
    "validate",
];

/// Jobs that import any job: what they do is about all of them.
const OF_ALL: [&str; 1] = [
    // Prints the schema of each job's document.
    "schema",
];

/// Imports of one job by another that are left. This list only shrinks.
const KNOWN_IMPORTS: [(&str, &str); 3] = [
    // The first table is written as `convert` writes one.
    ("new", "repair"),
    // A run with a planner predicts and sums up what `impact` does.
    ("sanity", "impact"),
    ("validate", "impact"),
];

#[test]
fn jobs_do_not_import_each_other() {
    let mut found = BTreeSet::new();
    for (module, imported) in graph(&modules()) {
        let [room, job, ..] = &module[..] else { continue };
        if room != "jobs" || OF_ALL.contains(&job.as_str()) {
            continue;
        }
        let others = imported.into_iter().filter_map(|other| other.into_iter().nth(1));
        let others = others.filter(|other| other != job && !SHARED.contains(&other.as_str()));
        found.extend(others.map(|other| (job.clone(), other)));
    }
    let known: BTreeSet<(String, String)> =
        KNOWN_IMPORTS.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    let new: Vec<_> = found.difference(&known).collect();
    assert!(new.is_empty(), "jobs that import another job: {new:?}");
    let gone: Vec<_> = known.difference(&found).collect();
    assert!(gone.is_empty(), "remove from KNOWN_IMPORTS what no job imports any more: {gone:?}");
}

#[test]
fn every_folder_of_src_is_a_listed_room() {
    let rooms = rooms();
    for item in std::fs::read_dir("src").unwrap() {
        let name = item.unwrap().file_name().to_string_lossy().into_owned();
        let binary = ["main.rs", "lib.rs", "cli"].contains(&name.as_str());
        assert!(binary || rooms.contains(&name), "src/{name} is in no room");
    }
}

#[test]
fn an_upward_import_is_found_in_every_spelling() {
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
