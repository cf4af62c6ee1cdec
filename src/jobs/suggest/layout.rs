//! Suggests a layout and table specs for a folder of tables, learned from paths and headers.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use serde_json::Value;

use super::learn::Learned;
use super::print;
use crate::base::error::{Error, Result};
use crate::database::catalog::{Catalog, Format, TableFile};
use crate::database::source::{self, Entry, Source};
use crate::database::table::Table;
use crate::specs::{Library, Specs, check_tables};

/// The file stem of both suggested files.
pub const SUGGESTED: &str = "suggested";

/// A first layout and the specs of its tables, as YAML.
#[derive(Debug)]
pub struct SuggestedRules {
    /// The text of `layouts/suggested.yaml`.
    pub layout: String,
    /// The text of `tables/suggested.yaml`.
    pub tables: String,
}

/// A file that may contain a table, with its columns.
struct Candidate {
    path: String,
    reader: &'static str,
    columns: Vec<String>,
}

/// Learns a layout and specs from the files below a folder.
///
/// # Errors
///
/// Returns an error if the folder contains no table with a measured column.
pub fn suggest(root: &Path) -> Result<SuggestedRules> {
    let source = source::open(root, None)?;
    let files = source.files()?;
    let candidates = files.iter().filter_map(|entry| candidate(source.as_ref(), entry));
    let layout = layout(&groups(candidates.collect()))?;
    let mut library = Library::embedded();
    library.add(&format!("layouts/{SUGGESTED}.yaml"), "the suggested layout", layout.clone());
    let mut specs = Specs::read(library)?;
    specs.choose_layout(Some(SUGGESTED), std::iter::empty())?;
    let catalog = Catalog::some_roots(source.as_ref(), files, &specs)?;
    let catalog = catalog.into_iter().next().unwrap_or_default();
    let names: BTreeSet<&str> = catalog.tables.iter().map(|file| file.table.as_str()).collect();
    let mut tables = format!("family: {SUGGESTED}\ntables:\n");
    for name in names {
        let of_name: Vec<&TableFile> =
            catalog.tables.iter().filter(|file| file.table == name).collect();
        tables += &spec(name, &of_name, source.as_ref(), &specs)?;
    }
    if !tables.contains("serves:") {
        return Err(Error::new(
            format!("no table in {} has a column that looks like a time", root.display()),
            "name the column latency, ms, us, *_ms or *_us",
        ));
    }
    // The printed YAML must be valid for --rules.
    check_tables(&tables)?;
    Ok(SuggestedRules { layout, tables })
}

/// Learns the spec of a table; a comment if no column looks like a time.
fn spec(name: &str, files: &[&TableFile], source: &dyn Source, specs: &Specs) -> Result<String> {
    let mut learned = Learned::new(name, SUGGESTED.to_owned(), specs);
    let mut unread = Vec::new();
    for file in files {
        let bytes = source.read(&file.entry).map_err(|why| why.to_string());
        match bytes.and_then(|bytes| file.decode(specs, &bytes).map_err(|why| why.to_string())) {
            Ok(table) => learned.add(file, &table)?,
            Err(why) => unread.push(format!("{}: {why}", file.entry.path)),
        }
    }
    if learned.latencies().is_empty() {
        return Ok(format!("  # {name}: no column looks like a time\n"));
    }
    Ok(print::table(&learned, &unread))
}

/// Returns the columns of a file that may contain a table; `None` for other files.
fn candidate(source: &dyn Source, entry: &Entry) -> Option<Candidate> {
    let ending = entry.path.rsplit_once('.')?.1;
    let hidden = entry.path.split('/').any(|part| part.starts_with('.'));
    if hidden || !matches!(ending, "csv" | "jsonl" | "parquet") {
        return None;
    }
    let bytes = source.read_file(entry).ok()?;
    let (reader, columns) = match ending {
        "jsonl" => {
            let line = bytes.split(|b| *b == b'\n').find(|line| !line.is_empty())?;
            let Value::Object(fields) = serde_json::from_slice(line).ok()? else { return None };
            ("json-lines", fields.keys().cloned().collect())
        }
        "csv" => {
            let table = Table::decode(&bytes, Format::Csv, &|_| false).ok()?;
            ("csv", table.columns().map(|(name, _)| name.to_owned()).collect())
        }
        _ => {
            let table = Table::decode(&bytes, Format::Parquet, &|_| false).ok()?;
            ("parquet", table.columns().map(|(name, _)| name.to_owned()).collect())
        }
    };
    Some(Candidate { path: entry.path.clone(), reader, columns })
}

/// Groups files with the same columns. Files with the same name in several folders are a table.
fn groups(candidates: Vec<Candidate>) -> BTreeMap<String, Vec<Candidate>> {
    let mut alike: BTreeMap<(Vec<String>, usize), Vec<Candidate>> = BTreeMap::new();
    for candidate in candidates {
        let key = (candidate.columns.clone(), candidate.path.matches('/').count());
        alike.entry(key).or_default().push(candidate);
    }
    let mut groups: BTreeMap<String, Vec<Candidate>> = BTreeMap::new();
    for files in alike.into_values() {
        let mut by_stem: BTreeMap<String, Vec<Candidate>> = BTreeMap::new();
        for file in files {
            by_stem.entry(stem(&file.path).to_owned()).or_default().push(file);
        }
        if by_stem.values().all(|files| files.len() == 1) {
            let files: Vec<Candidate> = by_stem.into_values().flatten().collect();
            let shortest = files.iter().map(|file| stem(&file.path)).min_by_key(|stem| stem.len());
            groups.entry(shortest.unwrap_or_default().to_owned()).or_default().extend(files);
        } else {
            by_stem
                .into_iter()
                .for_each(|(stem, files)| groups.entry(stem).or_default().extend(files));
        }
    }
    groups
}

fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// Renders the layout.
fn layout(groups: &BTreeMap<String, Vec<Candidate>>) -> Result<String> {
    let Some(first) = groups.values().flatten().next() else {
        return Err(Error::new(
            "the folder contains no CSV, JSON lines or Parquet table",
            "a table has a header, or names its columns in each row",
        ));
    };
    let mut out =
        "# Learned from paths and headers: check which parts of a path identify a table.\n\
         # Save it as layouts/<name>.yaml in a folder for --rules, or in .perfdb-gate/rules/.\n\
         about: \"To do: describe the database.\"\n"
            .to_owned();
    let _ = writeln!(out, "detect: [{}]\ntables:", print::quoted(&first.path));
    for (name, files) in groups {
        let depths: BTreeSet<usize> = files.iter().map(|f| f.path.matches('/').count()).collect();
        let is_named_alike = files.len() > 1 && files.iter().all(|f| stem(&f.path) == name);
        let (patterns, parts) = if is_named_alike && depths.len() == 1 {
            let (pattern, parts) = pattern(files);
            (vec![pattern], parts)
        } else {
            (files.iter().map(|file| file.path.clone()).collect(), Vec::new())
        };
        let part = |number: usize| match parts.get(number) {
            Some(part) => format!("\"{{{part}}}\""),
            None => "unknown # to do: a text, {part of the path} or {column}".to_owned(),
        };
        let rest: Vec<String> = parts.iter().skip(2).map(|part| format!("{{{part}}}")).collect();
        let version = if rest.is_empty() { part(2) } else { format!("\"{}\"", rest.join("-")) };
        let patterns: Vec<String> = patterns.iter().map(|text| print::quoted(text)).collect();
        let _ = write!(
            out,
            "  - name: {}\n    files: [{}]\n    system: {}\n    backend: {}\n    version: {version}\n",
            print::quoted(name),
            patterns.join(", "),
            part(0),
            part(1),
        );
        if files[0].reader != "csv" {
            let _ = writeln!(out, "    reader: {}", files[0].reader);
        }
    }
    Ok(out)
}

/// Returns a pattern for paths of the same depth, and the names of its parts, which vary.
fn pattern(files: &[Candidate]) -> (String, Vec<String>) {
    let split: Vec<Vec<&str>> = files.iter().map(|file| file.path.split('/').collect()).collect();
    let mut parts = Vec::new();
    let folders = split[0].iter().enumerate().map(|(at, first)| {
        if split.iter().all(|path| path[at] == *first) {
            return (*first).to_owned();
        }
        let number = parts.len() + 1;
        let name = if number == 1 { "system".to_owned() } else { format!("part{number}") };
        parts.push(name.clone());
        format!("{{{name}}}")
    });
    let folders: Vec<String> = folders.collect();
    (folders.join("/"), parts)
}
