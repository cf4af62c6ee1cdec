//! The health of a database: a map of tables by systems, with the worst finding of each.

use crate::base::error::{Exit, Result};
use crate::base::progress::Progress;
use crate::jobs::DocumentFormat;
use crate::jobs::validate::{self, ValidateOptions};
use crate::report::ReportView;
use crate::report::document::Document;
use crate::report::health::HealthMap;

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
pub fn run(options: &ValidateOptions, progress: &dyn Progress) -> Result<DatabaseHealth> {
    let report = validate::run(options, progress)?;
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
