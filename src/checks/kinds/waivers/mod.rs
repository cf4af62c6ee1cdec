//! Waivers themselves: those past their date, those that match nothing.

mod expired;
mod unused;

pub use self::expired::WaiverExpired;
pub use self::unused::WaiverUnused;
use crate::checks::WaiverContext;
use crate::checks::rule::Rule;
use crate::findings::Finding;

/// One finding on the file of waivers with all that is wrong with them, where anything is.
fn finding(rule: &Rule, at: &WaiverContext<'_>, wrong: &[String]) -> Option<Finding> {
    if wrong.is_empty() {
        return None;
    }
    Some(Finding::on_path(&rule.id, rule.severity, at.path, wrong.join("; ")))
}
