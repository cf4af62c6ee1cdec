//! Reach for people at a terminal.

use super::{Reach, summary};
use crate::base::escape::clean;

/// The line that sums it up.
pub(super) fn headline(reach: &Reach) -> String {
    clean(&summary::headline(reach))
}

pub(super) fn text(reach: &Reach) -> String {
    let view = summary::ReachSummary::of(reach);
    let mut out = format!("{}\n", clean(&view.headline));
    for line in &view.notes {
        out += &format!("{}\n", clean(line));
    }
    let mut section = |title: &str, lines: &[String]| {
        if !lines.is_empty() {
            out += &format!("\n{title}\n");
            lines.iter().for_each(|line| out += &format!("  {}\n", clean(line)));
        }
    };
    section(summary::TABLES, &view.tables);
    section(summary::LOOKUPS, &view.versions);
    section(summary::MOVED, &view.moved);
    section(summary::MISSING, &view.missing);
    out
}
