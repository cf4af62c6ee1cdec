//! The place of a new table, and its files.

use std::path::PathBuf;
use std::sync::Arc;

use super::options::NewOptions;
use crate::base::error::{Error, Result, unknown};
use crate::base::tree_files::TreeFiles;
use crate::checks::settings::Settings;
use crate::database::catalog::{Catalog, SystemFile};
use crate::database::source::WorkTree;
use crate::specs::{Specs, TableSpec};

/// A file of a new table.
pub struct NewFile {
    /// The path below the repository's top.
    pub path: String,
    /// The contents.
    pub bytes: Vec<u8>,
    /// The contents for people; `None` for a table.
    pub text: Option<String>,
    /// A description in a few words.
    pub says: String,
    /// True if the file exists and is kept.
    pub exists: bool,
}

/// The place of a new table in a database.
pub struct NewPlace {
    /// The folder that contains the paths of files: the repository's top, or the root outside of one.
    pub top: PathBuf,
    /// The files below `top`.
    pub tree: TreeFiles,
    /// The path of the system's YAML below `top`.
    pub yaml_path: String,
    /// The system's YAML, if it exists.
    pub yaml: Option<SystemFile>,
    /// The path of the version directory below `top`.
    pub folder: String,
    pub system: String,
    pub backend: String,
    pub version: String,
    pub spec: Arc<TableSpec>,
    pub specs: Specs,
}

impl NewPlace {
    /// Finds the place of a table in the database at the root, or in a new one.
    pub fn of(options: &NewOptions) -> Result<Self> {
        for (name, text) in [
            ("--system", &options.system),
            ("--backend", &options.backend),
            ("--version", &options.version),
        ] {
            if !is_folder_name(text) {
                return Err(Error::new(
                    format!("{name} '{text}' cannot be the name of a folder"),
                    "use letters, digits and the characters . _ + -, starting with a letter or digit",
                ));
            }
        }
        let source = WorkTree::open(&options.root)?;
        let settings = Settings::read(&source, None, None)?;
        let catalog = Catalog::walk(&source, &settings.specs)?;
        let specs = settings.specs;
        let spec = spec(&specs, &options.table)?;
        let has_database = !catalog.systems.is_empty();
        let top = source.top()?.filter(|_| has_database).unwrap_or_else(|| options.root.clone());
        let tree = TreeFiles::at_root(&top)?;
        if options.write {
            tree.lock()?;
        }
        let systems = if has_database { catalog.folder.as_str() } else { "systems" };
        let yaml = catalog.systems.get(&options.system).filter(|s| s.yaml == s.path).cloned();
        let prefix = if systems.is_empty() { String::new() } else { format!("{systems}/") };
        let yaml_path = format!("{prefix}{}.yaml", options.system);
        let data = yaml.as_ref().map(|yaml| yaml.data_dir.clone());
        let data = data.unwrap_or_else(|| format!("{prefix}data/{}", options.system));
        Ok(Self {
            folder: format!("{data}/{}/{}/{}", spec.family, options.backend, options.version),
            top,
            tree,
            yaml_path,
            yaml,
            system: options.system.clone(),
            backend: options.backend.clone(),
            version: options.version.clone(),
            spec,
            specs,
        })
    }
}

/// Returns true if a text is usable as a folder's name on every system, and not hidden.
fn is_folder_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "._+-".contains(c))
}

/// Returns the spec of a table, by its name with or without `_perf`.
fn spec(specs: &Specs, table: &str) -> Result<Arc<TableSpec>> {
    let found = specs.tables.get(table).or_else(|| specs.tables.get(&format!("{table}_perf")));
    found.cloned().ok_or_else(|| {
        let error =
            unknown("table", table, specs.tables.keys().map(|t| t.trim_end_matches("_perf")));
        Error::new(error.message, error.hint + "; `perfdb-gate suggest` describes one of your own")
    })
}
