//! Renders a reach as a document for people.

use std::collections::BTreeMap;

use super::files::{FileReach, FileRows, Reach, StateCounts};
use super::{LookupCounts, LookupSource};
use crate::base::words::{count, plural, plural_verb};
use crate::database::served::RowState;
use crate::jobs::first_lines;
use crate::jobs::impact::PlannedVersion;
use crate::report::document::Document;

/// The maximum number of tables shown.
const SHOWN_TABLES: usize = 20;
/// The maximum number of lookups shown.
const SHOWN_LOOKUPS: usize = 10;

/// Sums up the reach in one line.
pub(super) fn headline(reach: &Reach) -> String {
    let [before, after] = reach.counts();
    let after = after.unwrap_or_default();
    let tables = reach.files.iter().filter(|file| file.after.is_some()).count();
    let of = format!(
        "{} of {}: {}",
        plural(after.rows as usize, "row"),
        plural(tables, "table"),
        states(after)
    );
    match before.filter(|before| *before != after) {
        Some(before) => format!("{of}; before {}", states(before)),
        None => of,
    }
}

/// Renders row counts, such as `12 served, 3 shadowed`.
fn states(counts: StateCounts) -> String {
    let each = [
        (counts.served, "served"),
        (counts.shadowed, "shadowed"),
        (counts.filtered, "filtered"),
        (counts.refused, "refused"),
        (counts.not_queryable, "never queried"),
    ];
    let shown = each.into_iter().filter(|(n, word)| *n > 0 || *word == "served");
    let shown = shown.map(|(n, word)| format!("{} {word}", count(n as usize)));
    shown.collect::<Vec<_>>().join(", ")
}

/// Renders lookup counts, such as `12 exact, 3 from donors`.
fn sources(counts: LookupCounts) -> String {
    let each = LookupSource::ALL.into_iter().map(|source| (counts.count(source), source.word()));
    let shown = each.filter(|(n, _)| *n > 0).map(|(n, word)| format!("{} {word}", count(n)));
    shown.collect::<Vec<_>>().join(", ")
}

/// Builds the document of a reach.
pub(super) fn document(reach: &Reach) -> Document {
    let mut document = Document::new("Reach");
    document.paragraph(headline(reach));
    let unread = reach
        .unread()
        .map(|(path, why)| format!("{path} cannot be read, so its rows are not counted: {why}"));
    let mut notes: Vec<String> = unread.collect();
    if reach.strays > 0 {
        let files = plural_verb(reach.strays, "file", ["is", "are"]);
        notes.push(format!("{files} at places that no loader reads; their rows are not counted"));
    }
    document.list("", notes);
    let mut versions: BTreeMap<&PlannedVersion, Vec<_>> = BTreeMap::new();
    for model in &reach.models {
        versions.entry(&model.version).or_default().push(model.counts());
    }
    let versions = versions.iter().map(|(version, counts)| version_line(version, counts));
    document.list("Tables whose rows are not all served", tables(reach));
    document.list("Lookups of default models", versions);
    document.list("Lookups that read from another source than before", moved(reach));
    document.list("Lookups that find no rows", missing(reach));
    document
}

/// Renders the lookup counts of a version.
fn version_line(version: &PlannedVersion, counts: &[[Option<LookupCounts>; 2]]) -> String {
    let side = |i: usize| counts.iter().filter_map(|c| c[i]).reduce(LookupCounts::plus);
    let after = side(1).unwrap_or_default();
    let of = format!("{}: {}: {}", version, count(after.all()), sources(after));
    match side(0).filter(|before| *before != after) {
        Some(before) => format!("{of}; before {}", sources(before)),
        None => of,
    }
}

/// Lists tables with unserved rows, most rows first; of two states, only tables whose counts
/// changed.
fn tables(reach: &Reach) -> Vec<String> {
    let mut files: Vec<&FileReach> =
        reach.files.iter().filter(|f| is_news(f, reach.compared)).collect();
    files.sort_by_key(|file| std::cmp::Reverse(unserved(file)));
    let lines = files.into_iter().map(|file| table_line(file, reach.compared));
    first_lines(lines, SHOWN_TABLES, "table")
}

/// Returns the number of rows of a file that are not served.
fn unserved(file: &FileReach) -> u64 {
    let counts = file.after.as_ref().map(|rows| rows.states).unwrap_or_default();
    counts.rows - counts.served
}

fn is_news(file: &FileReach, compared: bool) -> bool {
    let counts = |rows: &Option<FileRows>| rows.as_ref().map(|rows| rows.states);
    if compared { counts(&file.before) != counts(&file.after) } else { unserved(file) > 0 }
}

fn table_line(file: &FileReach, compared: bool) -> String {
    let side =
        |rows: &Option<FileRows>| rows.as_ref().map_or("missing".to_owned(), |r| states(r.states));
    let mut line = format!("{}: {}", file.path, side(&file.after));
    if compared {
        line += &format!("; before {}", side(&file.before));
    }
    line + &reason(file)
}

/// Explains why rows of a file are not served: the reason for the whole file, or its first shadowed
/// row.
fn reason(file: &FileReach) -> String {
    let Some(rows) = &file.after else { return String::new() };
    if let Some(why) = &rows.why {
        return format!(": {why}");
    }
    let shadowed = rows.runs.iter().find(|run| run.state == RowState::Shadowed);
    match shadowed.and_then(|run| Some((run.first, run.by_row?))) {
        Some((row, by)) => {
            format!(" (for example, row {row} is shadowed by row {by}; rows count from 0)")
        }
        None => String::new(),
    }
}

fn moved(reach: &Reach) -> Vec<String> {
    let all: Vec<_> =
        reach.models.iter().flat_map(|m| m.moved.iter().map(move |l| (m, l))).collect();
    let word = |source: Option<LookupSource>| source.map_or("not asked", LookupSource::word);
    let line = |(model, lookup): &(&super::ModelLookups, &super::SourceMove)| {
        let moved = format!("{} → {}", word(lookup.before), word(lookup.after));
        let of = format!("{}, {}", model.version, model.model);
        format!("{of}: {}, {}: {moved}", lookup.table, lookup.key)
    };
    first_lines(all.iter().map(line), SHOWN_LOOKUPS, "lookup")
}

/// Lists the reasons why lookups have no answer, ordered by the number of models.
fn missing(reach: &Reach) -> Vec<String> {
    let mut reasons: BTreeMap<(&PlannedVersion, &str), Vec<&str>> = BTreeMap::new();
    for model in &reach.models {
        for (_, why) in &model.missing {
            reasons.entry((&model.version, why)).or_default().push(&model.model);
        }
    }
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, models)| std::cmp::Reverse(models.len()));
    let line = |((version, why), models): ((&PlannedVersion, &str), Vec<&str>)| {
        format!("{}: {}: {why}", version, plural(models.len(), "model"))
    };
    first_lines(reasons.into_iter().map(line), SHOWN_LOOKUPS, "reason")
}
