//! The place of a new table, and its files.

use std::path::PathBuf;
use std::sync::Arc;

use super::options::NewOptions;
use crate::base::error::{Error, Result, nearest, unknown};
use crate::base::tree_files::TreeFiles;
use crate::checks::settings::Settings;
use crate::database::catalog::{Catalog, SystemFile, TableFile};
use crate::database::source::{SETTINGS, WorkTree};
use crate::database::table::Table;
use crate::jobs::learn::{self, LearnedTable};
use crate::specs::{Specs, TableSpec};

/// A file that the command `new` prepares for a new table, or that exists already and is kept.
pub(crate) struct NewFile {
    /// The path below the repository's top.
    pub path: String,
    /// The contents.
    pub bytes: Vec<u8>,
    /// The contents as a text that is shown to the user. `None` for a table, and for a file that exists already.
    pub text: Option<String>,
    /// A short note about the file for people, such as `kept as it is`.
    pub says: String,
    /// True if the file exists and is kept.
    pub exists: bool,
}

/// The place of a new table in a database.
pub(crate) struct NewPlace {
    /// The folder to which file paths are relative: the repository's top, or the root if there is no repository.
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
    /// The table's name, with `_perf`.
    pub table: String,
    pub family: String,
    /// The table's spec; `None` if it must be learned from the rows.
    pub spec: Option<Arc<TableSpec>>,
    pub specs: Specs,
}

impl NewPlace {
    /// Finds the place of a new table in the database at the root, or in a new database.
    pub(crate) fn of(options: &NewOptions) -> Result<Self> {
        for (name, text) in [
            ("--system", &options.system),
            ("--backend", &options.backend),
            ("--version", &options.version),
            ("--table", &options.table),
        ] {
            if !is_folder_name(text) {
                return Err(Error::new(
                    format!("{name} '{text}' cannot be the name of a folder"),
                    "use letters, digits and the characters . _ + -, starting with a letter or digit",
                ));
            }
        }
        let source = WorkTree::open(&options.root)?;
        let mut settings = Settings::read(&source, None, None)?;
        let catalog = Catalog::walk(&source, &settings.specs)?;
        settings.take_facts(&source, &catalog);
        let specs = settings.specs;
        let spec = spec(&specs, options)?;
        let short = options.table.trim_end_matches("_perf");
        let table = spec.as_ref().map_or(format!("{short}_perf"), |spec| spec.name.clone());
        let family = spec.as_ref().map(|spec| spec.family.clone());
        let family = family.or_else(|| specs.families.get(&table).cloned());
        let family = family.unwrap_or_else(|| short.to_owned());
        let top = source.top()?.unwrap_or_else(|| options.root.clone());
        let tree = TreeFiles::at_root(&top)?;
        if options.write {
            tree.lock()?;
        }
        let systems = if catalog.systems.is_empty() {
            format!("{}systems", source.prefix())
        } else {
            catalog.folder.clone()
        };
        let yaml = catalog.systems.get(&options.system).filter(|s| s.yaml == s.path).cloned();
        let prefix = if systems.is_empty() { String::new() } else { format!("{systems}/") };
        let yaml_path = format!("{prefix}{}.yaml", options.system);
        let data = yaml.as_ref().map(|yaml| yaml.data_dir.clone());
        let data = data.unwrap_or_else(|| format!("{prefix}data/{}", options.system));
        Ok(Self {
            folder: format!("{data}/{family}/{}/{}", options.backend, options.version),
            top,
            tree,
            yaml_path,
            yaml,
            system: options.system.clone(),
            backend: options.backend.clone(),
            version: options.version.clone(),
            table,
            family,
            spec,
            specs,
        })
    }

    /// Learns a spec from the rows of a table that has no spec. Returns the spec as a new YAML file for the
    /// repository's own folder of rules.
    ///
    /// # Errors
    ///
    /// Returns an error if no column is named like a latency, or if the file exists already.
    pub(crate) fn learned(&self, file: &TableFile, table: &Table) -> Result<NewFile> {
        let path = format!("{SETTINGS}/rules/tables/{}.yaml", self.table);
        if self.tree.has(&self.top.join(&path))? {
            let message = format!("{path} exists and does not describe {}", self.table);
            return Err(Error::new(message, "add the spec that `perfdb-gate suggest` prints"));
        }
        let mut learned = LearnedTable::new(&self.table, self.family.clone(), &self.specs);
        learned.add(file, table)?;
        let text = learn::yaml(&learned, &[])?;
        let names = self.specs.tables.keys().map(|name| name.trim_end_matches("_perf"));
        let near = nearest(self.table.trim_end_matches("_perf"), names);
        let near = near.map(|near| format!(" (did you mean --table {near}?)")).unwrap_or_default();
        let says = format!("a first spec, since none describes {}{near}", self.table);
        let bytes = text.clone().into_bytes();
        Ok(NewFile { path, bytes, text: Some(text), says, exists: false })
    }
}

/// Returns true if a text can be the name of a folder: it begins with an ASCII letter or digit, and contains only such
/// characters and `.`, `_`, `+`, `-`.
fn is_folder_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "._+-".contains(c))
}

/// Returns the spec of a table, by its name with or without `_perf`; `None` if it must be learned from the rows.
///
/// # Errors
///
/// Returns an error if the table has no spec and no rows are given.
fn spec(specs: &Specs, options: &NewOptions) -> Result<Option<Arc<TableSpec>>> {
    let table = &options.table;
    let found = specs.tables.get(table).or_else(|| specs.tables.get(&format!("{table}_perf")));
    if found.is_none() && options.from.is_none() {
        let known = specs.tables.keys().map(|t| t.trim_end_matches("_perf"));
        let Error { message, hint, .. } = unknown("table", table, known);
        let own = "; --from FILE learns the spec of a new table from its rows";
        return Err(Error::new(message, hint + own));
    }
    Ok(found.cloned())
}
