//! Waivers themselves: those past their date, those that match nothing.

mod expired;
mod unused;

pub use self::expired::WaiverExpired;
pub use self::unused::WaiverUnused;
use crate::checks::{Found, RuleHead, WaiverContext};

/// One finding on the waivers file with all faults in `wrong`; none if there are none.
fn finding(rule: RuleHead<'_>, at: &WaiverContext<'_>, wrong: &[String]) -> Found {
    if wrong.is_empty() {
        return Found::new();
    }
    vec![rule.on_path(at.path, wrong.join("; "))]
}
