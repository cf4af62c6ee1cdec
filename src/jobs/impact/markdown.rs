//! Impact for a pull request.

use super::Impact;
use super::human::caveat;
use super::summary::ImpactSummary;
use crate::base::error::Result;
use crate::report::template::fill;

const TEMPLATE: &str = include_str!("../../../charts/impact.md.j2");

/// What the template sees.
#[derive(serde::Serialize)]
struct ImpactView {
    headline: String,
    /// Title, change and reasons.
    movers: Vec<(String, String, Vec<String>)>,
    lost: Vec<String>,
    /// Title, and rows of model, layout, quantisation, moved and note.
    versions: Vec<(String, Vec<[String; 5]>)>,
    caveat: String,
}

/// The text.
///
/// # Errors
///
/// When the template fails, which is a fault of this program.
pub(super) fn text(impact: &Impact) -> Result<String> {
    let summary = ImpactSummary::of(impact);
    let versions = summary.versions.into_iter().map(|(title, cases)| {
        let row = |c: super::summary::CaseLine| [c.model, c.layout, c.quant, c.moved, c.note];
        (title, cases.into_iter().map(row).collect())
    });
    let view = ImpactView {
        headline: summary.headline,
        movers: summary.movers.into_iter().map(|m| (m.title, m.change, m.reasons)).collect(),
        lost: summary.lost,
        versions: versions.collect(),
        caveat: caveat(),
    };
    Ok(fill("impact.md.j2", TEMPLATE, &view)? + "\n")
}
