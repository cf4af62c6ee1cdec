//! The second job: what does a pull request change?

use std::path::PathBuf;
use std::time::Instant;

use crate::catalog::{Catalog, Role, no_database};
use crate::diff::{Comparison, Details, State};
use crate::error::Result;
use crate::finding::Counts;
use crate::parallel;
use crate::report::Report;
use crate::settings::Settings;
use crate::source;
use crate::validate::Progress;

/// What to compare.
#[derive(Debug, Default, Clone)]
pub struct Options {
    /// The repository, or a folder in it.
    pub root: PathBuf,
    /// The branch that is merged into; the comparison starts where the head's history left it.
    pub base: String,
    /// The commit to compare; the files on disk without one.
    pub head: Option<String>,
    /// A folder for the rows that changed, as CSV.
    pub detail_dir: Option<PathBuf>,
    /// Threads; 0 for as many as the machine has cores.
    pub threads: usize,
}

/// Compares a head with its merge base.
///
/// # Errors
///
/// When nothing can be compared: no repository, a missing commit, no database on either side, or
/// details that cannot be written. Tables that cannot be read are part of the report.
pub fn run(options: &Options, progress: &dyn Progress) -> Result<Report> {
    let start = Instant::now();
    let head = source::open(&options.root, options.head.as_deref())?;
    let base = head.base(&options.base)?;
    // What a pull request brings must not change how it is judged.
    let settings = Settings::read(&base, None, None)?;
    let specs = &settings.specs;
    let (before, after) = (Catalog::walk(&base, specs)?, Catalog::walk(head.as_ref(), specs)?);
    if before.systems.is_empty() && after.systems.is_empty() {
        return Err(no_database());
    }
    let details = options.detail_dir.as_deref().map(Details::new).transpose()?;
    let comparison = Comparison {
        base: State { source: &base, catalog: &before },
        head: State { source: head.as_ref(), catalog: &after },
        specs,
        details: details.as_ref(),
    };
    let diff = comparison.run(parallel::threads(options.threads), progress)?;
    if let Some(details) = details {
        details.finish(&diff)?;
    }
    Ok(Report {
        command: "sanity",
        rules: Vec::new(),
        overlays: settings.overlays,
        tables: diff.tables.len() as u64,
        files: diff.files.iter().filter(|f| f.role != Role::Other).count() as u64,
        rows: diff.tables.iter().filter_map(|t| t.head_rows).sum(),
        findings: Vec::new(),
        counts: Counts::default(),
        diff: Some(diff),
        elapsed: start.elapsed(),
        drawn: None,
    })
}
