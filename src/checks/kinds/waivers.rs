//! Waivers past their date, and waivers that match nothing.

use crate::checks::context::{Item, WaiverContext};
use crate::checks::inputs::{CheckInputs, Input};
use crate::checks::judge::{Found, Judge};
use crate::checks::rule_head::RuleHead;

/// One finding on the file of waivers with all that is wrong with them, where anything is.
fn finding(rule: RuleHead<'_>, at: &WaiverContext<'_>, wrong: &[String]) -> Found {
    if wrong.is_empty() {
        return Found::new();
    }
    vec![rule.on_path(at.path, wrong.join("; "))]
}

/// Waivers past their date.
pub struct WaiverExpired;

impl Judge for WaiverExpired {
    fn needs(&self) -> CheckInputs {
        CheckInputs::of(&[Input::Waivers])
    }

    fn item(&self, rule: RuleHead<'_>, item: &Item<'_>) -> Found {
        let Item::Waivers(at) = item else { return Found::new() };
        finding(rule, at, at.expired)
    }
}

/// Waivers that match nothing.
pub struct WaiverUnused;

impl Judge for WaiverUnused {
    fn needs(&self) -> CheckInputs {
        CheckInputs::of(&[Input::Waivers])
    }

    fn item(&self, rule: RuleHead<'_>, item: &Item<'_>) -> Found {
        let Item::Waivers(at) = item else { return Found::new() };
        finding(rule, at, at.unused)
    }
}
