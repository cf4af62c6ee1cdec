//! The part of the database that is judged.

use std::collections::BTreeSet;

use globset::GlobMatcher;

use crate::base::error::{Error, Result, unknown};
use crate::base::glob::{GlobScope, matcher};
use crate::database::catalog::{Catalog, Place};

/// Glob patterns that select a part of the database. An empty list selects everything.
#[derive(Debug, Default, Clone, clap::Args)]
pub struct Selection {
    /// Only these systems, e.g. `h200_sxm` or `b*`; may be repeated.
    #[arg(long = "system", value_name = "NAME", help_heading = "Which tables")]
    pub systems: Vec<String>,
    /// Only these backends, e.g. `vllm`; may be repeated.
    #[arg(long = "backend", value_name = "NAME", help_heading = "Which tables")]
    pub backends: Vec<String>,
    /// Only these versions, e.g. `0.24.0`; may be repeated.
    #[arg(long = "version", value_name = "VERSION", help_heading = "Which tables")]
    pub versions: Vec<String>,
    /// Only these tables, e.g. `gemm` or `gemm_perf`; may be repeated.
    #[arg(long = "table", value_name = "NAME", help_heading = "Which tables")]
    pub tables: Vec<String>,
    /// The layout of the database, e.g. `public`, instead of the one that its files show.
    #[arg(long, value_name = "NAME", help_heading = "Which tables")]
    pub layout: Option<String>,
}

/// The part of a database that is checked, as chosen by a [`Selection`].
pub struct Selected {
    systems: NamePatterns,
    backends: NamePatterns,
    versions: NamePatterns,
    tables: NamePatterns,
    /// The paths of the changed files; `None` if unchanged files are checked, too.
    changed: Option<BTreeSet<String>>,
}

/// Glob patterns for names. If there are no patterns, every name matches.
pub(crate) struct NamePatterns(Vec<GlobMatcher>);

impl NamePatterns {
    /// Compiles glob patterns. Each of them must match one of the `known` names.
    ///
    /// # Errors
    ///
    /// If a pattern is malformed or matches nothing.
    pub(crate) fn known<'a>(
        globs: &[String],
        what: &str,
        known: impl Iterator<Item = &'a str> + Clone,
    ) -> Result<Self> {
        let names = Self::new(globs)?;
        names.check(what, known)?;
        Ok(names)
    }

    fn new(globs: &[String]) -> Result<Self> {
        let compile = |glob: &String| {
            matcher(glob, GlobScope::Names)
                .map_err(|why| Error::new(why, "* matches any characters"))
        };
        Ok(Self(globs.iter().map(compile).collect::<Result<_>>()?))
    }

    /// Returns true if a name matches a pattern, or if there are no patterns.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|g| g.is_match(name))
    }

    /// Returns an error if a pattern matches none of the `known` names.
    fn check<'a>(&self, what: &str, known: impl Iterator<Item = &'a str> + Clone) -> Result<()> {
        match self.0.iter().find(|g| !known.clone().any(|k| g.is_match(k))) {
            Some(glob) => Err(unknown(what, glob.glob().glob(), known)),
            None => Ok(()),
        }
    }
}

impl Selection {
    /// Returns true if the whole database is selected.
    pub(crate) fn is_all(&self) -> bool {
        [&self.systems, &self.backends, &self.versions, &self.tables]
            .iter()
            .all(|globs| globs.is_empty())
    }

    /// Compiles the patterns and checks that each of them matches something in the selected part of the catalog. For
    /// example, a pattern for versions must match a version of the selected backends.
    pub(crate) fn resolve(
        &self,
        catalog: &Catalog,
        changed: Option<Vec<String>>,
    ) -> Result<Selected> {
        let selected = Selected {
            systems: NamePatterns::new(&self.systems)?,
            backends: NamePatterns::new(&self.backends)?,
            versions: NamePatterns::new(&self.versions)?,
            tables: NamePatterns::new(&self.tables)?,
            changed: changed.map(|c| c.into_iter().collect()),
        };
        selected.systems.check("system", catalog.systems.keys().map(String::as_str))?;
        let mut places: Vec<&Place> = catalog.dirs.values().map(|d| &d.place).collect();
        places.retain(|p| selected.systems.has(&p.system));
        selected.backends.check("backend", places.iter().map(|p| p.backend.as_str()))?;
        places.retain(|p| selected.backends.has(&p.backend));
        selected.versions.check("version", places.iter().map(|p| p.version.as_str()))?;
        let tables = catalog.tables.iter().filter(|t| selected.place(&t.place));
        let stems: BTreeSet<&str> = tables.map(|t| t.table.as_str()).collect();
        let hits = |g: &&GlobMatcher| !stems.iter().any(|s| g.is_match(s) || g.is_match(short(s)));
        if let Some(glob) = selected.tables.0.iter().find(hits) {
            return Err(unknown("table", glob.glob().glob(), stems.into_iter().map(short)));
        }
        Ok(selected)
    }
}

/// Returns a table's name without `_perf`, as people use it.
fn short(table: &str) -> &str {
    table.trim_end_matches("_perf")
}

impl Selected {
    /// Returns true if a system is selected with all its backends, versions and tables.
    pub(crate) fn system(&self, name: &str) -> bool {
        self.systems.has(name)
            && self.backends.0.is_empty()
            && self.versions.0.is_empty()
            && self.tables.0.is_empty()
    }

    /// Returns true if the version directory with this system, backend and version is selected.
    pub(crate) fn place(&self, place: &Place) -> bool {
        tracing::trace!("lookup");
        self.systems.has(&place.system)
            && self.backends.has(&place.backend)
            && self.versions.has(&place.version)
    }

    /// Returns true if a table is selected.
    pub fn table(&self, place: &Place, table: &str) -> bool {
        self.place(place) && (self.tables.has(table) || self.tables.has(short(table)))
    }

    /// Returns true if whole version directories are selected. This is false if tables are selected by name.
    pub(crate) fn whole_dirs(&self) -> bool {
        self.tables.0.is_empty()
    }

    /// Returns true if a file changed, or if unchanged files are checked, too.
    pub fn changed(&self, path: &str) -> bool {
        self.changed.as_ref().is_none_or(|c| c.contains(path))
    }

    /// Returns true if a file below a folder changed or was deleted, or if unchanged files are checked, too.
    pub(crate) fn touched(&self, folder: &str) -> bool {
        let below = format!("{folder}/");
        self.changed.as_ref().is_none_or(|changed| {
            let first = changed.range(below.clone()..).next();
            first.is_some_and(|path| path.starts_with(&below))
        })
    }
}
