//! A first spec for a table that has none, learned from its rows and its family.
//!
//! It is printed as YAML to be edited: what a loader keys on, and which of two rows it serves, rows
//! do not say.

mod learn;
mod print;

use std::path::PathBuf;

use self::learn::Learned;
use crate::base::error::{Error, Result, unknown};
use crate::checks::settings::Settings;
use crate::database::catalog::{Catalog, TableFile};
use crate::database::source;
use crate::specs;

/// Which table, and where.
#[derive(Debug, Clone)]
pub struct SuggestOptions {
    /// The repository, or a folder in it.
    pub root: PathBuf,
    /// A commit to read instead of the files on disk.
    pub reference: Option<String>,
    /// A folder that overlays the embedded rules.
    pub rules: Option<PathBuf>,
    /// The table, with or without `_perf`.
    pub table: String,
}

/// Learns a spec, as the YAML of `rules/tables/<family>.yaml`.
///
/// # Errors
///
/// When there is no such table, no file of it can be read, or no column of it has the name of a latency.
pub fn run(options: &SuggestOptions) -> Result<String> {
    let source = source::open(&options.root, options.reference.as_deref())?;
    let mut settings = Settings::read(source.as_ref(), options.rules.as_deref(), None)?;
    let catalog = Catalog::read(source.as_ref(), &settings.specs)?;
    settings.take_facts(source.as_ref(), &catalog);
    let files = files(&catalog, &options.table)?;
    let name = files[0].table.as_str();
    let mut learned = Learned::new(name, family(&files, &settings), &settings.specs);
    let mut unread = Vec::new();
    for file in &files {
        let bytes = source.read(&file.entry).map_err(|why| why.to_string());
        let table = bytes
            .and_then(|bytes| file.decode(&settings.specs, &bytes).map_err(|why| why.to_string()));
        match table {
            Ok(table) => learned.add(file, &table)?,
            Err(why) => unread.push(format!("{}: {why}", file.entry.path)),
        }
    }
    if let (0, Some(why)) = (learned.files, unread.first()) {
        return Err(Error::new(why.clone(), "suggest needs a table with rows"));
    }
    if learned.latencies().is_empty() {
        let message = format!("no column of {name} looks like a latency");
        return Err(Error::new(message, "name the column latency, *_ms or *_us"));
    }
    let text = print::yaml(&learned, &unread);
    // What is printed has to be what --rules takes.
    specs::check_tables(&text)?;
    Ok(text)
}

/// The files of a table, those of the shorter name where that is one.
fn files<'a>(catalog: &'a Catalog, table: &str) -> Result<Vec<&'a TableFile>> {
    let of = |name: &str| -> Vec<&TableFile> {
        catalog.tables.iter().filter(|t| t.table == name).collect()
    };
    let found =
        Some(of(table)).filter(|f| !f.is_empty()).unwrap_or_else(|| of(&format!("{table}_perf")));
    if found.is_empty() {
        return Err(unknown("table", table, catalog.tables.iter().map(|t| t.table.as_str())));
    }
    Ok(found)
}

/// Its family: by the operation catalog, else by where its files lie.
fn family(files: &[&TableFile], settings: &Settings) -> String {
    let listed = settings.specs.families.get(&files[0].table).cloned();
    let lies = files.iter().find_map(|f| f.place.family.clone());
    listed.or(lies).unwrap_or_default()
}
