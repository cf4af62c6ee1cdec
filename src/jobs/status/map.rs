//! Builds a map of all systems: tables by systems, with the worst finding of each.

use super::options::StatusOptions;
use crate::base::error::Result;
use crate::base::exit::Exit;
use crate::base::progress::Progress;
use crate::jobs::DocumentFormat;
use crate::jobs::validate::{self, ValidateOptions};
use crate::report::ReportView;
use crate::report::document::Document;
use crate::report::health::HealthMap;

/// The map of a database, with its headline.
#[derive(Debug)]
pub struct DatabaseMap {
    /// `None` if the database has at most one table.
    map: Option<HealthMap>,
    headline: String,
    tables: u64,
}

/// Builds the map of a database.
///
/// # Errors
///
/// Returns an error if there is no database.
pub fn map(options: &StatusOptions, progress: &dyn Progress) -> Result<DatabaseMap> {
    let judged = ValidateOptions {
        root: options.root.clone(),
        reference: options.reference.clone(),
        rules: options.rules.clone(),
        ..ValidateOptions::default()
    };
    let report = validate::run(&judged, progress)?;
    let headline = ReportView::new(&report, report.outcome(None)).headline().to_owned();
    Ok(DatabaseMap {
        map: HealthMap::new(&report.judged, &report.findings),
        headline,
        tables: report.tables,
    })
}

impl DatabaseMap {
    /// Renders the map.
    pub fn render(&self, format: DocumentFormat) -> String {
        let document = || {
            let mut document = Document::new("");
            self.map.iter().for_each(|map| map.add_to(&mut document));
            document.paragraph(&self.headline);
            document
        };
        let json = || serde_json::to_string_pretty(&self.map).unwrap_or_default();
        format.render(|| self.headline.clone(), document, json)
    }

    /// Returns the exit code: clean if there is a table, otherwise inconclusive.
    pub fn exit(&self) -> Exit {
        if self.tables > 0 { Exit::Clean } else { Exit::Inconclusive }
    }
}
