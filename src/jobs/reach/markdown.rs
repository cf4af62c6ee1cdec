//! Reach for a pull request.

use super::{Reach, summary};
use crate::base::error::Result;
use crate::report::template::fill;

const TEMPLATE: &str = include_str!("../../../charts/reach.md.j2");

/// What the template sees.
#[derive(serde::Serialize)]
struct ReachView {
    headline: String,
    notes: Vec<String>,
    /// Titles with their lines.
    sections: Vec<(&'static str, Vec<String>)>,
}

/// The text.
///
/// # Errors
///
/// When the template fails, which is a fault of this program.
pub(super) fn text(reach: &Reach) -> Result<String> {
    let summary = summary::ReachSummary::of(reach);
    let sections = [
        (summary::TABLES, summary.tables),
        (summary::LOOKUPS, summary.versions),
        (summary::MOVED, summary.moved),
        (summary::MISSING, summary.missing),
    ];
    let view = ReachView {
        headline: summary.headline,
        notes: summary.notes,
        sections: sections.into_iter().filter(|(_, lines)| !lines.is_empty()).collect(),
    };
    fill("reach.md.j2", TEMPLATE, &view)
}
