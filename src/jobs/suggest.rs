//! Suggests a spec for a table without one, learned from its rows and its family.
//!
//! The spec is printed as YAML to edit: rows do not show the loader's key, nor which of two rows
//! with one key the loader serves.

use std::path::PathBuf;

use crate::base::error::{Error, Result, unknown};
use crate::database::catalog::{Catalog, TableFile};
use crate::database::selection::Selection;
use crate::jobs::learn::{self, LearnedTable};
use crate::jobs::site::Site;
use crate::specs::Specs;

/// The comment in a printed spec that says where to save the spec.
const SAVE: &str =
    "\n# Save it as tables/<family>.yaml in a folder for --rules, or in .perfdb-gate/rules/.\n";

/// The options of `suggest`.
#[derive(Debug, Clone, clap::Args)]
pub struct SuggestOptions {
    /// The table's name, with or without `_perf`.
    pub table: String,
    /// Repository or folder that contains the database.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub root: PathBuf,
    /// Learn from a commit, without a checkout, instead of the files on disk.
    #[arg(long = "ref", value_name = "REF")]
    pub reference: Option<String>,
    /// A folder laid out like perfdb-gate's rules/; its files are added, or replace the ones with
    /// the same id.
    #[arg(long, value_name = "DIR")]
    pub rules: Option<PathBuf>,
}

/// Derives a spec from the rows of a table's files, and renders the spec as YAML for `rules/tables/<family>.yaml`.
///
/// # Errors
///
/// Returns an error if there is no such table, if none of its files can be read, or if no column is
/// named like a latency.
pub fn run(options: &SuggestOptions) -> Result<String> {
    let (reference, rules) = (options.reference.as_deref(), options.rules.as_deref());
    let site = Site::open(&options.root, reference, rules, &Selection::default())?;
    let files = files(&site.catalog, &options.table)?;
    let name = files[0].table.as_str();
    let mut learned = LearnedTable::new(name, family(&files, site.specs()), site.specs());
    let mut unread = Vec::new();
    for file in &files {
        let bytes = site.source.read(&file.entry).map_err(|why| why.to_string());
        let table = bytes
            .and_then(|bytes| file.decode(site.specs(), &bytes).map_err(|why| why.to_string()));
        match table {
            Ok(table) => learned.add(file, &table)?,
            Err(why) => unread.push(format!("{}: {why}", file.entry.path)),
        }
    }
    if let (0, Some(why)) = (learned.files, unread.first()) {
        return Err(Error::new(why.clone(), "suggest needs a table with rows"));
    }
    Ok(learn::yaml(&learned, &unread)?.replacen('\n', SAVE, 1))
}

/// Returns the files of the table `table`. If there are none, returns the files of the table with `_perf` appended to
/// its name.
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

/// Returns the table's family from the operation catalog, or else from the folders of its files.
fn family(files: &[&TableFile], specs: &Specs) -> String {
    let listed = specs.families.get(&files[0].table).cloned();
    listed.or_else(|| files.iter().find_map(|f| f.place.family.clone())).unwrap_or_default()
}
