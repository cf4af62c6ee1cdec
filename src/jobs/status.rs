//! The health of a database: a map of tables by systems, with the worst finding of each.

use std::path::PathBuf;

use crate::base::error::{Exit, Result};
use crate::base::progress::Progress;
use crate::checks::settings::RuleSelection;
use crate::database::selection::Selection;
use crate::jobs::DocumentFormat;
use crate::jobs::validate::{self, ValidateOptions};
use crate::report::ReportView;
use crate::report::document::Document;
use crate::report::health::HealthMap;

/// The options of `status`.
#[derive(Debug, Clone, clap::Args)]
pub struct StatusOptions {
    /// Repository or folder that contains the database.
    #[arg(long, value_name = "DIR", default_value = ".", help_heading = "Which tables")]
    pub root: PathBuf,
    /// Read the tables of a commit, without a checkout, instead of the files on disk.
    #[arg(long = "ref", value_name = "REF", help_heading = "Which tables")]
    pub reference: Option<String>,
    #[command(flatten)]
    pub selection: Selection,
    /// A folder laid out like perfdb-gate's rules/; its files are added, or replace the ones with
    /// the same id.
    #[arg(long, value_name = "DIR", help_heading = "Which tables")]
    pub rules: Option<PathBuf>,
}

/// The health of a database: the number of findings per table and system, and a headline.
#[derive(Debug)]
pub struct DatabaseHealth {
    map: HealthMap,
    headline: String,
    tables: u64,
}

/// Judges a database and counts its findings per table and system.
///
/// # Errors
///
/// Returns an error if there is no database, or if the options name something unknown.
pub fn run(options: &StatusOptions, progress: &dyn Progress) -> Result<DatabaseHealth> {
    let judged = ValidateOptions {
        root: options.root.clone(),
        reference: options.reference.clone(),
        selection: options.selection.clone(),
        rules: RuleSelection { folder: options.rules.clone(), ..RuleSelection::default() },
        ..ValidateOptions::default()
    };
    let report = validate::run(&judged, progress)?;
    let headline = ReportView::new(&report, report.outcome(None)).headline().to_owned();
    let map = HealthMap::new(&report.judged, &report.findings);
    Ok(DatabaseHealth { map, headline, tables: report.tables })
}

impl DatabaseHealth {
    /// Renders the numbers of findings per table and system. If `brief` is true, the human format contains only the
    /// headline.
    pub fn render(&self, format: DocumentFormat, brief: bool) -> String {
        let document = || {
            let mut document = Document::new("");
            self.map.add_to(&mut document);
            document.paragraph(&self.headline);
            document
        };
        let json = || serde_json::to_string_pretty(&self.map).unwrap_or_default();
        format.render(brief, || self.headline.clone(), document, json)
    }

    /// Returns the exit code: clean if there is a table, otherwise inconclusive.
    pub fn exit(&self) -> Exit {
        if self.tables > 0 { Exit::Clean } else { Exit::Inconclusive }
    }
}
